import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { FILE_HEADER } from '../../store/frame-log.ts'
import { checkRecording } from './recording.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'perpscope-doctor-recording-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

const checked = (record: string, recordMaxBytes = 1e6) => checkRecording({ record, recordMaxBytes })

describe('a recording', () => {
  test('is not spoken of where none is asked for', () => {
    expect(checkRecording({ recordMaxBytes: 1e6 })).toBeNull()
  })

  test('that does not exist yet is created by serve, with its folder', () => {
    const path = join(folder, 'not', 'yet', 'log')
    expect(checked(path)).toMatchObject({ status: 'ok', found: `${path} (serve creates it)` })
    expect(existsSync(join(folder, 'not')), 'and doctor makes nothing').toBe(false)
  })

  test('can be continued, and is not changed by looking', () => {
    const path = join(folder, 'log')
    const bytes = Buffer.concat([FILE_HEADER, Buffer.alloc(100)])
    writeFileSync(path, bytes)
    expect(checked(path)).toMatchObject({ status: 'ok', found: `${path}, 0.0 MB` })
    expect(readFileSync(path).equals(bytes)).toBe(true)
  })

  test('that has its size already is not continued', () => {
    const path = join(folder, 'log')
    writeFileSync(path, Buffer.concat([FILE_HEADER, Buffer.alloc(100)]))
    expect(checked(path, 100)).toMatchObject({
      status: 'warn',
      found: expect.stringMatching(/nothing more is recorded$/),
      advice: expect.stringContaining('--record-max-bytes'),
    })
  })

  test.each<readonly [string, (path: string) => void, RegExp]>([
    ['a diary', (path) => writeFileSync(path, 'Dear diary'), /is not a recording of perpscope$/],
    [
      'a recording of another format',
      (path) => writeFileSync(path, 'perpscope recording 7\n'),
      /is a recording of format 7/,
    ],
    ['a folder', (path) => mkdirSync(path), /is a folder$/],
    ['a dangling link', (path) => symlinkSync(join(folder, 'nowhere'), path), /ENOENT/],
  ])('that is %s keeps serve from starting', (_what, make, found) => {
    const path = join(folder, 'log')
    make(path)
    expect(checked(path)).toMatchObject({
      status: 'fail',
      found: expect.stringMatching(found),
      advice: expect.stringMatching(/give another --record$/),
    })
  })

  test('cannot be made where a file is in the place of its folder', () => {
    writeFileSync(join(folder, 'file'), '')
    expect(checked(join(folder, 'file', 'log'))).toMatchObject({
      status: 'fail',
      found: expect.stringContaining('ENOTDIR'),
    })
  })
})
