import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { attacksFolder, compileHostileWallet } from './golden/compile-attacks.ts'
import { channelsFolder, compileChannels } from './golden/compile-channels.ts'
import { compileToken, tokenFolder } from './golden/compile-token.ts'

// In one file, because a worker loads the compiler for it.
test.each([
  { of: 'the token', folder: tokenFolder, name: 'usd-coin.json', compile: compileToken },
  { of: 'the channels', folder: channelsFolder, name: 'channels.json', compile: compileChannels },
  {
    of: 'the hostile wallet',
    folder: attacksFolder,
    name: 'hostile-wallet.json',
    compile: compileHostileWallet,
  },
])('the committed code of $of equals its compiled source', ({ folder, name, compile }) => {
  expect(readFileSync(join(folder, name), 'utf8')).toBe(compile())
})
