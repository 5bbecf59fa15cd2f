import { barFault } from '../domain/bar.ts'
import type { MeasureHistoryEvent } from '../domain/external.ts'
import type { Memory } from '../domain/history.ts'
import { barOf, barRow, fundingOf, fundingRow, sampleOf, sampleRow } from '../store/history-row.ts'

/** Loaded history as numbers in base64, each row after its time: JSON has no negative zero, and is longer. */
export type RecordedHistory = {
  readonly kind: 'remembered'
  readonly coin: string
  readonly series: Memory['series']
  readonly rows: string
}

/** Numbers per row, without its time. */
const FIELDS = { fundings: 3, hours: 5, quarters: 8, minutes: 8 } as const

export function recordedHistory(history: Memory): RecordedHistory {
  const { coin, series } = history
  const bytes = new Uint8Array(Float64Array.from(numbersOf(history)).buffer)
  return { kind: 'remembered', coin, series, rows: Buffer.from(bytes).toString('base64') }
}

export function restoredHistory({ coin, series, rows: text }: RecordedHistory): Memory {
  const numbers = numbersIn(text)
  switch (series) {
    case 'fundings':
      return {
        series,
        coin,
        rows: rowsOf(numbers, series, (timeMs, at) => fundingOf(coin, timeMs, numbers, at)),
      }
    case 'hours':
      return {
        series,
        coin,
        rows: rowsOf(numbers, series, (timeMs, at) => barOf(timeMs, numbers, at)).filter(
          (bar) => barFault(bar) === null,
        ),
      }
    case 'quarters':
    case 'minutes':
      return {
        series,
        coin,
        rows: rowsOf(numbers, series, (timeMs, at) => sampleOf(coin, timeMs, numbers, at)),
      }
    default:
      return series satisfies never
  }
}

/** Loaded history of a measure, its rows as alternating times and values in base64. */
export type RecordedMeasure = Omit<MeasureHistoryEvent, 'rows'> & { readonly rows: string }

export function recordedMeasure(event: MeasureHistoryEvent): RecordedMeasure {
  const numbers = new Float64Array(2 * event.rows.length)
  for (const [at, { timeMs, value }] of event.rows.entries()) numbers.set([timeMs, value], 2 * at)
  return { ...event, rows: Buffer.from(numbers.buffer).toString('base64') }
}

export function restoredMeasure(recorded: RecordedMeasure): MeasureHistoryEvent {
  const numbers = numbersIn(recorded.rows)
  const rows = Array.from({ length: numbers.length / 2 }, (_, at) => ({
    timeMs: numbers[2 * at] as number,
    value: numbers[2 * at + 1] as number,
  }))
  return { ...recorded, rows }
}

function numbersIn(text: string): Float64Array {
  return new Float64Array(new Uint8Array(Buffer.from(text, 'base64')).buffer)
}

function numbersOf(history: Memory): readonly number[] {
  switch (history.series) {
    case 'fundings':
      return history.rows.flatMap((row) => [row.timeMs, ...fundingRow(row)])
    case 'hours':
      return history.rows.flatMap((bar) => [bar.openTimeMs, ...barRow(bar)])
    case 'quarters':
    case 'minutes':
      return history.rows.flatMap((row) => [row.timeMs, ...sampleRow(row)])
    default:
      return history satisfies never
  }
}

function rowsOf<Row>(
  numbers: Float64Array,
  series: Memory['series'],
  rowOf: (timeMs: number, at: number) => Row,
): Row[] {
  const step = 1 + FIELDS[series]
  return Array.from({ length: numbers.length / step }, (_, row) =>
    rowOf(numbers[row * step] as number, row * step + 1),
  )
}
