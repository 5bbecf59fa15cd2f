import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { Command } from 'commander'
import { startSseBridge, startVersion1Proxy } from './adapters.ts'
import type { HarnessClient } from './clients.ts'
import { harnessClients, install, run } from './clients.ts'
import type { Network, Stage } from './stage.ts'
import { startStage } from './stage.ts'

/**
 * Runs the TypeScript clients of the x402 end-to-end harness, unchanged, against the built service on local chains:
 * `npm run build && npx tsx test/conformance/main.ts --harness DIR`, where DIR is a checkout of the x402 repository.
 * `docs/conformance.md` has the results.
 */

type Row = {
  readonly client: string
  readonly network: Network
  readonly version: 1 | 2
  readonly through: string
  readonly failure: string | null
}

// Child processes end with this process: see their `exit` handlers.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))

await new Command('conformance')
  .requiredOption('--harness <folder>', 'checkout of the x402 repository')
  .action(async ({ harness }: { readonly harness: string }) => {
    const folder = await mkdtemp(join(tmpdir(), 'perpscope-conformance-'))
    try {
      const clients = install(harnessClients(resolve(harness)), resolve(harness), folder)
      const rows: Row[] = []
      for (const network of ['base', 'solana', 'base-sepolia'] as const) {
        const stage = await startStage(network)
        try {
          for (const client of clients) rows.push(...(await rowsOf(client, network, stage)))
        } finally {
          await stage.close()
        }
      }
      process.stdout.write(table(rows))
      process.exitCode = rows.every(({ failure }) => failure === null) ? 0 : 1
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  })
  .parseAsync()

/** The MCP client signs for Base Sepolia alone; the others are run on the main networks. */
async function rowsOf(client: HarnessClient, network: Network, stage: Stage): Promise<Row[]> {
  const isMcp = client.transport === 'mcp'
  if (isMcp !== (network === 'base-sepolia')) return []
  const rows: Row[] = []
  const add = async (version: 1 | 2, through: string, url: string) => {
    const path = isMcp ? stage.tool : stage.path
    const failure = await run(client, stage, url, path)
    rows.push({ client: client.name, network, version, through, failure })
    process.stderr.write(`${client.name} ${network} v${version} ${through}: ${failure ?? 'paid'}\n`)
  }
  for (const version of client.versions) {
    if (!isMcp && (version === 2 || client.isLegacy)) {
      await add(version, 'directly', stage.url)
      continue
    }
    const adapter = isMcp ? await startSseBridge(stage.url) : await startVersion1Proxy(stage.url)
    try {
      await add(version, adapter.name, adapter.url)
    } finally {
      await adapter.close()
    }
  }
  return rows
}

function table(rows: readonly Row[]): string {
  const lines = rows.map(
    ({ client, network, version, through, failure }) =>
      `| ${client} | ${network} | ${version} | ${through} | ${failure ?? 'paid and answered'} |\n`,
  )
  return [
    '| client | network | x402 | reached | result |\n',
    '|---|---|---|---|---|\n',
    ...lines,
  ].join('')
}
