import { readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

/**
 * Rebuilds `src/simulator/evm/token/usd-coin.json` from the Solidity beside it:
 * `node_modules/.bin/tsx test/golden/compile-token.ts`. The artefact is committed, so that neither the
 * demo nor the tests that move money need a compiler; `test/payment-token.test.ts` holds it to this.
 */
export const tokenFolder = join(import.meta.dirname, '../../src/simulator/evm/token')

const contracts = [
  ['UsdCoin.sol', 'UsdCoin', 'usdCoin'],
  ['Multicall.sol', 'Multicall', 'multicall'],
  ['Wallet.sol', 'Wallet', 'wallet'],
] as const

type SolcOutput = {
  readonly errors?: readonly { readonly severity: string; readonly formattedMessage: string }[]
  readonly contracts: Readonly<
    Record<
      string,
      Readonly<
        Record<string, { readonly evm: { readonly deployedBytecode: { readonly object: string } } }>
      >
    >
  >
}

/** The artefact as it must lie in the repository: runtime code by contract. */
export function compileToken(): string {
  const solc: { compile(input: string): string } = createRequire(import.meta.url)('solc')
  const output: SolcOutput = JSON.parse(
    solc.compile(
      JSON.stringify({
        language: 'Solidity',
        sources: Object.fromEntries(
          contracts.map(([file]) => [
            file,
            { content: readFileSync(join(tokenFolder, file), 'utf8') },
          ]),
        ),
        settings: {
          evmVersion: 'cancun',
          viaIR: true,
          optimizer: { enabled: true, runs: 200 },
          // No hash of the sources in the code: a comment must not change the artefact.
          metadata: { appendCBOR: false, bytecodeHash: 'none' },
          outputSelection: { '*': { '*': ['evm.deployedBytecode.object'] } },
        },
      }),
    ),
  )
  const errors = (output.errors ?? []).filter(({ severity }) => severity === 'error')
  if (errors.length > 0) {
    throw new Error(errors.map(({ formattedMessage }) => formattedMessage).join('\n'))
  }
  const artefact = Object.fromEntries(
    contracts.map(([file, contract, key]) => [
      key,
      `0x${output.contracts[file]?.[contract]?.evm.deployedBytecode.object}`,
    ]),
  )
  return `${JSON.stringify(artefact, null, 2)}\n`
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  writeFileSync(join(tokenFolder, 'usd-coin.json'), compileToken())
}
