import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { readSecret } from './secret-file.ts'

const folder = mkdtempSync(join(tmpdir(), 'perpscope-secret-'))
const path = join(folder, 'key')

afterAll(() => rmSync(folder, { recursive: true }))

test.each(['word', 'word\n', 'word\r\n', '  word \n\n'])('%j holds one word', (text) => {
  writeFileSync(path, text)
  expect(readSecret(path)).toBe('word')
})

test.each([
  ['an empty file', '', /key is empty/],
  ['a file of space', ' \n\n', /key is empty/],
  ['two lines', 'hidden-word\nhidden-other', /key has more than one line/],
  ['what is too large', `hidden-word${'x'.repeat(70_000)}`, /key is too large/],
])('refuses %s without its content', (_what, text, message) => {
  writeFileSync(path, text)
  expect(() => readSecret(path)).toThrow(message)
  expect(() => readSecret(path)).toThrow(
    expect.objectContaining({ message: expect.not.stringContaining('hidden') }),
  )
})

test.each([
  ['a missing file', join(folder, 'absent'), /absent cannot be read: ENOENT/],
  ['no path', '', /the path cannot be read/],
  ['a folder', folder, /is not a regular file/],
])('refuses %s', (_what, wrong, message) => {
  expect(() => readSecret(wrong)).toThrow(message)
})
