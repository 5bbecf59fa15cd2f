import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { shellWord } from '../../domain/shell-word.ts'

/** The running services of an interactive demo, and the keys of its buyers. */
export type DemoStand = {
  readonly url: string
  readonly coin: string
  /** Of the admin port. */
  readonly adminUrl: string
  readonly dataDir: string
  /** The options of `perpscope ledger`. */
  readonly ledger: string
  /** Of a wallet on the local Base. */
  readonly baseKey: string
  /** A Solana wallet file. */
  readonly solanaKeyFile: string
  readonly solanaRpcUrl: string
  /** Where the commands are right. */
  readonly folder: string
  /** How to start this program there. */
  readonly program: string
  /** Whether that is a checkout, with examples and what runs them. */
  readonly hasExamples: boolean
}

/** The last lines of the demo: addresses and keys, then commands to paste, one per line. */
export function demoCommands(stand: DemoStand): string {
  const { url, adminUrl, coin, dataDir, ledger, folder, program, hasExamples } = stand
  const { baseKey, solanaKeyFile, solanaRpcUrl } = stand
  const buy = `${program} buy --url ${url} --yes`
  const commands = [
    `curl -s ${url}/coins`,
    `${buy} /pulse/${coin} --key ${baseKey}`,
    `${buy} /spread/${coin} --key-file ${solanaKeyFile} --solana-rpc-url ${solanaRpcUrl}`,
    ...(hasExamples
      ? [
          `PERPSCOPE_URL=${url} WALLET_KEY=${baseKey} npx tsx examples/wallet-on-base.ts ${coin}`,
          `PERPSCOPE_URL=${url} SOLANA_KEY="$(cat ${solanaKeyFile})" SOLANA_RPC_URL=${solanaRpcUrl} npx tsx examples/wallet-on-solana.ts ${coin}`,
        ]
      : []),
    `${program} ledger ${ledger}`,
    `curl -s ${url}/llms.txt`,
  ]
  return `
The service runs until Ctrl-C. Everything is local, and the money is not real.

  console          ${url}/
  operator's desk  ${adminUrl}/
  documentation    ${url}/docs
  data directory   ${dataDir}
  key on Base      ${baseKey}
  key on Solana    ${solanaKeyFile}
  Solana node      ${solanaRpcUrl}

Commands for another terminal, in ${folder}:

${commands.join('\n')}
`
}

/** Where `npx` does not find this program, it would run what the public registry has under its name. */
export function programIn(folder: string, main: string): string {
  const isCheckout = main === join(folder, 'dist', 'main.js')
  const isInstalled = existsSync(join(folder, 'node_modules', '.bin', 'perpscope'))
  return isCheckout || isInstalled ? 'npx perpscope' : `node ${shellWord(main)}`
}
