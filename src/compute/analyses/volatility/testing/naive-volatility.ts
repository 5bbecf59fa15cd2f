import type { RealisedVolatility } from '../realised-volatility.ts'

type Bar = {
  readonly open: number
  readonly high: number
  readonly low: number
  readonly close: number
}

/** The textbook formulas, each from prices alone and from the start for every figure. */
export function naiveRealisedVolatility(
  bars: readonly Bar[],
  windowBars: number,
  barsNeeded: number,
  barMs: number,
): RealisedVolatility {
  const pairs = bars
    .map((bar, at) => ({ bar, before: bars[at - 1]?.close ?? Number.NaN }))
    .slice(-windowBars)
    .filter(({ bar, before }) => !Number.isNaN(bar.close + before))
  const n = pairs.length
  if (n < barsNeeded)
    return {
      closeToClosePct: null,
      parkinsonPct: null,
      yangZhangPct: null,
      parkinsonToCloseRatio: null,
      bars: n,
    }
  const logs = pairs.map(({ bar, before }) => ({
    b: Math.log(before),
    o: Math.log(bar.open),
    h: Math.log(bar.high),
    l: Math.log(bar.low),
    c: Math.log(bar.close),
  }))
  const barsPerYear = 31_536_000_000 / barMs
  const percentAYear = (variance: number) =>
    Math.sqrt(Math.max(0, variance)) * Math.sqrt(barsPerYear) * 100
  const closeToClosePct = percentAYear(mean(logs.map(({ b, c }) => (c - b) * (c - b))))
  const parkinsonPct = percentAYear(
    logs.reduce((sum, { h, l }) => sum + (h - l) ** 2, 0) / (n * Math.log(16)),
  )
  const k = 0.34 / (1.34 + (n + 1) / (n - 1))
  const rs = mean(logs.map(({ o, h, l, c }) => (h - o) * (h - o - (c - o)) + (l - o) * (l - c)))
  const yangZhangPct = percentAYear(
    variance(logs.map(({ b, o }) => o - b)) +
      k * variance(logs.map(({ o, c }) => c - o)) +
      (1 - k) * rs,
  )
  return {
    closeToClosePct,
    parkinsonPct,
    yangZhangPct,
    parkinsonToCloseRatio: closeToClosePct === 0 ? null : parkinsonPct / closeToClosePct,
    bars: n,
  }
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}

/** From all pairs of values: no mean is needed. */
function variance(values: readonly number[]): number {
  let sum = 0
  for (const one of values) for (const other of values) sum += (one - other) ** 2
  return sum / (2 * values.length * (values.length - 1))
}
