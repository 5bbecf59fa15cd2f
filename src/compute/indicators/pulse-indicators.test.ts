import { describe, expect, test } from 'vitest'
import { seededCandles } from '../../../test/golden/seeded-candles.ts'
import type { Bar } from '../../domain/bar.ts'
import { pulseRows } from './pulse-rows.ts'

const bars = seededCandles({
  seed: 11,
  count: 700,
  startPrice: 40,
  volatility: 0.01,
  flatFrom: 300,
  flatUntil: 420,
})
const rows = [...pulseRows(bars)]
const indicatorsAt = (index: number) => {
  const row = rows[index]
  if (row === undefined) throw new Error(`no row ${index}`)
  return row.indicators
}

test('there is one row a bar, in order', () => {
  expect(rows.map((row) => row.t)).toEqual(bars.map((bar) => bar.openTimeMs))
})

test('a row does not depend on bars after it', () => {
  expect([...pulseRows(bars.slice(0, 250))]).toEqual(rows.slice(0, 250))
})

test('rows are valued one by one', () => {
  let taken = 0
  const counted = function* (): Generator<Bar> {
    for (const bar of bars) {
      taken += 1
      yield bar
    }
  }
  pulseRows(counted()).next()
  expect(taken).toBe(1)
})

describe('while warming up', () => {
  test.each([
    ['rsi_14', 14],
    ['rsi_zone', 14],
    ['atr_14', 14],
    ['atr_pct', 14],
    ['ema_20', 19],
    ['ema_50', 49],
    ['ema_200', 199],
    ['vwap_20', 19],
    ['zscore_100', 99],
  ] as const)('%s is null before bar %d and known from there', (name, first) => {
    expect(rows.slice(0, first).every((row) => row.indicators[name] === null)).toBe(true)
    expect(rows.slice(first, 300).every((row) => row.indicators[name] !== null)).toBe(true)
  })

  test('bands are null before bar 19, direction before 49, the stack before 199', () => {
    expect(Object.values(indicatorsAt(18).bollinger)).toEqual(Array(5).fill(null))
    expect(Object.values(indicatorsAt(19).bollinger)).not.toContain(null)
    expect(indicatorsAt(48).trend).toEqual({ direction: null, label: null, ema_stack: null })
    expect(indicatorsAt(49).trend.direction).not.toBeNull()
    expect(indicatorsAt(198).trend.ema_stack).toBeNull()
    expect(indicatorsAt(199).trend.ema_stack).not.toBeNull()
  })
})

describe('in a flat market', () => {
  const close = bars[419]?.close ?? Number.NaN
  test('bands meet in the price, and there is no position between them', () => {
    const { bollinger } = indicatorsAt(419)
    expect(bollinger).toEqual({
      upper: close,
      middle: close,
      lower: close,
      width_pct: 0,
      position_pct: null,
    })
  })

  test('there is no z-score from the hundredth equal close on', () => {
    expect(indicatorsAt(397).zscore_100).not.toBeNull()
    expect(indicatorsAt(398).zscore_100).toBeNull()
  })

  test('there is no VWAP from the twentieth bar without volume on', () => {
    expect(indicatorsAt(318).vwap_20).not.toBeNull()
    expect(indicatorsAt(319).vwap_20).toBeNull()
  })

  test('the RSI of a market that never moved is 0, as in TA-Lib, and its trend neutral', () => {
    const still = Array.from({ length: 260 }, (_, at) => flatBar(at, 0.1))
    const last = [...pulseRows(still)].at(-1)?.indicators
    expect(last).toMatchObject({ rsi_14: 0, rsi_zone: 'neutral', atr_14: 0, atr_pct: 0 })
    expect(last?.trend).toEqual({ direction: 0, label: 'neutral', ema_stack: 'flat' })
  })
})

test.each([
  // The closes before the stretch, and what RSI is left at.
  { what: 'fell and then stood still', closes: [100, 99, 98, 97, 96, 95, 94, 93], rsi: 0 },
  { what: 'rose and then stood still', closes: [93, 94, 95, 96, 97, 98, 99, 100], rsi: 100 },
])('a market that $what is in no zone of RSI', ({ closes, rsi }) => {
  const path = [...closes, ...new Array<number>(30).fill(closes.at(-1) as number)]
  const read = [...pulseRows(path.map((close, at) => flatBar(at, close)))]
  expect(read.at(-1)?.indicators).toMatchObject({ rsi_14: rsi, rsi_zone: 'neutral' })
  // While a close of the window still differs, the zone is that of the RSI.
  expect(read.at(closes.length + 17)?.indicators.rsi_zone).toBe(
    rsi === 0 ? 'oversold' : 'overbought',
  )
})

test('a market that never moved is in no zone from its first RSI on', () => {
  const zones = [...pulseRows(Array.from({ length: 40 }, (_, at) => flatBar(at, 0.1)))]
    .map(({ indicators }) => indicators.rsi_zone)
    .filter((zone) => zone !== null)
  expect(new Set(zones)).toEqual(new Set(['neutral']))
})

test('derived figures follow from the others', () => {
  for (const [index, { indicators }] of rows.entries()) {
    if (index < 200 || (index >= 300 && index < 440)) continue
    const { atr_14, atr_pct, bollinger } = indicators
    const close = bars[index]?.close ?? Number.NaN
    const { upper, middle, lower, width_pct, position_pct } = bollinger
    if (upper === null || middle === null || lower === null) throw new Error('bands are known')
    expect(atr_pct).toBeCloseTo((100 * (atr_14 ?? Number.NaN)) / close, 12)
    expect(width_pct).toBeCloseTo((100 * (upper - lower)) / middle, 12)
    expect(lower + (position_pct ?? Number.NaN) * (upper - lower)).toBeCloseTo(close, 9)
  }
})

function flatBar(at: number, price: number): Bar {
  return { openTimeMs: at, open: price, high: price, low: price, close: price, volumeBase: 0 }
}
