import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { init } from './init.ts'

test('a folder that does not exist is refused before any question', async () => {
  const path = join(tmpdir(), 'perpscope-absent', 'perpscope.toml')
  const screen = { write: () => {}, canAsk: false }
  // Nothing that is missing in the answers is named.
  await expect(init(path, {}, new Map(), screen)).rejects.toThrow(
    /^the folder .*perpscope-absent cannot be written \(ENOENT.*\): create it/,
  )
})
