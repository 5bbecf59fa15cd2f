import { constants } from 'node:buffer'
import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import type { Bar } from '../domain/bar.ts'
import { barFault } from '../domain/bar.ts'
import { OperatingError } from '../domain/errors.ts'
import { dayStartMs } from '../domain/instant.ts'
import { printable } from '../domain/printable.ts'
import { cellFigure } from '../domain/recorded-candles.ts'
import { candleTable } from './candle-table.ts'

const FIGURES = ['open', 'high', 'low', 'close', 'volume'] as const
/** Its rows take about 2 GB of memory; two years of minutes are 60 MB. */
const CANDLE_BYTES_MAX = 128 * 1_024 ** 2
const DAY_MS = 86_400_000
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
 * Bars of a candle file, plain or gzipped, oldest or newest first: open time in ms, prices in USD, volume
 * in the coin's unit.
 * @returns ascending
 * @throws OperatingError naming the file, and the line that is no candle after the one before
 */
export function readCandleFile(path: string): readonly Bar[] {
  return parseCandles(readText(path, CANDLE_BYTES_MAX), path)
}

/**
 * Where bars are missing or overlap. The length of a bar is the most frequent distance of two.
 * @returns ascending; none for fewer than three bars
 */
export function candleGaps(bars: readonly Bar[]): readonly CandleGap[] {
  const steps = stepsOf(bars, scaleOf(bars))
  const length = mostFrequent(steps)
  return steps.flatMap((step, at) => {
    if (step === length) return []
    const [after, until] = [bars[at] as Bar, bars[at + 1] as Bar]
    const missing = Math.ceil(step / length) - 1
    return [{ afterMs: after.openTimeMs, untilMs: until.openTimeMs, missing }]
  })
}

/** When a bar of these ends, by its open time; a single one, whose length is unknown, at its open time. */
export function barEnd(bars: readonly Bar[]): (openTimeMs: number) => number {
  const scale = scaleOf(bars)
  const length = mostFrequent(stepsOf(bars, scale)) || 0
  return (openTimeMs) => scale.timeMs(scale.position(openTimeMs) + length)
}

/** On it, bars are as far apart as they are long. */
type Scale = {
  readonly position: (timeMs: number) => number
  readonly timeMs: (position: number) => number
}

const inMs: Scale = { position: (timeMs) => timeMs, timeMs: (position) => position }

/** Months, quarters and years are equally long only in months of the calendar. */
function scaleOf(bars: readonly Bar[]): Scale {
  const sinceMidnightMs = (bars[0]?.openTimeMs ?? 0) % DAY_MS
  // An exchange in another time zone begins a month at another hour, and some tools name it by its last day.
  for (const offsetMs of [-sinceMidnightMs, DAY_MS - sinceMidnightMs])
    if (bars.every(({ openTimeMs }) => isMonthStart(openTimeMs + offsetMs)))
      return {
        position: (timeMs) => monthOf(new Date(timeMs + offsetMs)),
        timeMs: (position) => Date.UTC(0, position) - offsetMs,
      }
  return inMs
}

function isMonthStart(timeMs: number): boolean {
  return timeMs % DAY_MS === 0 && new Date(timeMs).getUTCDate() === 1
}

/** Since 1900, where `Date.UTC` begins. */
function monthOf(date: Date): number {
  return (date.getUTCFullYear() - 1_900) * 12 + date.getUTCMonth()
}

