import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import type { Bar } from '../../src/domain/bar.ts'

/** A CSV file with a header, as columns of verbatim cells. */
export type Table = {
  readonly rows: number
  cell(column: string, row: number): string
}

export function readTable(path: string): Table {
  const bytes = readFileSync(path)
  const text = (path.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString('utf8')
  const [header = '', ...lines] = text.trimEnd().split('\n')
  const columns = header.split(',')
  const cells = lines.map((line) => line.split(','))
  const cell = (column: string, row: number): string => {
    const value = cells[row]?.[columns.indexOf(column)]
    if (value === undefined) throw new Error(`${path} has no ${column} in row ${row}`)
    return value
  }
  return { rows: lines.length, cell }
}

/** The candles of a table with the columns t, o, h, l, c, v. */
export function barsOf(table: Table): Bar[] {
  return Array.from({ length: table.rows }, (_, row) => ({
    openTimeMs: Number(table.cell('t', row)),
    open: Number(table.cell('o', row)),
    high: Number(table.cell('h', row)),
    low: Number(table.cell('l', row)),
    close: Number(table.cell('c', row)),
    volumeBase: Number(table.cell('v', row)),
  }))
}
