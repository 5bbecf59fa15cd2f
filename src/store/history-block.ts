import { crc32 } from 'node:zlib'
import {
  FUNDING_STEP_MS,
  MEASURE_STEP_MS,
  SAMPLE_STEP_MS,
  SPARSE_SAMPLE_STEP_MS,
} from '../domain/history.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

/**
 * Numbers of one block: 96 bars of five, 60 samples of eight or 160 fundings of three. With its key and
 * checksum a block fills one page of the file (4,096 bytes), so that adding a row writes one page.
 */
export const BLOCK_NUMBERS = 480
export const BLOCK_BYTES = BLOCK_NUMBERS * Float64Array.BYTES_PER_ELEMENT

/** A series of rows a step apart. A row has its place in a block by its time alone. */
export type BlockKind = {
  /** In the key of every block, never reused for another meaning; 0 and 2 were bars of 15m and 4h. */
  readonly code: number
  readonly stepMs: number
  /** Numbers of a row; the first is NaN where there is none. */
  readonly fields: number
  /** How far before the present rows are kept; at most a block's span further. Longer only by {@link keptMsOf}. */
  readonly keptMs: number
}

/**
 * Contents for 326 coins (a page is a block):
 *
 * | kind | read by | rows a coin | pages |
 * |---|---|---|---|
 * | 1h bars, 40 d | correlation: 720 h, also as of 7 d ago | 960 | 326 x 11 |
 * | samples, 1 min, 49 h | 24 h percentiles, open interest 24 h ago | 2,940 | 326 x 50 |
 * | samples, 15 min, 31 d | open interest against its own 30 d | 2,976 | 326 x 51 |
 * | funding, 1 h, 31 d | percentile over 720 h | 744 | 326 x 6 |
 *
 * 118 pages a coin, 38,468 in all: 158 MB.
 *
 * A measure has one value a minute for 30 days: 91 pages a series, 373 kB. Its blocks are stored under the name of the
 * series ({@link measureName}), like those of a coin under its name.
 */
export const blockKinds = {
  bars: { code: 1, stepMs: HOUR_MS, fields: 5, keptMs: 40 * DAY_MS },
  samples: { code: 3, stepMs: SAMPLE_STEP_MS, fields: 8, keptMs: 49 * HOUR_MS },
  sparseSamples: { code: 4, stepMs: SPARSE_SAMPLE_STEP_MS, fields: 8, keptMs: 31 * DAY_MS },
  fundings: { code: 5, stepMs: FUNDING_STEP_MS, fields: 3, keptMs: 31 * DAY_MS },
  measures: { code: 6, stepMs: MEASURE_STEP_MS, fields: 1, keptMs: 30 * DAY_MS },
} as const satisfies Readonly<Record<string, BlockKind>>

/** The minutes of these days are kept as quarters of an hour. */
const keptLonger: readonly BlockKind[] = [
  blockKinds.bars,
  blockKinds.sparseSamples,
  blockKinds.fundings,
  blockKinds.measures,
]

/** @param days what the operator wants kept; analyses read the least alone */
export function keptMsOf(kind: BlockKind, days: number): number {
  return keptLonger.includes(kind) ? Math.max(kind.keptMs, days * DAY_MS) : kind.keptMs
}

const kindByCode = new Map<number, BlockKind>(
  Object.values(blockKinds).map((kind) => [kind.code, kind]),
)

/** A key holds coin, kind and number of the block in its series: `(coin * 8 + kind) * 2^24 + number`. */
const CODES = 8
const NUMBERS = 2 ** 24

export const BLOCK_NUMBER_MAX = NUMBERS - 1

/** Coins that were ever listed (some 600) and measures that were ever taken. */
export const COIN_IDS_MAX = 2 ** 16 - 1

export const KEY_MAX = (COIN_IDS_MAX + 1) * CODES * NUMBERS - 1

const MEASURE_PREFIX = 'measure:'

/** Name of a series of measures among the names of coins. */
export function measureName(series: string): string {
  return `${MEASURE_PREFIX}${series}`
}

/** @returns null for the name of a coin. */
export function measureSeriesOf(name: string): string | null {
  return name.startsWith(MEASURE_PREFIX) ? name.slice(MEASURE_PREFIX.length) : null
}

function blockSpanMs({ stepMs, fields }: BlockKind): number {
  return stepMs * (BLOCK_NUMBERS / fields)
}

/** Which block of its series holds an instant. */
export function blockNumber(kind: BlockKind, timeMs: number): number {
  return Math.floor(timeMs / blockSpanMs(kind))
}

export function blockKey(coinId: number, { code }: BlockKind, number: number): number {
  return (coinId * CODES + code) * NUMBERS + number
}

/** The first key of a coin; all of them lie before the first key of the coin with the next id. */
export function firstKey(coinId: number): number {
  return coinId * CODES * NUMBERS
}

/** @returns null for a key that no block of ours has. */
export function blockOfKey(
  key: number,
): { readonly coinId: number; readonly kind: BlockKind; readonly number: number } | null {
  const series = Math.floor(key / NUMBERS)
  const kind = kindByCode.get(series % CODES)
  const coinId = Math.floor(series / CODES)
  return kind === undefined || coinId < 1 ? null : { coinId, kind, number: key % NUMBERS }
}

/** Covers the key as well, so that a block under the key of another one counts as damaged. */
export function blockCrc(key: number, bytes: Uint8Array): number {
  return crc32(bytes, crc32(String(key)))
}

export function emptyBlock(): Float64Array {
  return new Float64Array(BLOCK_NUMBERS).fill(Number.NaN)
}

/** Whether a time is on the grid of the kind and within the range of the keys. */
export function hasPlace(kind: BlockKind, timeMs: number): boolean {
  return timeMs >= 0 && timeMs % kind.stepMs === 0 && blockNumber(kind, timeMs) <= BLOCK_NUMBER_MAX
}

/** Offset of the row of a time in its block. */
export function offsetOf(kind: BlockKind, timeMs: number): number {
  const startMs = blockNumber(kind, timeMs) * blockSpanMs(kind)
  return ((timeMs - startMs) / kind.stepMs) * kind.fields
}

/** Sets the row at an offset. An estimate of funding does not replace the settled rate. */
export function place(
  block: Float64Array,
  kind: BlockKind,
  at: number,
  row: ArrayLike<number>,
): void {
  if (kind.code === blockKinds.fundings.code && block[at + 2] === 1 && row[2] !== 1) return
  block.set(row, at)
}

/** Puts rows over those of a block. @param over their kind, and the offset of the first in the block */
export function overlay(
  block: Float64Array,
  over: { readonly kind: BlockKind; readonly at: number; readonly rows: Float64Array },
): void {
  const { kind, at, rows } = over
  for (let from = 0; from < rows.length; from += kind.fields) {
    if (Number.isNaN(rows[from])) continue
    place(block, kind, at + from, rows.subarray(from, from + kind.fields))
  }
}

export function rowCount(rows: Float64Array, { fields }: BlockKind): number {
  let count = 0
  for (let at = 0; at < rows.length; at += fields) if (!Number.isNaN(rows[at])) count += 1
  return count
}

/** Calls back with time and offset of every row of a block, ascending. */
export function eachRow(
  block: Float64Array,
  kind: BlockKind,
  number: number,
  take: (timeMs: number, at: number) => void,
): void {
  const startMs = number * blockSpanMs(kind)
  for (let at = 0; at < BLOCK_NUMBERS; at += kind.fields)
    if (!Number.isNaN(block[at])) take(startMs + (at / kind.fields) * kind.stepMs, at)
}
