import type { UntrustedObject } from '../untrusted-json.ts'
import { isUntrustedObject, parseUntrusted } from '../untrusted-json.ts'

/** Best bid and ask of one product, in the units and by the name of the exchange. */
export type ProductQuote = {
  readonly product: string
  readonly bid: number
  readonly ask: number
  readonly bidSize: number
  readonly askSize: number
  /** null if the exchange sends no time. */
  readonly timeMs: number | null
}

/** One decoded text frame of an exchange. */
export type ExchangeFrame =
  /** `dropped` counts rows that could not be decoded. */
  | { readonly kind: 'quotes'; readonly quotes: readonly ProductQuote[]; readonly dropped: number }
  /** Subscribed products; null: all products of the request. */
  | ({ readonly kind: 'accepted'; readonly products: readonly string[] | null } & RequestNumber)
  /** A product that the exchange does not list; null if it does not name the product. */
  | ({
      readonly kind: 'refused'
      readonly product: string | null
      readonly reason: string
    } & RequestNumber)
  | { readonly kind: 'heartbeat' }
  /** The exchange is about to close the connection, or its markets are halted. */
  | { readonly kind: 'closing' }
  /** An error message that concerns no subscription. */
  | { readonly kind: 'error'; readonly reason: string }
  | { readonly kind: 'undecodable'; readonly reason: string }

/** Absent if the exchange does not repeat the number of the request. */
type RequestNumber = { readonly request?: number }

export const HEARTBEAT: ExchangeFrame = { kind: 'heartbeat' }

export function undecodable(reason: string): ExchangeFrame {
  return { kind: 'undecodable', reason }
}

const TEXT_LENGTH_MAX = 200
/** A snapshot of all tickers is below 100 kB. */
const FRAME_CHARS_MAX = 1024 * 1024
/** A frame has one row, a snapshot one for each product. */
export const ROWS_MAX = 1_000

/** A value of the exchange as text for a log. */
export function textOf(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value ?? null)
  return text.slice(0, TEXT_LENGTH_MAX)
}

/** @param id the repeated number of a request, as a number or a string */
export function requestNumber(id: unknown): RequestNumber {
  const isNumber = typeof id === 'number' || (typeof id === 'string' && /^\d{1,9}$/.test(id))
  return isNumber ? { request: Number(id) } : {}
}

/** @returns null for text that is no JSON object */
export function parseMessage(text: string): UntrustedObject | null {
  const value = parseUntrusted(text, FRAME_CHARS_MAX)
  return isUntrustedObject(value) ? value : null
}

/** Beyond these bounds a figure is an error of the sender. */
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
  /** undefined if the exchange sends no time. */
  readonly time: unknown
}

/** @returns null unless every field is valid */
export function readQuote(fields: QuoteFields): ProductQuote | null {
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

/** A book whose sides are lists of `[price, size, ...]`, the best level first. */
export function readBook(
  product: unknown,
  bids: unknown,
  asks: unknown,
  time: unknown,
): ProductQuote | null {
  const [bid, bidSize] = bestLevel(bids)
  const [ask, askSize] = bestLevel(asks)
  return readQuote({ product, bid, ask, bidSize, askSize, time: time ?? null })
}

export function quotesFrame(rows: readonly (ProductQuote | null)[]): ExchangeFrame {
  const quotes = rows.filter((row) => row !== null)
  return { kind: 'quotes', quotes, dropped: rows.length - quotes.length }
}

function bestLevel(side: unknown): readonly unknown[] {
  const best: unknown = Array.isArray(side) ? side[0] : undefined
  return Array.isArray(best) ? best : []
}

/** Exchanges send decimals as strings, Kraken as JSON numbers. */
function positive(value: unknown, max: number): number | null {
  const number =
    typeof value === 'string' && value.length <= DECIMAL_LENGTH_MAX && DECIMAL.test(value)
      ? Number(value)
      : value
  return typeof number === 'number' && number > 0 && number <= max ? number : null
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
