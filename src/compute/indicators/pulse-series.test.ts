import { fc, test } from '@fast-check/vitest'
import { describe, expect } from 'vitest'
import type { NaivePulse } from '../../../test/golden/naive-pulse.ts'
import { moments, naivePulse } from '../../../test/golden/naive-pulse.ts'
import { seededCandles } from '../../../test/golden/seeded-candles.ts'
import type { Bar } from '../../domain/bar.ts'
import { barSlot, pulseValue } from './pulse-layout.ts'
import { PulsePool } from './pulse-series.ts'

/** Steps in ticks of 1e-5 of the first price: the venue quotes five significant digits. */
const segment = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('walk' as const),
      ticks: fc.array(fc.integer({ min: -300, max: 300 }), { maxLength: 60 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('flat' as const),
      bars: fc.integer({ min: 1, max: 130 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('spike' as const),
      factor: fc.constantFrom(0.01, 0.5, 1.5, 20),
    }),
  },
)

const tape = fc
  .record({
    firstPrice: fc.tuple(
      fc.integer({ min: 10_000, max: 99_999 }),
      fc.integer({ min: -12, max: 5 }),
    ),
    volumeExponent: fc.integer({ min: -6, max: 9 }),
    segments: fc.array(segment, { minLength: 1, maxLength: 12 }),
    seed: fc.integer(),
  })
  .map(({ firstPrice: [digits, exponent], volumeExponent, segments, seed }) => {
    const tick = Number(`1e${exponent}`)
    const bars: Bar[] = []
    let closeTicks = digits
    let noise = seed
    const next = () => {
      noise = (Math.imul(noise, 1_664_525) + 1_013_904_223) | 0
      return (noise >>> 8) / 2 ** 24
    }
    const push = (fromTicks: number, toTicks: number, isTraded: boolean) => {
      const reach = isTraded ? Math.floor(next() * 50) : 0
      bars.push({
        openTimeMs: bars.length,
        open: fromTicks * tick,
        high: (Math.max(fromTicks, toTicks) + reach) * tick,
        low: Math.max(1, Math.min(fromTicks, toTicks) - reach) * tick,
        close: toTicks * tick,
        volumeBase: isTraded ? next() * 10 ** volumeExponent : 0,
      })
    }
    for (const part of segments) {
      if (part.kind === 'flat')
        for (let bar = 0; bar < part.bars; bar += 1) push(closeTicks, closeTicks, false)
      if (part.kind === 'spike') {
        const spike = Math.max(1, Math.round(closeTicks * part.factor))
        push(closeTicks, spike, true)
        push(spike, closeTicks, true)
      }
      if (part.kind === 'walk') {
        for (const ticks of part.ticks) {
          const from = closeTicks
          closeTicks = Math.max(1000, from + ticks)
          push(from, closeTicks, true)
        }
      }
    }
    return bars
  })

describe('against definitions without state', () => {
  const expectations = Object.entries({
    rsi14: (naive: NaivePulse) => ({ expected: naive.rsi14, scale: 1 }),
    atr14: (naive: NaivePulse) => ({ expected: naive.atr14, scale: naive.atr14 }),
    ema20: (naive: NaivePulse) => ({ expected: naive.ema20, scale: naive.ema20 }),
    ema50: (naive: NaivePulse) => ({ expected: naive.ema50, scale: naive.ema50 }),
    ema200: (naive: NaivePulse) => ({ expected: naive.ema200, scale: naive.ema200 }),
    vwap20: (naive: NaivePulse) => ({ expected: naive.vwap20, scale: naive.vwap20 }),
    // Rounding weighs in as the price is a multiple of the deviation: of a window that is flat but for a tick, a lot.
    zscore100: (naive: NaivePulse, closes: readonly number[]) => {
      const { mean, deviation } = moments(closes.slice(-100))
      return {
        expected: naive.zscore100,
        scale: 1 + (deviation === 0 ? 0 : (1e-5 * mean) / deviation),
      }
    },
    bollingerMiddle: (naive: NaivePulse) => ({ expected: naive.middle, scale: naive.middle }),
    bollingerUpper: (naive: NaivePulse) => ({
      expected: naive.middle + 2 * naive.deviation,
      scale: naive.deviation + naive.middle * 1e-6,
    }),
    bollingerLower: (naive: NaivePulse) => ({
      expected: naive.middle - 2 * naive.deviation,
      scale: naive.deviation + naive.middle * 1e-6,
    }),
  } satisfies Record<keyof typeof pulseValue, unknown>)

  test.prop([tape])('every value of every bar equals its definition', (bars) => {
    const naive = naivePulse(bars)
    const closes = bars.map(({ close }) => close)
    const wrong: string[] = []
    eachPeek(bars, (values, index) => {
      const definition = naive[index]
      if (definition === undefined) throw new Error('one row a bar')
      for (const [name, expectation] of expectations) {
        const { expected, scale } = expectation(definition, closes.slice(0, index + 1))
        const actual = values[pulseValue[name as keyof typeof pulseValue]] ?? 0
        const isSame = Number.isNaN(expected)
          ? Number.isNaN(actual)
          : Math.abs(actual - expected) <= 1e-9 * Math.max(scale, Number.MIN_VALUE)
        if (!isSame) wrong.push(`${name} at bar ${index}: ${actual}, by definition ${expected}`)
      }
    })
    expect(wrong).toEqual([])
  })
})

