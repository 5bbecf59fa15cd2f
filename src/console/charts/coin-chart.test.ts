import { describe, expect, test } from 'vitest'
import type { CoinChart, DrawnBar, PulseHour } from './coin-chart.ts'
import { changeOver24Hours, chartIndicators, drawnBars, haveSameClosed } from './coin-chart.ts'

const HOUR_MS = 3_600_000
const FIRST_MS = 1_700_000_000_000 - (1_700_000_000_000 % HOUR_MS)

describe('drawn bars', () => {
  test('are those of the document without a pulse', () => {
    const bars = drawnBars(chartOf([100, 101, 102]), null)
    expect(bars.map(({ close, timeMs }) => [timeMs, close])).toEqual([
      [FIRST_MS, 100],
      [FIRST_MS + HOUR_MS, 101],
      [FIRST_MS + 2 * HOUR_MS, 102],
    ])
    expect(bars[1]?.indicators).toEqual(indicatorsOf(1))
  })

  test.each([
    [150, { high: 150, low: 101 }],
    [50, { high: 103, low: 50 }],
    [102.5, { high: 103, low: 101 }],
  ])('the forming one follows the price %d', (price, range) => {
    const bars = drawnBars(chartOf([100, 101, 102]), pulseAt(FIRST_MS + 2.5 * HOUR_MS, price))
    expect(bars.at(-1)).toMatchObject({ open: 102, close: price, ...range })
    expect(bars.at(-1)?.indicators).toEqual(indicatorsOf(7))
    expect(bars.at(-2)).toMatchObject({ close: 101, indicators: indicatorsOf(1) })
  })

  test.each([
    ['an earlier', 1.5],
    ['a later', 3],
  ])('the forming one stays with a pulse of %s hour', (_, hours) => {
    const chart = chartOf([100, 101, 102])
    const bars = drawnBars(chart, pulseAt(FIRST_MS + hours * HOUR_MS, 500))
    expect(bars).toEqual(drawnBars(chart, null))
  })
})

describe('closed bars', () => {
  const bars = drawnBars(chartOf([100, 101, 102]), null)
  const [first, second, last] = bars as [DrawnBar, DrawnBar, DrawnBar]

  test('are the same while the forming one changes, and not in another hour', () => {
    expect(haveSameClosed(bars, [first, second, { ...last, close: 7 }])).toBe(true)
    expect(haveSameClosed(bars, [first, second, { ...last, timeMs: 0 }])).toBe(false)
    expect(haveSameClosed(bars, [first, second])).toBe(false)
  })

  test.each([
    ...[{ timeMs: 7 }, { open: 7 }, { high: 7 }, { low: 7 }, { close: 7 }, { volume: 7 }],
    ...chartIndicators.map((name) => ({ indicators: { ...indicatorsOf(0), [name]: 7 } })),
  ])('are others after %j', (change) => {
    expect(haveSameClosed(bars, [{ ...first, ...change }, second, last])).toBe(false)
  })
})

describe('change over 24 hours', () => {
  test('is that since the open of the hour nearest to 24 hours ago', () => {
    const closes = [100, ...Array.from({ length: 24 }, () => 200)]
    const change = (hours: number) =>
      changeOver24Hours(chartOf(closes), 110, FIRST_MS + hours * HOUR_MS)
    // 24 bars and the forming one: the last hour has just begun, or is nearly over.
    expect(change(24.1)).toBeCloseTo(10)
    expect(change(24.9)).toBeCloseTo(-45)
  })

  test('is unknown on fewer bars', () => {
    const chart = chartOf(Array.from({ length: 24 }, () => 200))
    expect(changeOver24Hours(chart, 110, FIRST_MS + 23.2 * HOUR_MS)).toBeNull()
  })
})

function chartOf(closes: readonly number[]): CoinChart {
  const column = (offset: number) => closes.map((close) => close + offset)
  const values = closes.map((_, at) => at)
  return {
    bars: {
      time_ms: closes.map((_, at) => FIRST_MS + at * HOUR_MS),
      ...{ open: closes, high: column(1), low: column(-1), close: closes },
      volume: closes.map(() => 5),
    },
    indicators: Object.fromEntries(
      chartIndicators.map((name) => [name, values]),
    ) as unknown as CoinChart['indicators'],
    open_interest: closes.map(() => null),
  }
}

function indicatorsOf(value: number): PulseHour['indicators'] {
  return Object.fromEntries(chartIndicators.map((name) => [name, value])) as PulseHour['indicators']
}

function pulseAt(atMs: number, price: number): PulseHour {
  return { atMs, price, indicators: indicatorsOf(7) }
}
