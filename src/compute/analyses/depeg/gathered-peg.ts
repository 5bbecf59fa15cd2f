import type { PegSample } from '../../external/depeg/depeg-measure.ts'
import { depegMeasure, depegSeries } from '../../external/depeg/depeg-measure.ts'
import type { ChainParity } from '../../external/depeg/peg-markets.ts'
import { chainParities } from '../../external/depeg/peg-markets.ts'
import type { PegStatusName } from '../../external/depeg/peg-status.ts'
import type { MarketState } from '../../market/market-state.ts'
import { MEASURE_DAYS_MAX } from '../../market/measure-log.ts'
import type { RecordMember } from '../../track-record-statistics/record-member.ts'
import { recordOfMarket, shownRules } from '../../track-record-statistics/record-member.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const SLOPE_MINUTES = 60
/** The figure is read every half hour. */
const SUPPLY_MS_MAX = 6 * HOUR_MS

/** Inputs of one `/depeg` answer. */
export type GatheredPeg = {
  readonly sample: PegSample | null
  readonly level: number
  /** NaN before any price. */
  readonly levelSinceMs: number
  readonly status: PegStatusName
  readonly statusSinceMs: number
  /** By `spellBps`. */
  readonly spellSeconds: readonly number[]
  readonly parities: readonly ChainParity[]
  readonly supply: Supply | null
  readonly history: PegHistory
  readonly record: RecordMember
}

type Supply = {
  readonly supplyUsd: number
  readonly dayAgoUsd: number | null
  readonly weekAgoUsd: number | null
  readonly asOfMs: number
}

/** Recorded minutes of the USDC price. */
export type PegHistory = {
  readonly pricesUsd: Float64Array
  readonly day: Range
  readonly hour: Range
  /** The last {@link SLOPE_MINUTES} minutes, oldest first; NaN for a missing one. */
  readonly recentUsd: Float64Array
}

/** NaN without a price. `n`: minutes with data. */
type Range = { readonly lowUsd: number; readonly highUsd: number; readonly n: number }

export function gatherPeg(market: MarketState, nowMs: number): GatheredPeg {
  const { external, log } = market
  const { sample, level, status } = market.of(depegMeasure)
  return {
    sample,
    level: level.level,
    levelSinceMs: level.sinceMs,
    status: status.name,
    statusSinceMs: status.sinceMs,
    spellSeconds: level.spellSeconds(),
    parities: chainParities(external, nowMs),
    supply: supplyOf(external, nowMs),
    history: historyOf(log, nowMs),
    record: recordOfMarket(market, shownRules.peg),
  }
}

/** null without a figure of the last hours: the changes of an older one are not those until now. */
function supplyOf(external: MarketState['external'], nowMs: number): Supply | null {
  const supply = external.supplyOf('USDC')
  if (supply === null || !(supply.supplyUsd > 0)) return null
  const { supplyUsd, dayAgoUsd, weekAgoUsd, timeExchangeMs, timeReceivedMs } = supply
  const asOfMs = Math.min(timeExchangeMs, timeReceivedMs)
  return nowMs - asOfMs > SUPPLY_MS_MAX ? null : { supplyUsd, dayAgoUsd, weekAgoUsd, asOfMs }
}

function historyOf(log: MarketState['log'], nowMs: number): PegHistory {
  // Whole minutes, so that a window never has more of them than its length.
  const over = (series: string, ms: number) =>
    log.values(series, minuteOf(nowMs) - ms + MINUTE_MS, nowMs)
  const rangeOver = (ms: number): Range => {
    const lows = over(depegSeries.low, ms)
    const highs = over(depegSeries.high, ms)
    return { lowUsd: extreme(lows, Math.min), highUsd: extreme(highs, Math.max), n: lows.length }
  }
  return {
    pricesUsd: over(depegSeries.price, MEASURE_DAYS_MAX * 24 * HOUR_MS),
    day: rangeOver(24 * HOUR_MS),
    hour: rangeOver(HOUR_MS),
    recentUsd: log.minutes(depegSeries.price, nowMs, SLOPE_MINUTES),
  }
}

function minuteOf(timeMs: number): number {
  return Math.floor(timeMs / MINUTE_MS) * MINUTE_MS
}

/** A loop, because `Math.min(...values)` would pass a day of minutes as arguments. */
function extreme(values: Float64Array, of: (one: number, other: number) => number): number {
  return values.reduce(
    (known, value) => (Number.isNaN(known) ? value : of(known, value)),
    Number.NaN,
  )
}
