import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import type { Bar } from '../domain/bar.ts'
import { OperatingError } from '../domain/errors.ts'

const HEADER = 't,o,h,l,c,v'
const GZIP_MAGIC = 0x1f8b

/**
 * Bars of a candle file, plain or gzipped, ascending: open time in ms, prices in USD, volume in the coin's
 * unit.
 * @throws OperatingError naming the file, and the line that is no candle after the one before
 */
export function* readCandleFile(path: string): Generator<Bar> {
  yield* parseCandles(readText(path), path)
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
  const isComplete = rest.length === 0 && Object.values(bar).every(Number.isFinite)
  return isComplete && bar.high >= bar.low && bar.low > 0 && bar.volumeBase >= 0 ? bar : null
}
