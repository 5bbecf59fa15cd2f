import { resolve } from 'node:path'
import { expect, test } from 'vitest'
import { barsOf, readTable } from '../../../test/golden/candle-table.ts'
import type { PulseIndicators } from './pulse-indicators.ts'
import { pulseRows } from './pulse-rows.ts'

/** Values of outside libraries; how they were made: `fixtures/README.md`. */
const table = readTable(resolve(import.meta.dirname, 'fixtures/indicator-table.csv'))
const bars = barsOf(table)
const rows = [...pulseRows(bars)].map((row) => row.indicators)

const cell = (column: string, row: number) => {
  const text = table.cell(column, row)
  return text === '' ? Number.NaN : Number(text)
}

const columns: Record<
  string,
  {
    readonly actual: (row: PulseIndicators) => number | null
    readonly expected: (row: number) => number
    /** What an error is relative to, at least: a close on its mean has a z-score of nearly 0. */
    readonly scaleMin?: number
  }
> = {
  rsi_14: { actual: (row) => row.rsi_14, expected: (row) => cell('rsi14', row) },
  atr_14: { actual: (row) => row.atr_14, expected: (row) => cell('atr14', row) },
  ema_20: { actual: (row) => row.ema_20, expected: (row) => cell('ema20', row) },
  ema_50: { actual: (row) => row.ema_50, expected: (row) => cell('ema50', row) },
  ema_200: { actual: (row) => row.ema_200, expected: (row) => cell('ema200', row) },
  'bollinger.upper': {
    actual: (row) => row.bollinger.upper,
    expected: (row) => cell('bb_upper', row),
  },
  'bollinger.middle': {
    actual: (row) => row.bollinger.middle,
    expected: (row) => cell('bb_mid', row),
  },
  'bollinger.lower': {
    actual: (row) => row.bollinger.lower,
    expected: (row) => cell('bb_lower', row),
  },
  // The running sums of the library keep a residue of 1e-12 in windows that are empty or flat.
  vwap_20: {
    actual: (row) => row.vwap_20,
    expected: (row) => {
      const volume = cell('vwap20_volume_mean', row)
      return volume < 1e-9 ? Number.NaN : cell('vwap20_turnover_mean', row) / volume
    },
  },
  zscore_100: {
    actual: (row) => row.zscore_100,
    expected: (row) => {
      const deviation = cell('z100_deviation', row)
      const distance = cell('c', row) - cell('z100_mean', row)
      return deviation < 1e-9 ? Number.NaN : distance / deviation
    },
    scaleMin: 1,
  },
}

test.each(Object.entries(columns))('%s equals the outside library on every bar', (_, column) => {
  const wrong = rows.flatMap((row, index) => {
    const actual = column.actual(row)
    const expected = column.expected(index)
    const scale = Math.max(Math.abs(expected), column.scaleMin ?? 0)
    const isSame = Number.isNaN(expected)
      ? actual === null
      : Math.abs((actual ?? Number.NaN) - expected) <= 1e-9 * scale
    return isSame ? [] : [{ index, actual, expected }]
  })
  expect(wrong).toEqual([])
})

test('the table holds warm-up, movement and a flat stretch', () => {
  expect(bars.length).toBeGreaterThanOrEqual(400)
  expect(rows.filter((row) => row.zscore_100 === null).length).toBeGreaterThan(110)
  expect(rows.filter((row) => row.vwap_20 !== null).length).toBeGreaterThan(400)
})
