import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import type { Bar } from '../domain/bar.ts'
import { barFault } from '../domain/bar.ts'
import { OperatingError } from '../domain/errors.ts'
import { dayStartMs } from '../domain/instant.ts'
import { candleTable } from './candle-table.ts'

const COLUMNS = 6
const GZIP_MAGIC = 0x1f8b
const ZIP_MAGIC = 0x504b

/** Two bars that follow each other in a file, and not in time. */
export type CandleGap = {
  /** Open times of the two. */
  readonly afterMs: number
  readonly untilMs: number
  /** Bars that lack between them; 0 where they are nearer to each other than a bar is long. */
  readonly missing: number
}

/**
 * Bars of a candle file, plain or gzipped, ascending: open time in ms, prices in USD, volume in the coin's
 * unit.
 * @throws OperatingError naming the file, and the line that is no candle after the one before
 */
export function readCandleFile(path: string): readonly Bar[] {
  return [...parseCandles(readText(path), path)]
}

/**
 * Where bars are missing or overlap. The length of a bar is the most frequent distance of two.
 * @returns ascending; none for fewer than three bars
 */
export function candleGaps(bars: readonly Bar[]): readonly CandleGap[] {
  const steps = stepsOf(bars)
  const stepMs = mostFrequent(steps)
  return steps.flatMap((step, at) => {
    if (step === stepMs) return []
    const afterMs = (bars[at] as Bar).openTimeMs
    return [{ afterMs, untilMs: afterMs + step, missing: Math.ceil(step / stepMs) - 1 }]
  })
}

/** Length of the bars; NaN for fewer than two. */
export function barLengthMs(bars: readonly Bar[]): number {
  return mostFrequent(stepsOf(bars))
}

function stepsOf(bars: readonly Bar[]): readonly number[] {
  return bars.slice(1).map(({ openTimeMs }, at) => openTimeMs - (bars[at] as Bar).openTimeMs)
}

/** The smallest of several as frequent ones; NaN for none. */
function mostFrequent(values: readonly number[]): number {
  const counts = new Map<number, number>()
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1)
  let [found, most] = [Number.NaN, 0]
  for (const [value, count] of counts)
    if (count > most || (count === most && value < found)) [found, most] = [value, count]
  return found
}

/** `path` is for errors. */
export function* parseCandles(text: string, path: string): Generator<Bar> {
  const { rows, isOwn } = candleTable(text, path)
  let previousMs = Number.NEGATIVE_INFINITY
  for (const { cells, place } of rows) {
    const bar = parseBar(cells, isOwn)
    if (bar === null || bar.openTimeMs <= previousMs)
      throw new OperatingError(
        'candle_file',
        `${place}: not a candle that follows the one before: ${cells.join().slice(0, 80)}`,
      )
    previousMs = bar.openTimeMs
    yield bar
  }
}

/** Text of a file, plain or gzipped. @throws OperatingError for a file that cannot be read or is damaged */
export function readText(path: string): string {
  let bytes: Buffer
  try {
    bytes = readFileSync(path)
  } catch (cause) {
    throw new OperatingError('candle_file', `${path} cannot be read`, { cause })
  }
  const magic = bytes.length > 2 ? bytes.readUInt16BE(0) : 0
  if (magic === ZIP_MAGIC)
    throw new OperatingError('candle_file', `${path} is a ZIP archive: unzip it first`)
  if (magic !== GZIP_MAGIC) return bytes.toString('utf8')
  try {
    return gunzipSync(bytes).toString('utf8')
  } catch (cause) {
    throw new OperatingError('candle_file', `${path} is a damaged gzip file`, { cause })
  }
}

function parseBar(cells: readonly string[], isOwn: boolean): Bar | null {
  const [time = '', ...figures] = cells
  const [open, high, low, close, volumeBase] = figures.map((cell) =>
    cell.trim() === '' ? Number.NaN : Number(cell),
  )
  const openTimeMs = timeMs(time.trim(), isOwn)
  const bar = { openTimeMs, open, high, low, close, volumeBase } as Bar
  return cells.length === COLUMNS && barFault(bar) === null ? bar : null
}

/** Unix times of 2001 to 2100 in each unit: no number is in two of these ranges. */
const units = [
  { msEach: 1_000, from: 1e9, to: 4.1e9 },
  { msEach: 1, from: 1e12, to: 4.1e12 },
  { msEach: 0.001, from: 1e15, to: 4.1e15 },
] as const
/** A date, and perhaps a time of day and a zone; archives mean UTC where there is none. */
const ISO =
  /^(\d{4})[-.](\d\d)[-.](\d\d)(?:[ T](\d\d:\d\d(?::\d\d(?:\.\d+)?)?))? ?(Z|UTC|[+-]\d\d:?\d\d)?$/

/** NaN for what may mean several instants, or none. */
function timeMs(text: string, isOwn: boolean): number {
  const [, year, month, day, clock = '00:00', zone = 'Z'] = ISO.exec(text) ?? []
  if (year !== undefined) {
    const date = `${year}-${month}-${day}`
    if (dayStartMs(date) === null) return Number.NaN
    return Date.parse(`${date}T${clock}${zone === 'UTC' ? 'Z' : zone}`)
  }
  const value = text === '' ? Number.NaN : Number(text)
  const unit = units.find(({ from, to }) => value >= from && value < to)
  if (unit === undefined) return isOwn ? value : Number.NaN
  // Divided, because a thousandth is no binary fraction.
  return unit.msEach < 1 ? value / 1_000 : value * unit.msEach
}
