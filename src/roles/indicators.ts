import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { pulseRows } from '../compute/indicators/pulse-rows.ts'
import type { Bar } from '../domain/bar.ts'
import { OperatingError } from '../domain/errors.ts'

const HEADER = 't,o,h,l,c,v'
const GZIP_MAGIC = 0x1f8b

/** `perpscope indicators FILE`: the pulse indicators of a candle file, one JSON object a closed bar. */
export function printIndicators(path: string, write: (line: string) => void): void {
  for (const row of pulseRows(readBars(path))) write(`${JSON.stringify(row)}\n`)
}

function* readBars(path: string): Generator<Bar> {
  const lines = readText(path).split('\n')
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
