import { CsvError, parse } from 'csv-parse/sync'
import { OperatingError } from '../domain/errors.ts'

/** Cells of one candle in the order of {@link columnNames}, and their line in the file. */
type CandleRow = { readonly cells: readonly string[]; readonly place: string }

export type CandleTable = {
  readonly rows: readonly CandleRow[]
  /** The header is exactly `t,o,h,l,c,v`: a time that no unit covers is in milliseconds. */
  readonly isOwn: boolean
}

/** What files call the columns; of several times the first of these. In any case, but the venue's `T` is a close. */
const columnNames: readonly (readonly string[])[] = [
  ['t', 'open_time', 'opentime', 'timestamp', 'time', 'datetime', 'date'],
  ['o', 'open'],
  ['h', 'high'],
  ['l', 'low'],
  ['c', 'close'],
  ['v', 'volume'],
]
const OWN_HEADER = 't,o,h,l,c,v'

/**
 * The columns of a candle from CSV with a header, from CSV without one (open time, open, high, low, close, volume
 * first, as exchanges' public archives have them), or from JSON: what `candleSnapshot` answers, or rows as lists.
 * @throws OperatingError naming `path`
 */
export function candleTable(text: string, path: string): CandleTable {
  return /^\s*\[/.test(text) ? fromJson(text, path) : fromCsv(text, path)
}

function fromJson(text: string, path: string): CandleTable {
  let items: unknown
  try {
    // Editors and shells of Windows write a byte order mark.
    items = JSON.parse(text.replace(/^\ufeff/, ''))
  } catch (cause) {
    throw new OperatingError('candle_file', `${path}: not valid JSON`, { cause })
  }
  const rows = (items as readonly unknown[]).map((item, at) => {
    const values = Array.isArray(item) ? item.slice(0, 6) : valuesOf(item)
    return { cells: values.map((value) => String(value ?? '')), place: `${path}: item ${at}` }
  })
  return { rows, isOwn: false }
}

function valuesOf(item: unknown): readonly unknown[] {
  const members = (item ?? {}) as Readonly<Record<string, unknown>>
  return OWN_HEADER.split(',').map((name) => members[name])
}

type Line = { readonly info: { readonly lines: number }; readonly record: readonly string[] }

function fromCsv(text: string, path: string): CandleTable {
  const [first, ...others] = linesOf(text, path)
  if (first === undefined)
    throw new OperatingError('candle_file', `${path}: there is nothing in it`)
  const width = first.record.length
  const hasHeader = !/^["']?\d/.test(first.record[0] ?? '')
  const columns = hasHeader ? columnsIn(first.record, path) : [0, 1, 2, 3, 4, 5]
  const lines = hasHeader ? others : [first, ...others]
  return {
    isOwn: first.record.join() === OWN_HEADER,
    rows: lines.map(({ info, record }) => ({
      // A row of another width is no candle.
      cells: record.length === width ? columns.map((column) => record[column] ?? '') : [],
      place: `${path}:${info.lines}`,
    })),
  }
}

function linesOf(text: string, path: string): readonly Line[] {
  try {
    return parse(text, {
      bom: true,
      info: true,
      relax_column_count: true,
      skip_empty_lines: true,
      trim: true,
    }) as unknown as readonly Line[]
  } catch (cause) {
    if (!(cause instanceof CsvError)) throw cause
    throw new OperatingError('candle_file', `${path}: ${cause.message}`, { cause })
  }
}

/** Where each column of a candle stands. */
function columnsIn(header: readonly string[], path: string): readonly number[] {
  const lower = header.map((name) => name.toLowerCase())
  return columnNames.map((names) => {
    for (const name of names) {
      const exact = header.indexOf(name)
      if (exact >= 0) return exact
      const found = lower.indexOf(name)
      if (found < 0) continue
      if (lower.indexOf(name, found + 1) >= 0)
        throw new OperatingError('candle_file', `${path}: the header names ${name} twice`)
      return found
    }
    throw new OperatingError(
      'candle_file',
      `${path}: the first line names none of ${names.join(', ')}; wanted are ${OWN_HEADER}, or ` +
        'timestamp,open,high,low,close,volume, in any order and case, among others',
    )
  })
}
