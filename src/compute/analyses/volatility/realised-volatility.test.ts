import { test as property } from '@fast-check/vitest'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { PriceBars, RealisedVolatility } from './realised-volatility.ts'
import { barsMin, realisedVolatility, volatilityWindows } from './realised-volatility.ts'
import { naiveRealisedVolatility } from './testing/naive-volatility.ts'

const BAR_MS = 900_000
const HOUR_MS = 3_600_000
/** Percent a year of a variance of 1 in a 15m bar. */
const YEAR = 100 * Math.sqrt(365 * 96)

type Bar = { readonly open: number; readonly high: number; readonly low: number; close: number }
/** ln(open / close before), ln(close / open), and how far high and low lie beyond both. */
type Step = {
  readonly gap: number
  readonly body: number
  readonly above: number
  readonly below: number
}

const step: fc.Arbitrary<Step> = fc.record({
  gap: fc.double({ min: -0.01, max: 0.01, noNaN: true }),
  body: fc.double({ min: -0.03, max: 0.03, noNaN: true }),
  above: fc.double({ min: 0, max: 0.02, noNaN: true }),
  below: fc.double({ min: 0, max: 0.02, noNaN: true }),
})
const steps = fc.array(step, { minLength: 5, maxLength: 60, size: 'max' })

describe('realised volatility', () => {
  test('of four bars worked by hand', () => {
    // In logs: opens at the close before, closes 0.02 up, down, up, down; high and low 0.01 beyond.
    const bars = barsOf(
      [0.02, -0.02, 0.02, -0.02].map((body) => ({ gap: 0, body, above: 0.01, below: 0.01 })),
    )
    const measured = realisedVolatility(columns(bars), HOUR_MS)
    // Mean of 0.02^2; mean of 0.04^2 / (4 ln 2).
    expect(measured.closeToClosePct).toBeCloseTo(0.02 * YEAR, 8)
    expect(measured.parkinsonPct).toBeCloseTo((0.04 / Math.sqrt(4 * Math.LN2)) * YEAR, 8)
    expect(measured.parkinsonToCloseRatio).toBeCloseTo(1.2011224, 6)
    // Opening 0. Body 4 x 0.02^2 / 3. Rogers-Satchell 0.03 x 0.01 + 0.01 x 0.03. k = 0.34 / (1.34 + 5 / 3).
    const k = 0.34 / (1.34 + 5 / 3)
    const variance = (k * 4 * 0.02 ** 2) / 3 + (1 - k) * 0.0006
    expect(measured.yangZhangPct).toBeCloseTo(Math.sqrt(variance) * YEAR, 8)
    expect(measured.bars).toBe(4)
  })

  property.prop([steps, fc.integer({ min: 4, max: 70 })])(
    'equals its naive twin over any window, holes included',
    (moves, windowBars) => {
      const bars = barsOf(moves).map((bar, at) => (at % 11 === 7 ? missing : bar))
      const windowMs = windowBars * BAR_MS
      expectClose(
        realisedVolatility(columns(bars), windowMs),
        naiveRealisedVolatility(bars, windowBars, barsMin(windowBars), BAR_MS),
      )
    },
  )

  property.prop([steps, fc.double({ min: 1e-6, max: 1e6, noNaN: true })])(
    'does not depend on the scale of prices, nor on which side of the pair is priced',
    (moves, factor) => {
      const bars = barsOf(moves)
      const measured = measure(bars)
      const scaled = bars.map(({ open, high, low, close }) => ({
        open: open * factor,
        high: high * factor,
        low: low * factor,
        close: close * factor,
      }))
      const inverted = bars.map(({ open, high, low, close }) => ({
        open: 1 / open,
        high: 1 / low,
        low: 1 / high,
        close: 1 / close,
      }))
      expectClose(measure(scaled), measured)
      expectClose(measure(inverted), measured)
    },
  )

  property.prop([fc.integer({ min: 5, max: 97 }), fc.double({ min: 1e-9, max: 1e9, noNaN: true })])(
    'is exactly 0 in a flat market, without a ratio',
    (count, price) => {
      const flat = { open: price, high: price, low: price, close: price }
      expect(measure(Array.from({ length: count }, () => flat))).toEqual({
        closeToClosePct: 0,
        parkinsonPct: 0,
        yangZhangPct: 0,
        parkinsonToCloseRatio: null,
        bars: count - 1,
      })
    },
  )

  property.prop([steps, steps])('close-to-close has no part of open, high and low', (a, b) => {
    const other = barsOf(b)
    const bars = barsOf(a).slice(0, other.length)
    const mixed = bars.map((bar, at) => ({ ...(other[at] as Bar), close: bar.close }))
    const count = bars.length - 1
    expect(measure(mixed, count).closeToClosePct).toBe(measure(bars, count).closeToClosePct)
  })

  property.prop([steps])('the order of moves does not matter to any estimator', (moves) => {
    expectClose(measure(barsOf(moves.toReversed())), measure(barsOf(moves)))
    const rotated = [...moves.slice(3), ...moves.slice(0, 3)]
    expectClose(measure(barsOf(rotated)), measure(barsOf(moves)))
  })

  property.prop([steps])(
    'Parkinson does not depend on the order of the bars themselves',
    (moves) => {
      const [first, ...bars] = barsOf(moves) as [Bar, ...Bar[]]
      const { parkinsonPct } = measure([first, ...bars])
      expect(measure([first, ...bars.toReversed()]).parkinsonPct).toBeCloseTo(parkinsonPct ?? -1, 6)
    },
  )

  property.prop([fc.double({ min: 0.0001, max: 0.02, noNaN: true }), fc.boolean()])(
    'Yang-Zhang has no part of a steady trend, close-to-close all of it',
    (drift, isUp) => {
      const body = isUp ? drift : -drift
      const trend = Array.from({ length: 16 }, () => ({ gap: 0, body, above: 0, below: 0 }))
      const measured = measure(barsOf(trend))
      expect(measured.yangZhangPct).toBeLessThan(1e-6)
      expect(measured.closeToClosePct).toBeCloseTo(drift * YEAR, 6)
      // The bars close at their extremes: the least that the ratio can be without gaps.
      expect(measured.parkinsonToCloseRatio).toBeCloseTo(1 / Math.sqrt(4 * Math.LN2), 6)
    },
  )

  property.prop([steps])(
    'the ratio is at least 0.6 where bars open at the close before',
    (moves) => {
      const { parkinsonToCloseRatio } = measure(barsOf(moves.map((move) => ({ ...move, gap: 0 }))))
      if (parkinsonToCloseRatio !== null)
        expect(parkinsonToCloseRatio).toBeGreaterThanOrEqual(1 / Math.sqrt(4 * Math.LN2) - 1e-9)
    },
  )

  property.prop([steps, fc.double({ min: 1, max: 1.05, noNaN: true })])(
    'a bar whose open lies outside its range counts the move from it',
    (moves, up) => {
      const bars = barsOf(moves)
      const outside = bars.map(({ close }) => ({
        open: close * up,
        high: close,
        low: close,
        close,
      }))
      const widened = bars.map(({ close }) => ({
        open: close * up,
        high: close * up,
        low: close,
        close,
      }))
      expect(measure(outside)).toEqual(measure(widened))
    },
  )

  test.each([
    [4, 4],
    [16, 12],
    [96, 72],
    [168, 126],
  ])('of %i bars needs %i', (windowBars, needed) => {
    expect(barsMin(windowBars)).toBe(needed)
    const known = (count: number): Bar[] => [
      ...Array.from({ length: windowBars - count }, () => missing),
      ...barsOf(Array.from({ length: count }, () => oneMove)),
    ]
    const windowMs = windowBars * BAR_MS
    expect(realisedVolatility(columns(known(needed)), windowMs).yangZhangPct).toBeGreaterThan(0)
    expect(realisedVolatility(columns(known(needed - 1)), windowMs)).toEqual({
      closeToClosePct: null,
      parkinsonPct: null,
      yangZhangPct: null,
      parkinsonToCloseRatio: null,
      bars: needed - 1,
    })
  })

  test('of nothing is unknown', () => {
    expect(realisedVolatility(columns([]), HOUR_MS)).toMatchObject({ bars: 0, parkinsonPct: null })
  })

  test('a missing bar takes the return after it along', () => {
    const bars = barsOf(Array.from({ length: 17 }, () => oneMove))
    bars[5] = missing
    bars[9] = { ...(bars[9] as Bar), low: 0 }
    bars[12] = { ...(bars[12] as Bar), high: Number.POSITIVE_INFINITY }
    // Of bar 5, itself and bar 6; of the others only themselves, because their closes are known.
    expect(realisedVolatility(columns(bars), 16 * BAR_MS).bars).toBe(12)
  })

  test('windows are whole numbers of their bars', () => {
    for (const { barMs, windowMs } of Object.values(volatilityWindows))
      expect(windowMs % barMs).toBe(0)
    expect(() => realisedVolatility(columns([]), HOUR_MS + 1)).toThrow('whole number of bars')
    const uneven = { ...columns([]), close: [1] }
    expect(() => realisedVolatility(uneven, HOUR_MS)).toThrow('one length')
  })
})

