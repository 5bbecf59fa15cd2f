import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Table from 'cli-table3'
import closeWithGrace from 'close-with-grace'
import ora from 'ora'
import { Compile } from 'typebox/compile'
import { contracts } from '../compute/analyses/registry.ts'
import type { DemoOptions } from '../config/demo.ts'
import type { AnalysisContract } from '../domain/contract.ts'
import { pathOf } from '../domain/contract.ts'
import { usdcDecimal } from '../domain/usdc.ts'
import type { EvmChain } from '../simulator/evm/evm-chain.ts'
import { startEvmChain } from '../simulator/evm/evm-chain.ts'
import type { SolanaChain } from '../simulator/solana/solana-chain.ts'
import { startSolanaChain } from '../simulator/solana/solana-chain.ts'
import type { Child } from './child-process.ts'
import { startCommand, superviseCommand } from './child-process.ts'
import type { DemoStand } from './demo-commands.ts'
import { demoCommands } from './demo-commands.ts'
import type { Balances, DemoWallet } from './demo-wallets.ts'
import { baseWallet, solanaWallet } from './demo-wallets.ts'
import { systemClock } from './system-clock.ts'

/**
 * `perpscope demo`: the whole service on this machine, with no network and no key. A simulated venue, two
 * local chains, the service as it is deployed, and an agent that pays for every analysis, on Base and on
 * Solana in turn.
 */

const COIN = 'BTC'
const PORT = 8402
const ADMIN_PORT = 9402
const POLL_MS = 200
const READY_MS_MAX = 120_000
const CLOSE_MS_MAX = 30_000
const NETWORK_CHARS_MAX = 12

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

/** Payments from buyer to seller on one chain, and the balances after them. */
type Account = {
  readonly network: string
  readonly paid_usdc: number
  readonly received_usdc: number
  readonly buyer_usdc: number
  readonly seller_usdc: number
}

type Report = {
  readonly ok: boolean
  readonly purchases: readonly Purchase[]
  readonly accounts: readonly Account[]
  readonly paid_usdc: number
  readonly received_usdc: number
  readonly elapsed_ms: number
}

/** The purchases so far, also after a failure. */
type Bought = {
  ok: boolean
  readonly purchases: Purchase[]
  readonly transfers: Transfers[]
}

type Transfers = {
  readonly network: string
  readonly paidAtomic: bigint
  readonly receivedAtomic: bigint
  readonly after: Balances
}

type Progress = {
  /** Begins a stage. */
  stage(text: string): void
  /** Progress within a stage; shown on a terminal only. */
  detail(text: string): void
  stop(): void
}

type Cleanup = () => Promise<void>

type Chains = { readonly base: EvmChain; readonly solana: SolanaChain }

type Stage = {
  /** Take turns. */
  readonly wallets: readonly DemoWallet[]
  readonly url: string
  readonly stand: DemoStand
}

export async function demo({ once, json }: DemoOptions): Promise<void> {
  const startedAtMs = systemClock.nowMs()
  const progress = startProgress()
  const cleanups: Cleanup[] = []
  let isInterrupted = false
  const close = async () => {
    for (let next = cleanups.pop(); next !== undefined; next = cleanups.pop()) await next()
  }
  const grace = closeWithGrace({ delay: CLOSE_MS_MAX }, ({ err }) => {
    isInterrupted = true
    progress.stop()
    if (err) process.stderr.write(`${err.stack ?? err.message}\n`)
    return close()
  })

  const bought: Bought = { ok: false, purchases: [], transfers: [] }
  let lastLines = ''
  try {
    const stage = await setUp(progress, cleanups)
    lastLines = demoCommands(stage.stand)
    await buyEverything(stage, progress, bought)
  } catch (cause) {
    // Failures during shutdown are expected.
    if (isInterrupted) return
    complain('the demo failed', cause)
  }
  progress.stop()
  const report = reportOf(bought, systemClock.nowMs() - startedAtMs)
  process.stdout.write(json ? `${JSON.stringify(report)}\n` : rendered(report))
  if (once || !report.ok) {
    await close()
    grace.uninstall()
    process.exitCode = report.ok ? 0 : 1
    return
  }
  process.stderr.write(lastLines)
}

/** A spinner on a terminal, otherwise one line per stage on standard error. */
function startProgress(): Progress {
  if (!process.stderr.isTTY) {
    const stage = (text: string) => void process.stderr.write(`${text}\n`)
    return { stage, detail: () => undefined, stop: () => undefined }
  }
  const spinner = ora({ text: 'starting', stream: process.stderr }).start()
  const show = (text: string) => {
    spinner.text = text
  }
  return { stage: show, detail: show, stop: () => void spinner.stop() }
}

