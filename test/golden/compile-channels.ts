import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { compileContracts } from './compile-contracts.ts'

/**
 * Rebuilds `src/simulator/evm/channels/channels.json` from the Solidity sources in its folder:
 * `node_modules/.bin/tsx test/golden/compile-channels.ts`. The artefact is committed;
 * `test/compiled-contracts.deep.test.ts` compares it with its source.
 */
export const channelsFolder = join(import.meta.dirname, '../../src/simulator/evm/channels')

const contracts = [
  ['BatchSettlement.sol', 'BatchSettlement', 'batchSettlement'],
  ['DepositCollector.sol', 'DepositCollector', 'depositCollector'],
] as const

/** The expected content of the committed artefact. */
export const compileChannels = () => compileContracts(channelsFolder, contracts)

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  writeFileSync(join(channelsFolder, 'channels.json'), compileChannels())
}