const oneMove: Step = { gap: 0.001, body: 0.01, above: 0.002, below: 0.003 }
const missing: Bar = { open: Number.NaN, high: Number.NaN, low: Number.NaN, close: Number.NaN }

/** The first bar is flat at 100: its close is where the first move starts. */
function barsOf(moves: readonly Step[]): Bar[] {
  const bars: Bar[] = [{ open: 100, high: 100, low: 100, close: 100 }]
  for (const { gap, body, above, below } of moves) {
    const open = (bars.at(-1) as Bar).close * Math.exp(gap)
    const close = open * Math.exp(body)
    const [high, low] = [Math.max(open, close), Math.min(open, close)]
    bars.push({ open, high: high * Math.exp(above), low: low * Math.exp(-below), close })
  }
  return bars
}

function columns(bars: readonly Bar[]): PriceBars {
  return {
    barMs: BAR_MS,
    open: bars.map(({ open }) => open),
    high: bars.map(({ high }) => high),
    low: bars.map(({ low }) => low),
    close: bars.map(({ close }) => close),
  }
}

function measure(bars: readonly Bar[], count: number = bars.length - 1): RealisedVolatility {
  return realisedVolatility(columns(bars), count * BAR_MS)
}

/** To nine digits, or to what the rounding of prices near one another leaves. */
function expectClose(actual: RealisedVolatility, expected: RealisedVolatility): void {
  expect(actual.bars).toBe(expected.bars)
  for (const field of ['closeToClosePct', 'parkinsonPct', 'yangZhangPct'] as const) {
    if (expected[field] === null || actual[field] === null)
      expect(actual[field], field).toBe(expected[field])
    else
      expect(Math.abs(actual[field] - expected[field]), field).toBeLessThan(
        1e-9 * expected[field] + 1e-4,
      )
  }
}
