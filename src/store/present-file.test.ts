import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { lstatPresent, statPresent } from './present-file.ts'

let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'perpscope-present-'))
  writeFileSync(join(folder, 'file'), 'four')
  symlinkSync('loop', join(folder, 'loop'))
  symlinkSync('nothing', join(folder, 'dangling'))
})

afterEach(() => rmSync(folder, { recursive: true }))

describe.each([
  ['statPresent', statPresent],
  ['lstatPresent', lstatPresent],
])('%s', (_, look) => {
  test('finds what is there', () => {
    expect(Number(look(join(folder, 'file'))?.size)).toBe(4)
  })

  test('finds nothing where nothing is', () => {
    expect(look(join(folder, 'none'))).toBeUndefined()
    expect(look(join(folder, 'none', 'below'))).toBeUndefined()
  })

  test.each([
    ['a file in the place of a folder', 'file/below', 'ENOTDIR'],
    ['links that lead back to each other', 'loop/below', 'ELOOP'],
  ])('does not take %s for nothing', (_what, path, code) => {
    expect(() => look(join(folder, path))).toThrow(expect.objectContaining({ code }))
  })
})

test('a link to nothing is there itself, and what it points at is not', () => {
  expect(lstatPresent(join(folder, 'dangling'))?.isSymbolicLink()).toBe(true)
  expect(statPresent(join(folder, 'dangling'))).toBeUndefined()
})
