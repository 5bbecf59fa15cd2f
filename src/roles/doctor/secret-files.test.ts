import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { checkSecretFiles } from './secret-files.ts'

const folder = mkdtempSync(join(tmpdir(), 'perpscope-modes-'))
const path = join(folder, 'key')
writeFileSync(path, 'word')

afterAll(() => rmSync(folder, { recursive: true }))

test.each([
  [0o600, 'ok'],
  [0o440, 'ok'],
  [0o444, 'warn'],
  [0o604, 'warn'],
])('a file with a secret and the mode %o is %s', (mode, status) => {
  chmodSync(path, mode)
  const files = [{ path, hasSecret: true }]
  expect(checkSecretFiles(files, undefined, 'linux')).toMatchObject({ status })
  expect(checkSecretFiles([], path, 'linux')).toMatchObject({ status })
  expect(checkSecretFiles(files, undefined, 'win32')).toBeNull()
})

test('a configuration file without a secret may be read by all', () => {
  chmodSync(path, 0o644)
  expect(checkSecretFiles([{ path, hasSecret: false }], undefined, 'linux')).toBeNull()
})
