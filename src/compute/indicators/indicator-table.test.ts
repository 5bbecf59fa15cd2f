import { resolve } from 'node:path'
import { describe, expect, test } from 'vitest'
import { barsOf, readTable } from '../../../test/golden/candle-table.ts'
import type { PulseIndicators } from './pulse-indicators.ts'
import { pulseRows } from './pulse-rows.ts'

/** Values of external libraries; `fixtures/README.md` describes how they were made. */
const tables = {
  'simulator-table.csv': 'candles of the simulated venue',
  'flat-stretch-table.csv': 'a walk with a flat stretch',
}

/** The library's value in one column of the present row; NaN where it has none. */
type Cell = (column: string) => number

const columns: Record<
  string,
  {
    readonly actual: (row: PulseIndicators) => number | null
    readonly expected: (cell: Cell) => number
    /** What an error is relative to, at least: a close on its mean has a z-score of nearly 0. */
    readonly scaleMin?: number
  }
> = {
  rsi_14: { actual: (row) => row.rsi_14, expected: (cell) => cell('rsi14') },
  atr_14: { actual: (row) => row.atr_14, expected: (cell) => cell('atr14') },
  ema_20: { actual: (row) => row.ema_20, expected: (cell) => cell('ema20') },
  ema_50: { actual: (row) => row.ema_50, expected: (cell) => cell('ema50') },
  ema_200: { actual: (row) => row.ema_200, expected: (cell) => cell('ema200') },
  'bollinger.upper': {
    actual: (row) => row.bollinger.upper,
    expected: (cell) => cell('bb_upper'),
  },
  'bollinger.middle': {
    actual: (row) => row.bollinger.middle,
    expected: (cell) => cell('bb_mid'),
  },
  'bollinger.lower': {
    actual: (row) => row.bollinger.lower,
    expected: (cell) => cell('bb_lower'),
  },
  // The running sums of the library keep a residue of 1e-12 in windows that are empty or flat.
  vwap_20: {
    actual: (row) => row.vwap_20,
    expected: (cell) => {
      const volume = cell('vwap20_volume_mean')
      return volume < 1e-9 ? Number.NaN : cell('vwap20_turnover_mean') / volume
    },
  },
  zscore_100: {
    actual: (row) => row.zscore_100,
    expected: (cell) => {
      const deviation = cell('z100_deviation')
      const distance = cell('c') - cell('z100_mean')
      return deviation < 1e-9 ? Number.NaN : distance / deviation
    },
    scaleMin: 1,
  },
}

describe.each(Object.entries(tables))('%s: %s', (file) => {
  const table = readTable(resolve(import.meta.dirname, 'fixtures', file))
  const rows = [...pulseRows(barsOf(table))].map((row) => row.indicators)

  test.each(Object.entries(columns))('%s equals the external library on every bar', (_, column) => {
    const wrong = rows.flatMap((row, index) => {
      const actual = column.actual(row)
      const expected = column.expected((name) => {
        const text = table.cell(name, index)
        return text === '' ? Number.NaN : Number(text)
      })
      const scale = Math.max(Math.abs(expected), column.scaleMin ?? 0)
      const isSame = Number.isNaN(expected)
        ? actual === null
        : Math.abs((actual ?? Number.NaN) - expected) <= 1e-9 * scale
      return isSame ? [] : [{ index, actual, expected }]
    })
    expect(wrong).toEqual([])
  })

  test('holds a warm-up and enough after it', () => {
    expect(rows[0]?.ema_20).toBeNull()
    expect(rows.filter((row) => row.ema_200 !== null).length).toBeGreaterThan(250)
  })
})

test('one table holds a flat stretch longer than every window', () => {
  const table = readTable(resolve(import.meta.dirname, 'fixtures/flat-stretch-table.csv'))
  const rows = [...pulseRows(barsOf(table))].map((row) => row.indicators)
  expect(rows.slice(200).filter((row) => row.zscore_100 === null).length).toBeGreaterThan(15)
  expect(rows.slice(200).filter((row) => row.vwap_20 === null).length).toBeGreaterThan(90)
})
