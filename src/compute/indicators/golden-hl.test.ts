import { existsSync, readdirSync } from 'node:fs'
import { resolve } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Table } from '../../../test/golden/candle-table.ts'
import { barsOf, readTable } from '../../../test/golden/candle-table.ts'
import { exactPulse } from '../../../test/golden/exact-pulse.ts'
import type { PulseIndicators } from './pulse-indicators.ts'
import { pulseRows } from './pulse-rows.ts'

const folder = resolve(import.meta.dirname, '../../../../shared/data/ta-golden-hl')
const isAbsent = !existsSync(folder)
const files = isAbsent
  ? ['(absent)']
  : readdirSync(folder).filter((file) => file.endsWith('.csv.gz'))

/** Columns of TA-Lib, or for the bands of numpy. The seeding is the same, so from the first value on. */
const columns = {
  rsi14: (row: PulseIndicators) => row.rsi_14,
  atr14: (row: PulseIndicators) => row.atr_14,
  ema20: (row: PulseIndicators) => row.ema_20,
  ema50: (row: PulseIndicators) => row.ema_50,
  ema200: (row: PulseIndicators) => row.ema_200,
  bb_upper: (row: PulseIndicators) => row.bollinger.upper,
  bb_mid: (row: PulseIndicators) => row.bollinger.middle,
  bb_lower: (row: PulseIndicators) => row.bollinger.lower,
}

describe('real candles (needs ../shared/data)', () => {
  test.skipIf(isAbsent)('all 15 tables are there', () => {
    expect(files).toHaveLength(15)
  })

  describe.each(files)('%s', (file) => {
    test.skipIf(isAbsent)('equals TA-Lib within 1e-9 from the first value on', () => {
      const { table, rows } = read(file)
      let compared = 0
      for (const [index, row] of rows.entries()) {
        for (const [column, read] of Object.entries(columns)) {
          const cell = table.cell(column, index)
          const value = read(row)
          if (cell === '') {
            expect(value, `${column} at bar ${index}`).toBeNull()
            continue
          }
          const expected = Number(cell)
          const error = Math.abs((value ?? Number.NaN) - expected) / Math.abs(expected)
          if (!(error <= 1e-9)) expect.fail(`${column} at bar ${index}: ${value}, not ${cell}`)
          compared += 1
        }
      }
      expect(compared).toBeGreaterThan(5000)
    })

    test.skipIf(isAbsent)('equals exact arithmetic where TA-Lib has no such indicator', () => {
      const { table, rows } = read(file)
      for (const [index, exact] of exactPulse(table).entries()) {
        const row = rows[index]
        expectClose(row?.vwap_20, exact.vwap20, exact.vwap20, `vwap_20 at bar ${index}`)
        const scale = Math.max(1, Math.abs(exact.zscore100))
        expectClose(row?.zscore_100, exact.zscore100, scale, `zscore_100 at bar ${index}`)
        if (row?.trend.direction !== exact.direction || row.trend.ema_stack !== exact.stack)
          expect(row?.trend, `trend at bar ${index}`).toMatchObject({
            direction: exact.direction,
            ema_stack: exact.stack,
          })
      }
      expect(rows).toHaveLength(table.rows)
    })
  })
})

function read(file: string): { table: Table; rows: PulseIndicators[] } {
  const table = readTable(resolve(folder, file))
  return { table, rows: [...pulseRows(barsOf(table))].map((row) => row.indicators) }
}

function expectClose(
  value: number | null | undefined,
  expected: number,
  scale: number,
  what: string,
): void {
  const isSame = Number.isNaN(expected)
    ? value === null
    : Math.abs((value ?? Number.NaN) - expected) <= 1e-9 * scale
  if (!isSame) expect.fail(`${what}: ${value}, exactly ${expected}`)
}
