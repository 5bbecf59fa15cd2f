/** The instant that an answer is about. */
export type VenueInstant = {
  /** Everything up to this instant. */
  readonly atMs: number
  /** The same instant as its clock stamps it. */
  readonly stampMs: number
  /** Whether bars without trades that follow the newest traded one are missing. */
  readonly isFlatBarLate: boolean
}

/** Answer to one `info` request. `rowWeight` is charged on top of the request's own weight. */
export type InfoAnswer =
  | { readonly kind: 'data'; readonly data: unknown; readonly rowWeight: number }
  /** The body does not have the shape of any request: HTTP 422. */
  | { readonly kind: 'malformed' }
  /** Unknown dex or coin: HTTP 500 with the body `null`. */
  | { readonly kind: 'unknown' }

export const MALFORMED: InfoAnswer = { kind: 'malformed' }
export const UNKNOWN: InfoAnswer = { kind: 'unknown' }

export function data(value: unknown, rowWeight = 0): InfoAnswer {
  return { kind: 'data', data: value, rowWeight }
}

/** An optional field may be absent or null: both mean the default. */
export function withoutNulls(
  body: Readonly<Record<string, unknown>>,
  defaults: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const given = Object.entries(body).filter(([, value]) => value !== null)
  return { ...defaults, ...Object.fromEntries(given) }
}
