import { isPlausibleTime } from '../plausible.ts'
import type { PythPrice } from '../pyth-price.ts'
import { pythPrice } from '../pyth-price.ts'
import type { DecodeIssue } from '../source.ts'
import { isUntrustedObject, ownMember, parseUntrusted, untrustedList } from '../untrusted-json.ts'

/** Price and one-hour moving average of one feed. */
export type FeedPrice = PythPrice & {
  /** 64 hexadecimal digits, lower case. */
  readonly id: string
  readonly ema: PythPrice | null
  readonly publishedMs: number
}

/** Feed ids by asset. */
export type FeedIds = ReadonlyMap<string, string>

/** The proof of 50 feeds is some 60 kB. */
export const UPDATE_CHARS_MAX = 4 * 1024 * 1024
const PRICES_MAX = 500
/** 1,000 rows are half a megabyte. */
const CATALOGUE_CHARS_MAX = 8 * 1024 * 1024
const CATALOGUE_ROWS_MAX = 20_000

/**
 * `{parsed: [{id, price: {price, conf, expo, publish_time}, ema_price: {...}}]}`: prices are integers as
 * strings in units of 10^expo, `publish_time` is in seconds.
 */
export function decodeUpdate(
  text: string,
  nowMs: number,
): { readonly prices: readonly FeedPrice[]; readonly issues: readonly DecodeIssue[] } {
  const parsed = ownMember(parseUntrusted(text, UPDATE_CHARS_MAX), 'parsed')
  if (!Array.isArray(parsed))
    return { prices: [], issues: [{ kind: 'undecodable', detail: text.slice(0, 200) }] }
  const prices: FeedPrice[] = []
  const issues: DecodeIssue[] = []
  for (const row of untrustedList(parsed, PRICES_MAX)) {
    const id = feedId(ownMember(row, 'id'))
    const price = id === null ? null : priceOf(id, row, nowMs)
    if (price !== null) prices.push(price)
    else issues.push({ kind: 'price_refused', detail: JSON.stringify(row).slice(0, 200) })
  }
  return { prices, issues }
}

/**
 * `[{id, attributes: {symbol, quote_currency, description, ...}}]`. Only the exact symbol
 * `Crypto.<ASSET>/USD` names an asset; similar symbols are wrapped or staked tokens. A symbol of two feeds
 * that are not deprecated is ambiguous and left out.
 */
export function decodeCatalogue(text: string): FeedIds | null {
  const rows = parseUntrusted(text, CATALOGUE_CHARS_MAX)
  if (!Array.isArray(rows)) return null
  const idsOf = new Map<string, Set<string>>()
  for (const row of untrustedList(rows, CATALOGUE_ROWS_MAX)) {
    const id = feedId(ownMember(row, 'id'))
    const attributes = ownMember(row, 'attributes')
    const asset = assetOfSymbol(ownMember(attributes, 'symbol'))
    if (id === null || asset === null || isDeprecated(attributes)) continue
    const ids = idsOf.get(asset) ?? new Set()
    idsOf.set(asset, ids.add(id))
  }
  const ids = new Map<string, string>()
  for (const [asset, [id, ...others]] of idsOf)
    if (id !== undefined && others.length === 0) ids.set(asset, id)
  return ids
}

/** The feed that an error text names: one that the plan of the key does not include, or an unknown one. */
export function refusedFeed(text: string): string | null {
  const named = /(?:Not entitled: feed|Price ids not found:)\s*(?:0x)?([0-9a-f]{64})\b/i.exec(text)
  return feedId(named?.[1])
}

function feedId(value: unknown): string | null {
  if (typeof value !== 'string') return null
  const id = value.toLowerCase().replace(/^0x/, '')
  return /^[0-9a-f]{64}$/.test(id) ? id : null
}

function assetOfSymbol(symbol: unknown): string | null {
  if (typeof symbol !== 'string') return null
  return /^Crypto\.([A-Z0-9]{1,20})\/USD$/.exec(symbol)?.[1] ?? null
}

function isDeprecated(attributes: unknown): boolean {
  const values = isUntrustedObject(attributes) ? Object.values(attributes) : []
  return values.some((value) => typeof value === 'string' && /deprecated/i.test(value))
}

function priceOf(id: string, row: unknown, nowMs: number): FeedPrice | null {
  const price = ownMember(row, 'price')
  const current = readPrice(price)
  const publishTime = ownMember(price, 'publish_time')
  const publishedMs = typeof publishTime === 'number' ? publishTime * 1_000 : Number.NaN
  if (current === null || !isPlausibleTime(publishedMs, nowMs)) return null
  return { id, ...current, ema: readPrice(ownMember(row, 'ema_price')), publishedMs }
}

function readPrice(value: unknown): PythPrice | null {
  const exponent = ownMember(value, 'expo')
  const price = ownMember(value, 'price')
  const confidence = ownMember(value, 'conf')
  if (!Number.isInteger(exponent) || !isInteger(price) || !isInteger(confidence)) return null
  return pythPrice(price, confidence, Number(exponent))
}

function isInteger(value: unknown): value is string {
  return typeof value === 'string' && /^\d{1,20}$/.test(value)
}
