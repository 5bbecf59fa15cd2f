import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { checkRestored, claimDataDir, marketIn, protectDataDir } from './data-dir.ts'

let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'perpscope-data-dir-'))
})

afterEach(() => rmSync(folder, { recursive: true }))

test('a folder is the first market’s that asks for it, and of no other after that', () => {
  const dataDir = join(folder, 'new')
  expect(marketIn(dataDir)).toBeNull()
  expect(claimDataDir(dataDir, 'this machine')).toBe('this machine')
  expect(claimDataDir(dataDir, 'venue.example')).toBe('this machine')
  expect(marketIn(dataDir)).toBe('this machine')
})

test('a mark that was lost as it was written is none', () => {
  writeFileSync(join(folder, 'market'), '')
  expect(marketIn(folder)).toBeNull()
  expect(claimDataDir(folder, 'venue.example')).toBe('venue.example')
  expect(marketIn(folder)).toBe('venue.example')
})

test('a folder that cannot be looked at is nobody’s to take', () => {
  const notAFolder = join(folder, 'file')
  writeFileSync(notAFolder, '')
  expect(() => claimDataDir(notAFolder, 'venue.example')).toThrow(
    expect.objectContaining({ code: 'data_dir_unreadable' }),
  )
})

test('a mark of a restore that cannot be examined keeps a service from starting', () => {
  expect(() => checkRestored(folder)).not.toThrow()
  symlinkSync('restore.unfinished', join(folder, 'restore.unfinished'))
  expect(() => checkRestored(folder)).toThrow(/ELOOP/)
})

const modeOf = (path: string) => statSync(path).mode & 0o777

test('a data directory of before is closed to other users, with every database in it', () => {
  const dataDir = join(folder, 'data')
  const elsewhere = join(folder, 'elsewhere')
  mkdirSync(dataDir)
  mkdirSync(elsewhere)
  const files = [
    ...['ledger.db', 'ledger.db-wal', 'ledger.db-shm', 'ledger.db-lock', 'channels.db'],
    ...['documents.db', 'documents.db.corrupt-1', 'history.db-wal'],
  ].map((name) => join(dataDir, name))
  const linked = ['engine.db', 'engine.db-wal'].map((name) => join(elsewhere, name))
  for (const path of [...files, ...linked]) {
    writeFileSync(path, '')
    chmodSync(path, 0o644)
  }
  symlinkSync(join(elsewhere, 'engine.db'), join(dataDir, 'engine.db'))
  chmodSync(dataDir, 0o755)
  expect(protectDataDir(dataDir)).toEqual([])
  expect(modeOf(dataDir)).toBe(0o700)
  for (const path of [...files, ...linked]) expect(modeOf(path), path).toBe(0o600)
})

test('a data directory that is not there yet is made for its owner alone', () => {
  const dataDir = join(folder, 'not', 'yet')
  expect(protectDataDir(dataDir)).toEqual([])
  expect(modeOf(dataDir)).toBe(0o700)
})

// Nobody may change the mode of what lies there, not even root.
test.skipIf(!existsSync('/proc/self'))(
  'a directory of somebody else is named, and no error',
  () => {
    expect(protectDataDir('/proc/self/attr')).toEqual([expect.stringMatching(/^EPERM/)])
  },
)
