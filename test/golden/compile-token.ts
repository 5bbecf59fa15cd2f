import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { compileContracts } from './compile-contracts.ts'

/**
 * Rebuilds `src/simulator/evm/token/usd-coin.json` from the Solidity sources in its folder:
 * `node_modules/.bin/tsx test/golden/compile-token.ts`. The artefact is committed, so that neither the demo
 * nor the payment tests need a compiler; `test/compiled-contracts.deep.test.ts` compares it with its source.
 */
export const tokenFolder = join(import.meta.dirname, '../../src/simulator/evm/token')

const contracts = [
  ['UsdCoin.sol', 'UsdCoin', 'usdCoin'],
  ['Multicall.sol', 'Multicall', 'multicall'],
  ['Wallet.sol', 'Wallet', 'wallet'],
] as const

/** The expected content of the committed artefact. */
export const compileToken = () => compileContracts(tokenFolder, contracts)

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  writeFileSync(join(tokenFolder, 'usd-coin.json'), compileToken())
}
