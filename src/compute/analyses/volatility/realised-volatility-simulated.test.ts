import { describe, expect, test } from 'vitest'
import { seededNormal } from '../../../../test/golden/seeded-normal.ts'
import type { PriceBars } from './realised-volatility.ts'
import { realisedVolatility } from './realised-volatility.ts'

const BAR_MS = 900_000
const YEAR_BARS = 365 * 96
/** Variance of the log return of one bar: 94 % a year. */
const BAR_VARIANCE = 0.005 ** 2
/** How far the maximum of a walk of n steps falls short of the path's, in deviations of a step: -zeta(1/2) / sqrt(2 pi). */
const SHORTFALL = 0.5825971579390106
/** Mean of the maximum of a Brownian path of variance 1: sqrt(2 / pi). */
const MEAN_MAXIMUM = Math.sqrt(2 / Math.PI)

type Walk = {
  readonly seed: number
  readonly bars: number
  /** Steps within a bar. */
  readonly steps: number
  /** Share of a bar's variance between the close before and the open. */
  readonly openingShare?: number
  /** Mean log return of a bar, in its deviations. */
  readonly drift?: number
}

describe('realised volatility of Brownian motion of known variance', () => {
  test.each([100, 400])('of %i steps a bar has the bias that theory gives', (steps) => {
    const bars = 3_200_000 / steps
    const { closeToClose, parkinson, yangZhang } = varianceShares({ seed: 7, bars, steps })
    // Standard errors: sqrt(2 / n), sqrt(0.41 / n) and sqrt(0.33 / n) of n bars. Four of them, and terms of 1 / steps.
    const within = (share: number) => 4 * Math.sqrt(share / bars) + 1 / steps
    expect(Math.abs(closeToClose - 1)).toBeLessThan(within(2))
    // Range^2 falls short by 2 x E range x 2 x SHORTFALL / sqrt(steps), of 4 ln 2.
    const parkinsonBias = (8 * MEAN_MAXIMUM * SHORTFALL) / (4 * Math.LN2) / Math.sqrt(steps)
    expect(Math.abs(parkinson - (1 - parkinsonBias))).toBeLessThan(within(0.41))
    expect(parkinsonBias).toBeCloseTo(1.3413 / Math.sqrt(steps), 5)
    // k is 0.1453 for so many bars: only the rest, Rogers-Satchell, is biased.
    const yangZhangBias = ((1 - 0.34 / 2.34) * 4 * MEAN_MAXIMUM * SHORTFALL) / Math.sqrt(steps)
    expect(Math.abs(yangZhang - (1 - yangZhangBias))).toBeLessThan(within(0.33))
  })

  test('jumps at the open are missing from Parkinson and counted by Yang-Zhang', () => {
    const walk = { seed: 11, bars: 8_000, steps: 400, openingShare: 0.25 }
    const { closeToClose, parkinson, yangZhang } = varianceShares(walk)
    expect(Math.abs(closeToClose - 1)).toBeLessThan(0.06)
    expect(Math.abs(parkinson - 0.75 * 0.933)).toBeLessThan(0.03)
    expect(Math.abs(yangZhang - (0.25 + 0.75 * 0.921))).toBeLessThan(0.04)
  })

  test('drift raises close-to-close and Parkinson, not Yang-Zhang', () => {
    const { closeToClose, parkinson, yangZhang } = varianceShares({
      seed: 13,
      bars: 8_000,
      steps: 400,
      drift: 1,
    })
    expect(Math.abs(closeToClose - 2)).toBeLessThan(0.12)
    expect(parkinson).toBeGreaterThan(1.2)
    expect(Math.abs(yangZhang - 0.921)).toBeLessThan(0.04)
  })

  test('in windows of a day Yang-Zhang scatters less than close-to-close', () => {
    const walk = { seed: 17, bars: 96 * 100, steps: 100 }
    const prices = simulated(walk)
    const [closes, ranges]: [number[], number[]] = [[], []]
    for (let end = 97; end <= 96 * 100; end += 96) {
      const { closeToClosePct, yangZhangPct } = realisedVolatility(
        slice(prices, end - 97, end),
        96 * BAR_MS,
      )
      closes.push(closeToClosePct ?? Number.NaN)
      ranges.push(yangZhangPct ?? Number.NaN)
    }
    // Close-to-close: 1 / sqrt(2 x 96) = 7.2 % of the estimate.
    expect(relativeDeviation(closes)).toBeGreaterThan(0.055)
    expect(relativeDeviation(closes)).toBeLessThan(0.09)
    expect(relativeDeviation(ranges)).toBeLessThan(0.6 * relativeDeviation(closes))
  })
})

/** Estimated variance as a share of the true one, over all bars. */
function varianceShares(walk: Walk) {
  const measured = realisedVolatility(simulated(walk), walk.bars * BAR_MS)
  const share = (pct: number | null) =>
    ((pct ?? Number.NaN) / 100) ** 2 / (BAR_VARIANCE * YEAR_BARS)
  return {
    closeToClose: share(measured.closeToClosePct),
    parkinson: share(measured.parkinsonPct),
    yangZhang: share(measured.yangZhangPct),
  }
}

/** One bar more than asked for: the first, flat, gives the close before. */
function simulated({ seed, bars, steps, openingShare = 0, drift = 0 }: Walk): PriceBars {
  const normal = seededNormal(seed)
  const column = () => new Float64Array(bars + 1).fill(1)
  const [open, high, low, close] = [column(), column(), column(), column()]
  const stepDeviation = Math.sqrt((BAR_VARIANCE * (1 - openingShare)) / steps)
  const openingDeviation = Math.sqrt(BAR_VARIANCE * openingShare)
  const stepDrift = (drift * Math.sqrt(BAR_VARIANCE)) / steps
  let log = 0
  for (let bar = 1; bar <= bars; bar += 1) {
    if (Math.abs(log) > 100) throw new Error('the walk left the range of prices')
    if (openingDeviation > 0) log += openingDeviation * normal()
    let [highest, lowest] = [log, log]
    open[bar] = Math.exp(log)
    for (let at = 0; at < steps; at += 1) {
      log += stepDrift + stepDeviation * normal()
      highest = Math.max(highest, log)
      lowest = Math.min(lowest, log)
    }
    high[bar] = Math.exp(highest)
    low[bar] = Math.exp(lowest)
    close[bar] = Math.exp(log)
  }
  return { barMs: BAR_MS, open, high, low, close }
}

function slice(
  { barMs, open, high, low, close }: PriceBars,
  from: number,
  until: number,
): PriceBars {
  const part = (column: ArrayLike<number>) => Array.from(column).slice(from, until)
  return { barMs, open: part(open), high: part(high), low: part(low), close: part(close) }
}

function relativeDeviation(values: readonly number[]): number {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length
  return Math.sqrt(values.reduce((sum, value) => sum + (value / mean - 1) ** 2, 0) / values.length)
}
