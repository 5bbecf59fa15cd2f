import type { VenueFunding } from '../../../domain/event.ts'
import { FUNDING_RATE_HOURLY_MAX } from '../../../domain/funding-rate.ts'
import type { FundingRow } from '../../../domain/history.ts'
import { FUNDING_STEP_MS } from '../../../domain/history.ts'
import { parsedJson } from '../../../domain/json.ts'
import { PREMIUM_MAX } from './contexts.ts'
import type { Drop, Rejected } from './rejection.ts'
import { drop, rejected } from './rejection.ts'
import type { VenueObject } from './values.ts'
import { isVenueObject, readFraction, readInteger, readTimeMs } from './values.ts'

type FundingsReply = {
  readonly kind: 'fundings'
  /** Ascending, at most one per hour. */
  readonly rows: readonly FundingRow[]
  readonly drops: readonly Drop[]
}

type CoinFundings = { readonly coin: string; readonly fundings: readonly VenueFunding[] }

type PredictionsReply = {
  readonly kind: 'predictions'
  /** Each coin once. */
  readonly coins: readonly CoinFundings[]
  readonly drops: readonly Drop[]
}

const INTERVAL_HOURS_MAX = 24
/** Of itself the venue names the last settlement; right after an hour it may be one more behind. */
const INTERVALS_BEHIND_MAX = 2
/** The venue lists three. */
const EXCHANGES_MAX = 16
const EXCHANGE_NAME = /^[A-Za-z0-9]{1,24}$/
/** The venue itself. It settles every hour and omits the interval. */
const OWN_EXCHANGE = 'HlPerp'

/**
 * The reply to `fundingHistory`. A row is stamped shortly after its hour, half an hour later after an outage; the event
 * carries the hour.
 */
export function decodeFundingHistory(
  body: string,
  { coin, fromMs }: { readonly coin: string; readonly fromMs: number },
  latestMs: number,
): FundingsReply | Rejected {
  const reply = parsedJson(body)
  if (reply === undefined) return rejected('not_json')
  if (!Array.isArray(reply)) return rejected('bad_shape')
  const drops: Drop[] = []
  const rows: FundingRow[] = []
  for (const row of reply) {
    const funding = decodeFunding(row, coin, latestMs)
    if ('reason' in funding) drops.push(funding)
    // Rows before the requested time are dropped, so the request bounds their number.
    else if (funding.timeMs < fromMs || funding.timeMs <= (rows.at(-1)?.timeMs ?? 0))
      drops.push(drop('bad_time', 'time', coin))
    else rows.push(funding)
  }
  return { kind: 'fundings', rows, drops }
}

/**
 * The reply to `predictedFundings`: the next funding on the venue and on other exchanges. For itself the venue names the
 * hour that is already settled; the event carries the next one.
 * @param nowMs by the venue's clock
 */
export function decodePredictedFundings(
  body: string,
  isListed: (coin: string) => boolean,
  nowMs: number,
): PredictionsReply | Rejected {
  const reply = parsedJson(body)
  if (reply === undefined) return rejected('not_json')
  if (!Array.isArray(reply)) return rejected('bad_shape')
  const drops: Drop[] = []
  const coins = new Map<string, CoinFundings>()
  for (const row of reply) {
    const [coin, exchanges] = Array.isArray(row) ? (row as readonly unknown[]) : []
    if (typeof coin !== 'string' || !Array.isArray(exchanges))
      drops.push(drop('bad_row', 'predictedFundings'))
    else if (!isListed(coin)) drops.push(drop('unknown_coin', 'predictedFundings'))
    else if (coins.has(coin)) drops.push(drop('bad_row', 'predictedFundings', coin))
    else coins.set(coin, { coin, fundings: decodeExchanges(exchanges, coin, nowMs, drops) })
  }
  return { kind: 'predictions', coins: [...coins.values()], drops }
}

function decodeFunding(row: unknown, coin: string, latestMs: number): FundingRow | Drop {
  if (!isVenueObject(row)) return drop('bad_row', 'fundingHistory', coin)
  if (row.coin !== coin) return drop('other_series', 'coin', coin)
  const settledMs = readTimeMs(row.time, latestMs)
  if (settledMs === undefined) return drop('bad_time', 'time', coin)
  const rateHourly = readFraction(row.fundingRate, FUNDING_RATE_HOURLY_MAX)
  if (rateHourly === undefined) return drop('bad_number', 'fundingRate', coin)
  const premium = row.premium === undefined ? null : readFraction(row.premium, PREMIUM_MAX)
  if (premium === undefined) return drop('bad_number', 'premium', coin)
  const hourMs = Math.floor(settledMs / FUNDING_STEP_MS) * FUNDING_STEP_MS
  return { coin, timeMs: hourMs, rateHourly, premium, isSettled: true }
}

function decodeExchanges(
  rows: readonly unknown[],
  coin: string,
  nowMs: number,
  drops: Drop[],
): readonly VenueFunding[] {
  const fundings: VenueFunding[] = []
  for (const row of rows.slice(0, EXCHANGES_MAX)) {
    const [venue, value] = Array.isArray(row) ? (row as readonly unknown[]) : []
    // The exchange does not list the coin.
    if (value === null) continue
    if (typeof venue !== 'string' || !EXCHANGE_NAME.test(venue) || !isVenueObject(value)) {
      drops.push(drop('bad_row', 'predictedFundings', coin))
      continue
    }
    const funding = decodePrediction(venue, value, coin, nowMs)
    if ('reason' in funding) drops.push(funding)
    else if (!fundings.some((one) => one.venue === venue)) fundings.push(funding)
  }
  return fundings
}

function decodePrediction(
  venue: string,
  row: VenueObject,
  coin: string,
  nowMs: number,
): VenueFunding | Drop {
  const rate = readFraction(row.fundingRate, FUNDING_RATE_HOURLY_MAX)
  if (rate === undefined) return drop('bad_number', 'fundingRate', coin)
  const isOwn = venue === OWN_EXCHANGE && row.fundingIntervalHours === undefined
  const intervalHours = isOwn ? 1 : readInteger(row.fundingIntervalHours, 1, INTERVAL_HOURS_MAX)
  if (intervalHours === undefined) return drop('bad_number', 'fundingIntervalHours', coin)
  const intervalMs = intervalHours * FUNDING_STEP_MS
  const namedMs = readTimeMs(row.nextFundingTime, nowMs + intervalMs)
  if (namedMs === undefined) return drop('bad_time', 'nextFundingTime', coin)
  const intervalsBehind = Math.max(0, Math.floor((nowMs - namedMs) / intervalMs) + 1)
  // The rate of an exchange whose settlement is over was paid, and predicts nothing.
  const behindMax = venue === OWN_EXCHANGE ? INTERVALS_BEHIND_MAX : 0
  if (intervalsBehind > behindMax) return drop('bad_time', 'nextFundingTime', coin)
  return { venue, rate, intervalHours, nextFundingMs: namedMs + intervalsBehind * intervalMs }
}