describe('a peek', () => {
  test.prop([tape, tape])('leaves the state untouched', (bars, others) => {
    const { pool, series, fold } = opened()
    for (const bar of bars) fold(bar)
    const before = series.save()
    for (const bar of others.slice(0, 20)) {
      load(pool, bar)
      series.peek()
    }
    expect(series.save()).toEqual(before)
  })

  test.prop([tape, fc.nat()])(
    'shows a revised bar as if it had been the first version',
    (bars, at) => {
      const revised = bars[at % bars.length]
      if (revised === undefined) return
      const once = opened()
      const often = opened()
      for (const bar of bars) {
        once.fold(bar)
        load(often.pool, revised)
        often.series.peek()
        often.fold(bar)
      }
      for (const { pool, series } of [once, often]) {
        load(pool, revised)
        series.peek()
      }
      expect(often.pool.values).toEqual(once.pool.values)
    },
  )
})

describe('a saved state', () => {
  test.prop([tape, fc.nat()])('continues bit for bit after it was restored', (bars, cut) => {
    const uninterrupted = opened()
    let restored = opened()
    const differing: number[] = []
    bars.forEach((bar, index) => {
      if (index === cut % bars.length) {
        const saved = restored.series.save()
        restored = opened()
        restored.fold(bar)
        restored.series.restore(saved)
      }
      for (const { pool, series } of [uninterrupted, restored]) {
        load(pool, bar)
        series.peek()
        series.fold()
      }
      const isSame = restored.pool.values.every((value, at) =>
        Object.is(value, uninterrupted.pool.values[at]),
      )
      if (!isSame) differing.push(index)
    })
    expect(differing).toEqual([])
    expect(restored.series.save()).toEqual(uninterrupted.series.save())
  })

  test('of another layout is refused', () => {
    expect(() => opened().series.restore(new Float64Array(3))).toThrow('another layout')
  })
})

describe('a pool', () => {
  test('keeps 600 series apart', () => {
    const pool = new PulsePool(600)
    const bars = seededCandles({ seed: 5, count: 850, startPrice: 3, volatility: 0.01 })
    const all = Array.from({ length: 600 }, () => pool.open())
    for (let round = 0; round < 250; round += 1) {
      all.forEach((series, at) => {
        load(pool, bars[at + round] as Bar)
        series.fold()
      })
    }
    for (const at of [0, 1, 299, 599]) {
      const alone = opened()
      for (const bar of bars.slice(at, at + 250)) alone.fold(bar)
      expect(all[at]?.save()).toEqual(alone.series.save())
    }
  })

  test('opens no more series than it has room for', () => {
    const pool = new PulsePool(1)
    pool.open()
    expect(() => pool.open()).toThrow('all 1 series')
  })

  test('forgets everything in a reset', () => {
    const used = opened()
    for (const bar of seededCandles({ seed: 1, count: 50, startPrice: 9, volatility: 0.1 }))
      used.fold(bar)
    used.series.reset()
    expect(used.series.barCount).toBe(0)
    expect(used.series.save()).toEqual(opened().series.save())
  })
})

test.each([
  ['a high below the low', [1, 2, 1.5, 10]],
  ['a negative volume', [2, 1, 1.5, -1]],
  ['NaN for a high', [Number.NaN, 1, 1.5, 1]],
  ['NaN for a close', [2, 1, Number.NaN, 1]],
  ['NaN for a volume', [2, 1, 1.5, Number.NaN]],
  ['an infinite high', [Number.POSITIVE_INFINITY, 1, 1.5, 1]],
  ['an infinite volume', [2, 1, 1.5, Number.POSITIVE_INFINITY]],
])('%s neither enters the state nor is valued', (_, bar) => {
  const { pool, series } = opened()
  pool.bar.set(bar)
  expect(() => series.fold()).toThrow('not a bar')
  expect(() => series.peek()).toThrow('not a bar')
  expect(series.barCount).toBe(0)
})

function opened() {
  const pool = new PulsePool(1)
  const series = pool.open()
  const fold = (bar: Bar) => {
    load(pool, bar)
    series.fold()
  }
  return { pool, series, fold }
}

function load(pool: PulsePool, bar: Bar): void {
  pool.bar[barSlot.high] = bar.high
  pool.bar[barSlot.low] = bar.low
  pool.bar[barSlot.close] = bar.close
  pool.bar[barSlot.volume] = bar.volumeBase
}

function eachPeek(bars: readonly Bar[], look: (values: Float64Array, index: number) => void): void {
  const { pool, series } = opened()
  bars.forEach((bar, index) => {
    load(pool, bar)
    series.peek()
    look(pool.values, index)
    series.fold()
  })
}
