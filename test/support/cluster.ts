import type { ChildProcess } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { end, firstLineOf, launch } from '../../src/roles/child-process.ts'
import { freePort } from '../../src/roles/demo/free-port.ts'
import type { RedisServer } from './redis.ts'
import { startRedis } from './redis.ts'
import { fewCoins, until } from './service.ts'

const MAIN = join(import.meta.dirname, '../../dist/main.js')

/** A process of the cluster, which keeps its ports and its folder when it starts again. */
export type ClusterProcess = {
  readonly url: string
  readonly adminUrl: string
  /** Of the started process. */
  pid(): number
  start(): Promise<void>
  signal(signal: NodeJS.Signals): void
  /** Ends it, and waits for its end. @returns its exit code */
  stop(signal?: 'SIGTERM' | 'SIGKILL'): Promise<number | null>
}

/** Broker, simulated venue, engines and gateways, each in a process of its own. */
export type Cluster = {
  readonly broker: RedisServer
  readonly source: string
  readonly engines: readonly ClusterProcess[]
  readonly gateways: readonly ClusterProcess[]
  /** Services with `--role all` on the same venue. */
  readonly services: readonly ClusterProcess[]
  /** The engine that leads, by its metrics. */
  leader(): Promise<ClusterProcess>
  /** Ends everything that was started, also after a failure. */
  close(): Promise<void>
}

export type ClusterOptions = {
  readonly engines?: number
  readonly gateways?: number
  /** Further flags of the engines. */
  readonly engineFlags?: readonly string[]
  /** Flags of the gateways; default: free answers. */
  readonly gatewayFlags?: readonly string[]
  readonly gatewayEnv?: Readonly<Record<string, string>>
  /** One for each service with `--role all`; default: none. */
  readonly services?: readonly ServiceOptions[]
  /** Flags of the simulated venue that choose its coins. */
  readonly coins?: readonly string[]
}

type ServiceOptions = {
  readonly flags: readonly string[]
  readonly env: Readonly<Record<string, string>>
}

/** Processes are not started yet, except for the broker and the venue. */
export async function buildCluster({
  engines: engineCount = 2,
  gateways: gatewayCount = 2,
  engineFlags = [],
  gatewayFlags = ['--payment', 'open'],
  gatewayEnv = {},
  services: serviceOptions = [],
  coins = fewCoins,
}: ClusterOptions = {}): Promise<Cluster> {
  if (!existsSync(MAIN)) throw new Error(`${MAIN} is missing: run "npm run build" first`)
  const cleanups: (() => Promise<unknown>)[] = []
  const close = async () => {
    for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
  }
  try {
    const folder = await mkdtemp(join(tmpdir(), 'perpscope-cluster-'))
    cleanups.push(() => rm(folder, { recursive: true, force: true }))
    const broker = await startRedis()
    cleanups.push(() => broker.close())
    const past = join(folder, 'engine-0')
    await mkdir(past)
    const simulator = launch(
      MAIN,
      [
        ...['simulate', ...coins, '--engines', String(engineCount + serviceOptions.length)],
        ...['--weight-per-minute', '60000', '--past', past],
      ],
      'pipe',
    )
    cleanups.push(() => end(simulator))
    const { venue } = JSON.parse(await firstLineOf(simulator)) as { venue: { http: string } }
    const source = ['--source', venue.http, '--log-level', 'silent']
    const weight = ['--weight-per-minute', '50000']
    const common = [...source, '--broker', broker.url]
    const engines: ClusterProcess[] = []
    for (let at = 0; at < engineCount; at += 1) {
      const flags = ['--role', 'engine', '--data-dir', join(folder, `engine-${at}`)]
      engines.push(await clusterProcess([...flags, ...common, ...weight, ...engineFlags], {}))
    }
    const gateways: ClusterProcess[] = []
    for (let at = 0; at < gatewayCount; at += 1) {
      const flags = ['--role', 'gateway', '--data-dir', join(folder, `gateway-${at}`)]
      gateways.push(await clusterProcess([...flags, ...common, ...gatewayFlags], gatewayEnv))
    }
    const services: ClusterProcess[] = []
    for (const [at, { flags, env }] of serviceOptions.entries()) {
      const own = ['--data-dir', join(folder, `service-${at}`)]
      services.push(await clusterProcess([...own, ...source, ...weight, ...flags], env))
    }
    for (const one of [...engines, ...gateways, ...services])
      cleanups.push(() => one.stop('SIGKILL'))
    return {
      broker,
      source: venue.http,
      engines,
      gateways,
      services,
      leader: () => leaderOf(engines),
      close,
    }
  } catch (cause) {
    await close()
    throw cause
  }
}

/** Waits until an engine leads. */
async function leaderOf(engines: readonly ClusterProcess[]): Promise<ClusterProcess> {
  let leader: ClusterProcess | undefined
  await until('an engine leads', async () => {
    for (const engine of engines) {
      const leads = await metricOf(engine, 'perpscope_engine_leads', 1_000).catch(() => 0)
      if (leads === 1) leader = engine
    }
    return leader !== undefined
  })
  if (leader === undefined) throw new Error('one leads')
  return leader
}

/** Starts a process that is not started yet, or that a test has ended. */
export async function startEnded({ adminUrl, start }: ClusterProcess): Promise<void> {
  const isUp = await fetch(`${adminUrl}/livez`).then(
    ({ ok }) => ok,
    () => false,
  )
  if (!isUp) await start()
}

/** @returns NaN for a metric without a value */
export async function metricOf(
  { adminUrl }: Pick<ClusterProcess, 'adminUrl'>,
  name: string,
  msMax = 60_000,
): Promise<number> {
  const signal = AbortSignal.timeout(msMax)
  const text = await (await fetch(`${adminUrl}/metrics`, { signal })).text()
  const line = text.split('\n').find((one) => one.startsWith(`${name} `))
  return Number(line?.slice(name.length))
}

async function clusterProcess(
  flags: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<ClusterProcess> {
  const [port, adminPort] = [await freePort(), await freePort()]
  const ports = ['--port', String(port), '--admin-port', String(adminPort)]
  const adminUrl = `http://127.0.0.1:${adminPort}`
  let child: ChildProcess | null = null
  return {
    url: `http://127.0.0.1:${port}`,
    adminUrl,
    pid: () => {
      if (child?.pid === undefined) throw new Error('the process was started')
      return child.pid
    },
    start: async () => {
      child = launch(MAIN, ['serve', ...flags, ...ports], 'ignore', env)
      await until(`${adminUrl} answers`, async () => (await fetch(`${adminUrl}/livez`)).ok)
    },
    signal: (signal) => child?.kill(signal),
    stop: async (signal = 'SIGTERM') => {
      if (child === null) return null
      // A stopped process would not end.
      child.kill('SIGCONT')
      await end(child, signal)
      return child.exitCode
    },
  }
}
