import { CsvError, parse } from 'csv-parse/sync'
import { OperatingError } from '../domain/errors.ts'
import { printable } from '../domain/printable.ts'

/** Cells of one candle: time, open, high, low, close, volume; none if the row has another width. */
type CandleRow = { readonly cells: readonly string[]; readonly place: string }

export type CandleTable = {
  readonly rows: readonly CandleRow[]
  /** The header is exactly `t,o,h,l,c,v`: a time that no unit covers is in milliseconds. */
  readonly isOwn: boolean
  /** The file names its columns. */
  readonly isNamed: boolean
}

/** Names of columns, as {@link normalised}; of several times the first of these. `''` is an index of pandas. */
const columnNames: readonly (readonly string[])[] = [
  ['t', 'opentime', 'timestamp', 'time', 'datetime', 'date', 'ts', ''],
  ['o', 'open'],
  ['h', 'high'],
  ['l', 'low'],
  ['c', 'close'],
  ['v', 'volume', 'vol'],
]
const OWN_HEADER = 't,o,h,l,c,v'
/**
 * Widths of rows without names whose first six columns are a candle: plain, Kraken's archive and Bybit, OKX, Binance. 8
 * is not among them: the volume of Kraken's API is the 7th column, of Bitget and MEXC the 6th.
 */
const UNNAMED_WIDTHS: readonly number[] = [6, 7, 9, 12]
/** Comments and the address of CryptoDataDownload before the header. A line of six cells may be the header itself. */
const PREAMBLE = /^(?:(?:#|https?:\/\/)(?:[^,;\t|\n]*[,;\t|]){0,4}[^,;\t|\n]*\n)+/

/**
 * The columns of a candle from CSV with or without a header, or from JSON: a list of objects such as those of
 * `candleSnapshot`, a list of lists, or one object or list a line.
 * @throws OperatingError naming `path`
 */
export function candleTable(text: string, path: string): CandleTable {
  // Editors and shells of Windows write a byte order mark.
  const plain = text.replace(/^\ufeff/, '')
  return /^\s*[[{]/.test(plain) ? fromJson(plain, path) : fromCsv(plain, path)
}

type Item = { readonly item: unknown; readonly place: string }

function fromJson(text: string, path: string): CandleTable {
  const items = itemsOf(text, path)
  const [first] = items.map(({ item }) => item)
  if (Array.isArray(first)) {
    const columns = unnamedColumns(first.length, path)
    return {
      ...{ isOwn: false, isNamed: false },
      rows: items.map(({ item, place }) => ({
        cells: Array.isArray(item) && item.length === first.length ? pick(item, columns) : [],
        place,
      })),
    }
  }
  const names = Object.keys(first ?? {})
  const columns = items.length === 0 ? [] : columnsIn(names, path).map((at) => names[at] as string)
  return {
    ...{ isOwn: false, isNamed: true },
    rows: items.map(({ item, place }) => ({
      cells: pick((item ?? {}) as Readonly<Record<string, unknown>>, columns),
      place,
    })),
  }
}

function pick<Key extends string | number>(
  from: { readonly [key in Key]?: unknown },
  columns: readonly Key[],
): readonly string[] {
  return columns.map((column) => String(from[column] ?? ''))
}

function itemsOf(text: string, path: string): readonly Item[] {
  let all: unknown
  try {
    all = JSON.parse(text)
  } catch (cause) {
    return itemsByLine(text, path, cause)
  }
  if (!Array.isArray(all))
    throw new OperatingError(
      'candle_file',
      `${path}: an object, not a list of candles: extract the list, for example with jq '.result.list'`,
    )
  return all.map((item: unknown, at) => ({ item, place: `${path}: item ${at}` }))
}

/** @param wholeCause why the text is not one JSON value */
function itemsByLine(text: string, path: string, wholeCause: unknown): readonly Item[] {
  return text.split('\n').flatMap((line, at) => {
    if (line.trim() === '') return []
    const place = `${path}:${at + 1}`
    try {
      return { item: JSON.parse(line) as unknown, place }
    } catch (cause) {
      throw at === 0
        ? new OperatingError('candle_file', `${path}: not valid JSON`, { cause: wholeCause })
        : new OperatingError('candle_file', `${place}: not valid JSON`, { cause })
    }
  })
}

type Line = { readonly info: { readonly lines: number }; readonly record: readonly string[] }

function fromCsv(text: string, path: string): CandleTable {
  // Blank lines keep the numbers of the others.
  const body = text.replace(PREAMBLE, (lines) => lines.replace(/[^\n]/g, ''))
  const [first, ...others] = linesOf(body, path)
  if (first === undefined)
    throw new OperatingError('candle_file', `${path}: there is nothing in it`)
  const width = first.record.length
  const isNamed = !/^["']?\d/.test(first.record[0] ?? '')
  const columns = isNamed ? columnsIn(first.record, path) : unnamedColumns(width, path)
  const lines = isNamed ? others : [first, ...others]
  return {
    ...{ isOwn: first.record.join() === OWN_HEADER, isNamed },
    rows: lines.map(({ info, record }) => ({
      cells: record.length === width ? pick(record, columns) : [],
      place: `${path}:${info.lines}`,
    })),
  }
}

function linesOf(text: string, path: string): readonly Line[] {
  const [head = ''] = /^.+$/m.exec(text) ?? []
  try {
    return parse(text, {
      // One alone, because with another delimiter a comma may be a decimal point.
      delimiter: [';', '\t', '|'].find((one) => head.includes(one)) ?? ',',
      info: true,
      relax_column_count: true,
      skip_empty_lines: true,
      trim: true,
    }) as unknown as readonly Line[]
  } catch (cause) {
    if (!(cause instanceof CsvError)) throw cause
    throw new OperatingError('candle_file', `${path}: ${printable(cause.message)}`)
  }
}

function unnamedColumns(width: number, path: string): readonly number[] {
  if (UNNAMED_WIDTHS.includes(width)) return [0, 1, 2, 3, 4, 5]
  throw new OperatingError(
    'candle_file',
    `${path}: rows of ${width} columns without names do not show which one is the volume: write CSV with a header ` +
      'line, such as time,open,high,low,close,vwap,volume,count for the OHLC data of Kraken',
  )
}

function normalised(name: string): string {
  return name.toLowerCase().replace(/[\s_#]/g, '')
}

/** Where each column of a candle stands. The name as it is comes first, because the venue's `T` is a close time. */
function columnsIn(header: readonly string[], path: string): readonly number[] {
  const all = header.map(normalised)
  return columnNames.map((names) => {
    for (const name of names) {
      const exact = header.indexOf(name)
      if (exact >= 0) return exact
      const found = all.indexOf(name)
      if (found < 0) continue
      if (all.indexOf(name, found + 1) >= 0)
        throw new OperatingError('candle_file', `${path}: the header names ${name} twice`)
      return found
    }
    throw new OperatingError(
      'candle_file',
      `${path}: no column is named ${names.filter((name) => name !== '').join(', ')}; rename the columns to ` +
        `${OWN_HEADER}, or timestamp,open,high,low,close,volume, in any order and case, among others`,
    )
  })
}