async function setUp(progress: Progress, cleanups: Cleanup[]): Promise<Stage> {
  const folder = await mkdtemp(join(tmpdir(), 'perpscope-demo-'))
  cleanups.push(() => rm(folder, { recursive: true, force: true }))
  const dataDir = join(folder, 'data')
  await mkdir(dataDir)

  progress.stage('starting a local Base and a local Solana')
  const base = await startEvmChain({ clock: systemClock })
  cleanups.push(() => base.close())
  const solana = await startSolanaChain({ clock: systemClock })
  cleanups.push(() => solana.close())

  progress.stage('starting the simulated venue')
  const simulator = startCommand([
    'simulate',
    ...['--weight-per-minute', String(SIMULATED_WEIGHT_PER_MINUTE)],
    // Changes of open interest need earlier readings, which the venue does not provide.
    ...['--past', dataDir],
  ])
  cleanups.push(() => simulator.stop())
  const { venue } = JSON.parse(await simulator.firstLine) as { venue: { http: string } }

  const [port, adminPort] = await Promise.all([freePort(PORT), freePort(ADMIN_PORT)])
  progress.stage(`starting the service and waiting for every analysis`)
  const chains = { base, solana }
  const service = startService(chains, venue.http, { port, adminPort, dataDir }, (how) =>
    progress.stage(`the service ${how}; starting it again`),
  )
  cleanups.push(() => service.stop())
  const url = `http://127.0.0.1:${port}`
  await whenReady(url, progress)
  const solanaKeyFile = join(folder, 'solana-wallet.json')
  await writeFile(solanaKeyFile, solana.accounts.buyer.walletFile, { mode: 0o600 })
  return {
    wallets: [baseWallet(base), await solanaWallet(solana)],
    url,
    stand: {
      url,
      coin: COIN,
      dataDir,
      baseKey: base.accounts.buyer.privateKey,
      solanaKeyFile,
      solanaRpcUrl: solana.rpcUrl,
      folder: process.cwd(),
      hasExamples: existsSync('examples') && existsSync('node_modules/.bin/tsx'),
    },
  }
}

function startService(
  { base, solana }: Chains,
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
      ...['--pay-to', base.accounts.merchant.address],
      ...['--rpc-url', base.rpcUrl],
      ...['--solana-pay-to', solana.accounts.merchant.address],
      ...['--solana-rpc-url', solana.rpcUrl],
      ...['--weight-per-minute', String(SIMULATED_WEIGHT_PER_MINUTE)],
      // Warnings are for operators.
      ...['--log-level', 'error'],
    ],
    {
      PERPSCOPE_FACILITATOR_KEY: base.accounts.facilitator.privateKey,
      PERPSCOPE_SOLANA_FACILITATOR_KEY: JSON.stringify([...solana.accounts.facilitator.seed]),
    },
    (code, signal) => onExit(`ended (${signal ?? `code ${code}`})`),
  )
}

async function whenReady(url: string, progress: Progress): Promise<void> {
  const deadlineMs = systemClock.nowMs() + READY_MS_MAX
  let missing = contracts
  while (systemClock.nowMs() < deadlineMs) {
    const coins = await readyCoins(url)
    missing = await unsold(url, missing)
    if (coins.includes(COIN) && missing.length === 0) return
    const ids = missing.map(({ id }) => id).join(', ')
    progress.detail(`warming up: ${coins.length} coins, waiting for ${ids || COIN}`)
    await pause(POLL_MS)
  }
  throw new Error(`not every analysis had an answer within ${READY_MS_MAX / 1000} s`)
}

