import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { StatusFile } from './status-file.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'perpscope-status-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

test('reads what was written last, and nothing before', () => {
  const file = new StatusFile(join(folder, 'new', 'status.json'))
  expect(file.read()).toBeUndefined()
  file.write({ sinceMs: 1 })
  file.write({ sinceMs: 2 })
  expect(file.read()).toEqual({ sinceMs: 2 })
  expect(readdirSync(join(folder, 'new'))).toEqual(['status.json'])
})

test('a file that was cut off or is too large is an error, not a history', () => {
  const path = join(folder, 'status.json')
  writeFileSync(path, '{"sinceMs":1,"days":[')
  expect(() => new StatusFile(path).read()).toThrow()
  writeFileSync(path, `"${'x'.repeat(1_000_001)}"`)
  expect(() => new StatusFile(path).read()).toThrow('is too large')
})

test('a folder that cannot be written is an error', () => {
  writeFileSync(join(folder, 'file'), '')
  expect(() => new StatusFile(join(folder, 'file', 'status.json')).write({})).toThrow()
})
