import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { init } from './init.ts'

test('a folder that does not exist is refused before any question', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'perpscope-init-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'absent', 'perpscope.toml')
  const screen = { write: () => {}, canAsk: false }
  // Nothing that is missing in the answers is named.
  await expect(init(path, {}, new Map(), screen)).rejects.toThrow(
    /^the folder .*absent cannot be written \(ENOENT.*\): create it/,
  )
})