/** Analyses without an answer yet. Only with an answer is an invalid payment refused as malformed. */
async function unsold(
  url: string,
  asked: readonly AnalysisContract[],
): Promise<readonly AnalysisContract[]> {
  const missing: AnalysisContract[] = []
  for (const contract of asked) {
    try {
      const response = await fetch(url + pathOf(contract, COIN), { headers: { 'x-payment': '%' } })
      const { code } = (await response.json()) as { code?: string }
      if (code !== 'malformed_payment') missing.push(contract)
    } catch {
      missing.push(contract)
    }
  }
  return missing
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

/** Buys every analysis once, alternating between the chains and between x402 versions 2 and 1. */
async function buyEverything(
  { wallets, url }: Stage,
  progress: Progress,
  bought: Bought,
): Promise<void> {
  const before = await Promise.all(wallets.map((wallet) => wallet.balances()))
  const paidAtomic = wallets.map(() => 0n)
  let areValid = true
  for (const [at, contract] of contracts.entries()) {
    progress.stage(`buying ${contract.id}`)
    const turn = at % wallets.length
    const round = Math.floor(at / wallets.length)
    const payingFetch = wallets[turn]?.[round % 2 === 0 ? 'v2' : 'v1'] ?? fetch
    const { purchase, isValid } = await buy(contract, url, payingFetch)
    bought.purchases.push(purchase)
    areValid &&= isValid
    if (purchase.status === 200)
      paidAtomic[turn] = (paidAtomic[turn] ?? 0n) + contract.priceUsdcAtomic
  }
  for (const [turn, wallet] of wallets.entries()) {
    const after = await wallet.balances()
    const receivedAtomic = after.seller - (before[turn]?.seller ?? 0n)
    const { network } = wallet
    bought.transfers.push({ network, paidAtomic: paidAtomic[turn] ?? 0n, receivedAtomic, after })
  }
  bought.ok =
    areValid &&
    bought.transfers.every(({ paidAtomic: paid, receivedAtomic }) => paid === receivedAtomic)
}

async function buy(
  contract: AnalysisContract,
  url: string,
  payingFetch: typeof fetch,
): Promise<{ readonly purchase: Purchase; readonly isValid: boolean }> {
  const path = pathOf(contract, COIN)
  const startedAtMs = performance.now()
  let answered = { network: 'none', status: 0, bytes: 0 }
  let isValid = false
  try {
    const response = await payingFetch(url + path)
    const body = await response.text()
    answered = {
      network: networkOf(response.headers.get('payment-response')),
      status: response.status,
      bytes: Buffer.byteLength(body),
    }
    isValid = response.status === 200 && Compile(contract.document).Check(JSON.parse(body))
  } catch (cause) {
    complain(path, cause)
  }
  const purchase = {
    analysis: contract.id,
    path,
    network: answered.network,
    price_usdc: Number(usdcDecimal(contract.priceUsdcAtomic)),
    status: answered.status,
    ms: Math.round(performance.now() - startedAtMs),
    bytes: answered.bytes,
  }
  return { purchase, isValid }
}

function networkOf(receipt: string | null): string {
  if (receipt === null) return 'none'
  return (JSON.parse(Buffer.from(receipt, 'base64').toString()) as { network: string }).network
}

function reportOf(bought: Bought, elapsedMs: number): Report {
  const { ok, purchases, transfers } = bought
  return {
    ok,
    purchases,
    accounts: transfers.map(({ network, paidAtomic, receivedAtomic, after }) => ({
      network,
      paid_usdc: usdcNumber(paidAtomic),
      received_usdc: usdcNumber(receivedAtomic),
      buyer_usdc: usdcNumber(after.buyer),
      seller_usdc: usdcNumber(after.seller),
    })),
    paid_usdc: usdcNumber(sum(transfers.map(({ paidAtomic }) => paidAtomic))),
    received_usdc: usdcNumber(sum(transfers.map(({ receivedAtomic }) => receivedAtomic))),
    elapsed_ms: elapsedMs,
  }
}

function usdcNumber(atomic: bigint): number {
  return Number(usdcDecimal(atomic))
}

function sum(values: readonly bigint[]): bigint {
  return values.reduce((total, value) => total + value, 0n)
}

function complain(what: string, cause: unknown): void {
  process.stderr.write(`${what}: ${cause instanceof Error ? cause.message : String(cause)}\n`)
}

function rendered(report: Report): string {
  const purchases = tableOf(['analysis', 'path', 'network'], ['USDC', 'status', 'ms', 'bytes'])
  for (const purchase of report.purchases)
    purchases.push(Object.values({ ...purchase, network: shortened(purchase.network) }))
  const accounts = tableOf(['network'], ['paid', 'received', 'buyer has', 'seller has'])
  for (const account of report.accounts) accounts.push(Object.values(account))
  const verdict = report.ok
    ? `${report.paid_usdc} USDC paid, ${report.received_usdc} USDC received on chain`
    : `NOT OK: ${report.paid_usdc} USDC paid, ${report.received_usdc} USDC received on chain`
  const elapsed = `${(report.elapsed_ms / 1000).toFixed(1)} s in all`
  return `${purchases.toString()}\n${accounts.toString()}\n${verdict}, ${elapsed}\n`
}

/** The network identifier of Solana has 39 characters, too long for this table. */
function shortened(network: string): string {
  return network.length <= NETWORK_CHARS_MAX ? network : `${network.slice(0, NETWORK_CHARS_MAX)}…`
}

/** @param numbers stand to the right */
function tableOf(texts: readonly string[], numbers: readonly string[]) {
  return new Table({
    style: { head: [], border: [], compact: true },
    head: [...texts, ...numbers],
    colAligns: [...texts.map(() => 'left' as const), ...numbers.map(() => 'right' as const)],
  })
}

/** The preferred port if it is free, otherwise any. */
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
