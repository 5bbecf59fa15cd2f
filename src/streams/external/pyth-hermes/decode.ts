import { isPlausiblePrice, isPlausibleTime } from '../plausible.ts'
import type { DecodeIssue } from '../source.ts'
import { isUntrustedObject, ownMember, parseUntrusted, untrustedList } from '../untrusted-json.ts'

/** One price of one feed, with what it was one hour of averaging before. */
export type PythPrice = {
  /** 64 hexadecimal digits, lower case. */
  readonly id: string
  readonly priceUsd: number
  readonly confidenceUsd: number
  readonly ema: { readonly priceUsd: number; readonly confidenceUsd: number } | null
  readonly publishedMs: number
}

/** Of the assets that a catalogue knows, the feed's id. */
export type FeedIds = ReadonlyMap<string, string>

/** The proof of 50 feeds has some 60 kB. */
export const UPDATE_CHARS_MAX = 4 * 1024 * 1024
const PRICES_MAX = 500
/** 1,000 rows have half a megabyte. */
const CATALOGUE_CHARS_MAX = 8 * 1024 * 1024
const CATALOGUE_ROWS_MAX = 20_000
/** All of ours are within -12 and 0. */
const EXPONENT_ABS_MAX = 30

/**
 * `{parsed: [{id, price: {price, conf, expo, publish_time}, ema_price: {...}}]}`. Numbers are strings of
 * integers, to be taken times 10^expo; `publish_time` is in seconds. What makes no sense is left out and
 * reported.
 */
export function decodeUpdate(
  text: string,
  nowMs: number,
): { readonly prices: readonly PythPrice[]; readonly issues: readonly DecodeIssue[] } {
  const parsed = ownMember(parseUntrusted(text, UPDATE_CHARS_MAX), 'parsed')
  if (!Array.isArray(parsed))
    return { prices: [], issues: [{ kind: 'undecodable', detail: text.slice(0, 200) }] }
  const prices: PythPrice[] = []
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
 * `[{id, attributes: {symbol, quote_currency, description, ...}}]`. An asset is what has exactly the symbol
 * `Crypto.<ASSET>/USD`: names that merely contain it are other things. A name that two feeds claim, neither
 * of them deprecated, belongs to nobody.
 */
export function decodeCatalogue(text: string): FeedIds | null {
  const rows = parseUntrusted(text, CATALOGUE_CHARS_MAX)
  if (!Array.isArray(rows)) return null
  const claims = new Map<string, Set<string>>()
  for (const row of untrustedList(rows, CATALOGUE_ROWS_MAX)) {
    const id = feedId(ownMember(row, 'id'))
    const attributes = ownMember(row, 'attributes')
    const asset = assetOfSymbol(ownMember(attributes, 'symbol'))
    if (id === null || asset === null || isDeprecated(attributes)) continue
    const ids = claims.get(asset) ?? new Set()
    claims.set(asset, ids.add(id))
  }
  const ids = new Map<string, string>()
  for (const [asset, [id, ...others]] of claims)
    if (id !== undefined && others.length === 0) ids.set(asset, id)
  return ids
}

/** Of a refusal in words: the feed that the key's plan does not hold, or that nobody knows. */
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
  const told = isUntrustedObject(attributes) ? Object.values(attributes) : []
  return told.some((value) => typeof value === 'string' && /deprecated/i.test(value))
}

function priceOf(id: string, row: unknown, nowMs: number): PythPrice | null {
  const price = ownMember(row, 'price')
  const now = scaled(price)
  const publishTime = ownMember(price, 'publish_time')
  const publishedMs = typeof publishTime === 'number' ? publishTime * 1_000 : Number.NaN
  if (now === null || !isPlausibleTime(publishedMs, nowMs)) return null
  return { id, ...now, ema: scaled(ownMember(row, 'ema_price')), publishedMs }
}

/** A price that is no larger than its own uncertainty says nothing. */
function scaled(
  told: unknown,
): { readonly priceUsd: number; readonly confidenceUsd: number } | null {
  const exponent = ownMember(told, 'expo')
  if (!Number.isInteger(exponent) || Math.abs(Number(exponent)) > EXPONENT_ABS_MAX) return null
  const priceUsd = decimal(ownMember(told, 'price'), Number(exponent))
  const confidenceUsd = decimal(ownMember(told, 'conf'), Number(exponent))
  const isSane = isPlausiblePrice(priceUsd) && confidenceUsd !== null && confidenceUsd < priceUsd
  return isSane ? { priceUsd, confidenceUsd } : null
}

/** The double nearest to integer * 10^exponent, which a multiplication would miss by a digit. */
function decimal(integer: unknown, exponent: number): number | null {
  if (typeof integer !== 'string' || !/^\d{1,20}$/.test(integer)) return null
  return Number(`${integer}e${exponent}`)
}
