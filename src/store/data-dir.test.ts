import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { claimDataDir, marketIn } from './data-dir.ts'

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
