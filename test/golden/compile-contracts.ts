import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'

/** A contract to compile: its file, its name, and its key in the artefact. */
export type Source = readonly [file: string, contract: string, key: string]

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

/** The expected content of a folder's committed artefact: runtime code by key. */
export function compileContracts(folder: string, contracts: readonly Source[]): string {
  const solc: { compile(input: string): string } = createRequire(import.meta.url)('solc')
  const output: SolcOutput = JSON.parse(
    solc.compile(
      JSON.stringify({
        language: 'Solidity',
        sources: Object.fromEntries(
          contracts.map(([file]) => [file, { content: readFileSync(join(folder, file), 'utf8') }]),
        ),
        settings: {
          evmVersion: 'cancun',
          viaIR: true,
          optimizer: { enabled: true, runs: 200 },
          // No source hash in the code, so that a comment does not change the artefact.
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
