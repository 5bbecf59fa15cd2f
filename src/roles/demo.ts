import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { registerExactEvmScheme } from '@x402/evm/exact/client'
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import Table from 'cli-table3'
import closeWithGrace from 'close-with-grace'
import { Command } from 'commander'
import ora from 'ora'
import { Compile } from 'typebox/compile'
import { privateKeyToAccount } from 'viem/accounts'
import { analyses } from '../compute/analyses/registry.ts'
import type { AnalysisContract } from '../domain/contract.ts'
import { usdcDecimal } from '../domain/usdc.ts'
import type { EvmChain } from '../simulator/evm/evm-chain.ts'
import { startEvmChain } from '../simulator/evm/evm-chain.ts'
import type { Child } from './child-process.ts'
import { startCommand, superviseCommand } from './child-process.ts'
import { systemClock } from './system-clock.ts'

/**
 * `npm run demo`: the whole service on this machine, with no network and no key. A simulated venue, a
 * local chain, the service as it is deployed, and an agent that pays for every analysis.
 */

const COIN = 'BTC'
const PORT = 8402
const ADMIN_PORT = 9402
const POLL_MS = 200
const READY_MS_MAX = 120_000

/** The real venue allows 1,200 a minute; ours may answer at once, so that nobody waits for a demo. */
const SIMULATED_WEIGHT_PER_MINUTE = 60_000

type Purchase = {
  readonly analysis: string
  readonly path: string
  readonly network: string
  readonly price_usdc: number
  readonly status: number
  readonly ms: number
  readonly bytes: number
}

type Report = {
  readonly ok: boolean
  readonly purchases: readonly Purchase[]
  readonly paid_usdc: number
  readonly received_usdc: number
  readonly elapsed_ms: number
}

type Stage = {
  readonly chain: EvmChain
  readonly url: string
}

const program = new Command('demo')
  .option('--once', 'exit after the purchases')
  .option('--json', 'print one JSON report on standard output, and nothing else there')
  .parse()

await run(program.opts<{ once?: true; json?: true }>())

async function run({ once, json }: { once?: true; json?: true }): Promise<void> {
  const startedAtMs = systemClock.nowMs()
  const progress = ora({ text: 'starting', stream: process.stderr }).start()
  const cleanups: (() => Promise<void>)[] = []
  const close = async () => {
    for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
  }
  const grace = closeWithGrace({ delay: 30_000 }, close)

  const stage = await setUp(progress, cleanups)
  const report = await buyEverything(stage, progress, startedAtMs)
  progress.stop()
  process.stdout.write(json ? `${JSON.stringify(report)}\n` : rendered(report))
  if (once) {
    await close()
    grace.uninstall()
    process.exitCode = report.ok ? 0 : 1
    return
  }
  process.stderr.write(`\nThe service stays up at ${stage.url} until Ctrl-C. Try:\n`)
  process.stderr.write(`  curl ${stage.url}/coins\n  curl -i ${stage.url}/pulse/${COIN}\n`)
}

async function setUp(
  progress: { text: string },
  cleanups: (() => Promise<void>)[],
): Promise<Stage> {
  const dataDir = await mkdtemp(join(tmpdir(), 'perpscope-demo-'))
  cleanups.push(() => rm(dataDir, { recursive: true, force: true }))

  progress.text = 'starting a local chain'
  const chain = await startEvmChain({ clock: systemClock })
  cleanups.push(() => chain.close())

  progress.text = 'starting the simulated venue'
  const simulator = await startCommand([
    'simulate',
    ...['--weight-per-minute', String(SIMULATED_WEIGHT_PER_MINUTE)],
  ])
  cleanups.push(() => simulator.child.stop())
  const { venue } = JSON.parse(simulator.firstLine) as { venue: { http: string } }

  const [port, adminPort] = await Promise.all([freePort(PORT), freePort(ADMIN_PORT)])
  const service = startService(chain, venue.http, { port, adminPort, dataDir }, (how) => {
    progress.text = `the service ${how}; starting it again`
  })
  cleanups.push(() => service.stop())
  const url = `http://127.0.0.1:${port}`
  await whenReady(url, progress)
  return { chain, url }
}

function startService(
  chain: EvmChain,
  source: string,
  at: { readonly port: number; readonly adminPort: number; readonly dataDir: string },
  onExit: (how: string) => void,
): Child {
  return superviseCommand(
    [
      'serve',
      ...['--source', source],
      ...['--port', String(at.port)],
      ...['--admin-port', String(at.adminPort)],
      ...['--data-dir', at.dataDir],
      ...['--pay-to', chain.accounts.merchant.address],
      ...['--rpc-url', chain.rpcUrl],
      ...['--weight-per-minute', String(SIMULATED_WEIGHT_PER_MINUTE)],
      ...['--log-level', 'warn'],
    ],
    { PERPSCOPE_FACILITATOR_KEY: chain.accounts.facilitator.privateKey },
    (code, signal) => onExit(`ended (${signal ?? `code ${code}`})`),
  )
}

