/** Every member name of the venue's JSON that we read. */
type MemberName =
  | ('channel' | 'data' | 'method' | 'subscription' | 'type')
  | ('coin' | 'ctx' | 'ctxs' | 'levels' | 'bbo' | 'time')
  | ('px' | 'sz' | 'side' | 'tid' | 'users')
  | ('t' | 's' | 'i' | 'o' | 'h' | 'l' | 'c' | 'v')
  | ('markPx' | 'midPx' | 'oraclePx' | 'premium' | 'impactPxs' | 'funding')
  | ('fundingRate' | 'nextFundingTime' | 'fundingIntervalHours')
  | ('openInterest' | 'dayNtlVlm' | 'prevDayPx')
  | ('universe' | 'name' | 'szDecimals' | 'maxLeverage' | 'isDelisted')
  | ('marginTables' | 'marginTableId' | 'marginTiers' | 'lowerBound')
  | ('collateralToken' | 'tokens' | 'index' | 'fullName')
  | ('assetPositions' | 'position' | 'szi' | 'entryPx' | 'leverage' | 'value' | 'liquidationPx')

/** A JSON object from the venue: whatever it holds is unknown until it was checked. */
export type VenueObject = { readonly [name in MemberName]?: unknown }

export function isVenueObject(value: unknown): value is VenueObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Why a single value was left out of an otherwise good frame. Stable, for metrics. */
export type DropReason =
  | 'bad_row'
  | 'bad_price'
  | 'bad_size'
  | 'bad_number'
  /** One that is sound by itself and contradicts the others, by one word alone. */
  | 'doubtful_figure'
  /** A row without a name, at whose place another coin may stand by now. */
  | 'unconfirmed_row'
  | 'bad_time'
  | 'bad_side'
  | 'bad_trade_id'
  | 'bad_bar'
  | 'bad_book'
  | 'bad_listing'
  | 'bad_margin_table'
  | 'unknown_coin'
  | 'unknown_interval'
  | 'other_series'
  /** The contexts of one dex among several; see the reject reason of that name. */
  | 'context_length'

/** Why a whole frame or reply gave nothing. Stable, for metrics. */
export type RejectReason =
  | 'not_json'
  | 'bad_shape'
  /** Of a series, which is worth nothing with a row left out. */
  | 'bad_rows'
  | 'bad_compression'
  | 'unknown_channel'
  | 'universe_length'
  /** Coins that are gone or renamed, by too few replies. */
  | 'universe_changed'
  /** Contexts carry no names: without a universe of their length they belong to nobody. */
  | 'context_length'

export type Rejected = { readonly kind: 'rejected'; readonly reason: RejectReason }

export function rejected(reason: RejectReason): Rejected {
  return { kind: 'rejected', reason }
}

/** Bounds beyond which a figure is a mistake of the sender, not a market. */
export const PRICE_MAX = 1e9
export const AMOUNT_MAX = 1e18
export const DECIMAL_LENGTH_MAX = 40
const DECIMAL = /^-?\d+(\.\d+)?$/

const TIME_MS_MIN = Date.UTC(2015, 0)
/**
 * Clocks differ; a time further ahead than this would spoil every series that takes it in. It is for
 * instants that have passed: an event's, a bar's opening. A bar's end (`T`) lies ahead and is not read.
 */
export const TIME_AHEAD_MS_MAX = 60_000

/** The venue writes decimals as strings, plainly: no exponent, no sign but minus, no blank. */
export function decimal(value: unknown): number | undefined {
  return typeof value === 'string' && value.length <= DECIMAL_LENGTH_MAX && DECIMAL.test(value)
    ? Number(value)
    : undefined
}

export function price(value: unknown): number | undefined {
  const number = decimal(value)
  return number !== undefined && isPrice(number) ? number : undefined
}

/** A volume or an interest: it may be nothing. */
export function amount(value: unknown): number | undefined {
  const number = decimal(value)
  return number !== undefined && isAmount(number) ? number : undefined
}

/** Of a trade or a book level, where nothing is not a size. */
export function size(value: unknown): number | undefined {
  const number = amount(value)
  return number === 0 ? undefined : number
}

/** A rate or a premium, as a fraction. */
export function fraction(value: unknown, limit: number): number | undefined {
  const number = decimal(value)
  return number !== undefined && isFraction(number, limit) ? number : undefined
}

export function isPrice(value: number): boolean {
  return value > 0 && value <= PRICE_MAX
}

export function isAmount(value: number): boolean {
  return value >= 0 && value <= AMOUNT_MAX
}

export function isFraction(value: number, limit: number): boolean {
  return Math.abs(value) <= limit
}

const ADDRESS = /^0x[0-9a-f]{40}$/i

/** Of an account, in lower case: the venue and its clients write it either way. */
export function address(value: unknown): string | undefined {
  return typeof value === 'string' && ADDRESS.test(value) ? value.toLowerCase() : undefined
}

export function timeMs(value: unknown, timeReceivedMs: number): number | undefined {
  return typeof value === 'number' &&
    Number.isSafeInteger(value) &&
    value >= TIME_MS_MIN &&
    value <= timeReceivedMs + TIME_AHEAD_MS_MAX
    ? value
    : undefined
}

export function integerBetween(value: unknown, min: number, max: number): number | undefined {
  return typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max
    ? value
    : undefined
}
