import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { compileContracts } from './compile-contracts.ts'

/**
 * Rebuilds `src/simulator/evm/token/usd-coin.json` from the Solidity beside it:
 * `node_modules/.bin/tsx test/golden/compile-token.ts`. The artefact is committed, so that neither the
 * demo nor the tests that move money need a compiler; `test/payment-token.deep.test.ts` holds it to this.
 */
export const tokenFolder = join(import.meta.dirname, '../../src/simulator/evm/token')

const contracts = [
  ['UsdCoin.sol', 'UsdCoin', 'usdCoin'],
  ['Multicall.sol', 'Multicall', 'multicall'],
  ['Wallet.sol', 'Wallet', 'wallet'],
] as const

/** The artefact as it must lie in the repository. */
export const compileToken = () => compileContracts(tokenFolder, contracts)

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  writeFileSync(join(tokenFolder, 'usd-coin.json'), compileToken())
}
