import type { ChildProcess } from 'node:child_process'
import { cp } from 'node:fs/promises'
import { join } from 'node:path'
import { end, launch, MAIN } from '../child-process.ts'
import { freePort } from './free-port.ts'
import type { ServerPrograms } from './local-servers.ts'
import { startLocalBroker, startLocalPostgres } from './local-servers.ts'
import type { Cleanup } from './purchases.ts'
import { startRoundRobinProxy } from './round-robin-proxy.ts'
import type { Chains, DemoService } from './service.ts'
import { SIMULATED_WEIGHT_PER_MINUTE, salesFlags, salesKeys } from './service.ts'

/** One leads, the other stands by. */
export const ENGINES = 2
const GATEWAYS = 2
/** The leader is ended before this purchase, a gateway before the other one. */
const LEADER_ENDS_AT = 4
const GATEWAY_ENDS_AT = 8

type Engine = { readonly child: ChildProcess; readonly adminPort: number }

/** The parts of a service as processes of their own: engines, gateways, broker, PostgreSQL, and a proxy at `port`. */
export async function startCluster(
  chains: Chains,
  source: string,
  { port, dataDir }: { readonly port: number; readonly dataDir: string },
  programs: ServerPrograms,
  cleanups: Cleanup[],
): Promise<DemoService> {
  const broker = await startLocalBroker(programs)
  cleanups.push(() => broker.stop())
  const ledger = await startLocalPostgres(programs)
  cleanups.push(() => ledger.stop())
  const start = (flags: readonly string[], env: Readonly<Record<string, string>> = {}) => {
    const common = ['serve', '--source', source, '--broker', broker.url, '--log-level', 'error']
    const child = launch(MAIN, [...common, ...flags], 'ignore', env)
    cleanups.push(() => end(child))
    return child
  }
  const engines: Engine[] = []
  for (let at = 0; at < ENGINES; at += 1) {
    const folder = `${dataDir}-${at}`
    // With the history that the simulated venue wrote.
    await cp(dataDir, folder, { recursive: true })
    const adminPort = await freePort()
    const limits = ['--weight-per-minute', String(SIMULATED_WEIGHT_PER_MINUTE)]
    const ports = ['--admin-port', String(adminPort)]
    engines.push({
      child: start(['--role', 'engine', '--data-dir', folder, ...limits, ...ports]),
      adminPort,
    })
  }
  const url = `http://127.0.0.1:${port}`
  const gateways: ChildProcess[] = []
  const ports: number[] = []
  let adminPort = 0
  for (let at = 0; at < GATEWAYS; at += 1) {
    const own = await freePort()
    // The last gateway outlives the demo.
    adminPort = await freePort()
    ports.push(own)
    gateways.push(
      start(
        [
          ...['--role', 'gateway', '--ledger', ledger.url, '--public-url', url],
          ...['--port', String(own), '--admin-port', String(adminPort)],
          ...['--data-dir', join(dataDir, `gateway-${at}`), '--trust-proxy', 'loopback'],
          ...salesFlags(chains),
        ],
        salesKeys(chains),
      ),
    )
  }
  const proxy = await startRoundRobinProxy(port, ports)
  cleanups.push(() => proxy.close())
  return {
    ledger: `--ledger ${ledger.url}`,
    adminUrl: `http://127.0.0.1:${adminPort}`,
    beforePurchase: async (at, progress) => {
      if (at === LEADER_ENDS_AT) {
        progress.stage('ending the leading engine by SIGKILL')
        const leader = await leaderOf(engines)
        await end(leader.child, 'SIGKILL')
      }
      if (at === GATEWAY_ENDS_AT) {
        progress.stage('ending a gateway by SIGKILL')
        await Promise.all(gateways.slice(0, 1).map((gateway) => end(gateway, 'SIGKILL')))
      }
    },
  }
}

async function leaderOf(engines: readonly Engine[]): Promise<Engine> {
  for (const engine of engines) {
    const response = await fetch(`http://127.0.0.1:${engine.adminPort}/metrics`)
    if (/^perpscope_engine_leads 1$/m.test(await response.text())) return engine
  }
  throw new Error('no engine leads')
}
