import {
  appendFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { open as openFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fc, test as property } from '@fast-check/vitest'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { ManualClock } from '../../test/support/manual-clock.ts'
import type { OperatingError } from '../domain/errors.ts'
import { BLOCK_HEADER_BYTES, BLOCK_MARK, FILE_HEADER } from './frame-log.ts'
import type { FrameLogLoss, FrameLogPiece } from './frame-log-reader.ts'
import { readFrameLog } from './frame-log-reader.ts'
import { FrameLogWriter } from './frame-log-writer.ts'

const HUGE_BYTES_MAX = 1024 ** 3
const values = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, index) => ({ index: from + index, text: 'frame' }))

describe('frame log', () => {
  let folder: string
  let path: string
  let clock: ManualClock
  let stops: OperatingError[]

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'perpscope-frame-log-'))
    path = join(folder, 'deep', 'log')
    clock = new ManualClock()
    stops = []
  })

  afterEach(() => rmSync(folder, { recursive: true }))

  const open = (bytesMax = HUGE_BYTES_MAX) =>
    FrameLogWriter.open(path, { bytesMax, clock, onStopped: (cause) => stops.push(cause) })

  /** One writer; each of the lists becomes a block. */
  const write = async (...blocks: (readonly object[])[]) => {
    const writer = await open()
    for (const block of blocks) {
      for (const value of block) writer.append(value)
      await writer.flush()
    }
    await writer.close()
  }

  describe('written and read', () => {
    property.prop([fc.array(fc.array(fc.tuple(fc.jsonValue(), fc.string({ unit: 'binary' }))))], {
      numRuns: 30,
    })('gives the same values in the same order, whatever they are', async (blocks) => {
      rmSync(folder, { recursive: true, force: true })
      await write(...blocks)
      expect(read().values).toEqual(JSON.parse(JSON.stringify(blocks.flat())))
      expect(read().losses).toEqual([])
    })

    test('goes on at the end of a file of its own kind', async () => {
      await write(values(0, 3))
      await write(values(3, 5))
      expect(read()).toEqual({ values: values(0, 5), losses: [] })
    })

    test('takes a value that is much larger than a block', async () => {
      const huge = { text: 'x€"\n'.repeat(3_000_000) }
      await write([{ before: 1 }, huge, { after: 1 }])
      expect(read().values).toEqual([{ before: 1 }, huge, { after: 1 }])
    })

    test('is on disk a second after it was appended, without being asked', async () => {
      const writer = await open()
      writer.append({ index: 0 })
      clock.advance(999)
      expect(writer.progress()).toMatchObject({ values: 1, lagMs: 999 })
      clock.advance(1)
      await writer.flush()
      expect(read().values).toEqual([{ index: 0 }])
      expect(writer.progress().lagMs).toBe(0)
      await writer.close()
    })

    test('is written in blocks as soon as there is enough for one', async () => {
      const writer = await open()
      // With its line end 1,024 bytes.
      const text = 'x'.repeat(1_012)
      for (let index = 0; index < 200; index += 1) writer.append({ text })
      await writer.flush()
      await writer.close()
      expect(pieces().map((piece) => (piece.kind === 'values' ? piece.values.length : 0))).toEqual([
        64, 64, 64, 8,
      ])
    })

    test('holds a value as it was when it was appended', async () => {
      const writer = await open()
      const value = { index: 1 }
      writer.append(value)
      value.index = 2
      await writer.close()
      expect(read().values).toEqual([{ index: 1 }])
    })
  })

  describe('damaged', () => {
    test('loses at most the last block where the file ends too early, wherever that is', async () => {
      await write(values(0, 2), values(2, 4), values(4, 6))
      const whole = readFileSync(path)
      const lastAt = whole.lastIndexOf(BLOCK_MARK)
      for (let bytes = lastAt + 1; bytes < whole.length; bytes += 1) {
        writeFileSync(path, whole.subarray(0, bytes))
        const loss = { kind: 'loss', atByte: lastAt, bytes: bytes - lastAt, isTail: true }
        expect(read()).toEqual({ values: values(0, 4), losses: [loss] })
      }
      truncateSync(path, lastAt)
      expect(read()).toEqual({ values: values(0, 4), losses: [] })
    })

    test('leaves out the block in which any byte was changed, and no other', async () => {
      await write(values(0, 2), values(2, 4), values(4, 6))
      const whole = readFileSync(path)
      const from = whole.indexOf(BLOCK_MARK, FILE_HEADER.length + 1)
      const to = whole.lastIndexOf(BLOCK_MARK)
      const loss = { kind: 'loss', atByte: from, bytes: to - from, isTail: false }
      for (let at = from; at < to; at += 1) {
        const flipped = Buffer.from(whole)
        flipped[at] = (flipped[at] ?? 0) ^ 0x10
        writeFileSync(path, flipped)
        expect(read(), `byte ${at}`).toEqual({
          values: [...values(0, 2), ...values(4, 6)],
          losses: [loss],
        })
      }
    })

    test('says that blocks are missing where they were cut out cleanly', async () => {
      await write(values(0, 2), values(2, 4), values(4, 6))
      const whole = readFileSync(path)
      const from = whole.indexOf(BLOCK_MARK, FILE_HEADER.length + 1)
      const to = whole.lastIndexOf(BLOCK_MARK)
      writeFileSync(path, Buffer.concat([whole.subarray(0, from), whole.subarray(to)]))
      expect(pieces()).toEqual([
        { kind: 'values', values: values(0, 2) },
        { kind: 'loss', atByte: from, bytes: 0, isTail: false },
        { kind: 'values', values: values(4, 6) },
      ])
    })

    test('is continued behind a torn end', async () => {
      await write(values(0, 2), values(2, 4))
      truncateSync(path, readFileSync(path).length - 3)
      await write(values(4, 6))
      expect(pieces()).toEqual([
        { kind: 'values', values: values(0, 2) },
        expect.objectContaining({ kind: 'loss', isTail: false }),
        { kind: 'values', values: values(4, 6) },
      ])
    })

    test('finds the next block also where its mark lies across two readings', async () => {
      const searchedBytes = 1024 * 1024
      for (let cut = 0; cut <= BLOCK_MARK.length; cut += 1) {
        rmSync(path, { force: true })
        await write(values(0, 2))
        const loss = {
          kind: 'loss',
          atByte: readFileSync(path).length,
          bytes: 2 * searchedBytes - cut,
          isTail: false,
        }
        appendFileSync(path, Buffer.alloc(loss.bytes, 'rubbish'))
        await write(values(2, 4))
        expect(read(), `${cut} bytes short`).toEqual({ values: values(0, 4), losses: [loss] })
      }
    })

    test('is not misled by marks of blocks that are none', async () => {
      await write(values(0, 2))
      appendFileSync(path, Buffer.alloc(10_000, BLOCK_MARK))
      await write(values(2, 4))
      expect(read().values).toEqual(values(0, 4))
    })

    test('does not believe a block that claims to be larger than any is', async () => {
      await write(values(0, 2))
      const bytes = readFileSync(path)
      bytes.writeUInt32LE(0xffff_ffff, FILE_HEADER.length + BLOCK_HEADER_BYTES - 12)
      writeFileSync(path, bytes)
      expect(read()).toEqual({ values: [], losses: [expect.objectContaining({ isTail: true })] })
    })
  })

  describe('refused', () => {
    test.each([
      ['an empty file', '', /is empty/],
      ['a file of something else', 'SQLite format 3\0 and more', /is not a recording/],
      ['a short file of something else', 'x', /is not a recording/],
      ['a newer format', 'perpscope recording 4\n', /of format 4, and this version reads format 3/],
    ])('%s is not read', (_what, text, why) => {
      const file = join(folder, 'file')
      writeFileSync(file, text)
      expect(() => [...readFrameLog(file)]).toThrow(
        expect.objectContaining({
          code: 'recording_unusable',
          message: expect.stringMatching(why),
        }),
      )
    })

    test.each([
      ['a file of something else', 'a diary'],
      ['a newer format', 'perpscope recording 4\n'],
    ])('%s is not continued, and stays as it is', async (_what, text) => {
      path = join(folder, 'file')
      writeFileSync(path, text)
      await expect(open()).rejects.toMatchObject({ code: 'recording_unusable' })
      expect(readFileSync(path, 'utf8')).toBe(text)
    })

    test('what is missing or no file at all is said to be unusable, with the cause', async () => {
      expect(() => [...readFrameLog(join(folder, 'nothing'))]).toThrow(
        expect.objectContaining({
          code: 'recording_unusable',
          cause: expect.objectContaining({ code: 'ENOENT' }),
        }),
      )
      path = folder
      await expect(open()).rejects.toMatchObject({
        code: 'recording_unusable',
        cause: expect.objectContaining({ code: 'EISDIR' }),
      })
    })
  })

  describe('stopped', () => {
    const noise = (index: number) => ({ index, text: Math.sin(index + 1).toString(36) })

    test('never becomes larger than it may, says so once, and keeps what it has', async () => {
      const bytesMax = 20_000
      const writer = await open(bytesMax)
      for (let index = 0; index < 3_000; index += 1) {
        writer.append(noise(index))
        if (index % 100 === 99) await writer.flush()
      }
      await writer.close()
      expect(stops).toEqual([expect.objectContaining({ code: 'recording_full' })])
      expect(readFileSync(path).length).toBeLessThanOrEqual(bytesMax)
      const kept = read().values
      expect(kept.length).toBeGreaterThan(100)
      expect(kept).toEqual(Array.from(kept, (_, index) => noise(index)))
    })

    test('counts what the file has already', async () => {
      await write(values(0, 1_000))
      const writer = await open(readFileSync(path).length)
      writer.append({ index: 0 })
      await writer.flush()
      expect(stops).toMatchObject([{ code: 'recording_full' }])
      await writer.close()
    })

    test('gives up, rather than memory, when more waits than may', async () => {
      const writer = await open()
      const text = 'x'.repeat(1024 * 1024)
      for (let index = 0; index < 80; index += 1) writer.append({ index, text })
      expect(stops).toMatchObject([{ code: 'recording_behind' }])
      writer.append({ index: 80 })
      await writer.close()
      expect(writer.progress()).toMatchObject({ lagMs: 0 })
      expect(read().losses).toEqual([])
    })

    test('says what the disk said, and keeps what was written before', async () => {
      const writer = await open()
      writer.append({ index: 0 })
      await writer.flush()
      const cause = Object.assign(new Error('no space left'), { code: 'ENOSPC' })
      const handle = await openFile(path)
      vi.spyOn(Object.getPrototypeOf(handle), 'appendFile').mockRejectedValueOnce(cause)
      await handle.close()
      for (const index of [1, 2]) {
        writer.append({ index })
        await writer.flush()
      }
      await writer.close()
      expect(stops).toEqual([expect.objectContaining({ code: 'recording_failed', cause })])
      expect(read()).toEqual({ values: [{ index: 0 }], losses: [] })
    })

    test.skipIf(!existsSync('/dev/full'))('a full disk refuses the file at once', async () => {
      path = '/dev/full'
      await expect(open()).rejects.toMatchObject({
        code: 'recording_unusable',
        cause: { code: 'ENOSPC' },
      })
    })
  })

  function pieces(): readonly FrameLogPiece[] {
    return [...readFrameLog(path)]
  }

  function read(): {
    readonly values: readonly unknown[]
    readonly losses: readonly FrameLogLoss[]
  } {
    const all = pieces()
    return {
      values: all.flatMap((piece) => (piece.kind === 'values' ? piece.values : [])),
      losses: all.filter((piece) => piece.kind === 'loss'),
    }
  }
})
