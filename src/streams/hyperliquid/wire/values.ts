import { isRecord } from '../../../domain/json.ts'

/** Every member name of the venue's JSON that is read by name. */
type MemberName =
  | ('channel' | 'data' | 'method' | 'subscription' | 'type')
  | ('coin' | 'ctxs' | 'i' | 'time')
  | ('markPx' | 'midPx' | 'premium' | 'dayNtlVlm')
  | ('fundingRate' | 'nextFundingTime' | 'fundingIntervalHours')
  | ('universe' | 'name' | 'szDecimals' | 'maxLeverage' | 'isDelisted')
  | ('marginTables' | 'marginTableId' | 'marginTiers' | 'lowerBound')
  | ('collateralToken' | 'tokens' | 'index' | 'fullName')
  | ('assetPositions' | 'position' | 'szi' | 'entryPx' | 'leverage' | 'value' | 'liquidationPx')
  | ('px' | 'sz' | 'side' | 'tid' | 'dir' | 'liquidation' | 'liquidatedUser' | 'method')
  | ('fills' | 'events' | 'block_time' | 'block_number')
  | ('relationship' | 'childAddresses' | 'tx' | 'action' | 'user')

/** A JSON object of the venue. Its members are unchecked. */
export type VenueObject = { readonly [name in MemberName]?: unknown }

export function isVenueObject(value: unknown): value is VenueObject {
  return isRecord(value)
}

/** Bounds beyond which a number is an error of the sender. */
export const PRICE_MAX = 1e9
export const AMOUNT_MAX = 1e18
export const DECIMAL_LENGTH_MAX = 40
const DECIMAL = /^-?\d+(\.\d+)?$/

const TIME_MS_MIN = Date.UTC(2015, 0)
/** Tolerance for clock differences. A later time would corrupt every series that contains it. */
export const TIME_AHEAD_MS_MAX = 60_000

/** The venue writes decimals as strings without exponent, plus sign or blanks. */
export function readDecimal(value: unknown): number | undefined {
  return typeof value === 'string' && value.length <= DECIMAL_LENGTH_MAX && DECIMAL.test(value)
    ? Number(value)
    : undefined
}

export function readPrice(value: unknown): number | undefined {
  const number = readDecimal(value)
  return number !== undefined && number > 0 && number <= PRICE_MAX ? number : undefined
}

/** A volume or an open interest; 0 is valid. */
export function readAmount(value: unknown): number | undefined {
  const number = readDecimal(value)
  return number !== undefined && number >= 0 && number <= AMOUNT_MAX ? number : undefined
}

/** A rate or a premium, as a fraction. */
export function readFraction(value: unknown, limit: number): number | undefined {
  const number = readDecimal(value)
  return number !== undefined && Math.abs(number) <= limit ? number : undefined
}

const ADDRESS = /^0x[0-9a-f]{40}$/i

/** An account address in lower case. */
export function readAddress(value: unknown): string | undefined {
  return typeof value === 'string' && ADDRESS.test(value) ? value.toLowerCase() : undefined
}

/** The time of a past event, in milliseconds. */
export function readTimeMs(value: unknown, timeReceivedMs: number): number | undefined {
  return typeof value === 'number' &&
    Number.isSafeInteger(value) &&
    value >= TIME_MS_MIN &&
    value <= timeReceivedMs + TIME_AHEAD_MS_MAX
    ? value
    : undefined
}

export function readInteger(value: unknown, min: number, max: number): number | undefined {
  return typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max
    ? value
    : undefined
}
