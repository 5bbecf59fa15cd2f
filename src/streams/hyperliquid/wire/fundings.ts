import type { VenueFunding } from '../../../domain/event.ts'
import type { FundingRow } from '../../../domain/history.ts'
import { FUNDING_STEP_MS } from '../../../domain/history.ts'
import { FUNDING_MAX, PREMIUM_MAX } from './contexts.ts'
import type { DropReason, Rejected, VenueObject } from './values.ts'
import { fraction, integerBetween, isVenueObject, rejected, timeMs } from './values.ts'

type FundingsReply = {
  readonly kind: 'fundings'
  /** Ascending, at most one an hour. */
  readonly rows: readonly FundingRow[]
  readonly drops: readonly DropReason[]
}

type CoinFundings = { readonly coin: string; readonly fundings: readonly VenueFunding[] }

type PredictionsReply = {
  readonly kind: 'predictions'
  /** Each coin once. */
  readonly coins: readonly CoinFundings[]
  readonly drops: readonly DropReason[]
}

/** Of one exchange for one interval, of which the shortest is an hour and the longest a day. */
const INTERVAL_HOURS_MAX = 24
/** One by habit, and one more right after an hour. */
const INTERVALS_BEHIND_MAX = 2
/** The venue tells of three; each coin has as many rows. */
const EXCHANGES_MAX = 16
const EXCHANGE_NAME = /^[A-Za-z0-9]{1,24}$/
/** The venue's word for itself; it settles every hour and need not say so. */
const OWN_EXCHANGE = 'HlPerp'

/**
 * The reply to `fundingHistory`. A row lands shortly after the hour that it settles, after an outage of
 * the venue half an hour later; the hour alone is its time here.
 */
export function decodeFundingHistory(
  body: string,
  { coin, fromMs }: { readonly coin: string; readonly fromMs: number },
  timeReceivedMs: number,
): FundingsReply | Rejected {
  const reply = parsedList(body)
  if ('kind' in reply) return reply
  const drops: DropReason[] = []
  const rows: FundingRow[] = []
  for (const row of reply) {
    const funding = readFunding(row, coin, timeReceivedMs)
    if (typeof funding === 'string') drops.push(funding)
    // Nothing before what was asked for, so that the number of rows is bounded by the request.
    else if (funding.timeMs < fromMs || funding.timeMs <= (rows.at(-1)?.timeMs ?? 0))
      drops.push('bad_time')
    else rows.push(funding)
  }
  return { kind: 'fundings', rows, drops }
}

/**
 * The reply to `predictedFundings`: what is paid next here and on other exchanges. Of itself the venue
 * names the hour that is settled already; the next one is meant.
 * @param nowMs by the venue's clock
 */
export function decodePredictedFundings(
  body: string,
  isListed: (coin: string) => boolean,
  nowMs: number,
): PredictionsReply | Rejected {
  const reply = parsedList(body)
  if ('kind' in reply) return reply
  const drops: DropReason[] = []
  const coins = new Map<string, CoinFundings>()
  for (const row of reply) {
    const [coin, exchanges] = Array.isArray(row) ? (row as readonly unknown[]) : []
    if (typeof coin !== 'string' || !Array.isArray(exchanges)) drops.push('bad_row')
    else if (!isListed(coin)) drops.push('unknown_coin')
    else if (coins.has(coin)) drops.push('bad_row')
    else coins.set(coin, { coin, fundings: readExchanges(exchanges, nowMs, drops) })
  }
  return { kind: 'predictions', coins: [...coins.values()], drops }
}

function readFunding(row: unknown, coin: string, timeReceivedMs: number): FundingRow | DropReason {
  if (!isVenueObject(row)) return 'bad_row'
  if (row.coin !== coin) return 'other_series'
  const landedMs = timeMs(row.time, timeReceivedMs)
  if (landedMs === undefined) return 'bad_time'
  const rateHourly = fraction(row.fundingRate, FUNDING_MAX)
  const premium = row.premium === undefined ? null : fraction(row.premium, PREMIUM_MAX)
  if (rateHourly === undefined || premium === undefined) return 'bad_number'
  const hourMs = Math.floor(landedMs / FUNDING_STEP_MS) * FUNDING_STEP_MS
  return { coin, timeMs: hourMs, rateHourly, premium, isSettled: true }
}

function readExchanges(
  rows: readonly unknown[],
  nowMs: number,
  drops: DropReason[],
): readonly VenueFunding[] {
  const fundings: VenueFunding[] = []
  for (const row of rows.slice(0, EXCHANGES_MAX)) {
    const [venue, told] = Array.isArray(row) ? (row as readonly unknown[]) : []
    // Such an exchange does not have the coin.
    if (told === null) continue
    if (typeof venue !== 'string' || !EXCHANGE_NAME.test(venue) || !isVenueObject(told)) {
      drops.push('bad_row')
      continue
    }
    const funding = readPrediction(venue, told, nowMs)
    if (typeof funding === 'string') drops.push(funding)
    else if (!fundings.some((one) => one.venue === venue)) fundings.push(funding)
  }
  return fundings
}

function readPrediction(
  venue: string,
  told: VenueObject,
  nowMs: number,
): VenueFunding | DropReason {
  const rate = fraction(told.fundingRate, FUNDING_MAX)
  const isOwn = venue === OWN_EXCHANGE && told.fundingIntervalHours === undefined
  const intervalHours = isOwn ? 1 : integerBetween(told.fundingIntervalHours, 1, INTERVAL_HOURS_MAX)
  if (rate === undefined || intervalHours === undefined) return 'bad_number'
  const intervalMs = intervalHours * FUNDING_STEP_MS
  const namedMs = timeMs(told.nextFundingTime, nowMs + intervalMs)
  if (namedMs === undefined) return 'bad_time'
  const intervalsBehind = Math.max(0, Math.floor((nowMs - namedMs) / intervalMs) + 1)
  if (intervalsBehind > INTERVALS_BEHIND_MAX) return 'bad_time'
  return { venue, rate, intervalHours, nextFundingMs: namedMs + intervalsBehind * intervalMs }
}

function parsedList(body: string): readonly unknown[] | Rejected {
  let reply: unknown
  try {
    reply = JSON.parse(body)
  } catch {
    return rejected('not_json')
  }
  return Array.isArray(reply) ? (reply as readonly unknown[]) : rejected('bad_shape')
}