async function whenReady(url: string, progress: { text: string }): Promise<void> {
  const deadlineMs = systemClock.nowMs() + READY_MS_MAX
  while (systemClock.nowMs() < deadlineMs) {
    const coins = await readyCoins(url)
    if (coins.includes(COIN)) return
    progress.text = `warming up: ${coins.length} coins can be answered, waiting for ${COIN}`
    await pause(POLL_MS)
  }
  throw new Error(`${COIN} could not be answered within ${READY_MS_MAX / 1000} s`)
}

async function readyCoins(url: string): Promise<readonly string[]> {
  try {
    const response = await fetch(`${url}/coins`)
    return ((await response.json()) as { coins: string[] }).coins
  } catch {
    // Not listening yet.
    return []
  }
}

/** Every analysis once, in turn by the second and the first generation of the protocol. */
async function buyEverything(
  { chain, url }: Stage,
  progress: { text: string },
  startedAtMs: number,
): Promise<Report> {
  const buyer = buyerOf(chain)
  const before = await chain.balanceOf(chain.accounts.merchant.address)
  const purchases: Purchase[] = []
  let areValid = true
  let paidAtomic = 0n
  for (const [at, { contract }] of analyses.entries()) {
    progress.text = `buying ${contract.id}`
    const { purchase, isValid } = await buy(contract, url, at % 2 === 0 ? buyer.v2 : buyer.v1)
    purchases.push(purchase)
    areValid &&= isValid
    if (purchase.status === 200) paidAtomic += contract.priceUsdcAtomic
  }
  const received = (await chain.balanceOf(chain.accounts.merchant.address)) - before
  return {
    ok: areValid && received === paidAtomic,
    purchases,
    paid_usdc: Number(usdcDecimal(paidAtomic)),
    received_usdc: Number(usdcDecimal(received)),
    elapsed_ms: systemClock.nowMs() - startedAtMs,
  }
}

async function buy(
  contract: AnalysisContract,
  url: string,
  payingFetch: typeof fetch,
): Promise<{ readonly purchase: Purchase; readonly isValid: boolean }> {
  const path = `/${contract.id}/${COIN}`
  const startedAtMs = performance.now()
  const response = await payingFetch(url + path)
  const body = await response.text()
  const ms = Math.round(performance.now() - startedAtMs)
  const receipt = response.headers.get('payment-response')
  const network = receipt
    ? (JSON.parse(Buffer.from(receipt, 'base64').toString()) as { network: string }).network
    : 'none'
  return {
    purchase: {
      analysis: contract.id,
      path,
      network,
      price_usdc: Number(usdcDecimal(contract.priceUsdcAtomic)),
      status: response.status,
      ms,
      bytes: Buffer.byteLength(body),
    },
    isValid: response.status === 200 && Compile(contract.document).Check(JSON.parse(body)),
  }
}

/** The public client as it comes. Without the v2 header it falls back to the v1 body by itself. */
function buyerOf(chain: EvmChain): { readonly v1: typeof fetch; readonly v2: typeof fetch } {
  const client = new x402Client()
  registerExactEvmScheme(client, {
    signer: privateKeyToAccount(chain.accounts.buyer.privateKey),
  })
  const withoutV2Header: typeof fetch = async (input, init) => {
    const response = await fetch(input, init)
    const headers = new Headers(response.headers)
    headers.delete('payment-required')
    return new Response(response.body, { status: response.status, headers })
  }
  return {
    v1: wrapFetchWithPayment(withoutV2Header, client),
    v2: wrapFetchWithPayment(fetch, client),
  }
}

function rendered(report: Report): string {
  const table = new Table({
    style: { head: [], border: [], compact: true },
    head: ['analysis', 'path', 'network', 'USDC', 'status', 'ms', 'bytes'],
    colAligns: ['left', 'left', 'left', 'right', 'right', 'right', 'right'],
  })
  for (const purchase of report.purchases) table.push(Object.values(purchase))
  const verdict = report.ok
    ? `${report.paid_usdc} USDC paid, ${report.received_usdc} USDC received on chain`
    : `NOT OK: ${report.paid_usdc} USDC paid, ${report.received_usdc} USDC received on chain`
  return `${table.toString()}\n${verdict}, ${(report.elapsed_ms / 1000).toFixed(1)} s in all\n`
}

/** The usual port where it is free, else any. */
function freePort(wished: number): Promise<number> {
  const tryPort = (port: number) =>
    new Promise<number>((resolve, reject) => {
      const server = createServer()
      server.once('error', reject)
      server.listen(port, '127.0.0.1', () => {
        const address = server.address()
        const found = typeof address === 'object' && address !== null ? address.port : port
        server.close(() => resolve(found))
      })
    })
  return tryPort(wished).catch(() => tryPort(0))
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    systemClock.after(ms, resolve)
  })
}
