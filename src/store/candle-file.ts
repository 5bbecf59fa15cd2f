import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import type { Bar } from '../domain/bar.ts'
import { barFault } from '../domain/bar.ts'
import { OperatingError } from '../domain/errors.ts'

const HEADER = 't,o,h,l,c,v'
const GZIP_MAGIC = 0x1f8b

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
  const steps = bars.slice(1).map(({ openTimeMs }, at) => openTimeMs - (bars[at] as Bar).openTimeMs)
  const stepMs = mostFrequent(steps)
  return steps.flatMap((step, at) => {
    if (step === stepMs) return []
    const afterMs = (bars[at] as Bar).openTimeMs
    return [{ afterMs, untilMs: afterMs + step, missing: Math.ceil(step / stepMs) - 1 }]
  })
}

/** The smallest of several as frequent ones; NaN for none. */
function mostFrequent(values: readonly number[]): number {
  const counts = new Map<number, number>()
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1)
  const most = Math.max(...counts.values())
  return Math.min(...values.filter((value) => counts.get(value) === most))
}

/** `path` is for errors. */
export function* parseCandles(text: string, path: string): Generator<Bar> {
  const lines = text.split('\n')
  if (lines[0]?.trim() !== HEADER)
    throw new OperatingError('candle_file', `${path}: the first line must be ${HEADER}`)
  let previousMs = Number.NEGATIVE_INFINITY
  for (const [at, line] of lines.entries()) {
    if (at === 0 || line.trim() === '') continue
    const bar = parseBar(line)
    if (bar === null || bar.openTimeMs <= previousMs)
      throw new OperatingError(
        'candle_file',
        `${path}:${at + 1}: not a candle that follows the one before: ${line.slice(0, 80)}`,
      )
    previousMs = bar.openTimeMs
    yield bar
  }
}

function readText(path: string): string {
  let bytes: Buffer
  try {
    bytes = readFileSync(path)
  } catch (cause) {
    throw new OperatingError('candle_file', `${path} cannot be read`, { cause })
  }
  const isGzip = bytes.length > 2 && bytes.readUInt16BE(0) === GZIP_MAGIC
  return (isGzip ? gunzipSync(bytes) : bytes).toString('utf8')
}

function parseBar(line: string): Bar | null {
  const [openTimeMs, open, high, low, close, volumeBase, ...rest] = line
    .split(',')
    .map((field) => (field.trim() === '' ? Number.NaN : Number(field)))
  const bar = { openTimeMs, open, high, low, close, volumeBase } as Bar
  return rest.length === 0 && barFault(bar) === null ? bar : null
}
