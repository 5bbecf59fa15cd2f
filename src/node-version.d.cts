declare const nodeVersion: {
  /** What is wrong with the Node that runs this; null where nothing is. */
  readonly refusal: string | null
  /** @param version such as `22.13.0` */
  refusalOf(version: string): string | null
}
export = nodeVersion
