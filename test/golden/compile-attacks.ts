import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { compileContracts } from './compile-contracts.ts'

/**
 * Rebuilds `test/attacks/hostile-wallet.json` from the Solidity source in its folder:
 * `node_modules/.bin/tsx test/golden/compile-attacks.ts`. The artefact is committed, so that the attacks need no
 * compiler; `test/compiled-contracts.deep.test.ts` compares it with its source.
 */
export const attacksFolder = join(import.meta.dirname, '../attacks')

const contracts = [['HostileWallet.sol', 'HostileWallet', 'hostileWallet']] as const

/** The expected content of the committed artefact. */
export const compileHostileWallet = () => compileContracts(attacksFolder, contracts)

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  writeFileSync(join(attacksFolder, 'hostile-wallet.json'), compileHostileWallet())
}
