import type { AnswerOf } from '../live/use-document.ts'

/** The document `/chart/<coin>`: closed 1h bars and, last, the forming one; all columns are equally long. */
export type CoinChart = {
  readonly bars: {
    /** Unix milliseconds, ascending. */
    readonly time_ms: readonly number[]
    readonly open: readonly number[]
    readonly high: readonly number[]
    readonly low: readonly number[]
    readonly close: readonly number[]
    readonly volume: readonly number[]
  }
  readonly indicators: Readonly<Record<ChartIndicator, readonly (number | null)[]>>
  /** Contracts at the open of each bar. */
  readonly open_interest: readonly (number | null)[]
}

export const chartIndicators = [
  'ema_20',
  'ema_50',
  'ema_200',
  'bollinger_upper',
  'bollinger_middle',
  'bollinger_lower',
  'rsi_14',
] as const

export type ChartIndicator = (typeof chartIndicators)[number]

/** A bar as it is drawn. */
export type DrawnBar = {
  readonly timeMs: number
  readonly open: number
  readonly high: number
  readonly low: number
  readonly close: number
  readonly volume: number
  readonly indicators: Readonly<Record<ChartIndicator, number | null>>
}

const HOUR_MS = 3_600_000

/** Price and indicators of `/pulse` now. */
export type PulseHour = {
  readonly atMs: number
  readonly price: number
  readonly indicators: Readonly<Record<ChartIndicator, number | null>>
}

/** @returns null if the answer has no 1h timeframe */
export function pulseHourOf(pulse: AnswerOf<'pulse'>): PulseHour | null {
  const known = pulse.timeframes['1h']?.indicators
  if (known === undefined) return null
  const { ema_20, ema_50, ema_200, rsi_14, bollinger } = known
  return {
    atMs: Date.parse(pulse.timestamp_iso),
    price: pulse.price.current,
    indicators: {
      ...{ ema_20, ema_50, ema_200, rsi_14 },
      bollinger_upper: bollinger.upper,
      bollinger_middle: bollinger.middle,
      bollinger_lower: bollinger.lower,
    },
  }
}

/** The bars to draw. The forming one follows the pulse while the pulse is of its hour. */
export function drawnBars(chart: CoinChart, pulse: PulseHour | null): readonly DrawnBar[] {
  const { time_ms, open, high, low, close, volume } = chart.bars
  return time_ms.map((timeMs, at) => {
    const bar: DrawnBar = {
      timeMs,
      open: open[at] ?? Number.NaN,
      high: high[at] ?? Number.NaN,
      low: low[at] ?? Number.NaN,
      close: close[at] ?? Number.NaN,
      volume: volume[at] ?? 0,
      indicators: indicatorsAt(chart, at),
    }
    const isForming = at === time_ms.length - 1
    const isOfPulse = pulse !== null && pulse.atMs >= timeMs && pulse.atMs < timeMs + HOUR_MS
    return isForming && isOfPulse ? followed(bar, pulse) : bar
  })
}

/** Whether both have the same bars except for the last one, which is of the same hour. */
export function haveSameClosed(one: readonly DrawnBar[], other: readonly DrawnBar[]): boolean {
  return (
    one.length === other.length &&
    one.at(-1)?.timeMs === other.at(-1)?.timeMs &&
    one.slice(0, -1).every((bar, at) => isSameBar(bar, other[at]))
  )
}

function isSameBar(one: DrawnBar, other: DrawnBar | undefined): boolean {
  return (
    other !== undefined &&
    (['timeMs', 'open', 'high', 'low', 'close', 'volume'] as const).every(
      (name) => one[name] === other[name],
    ) &&
    chartIndicators.every((name) => one.indicators[name] === other.indicators[name])
  )
}

function followed(bar: DrawnBar, { price, indicators }: PulseHour): DrawnBar {
  return {
    ...bar,
    high: Math.max(bar.high, price),
    low: Math.min(bar.low, price),
    close: price,
    indicators,
  }
}

function indicatorsAt({ indicators }: CoinChart, at: number): DrawnBar['indicators'] {
  const values = chartIndicators.map((name) => [name, indicators[name][at] ?? null])
  return Object.fromEntries(values) as DrawnBar['indicators']
}

/**
 * Change of the price since the open of the hour that is nearest to 24 hours before `nowMs`, percent; null with fewer
 * bars.
 */
export function changeOver24Hours(
  { bars }: CoinChart,
  price: number,
  nowMs: number,
): number | null {
  const at = bars.time_ms.indexOf(Math.round(nowMs / HOUR_MS) * HOUR_MS - 24 * HOUR_MS)
  const before = bars.open[at]
  return before === undefined ? null : (price / before - 1) * 100
}
