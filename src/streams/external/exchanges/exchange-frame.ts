/** Best bid and ask of one product as an exchange tells them, in its own units and under its own name. */
export type ProductQuote = {
  readonly product: string
  readonly bid: number
  readonly ask: number
  readonly bidSize: number
  readonly askSize: number
  /** null where the exchange tells no time. */
  readonly timeMs: number | null
}

/** What one text frame of an exchange says. */
export type ExchangeFrame =
  /** `dropped` rows made no sense. */
  | { readonly kind: 'quotes'; readonly quotes: readonly ProductQuote[]; readonly dropped: number }
  /** Products that the exchange will quote from now on; null: all of the request. */
  | ({ readonly kind: 'accepted'; readonly products: readonly string[] | null } & OfRequest)
  /** A product that the exchange does not know; null where it does not say which. */
  | ({
      readonly kind: 'refused'
      readonly product: string | null
      readonly reason: string
    } & OfRequest)
  /** It lives, and says nothing that matters. */
  | { readonly kind: 'alive' }
  /** It is about to close the connection, for its own reasons. */
  | { readonly kind: 'leaving' }
  /** Something that we did displeases it. */
  | { readonly kind: 'complaint'; readonly reason: string }
  | { readonly kind: 'undecodable'; readonly reason: string }

/** The number of the request that is answered; absent where the exchange repeats none. */
type OfRequest = { readonly request?: number }

export const ALIVE: ExchangeFrame = { kind: 'alive' }

/** A JSON object from an exchange: whatever it holds is unknown until it was checked. */
export type Wire = { readonly [name: string]: unknown }

export function isWire(value: unknown): value is Wire {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function undecodable(reason: string): ExchangeFrame {
  return { kind: 'undecodable', reason }
}

const REASON_LENGTH_MAX = 200

/** Words of the exchange, for a log. */
export function wordsOf(value: unknown): string {
  return (typeof value === 'string' ? value : JSON.stringify(value ?? null)).slice(
    0,
    REASON_LENGTH_MAX,
  )
}

/** @param id as the exchange repeats the number of our request, as a number or a string */
export function ofRequest(id: unknown): OfRequest {
  const isNumber = typeof id === 'number' || (typeof id === 'string' && /^\d{1,9}$/.test(id))
  return isNumber ? { request: Number(id) } : {}
}

/** @returns null for what is no JSON object */
export function parseObject(text: string): Wire | null {
  try {
    const value: unknown = JSON.parse(text)
    return isWire(value) ? value : null
  } catch {
    return null
  }
}

/** Bounds beyond which a figure is a mistake of the sender, not a market. */
const PRICE_MAX = 1e9
const SIZE_MAX = 1e18
const DECIMAL_LENGTH_MAX = 40
const DECIMAL = /^\d+(\.\d+)?$/
const NAME_LENGTH_MAX = 40

type QuoteFields = {
  readonly product: unknown
  readonly bid: unknown
  readonly ask: unknown
  readonly bidSize: unknown
  readonly askSize: unknown
  /** undefined where the exchange tells none. */
  readonly time: unknown
}

/** @returns null unless every field is what it has to be */
export function quoteOf(fields: QuoteFields): ProductQuote | null {
  const { product } = fields
  if (typeof product !== 'string' || product.length > NAME_LENGTH_MAX) return null
  const bid = positive(fields.bid, PRICE_MAX)
  const ask = positive(fields.ask, PRICE_MAX)
  const bidSize = positive(fields.bidSize, SIZE_MAX)
  const askSize = positive(fields.askSize, SIZE_MAX)
  const timeMs = fields.time === undefined ? null : instantOf(fields.time)
  if (bid === null || ask === null || bidSize === null || askSize === null) return null
  if (timeMs === undefined) return null
  return { product, bid, ask, bidSize, askSize, timeMs }
}

/** Several rows of one frame. */
export function quotesOf(rows: readonly (ProductQuote | null)[]): ExchangeFrame {
  const quotes = rows.filter((row) => row !== null)
  return { kind: 'quotes', quotes, dropped: rows.length - quotes.length }
}

/** Of the best level `[price, size, ...]` of one side of a book. */
export function bestLevel(side: unknown): { readonly price: unknown; readonly size: unknown } {
  const best: unknown = Array.isArray(side) ? side[0] : undefined
  return Array.isArray(best)
    ? { price: best[0], size: best[1] }
    : { price: undefined, size: undefined }
}

/** Exchanges write plain decimals as strings; one writes JSON numbers. */
function positive(value: unknown, most: number): number | null {
  const number =
    typeof value === 'string' && value.length <= DECIMAL_LENGTH_MAX && DECIMAL.test(value)
      ? Number(value)
      : value
  return typeof number === 'number' && number > 0 && number <= most ? number : null
}

const TIME_MS_MIN = Date.UTC(2015, 0)
const TIME_MS_MAX = Date.UTC(2100, 0)
const EPOCH_MS = /^\d{13}$/
const RFC_3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z$/

/** Unix milliseconds, as a number or a string, or RFC 3339 in UTC. @returns undefined for anything else */
function instantOf(value: unknown): number | undefined {
  let timeMs: unknown = value
  if (typeof value === 'string') {
    if (EPOCH_MS.test(value)) timeMs = Number(value)
    else timeMs = RFC_3339.test(value) ? Date.parse(value) : undefined
  }
  if (typeof timeMs !== 'number') return undefined
  return timeMs >= TIME_MS_MIN && timeMs <= TIME_MS_MAX ? timeMs : undefined
}
