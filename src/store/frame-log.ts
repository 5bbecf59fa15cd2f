import { brotliDecompressSync, crc32 } from 'node:zlib'
import { OperatingError } from '../domain/errors.ts'

/**
 * A log of values in one file that only grows. A line of text says what it is; blocks follow, each
 * of them the JSON lines of some values, compressed:
 *
 * | bytes | what                                                                          |
 * |-------|-------------------------------------------------------------------------------|
 * | 8     | magic number, on which a reader synchronizes after a damaged block            |
 * | 4     | number of the block; every writer begins with 0                               |
 * | 4     | bytes of the JSON lines                                                       |
 * | 4     | bytes of the payload                                                          |
 * | 4     | CRC-32 of the previous twelve bytes and the payload                           |
 * | n     | payload: Brotli of the JSON lines                                             |
 *
 * Integers are unsigned, little-endian.
 */

/** Raised with every change of the format or of what the values mean: another version is not read. */
const VERSION = 3
const TITLE = 'perpscope recording'
export const FILE_HEADER = Buffer.from(`${TITLE} ${VERSION}\n`)
const FILE_HEADER_PATTERN = new RegExp(`^${TITLE} (\\d{1,9})\\n`)

/** Like PNG's signature: not text, and broken by a conversion of line ends. */
export const BLOCK_MARK = Buffer.from([0x89, 0x50, 0x53, 0x42, 0x0d, 0x0a, 0x1a, 0x0a])
export const BLOCK_HEADER_BYTES = 24
/** A larger block is damaged: a writer queues 64 MiB at most. */
const BLOCK_BYTES_MAX = 256 * 1024 * 1024

const FIELD = { sequence: 8, textBytes: 12, payloadBytes: 16, crc: 20 } as const

export type BlockHeader = {
  readonly sequence: number
  readonly textBytes: number
  readonly payloadBytes: number
  readonly crc: number
}

/** @returns the bytes of a block whose payload was compressed from `textBytes` bytes. */
export function encodeBlock(sequence: number, textBytes: number, payload: Buffer): Buffer {
  const header = Buffer.alloc(BLOCK_HEADER_BYTES)
  BLOCK_MARK.copy(header)
  header.writeUInt32LE(sequence, FIELD.sequence)
  header.writeUInt32LE(textBytes, FIELD.textBytes)
  header.writeUInt32LE(payload.length, FIELD.payloadBytes)
  header.writeUInt32LE(crcOf(header, payload), FIELD.crc)
  return Buffer.concat([header, payload])
}

/** @returns null for bytes that are not a header */
export function decodeBlockHeader(bytes: Buffer): BlockHeader | null {
  if (bytes.length < BLOCK_HEADER_BYTES) return null
  if (!bytes.subarray(0, BLOCK_MARK.length).equals(BLOCK_MARK)) return null
  const header = {
    sequence: bytes.readUInt32LE(FIELD.sequence),
    textBytes: bytes.readUInt32LE(FIELD.textBytes),
    payloadBytes: bytes.readUInt32LE(FIELD.payloadBytes),
    crc: bytes.readUInt32LE(FIELD.crc),
  }
  return Math.max(header.textBytes, header.payloadBytes) > BLOCK_BYTES_MAX ? null : header
}

/** @returns the values of a block, or null when its bytes are not what was written. */
export function decodeBlock(
  headerBytes: Buffer,
  header: BlockHeader,
  payload: Buffer,
): readonly unknown[] | null {
  if (crcOf(headerBytes, payload) !== header.crc) return null
  try {
    const text = brotliDecompressSync(payload, { maxOutputLength: header.textBytes })
    return text
      .toString('utf8')
      .split('\n')
      .map((line): unknown => JSON.parse(line))
  } catch {
    // The checksum holds, but this is no block of a recording.
    return null
  }
}

/** @throws OperatingError if this version cannot read a file with this beginning */
export function checkFileHeader(path: string, beginning: Buffer): void {
  if (beginning.length === 0)
    throw new OperatingError('recording_unusable', `${path} is empty: nothing was recorded`)
  const version = FILE_HEADER_PATTERN.exec(beginning.toString('latin1'))?.[1]
  if (version === undefined)
    throw new OperatingError('recording_unusable', `${path} is not a recording of perpscope`)
  if (Number(version) !== VERSION)
    throw new OperatingError(
      'recording_unusable',
      `${path} is a recording of format ${version}, and this version reads format ${VERSION}`,
    )
}

function crcOf(header: Buffer, payload: Buffer): number {
  return crc32(payload, crc32(header.subarray(FIELD.sequence, FIELD.crc)))
}