function stepsOf(bars: readonly Bar[], { position }: Scale): readonly number[] {
  const positions = bars.map(({ openTimeMs }) => position(openTimeMs))
  return positions.slice(1).map((one, at) => one - (positions[at] as number))
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

/** @param path for errors. @returns ascending; many exchanges deliver the newest candle first */
export function parseCandles(text: string, path: string): readonly Bar[] {
  const { rows, isOwn, isNamed } = candleTable(text, path)
  const refused = (at: number, fault: string) => {
    const { cells, place } = rows[at] as (typeof rows)[number]
    return new OperatingError(
      'candle_file',
      `${place}: ${fault}: ${printable(cells.join().slice(0, 80))}`,
    )
  }
  const bars = rows.map(({ cells }, at) => {
    const bar = parseBar(cells, isOwn)
    const fault = candleFault(cells, bar, isNamed)
    if (fault !== null) throw refused(at, `not a candle: ${fault}`)
    return bar
  })
  const times = bars.map(({ openTimeMs }) => openTimeMs)
  const isDescending = (times[0] ?? 0) > (times.at(-1) ?? 0)
  for (let at = 1; at < times.length; at += 1) {
    const stepMs = (times[at] as number) - (times[at - 1] as number)
    if (stepMs === 0) throw refused(at, 'the same time as the candle before')
    if (stepMs > 0 === isDescending)
      throw refused(
        at,
        isDescending
          ? 'later than the candle before, in a file with the newest one first'
          : 'earlier than the candle before',
      )
  }
  return isDescending ? bars.reverse() : bars
}

/**
 * Text of a file in UTF-8 or, with its byte order mark, UTF-16; plain or gzipped.
 * @throws OperatingError for a file that cannot be read, is damaged, too large or no text
 */
export function readText(path: string, bytesMax = constants.MAX_STRING_LENGTH): string {
  const text = decoded(readBytes(path, bytesMax))
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they tell an archive from text
  if (/[\0-\x08\x0e-\x1f]/.test(text.slice(0, 1_000)))
    throw new OperatingError('candle_file', `${path} is not text: unpack it first`)
  return text
}

function readBytes(path: string, bytesMax: number): Buffer {
  const tooLarge = () =>
    new OperatingError(
      'candle_file',
      `${path} is too large: split it into files of at most ${Math.floor(bytesMax / 1_024 ** 2)} MiB each (unpacked)`,
    )
  let bytes: Buffer
  try {
    bytes = readFileSync(path)
  } catch (cause) {
    if (hasCode(cause, 'ERR_FS_FILE_TOO_LARGE')) throw tooLarge()
    throw new OperatingError('candle_file', `${path} cannot be read`, { cause })
  }
  const magic = bytes.length > 2 ? bytes.readUInt16BE(0) : 0
  if (magic === ZIP_MAGIC)
    throw new OperatingError('candle_file', `${path} is a ZIP archive: unzip it first`)
  if (bytes.length > bytesMax) throw tooLarge()
  if (magic !== GZIP_MAGIC) return bytes
  try {
    return gunzipSync(bytes, { maxOutputLength: bytesMax })
  } catch (cause) {
    if (hasCode(cause, 'ERR_BUFFER_TOO_LARGE')) throw tooLarge()
    throw new OperatingError('candle_file', `${path} is a damaged gzip file`, { cause })
  }
}

function hasCode(cause: unknown, code: string): boolean {
  return cause instanceof Error && 'code' in cause && cause.code === code
}

/** Spreadsheets export UTF-16. */
function decoded(bytes: Buffer): string {
  const mark = bytes.length > 2 ? bytes.readUInt16BE(0) : 0
  if (mark === 0xfffe) return new TextDecoder('utf-16le').decode(bytes)
  if (mark === 0xfeff) return new TextDecoder('utf-16be').decode(bytes)
  return bytes.toString('utf8')
}

function parseBar([time = '', ...figures]: readonly string[], isOwn: boolean): Bar {
  const [open, high, low, close, volumeBase] = figures.map(cellFigure)
  return { openTimeMs: timeMs(time.trim(), isOwn), open, high, low, close, volumeBase } as Bar
}

/** Why a row is no candle; null if it is one. */
function candleFault(
  [time, ...figures]: readonly string[],
  bar: Bar,
  isNamed: boolean,
): string | null {
  if (time === undefined) return 'its columns are not those of the first row'
  const unread = FIGURES.find((_name, at) => Number.isNaN(cellFigure(figures[at] as string)))
  if (unread !== undefined) return `the ${unread} is not a number`
  const order = isNamed ? '' : ' (columns without names are time,open,high,low,close,volume)'
  switch (barFault(bar)) {
    case null:
      return null
    case 'bad_time':
      return 'the time is not of 2001 to 2100 in s, whole ms or µs, or in ISO 8601'
    case 'bad_price':
      return 'prices must be above zero and at most 1e15'
    case 'bad_size':
      return 'the volume must be zero or more, and at most 1e30'
    case 'bad_bar':
      return bar.high < bar.low
        ? `the high is below the low${order}`
        : `open or close is outside low and high${order}`
  }
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
