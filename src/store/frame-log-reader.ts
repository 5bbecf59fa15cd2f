import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { OperatingError } from '../domain/errors.ts'
import {
  BLOCK_HEADER_BYTES,
  BLOCK_MARK,
  checkFileHeader,
  decodeBlock,
  decodeBlockHeader,
  FILE_HEADER,
} from './frame-log.ts'

export type FrameLogPiece =
  /** The values of one block, which its writer appended in this order. */
  { readonly kind: 'values'; readonly values: readonly unknown[] } | FrameLogLoss

/** Blocks that are missing (0 bytes) or damaged. */
export type FrameLogLoss = {
  readonly kind: 'loss'
  readonly atByte: number
  readonly bytes: number
  /** No intact block follows: a process was killed during a write, or the disk was full. */
  readonly isTail: boolean
}

const SEARCHED_BYTES = 1024 * 1024

/**
 * Reads a log from its beginning, one block at a time. Damaged blocks are reported as losses.
 *
 * @throws OperatingError when the file cannot be read, or is no log of this version.
 */
export function* readFrameLog(path: string): Generator<FrameLogPiece> {
  const file = openFile(path)
  try {
    yield* pieces(file)
  } finally {
    closeSync(file.descriptor)
  }
}

type OpenFile = { readonly descriptor: number; readonly bytes: number }

function openFile(path: string): OpenFile {
  let descriptor: number | undefined
  try {
    descriptor = openSync(path, 'r')
    const file = { descriptor, bytes: fstatSync(descriptor).size }
    checkFileHeader(path, readAt(file, 0, FILE_HEADER.length + 16))
    return file
  } catch (cause) {
    if (descriptor !== undefined) closeSync(descriptor)
    if (cause instanceof OperatingError) throw cause
    throw new OperatingError('recording_unusable', `${path} cannot be read`, { cause })
  }
}

function* pieces(file: OpenFile): Generator<FrameLogPiece> {
  let nextSequence = 0
  let atByte = FILE_HEADER.length
  while (atByte < file.bytes) {
    const block = readBlock(file, atByte) ?? nextBlock(file, atByte + 1)
    const blockAtByte = block?.atByte ?? file.bytes
    const isOther = block !== null && block.sequence !== 0 && block.sequence !== nextSequence
    if (blockAtByte > atByte || isOther)
      yield { kind: 'loss', atByte, bytes: blockAtByte - atByte, isTail: block === null }
    if (block === null) return
    yield { kind: 'values', values: block.values }
    nextSequence = block.sequence + 1
    atByte = block.endByte
  }
}

type Block = {
  readonly sequence: number
  readonly values: readonly unknown[]
  readonly atByte: number
  readonly endByte: number
}

/** @returns the block that begins here, whole, or null. */
function readBlock(file: OpenFile, atByte: number): Block | null {
  const headerBytes = readAt(file, atByte, BLOCK_HEADER_BYTES)
  const header = decodeBlockHeader(headerBytes)
  if (header === null) return null
  const payloadAtByte = atByte + BLOCK_HEADER_BYTES
  const endByte = payloadAtByte + header.payloadBytes
  if (endByte > file.bytes) return null
  const values = decodeBlock(headerBytes, header, readAt(file, payloadAtByte, header.payloadBytes))
  return values === null ? null : { sequence: header.sequence, values, atByte, endByte }
}

/** @returns the first whole block from here on, wherever it begins, or null. */
function nextBlock(file: OpenFile, fromByte: number): Block | null {
  // A mark may lie across two windows, so they overlap.
  const stepBytes = SEARCHED_BYTES - BLOCK_MARK.length + 1
  for (let windowAtByte = fromByte; windowAtByte < file.bytes; windowAtByte += stepBytes) {
    const window = readAt(file, windowAtByte, SEARCHED_BYTES)
    for (let at = window.indexOf(BLOCK_MARK); at !== -1; at = window.indexOf(BLOCK_MARK, at + 1)) {
      const block = readBlock(file, windowAtByte + at)
      if (block !== null) return block
    }
  }
  return null
}

/** @returns fewer bytes at the end of the file. */
function readAt({ descriptor }: OpenFile, atByte: number, bytes: number): Buffer {
  const buffer = Buffer.allocUnsafe(bytes)
  let filled = 0
  while (filled < bytes) {
    const read = readSync(descriptor, buffer, filled, bytes - filled, atByte + filled)
    if (read === 0) break
    filled += read
  }
  return buffer.subarray(0, filled)
}
