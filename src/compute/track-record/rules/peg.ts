import { depegMeasure, depegSeries } from '../../external/depeg/depeg-measure.ts'
import { pegLevels } from '../../external/depeg/peg-level.ts'
import { deviationBpsOf } from '../../external/depeg/peg-price.ts'
import { DAY_MINUTES_MIN, WEEK_MINUTES } from '../../external/measures/minute-statistics.ts'
import { shareOf } from '../gap-persistence.ts'
import type { Rule } from '../rule.ts'
import { HOUR_MS } from '../rule.ts'

const HOUR_MINUTES = 60
const NEAR_MS = 120_000
const SAMPLE_MS_MAX = 60_000
/** A level is left below this share of the deviation from which it is reached. */
const CALM_SHARE = 0.5

/**
 * Whether USDC still has its level of `/depeg` after an hour: `pegged` below 10 bps, another level above half of its
 * deviation. Stated is the share of the week's minutes with the level after which it was so an hour later; the control
 * is the share of all minutes. Claimed once for the market, with the bars of BTC, and only while the price itself holds
 * the level: a level lasts longer than its deviation.
 */
export const pegRule: Rule = {
  id: 'peg.level@2',
  form: 'event',
  coins: ['BTC'],
  horizonMs: () => HOUR_MS,
  make({ market, nowMs }) {
    const measure = market.of(depegMeasure)
    const { sample } = measure
    const { level } = measure.level
    if (sample?.price == null || nowMs - sample.atMs > SAMPLE_MS_MAX) return null
    if (isAtLevel(level, sample.price.priceUsd) !== 1) return null
    const holds = market.log
      .minutes(depegSeries.price, nowMs, WEEK_MINUTES)
      .map((priceUsd) => isAtLevel(level, priceUsd))
    const known = holds.filter((held) => !Number.isNaN(held))
    if (known.length < DAY_MINUTES_MIN) return null
    const later = holds
      .subarray(HOUR_MINUTES)
      .filter((held, at) => holds[at] === 1 && !Number.isNaN(held))
    const probability = shareOf(sumOf(later), later.length)
    const control = shareOf(sumOf(known), known.length)
    return { statement: { form: 'event', probability, control }, reference: [level] }
  },
  outcome({ madeAtMs, horizonMs, reference: [level = 0] }, { market }) {
    const priceUsd = market.log.near(depegSeries.price, madeAtMs + horizonMs, NEAR_MS)
    if (Number.isNaN(priceUsd)) return null
    return { kind: 'event', happened: isAtLevel(level, priceUsd) === 1, controlHappened: null }
  },
}

/** 1 or 0; NaN without a price. */
function isAtLevel(level: number, priceUsd: number): number {
  const awayBps = Math.abs(deviationBpsOf(priceUsd))
  if (Number.isNaN(awayBps)) return Number.NaN
  const isAt =
    level === 0
      ? awayBps < (pegLevels[1]?.fromBps ?? 0)
      : awayBps >= CALM_SHARE * (pegLevels[level]?.fromBps ?? 0)
  return isAt ? 1 : 0
}

function sumOf(values: Float64Array): number {
  return values.reduce((sum, value) => sum + value, 0)
}
