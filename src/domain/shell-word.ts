/** One word for a shell: paths can come from a hostile link or service. */
export function shellWord(text: string): string {
  return /^[\w./:%=-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
}
