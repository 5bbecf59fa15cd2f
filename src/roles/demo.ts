import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import closeWithGrace from 'close-with-grace'
import type { DemoOptions } from '../config/demo.ts'
import { startEvmChain } from '../simulator/evm/evm-chain.ts'
import { startSolanaChain } from '../simulator/solana/solana-chain.ts'
import { MAIN, startCommand } from './child-process.ts'
import { ENGINES, startCluster } from './demo/cluster.ts'
import type { DemoStand } from './demo/commands.ts'
import { demoCommands, programIn } from './demo/commands.ts'
import { complain } from './demo/complain.ts'
import { freePort } from './demo/free-port.ts'
import type { ServerPrograms } from './demo/local-servers.ts'
import { serverPrograms } from './demo/local-servers.ts'
import type { DemoProgress } from './demo/progress.ts'
import { startProgress } from './demo/progress.ts'
import type { Cleanup, DemoPurchases, Shop } from './demo/purchases.ts'
import { buyEverything } from './demo/purchases.ts'
import { whenReady } from './demo/readiness.ts'
import { rendered, reportOf } from './demo/report.ts'
import { SIMULATED_WEIGHT_PER_MINUTE, startOneProcess } from './demo/service.ts'
import { baseWallet, solanaWallet } from './demo/wallets.ts'
import { systemClock } from './system-clock.ts'

/**
 * `perpscope demo`: the whole service on this machine, with no network and no key. A simulated venue, two
 * local chains, the service as it is deployed, and an agent that pays for every analysis, on Base and on
 * Solana in turn.
 */

const COIN = 'BTC'
const PORT = 8402
const ADMIN_PORT = 9402
const CLOSE_MS_MAX = 30_000

type Stage = Shop & {
  readonly beforePurchase: (at: number, progress: DemoProgress) => Promise<void>
  readonly stand: DemoStand
}

export async function demo({ once, json, cluster, coins }: DemoOptions): Promise<void> {
  const startedAtMs = systemClock.nowMs()
  const programs = cluster === true ? serverPrograms() : null
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

  const bought: DemoPurchases = { ok: false, purchases: [], transfers: [] }
  let lastLines = ''
  try {
    const stage = await setUp(programs, coins, progress, cleanups)
    lastLines = demoCommands(stage.stand)
    await buyEverything(COIN, stage, progress, bought, (at) => stage.beforePurchase(at, progress))
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

async function setUp(
  programs: ServerPrograms | null,
  coins: number | undefined,
  progress: DemoProgress,
  cleanups: Cleanup[],
): Promise<Stage> {
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
    ...(coins === undefined ? [] : ['--coins', String(coins)]),
    ...['--engines', String(programs === null ? 1 : ENGINES)],
    // Changes of open interest need earlier readings, which the venue does not provide.
    ...['--past', dataDir],
  ])
  cleanups.push(() => simulator.stop())
  const { venue } = JSON.parse(await simulator.firstLine) as { venue: { http: string } }

  const at = { port: await freePort(PORT), adminPort: await freePort(ADMIN_PORT), dataDir }
  progress.stage(`starting the service and waiting for every analysis`)
  const chains = { base, solana }
  const service =
    programs === null
      ? startOneProcess(chains, venue.http, at, progress, cleanups)
      : await startCluster(chains, venue.http, at, programs, cleanups)
  const url = `http://127.0.0.1:${at.port}`
  await whenReady(url, COIN, progress)
  const solanaKeyFile = join(folder, 'solana-wallet.json')
  await writeFile(solanaKeyFile, solana.accounts.buyer.walletFile, { mode: 0o600 })
  return {
    wallets: [baseWallet(base), await solanaWallet(solana)],
    url,
    whenReady: (contract) => whenReady(url, COIN, progress, [contract]),
    beforePurchase: service.beforePurchase,
    stand: {
      url,
      coin: COIN,
      dataDir,
      ledger: service.ledger,
      adminUrl: service.adminUrl,
      baseKey: base.accounts.buyer.privateKey,
      solanaKeyFile,
      solanaRpcUrl: solana.rpcUrl,
      folder: process.cwd(),
      program: programIn(process.cwd(), MAIN),
      hasExamples: existsSync('examples') && existsSync('node_modules/.bin/tsx'),
    },
  }
}
