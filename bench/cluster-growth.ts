/**
 * What a market of more coins costs: engine, broker and gateway as processes, the simulated venue at its rate a coin.
 * `npx tsx bench/cluster-growth.ts`; needs `npm run build` and `redis-server` or `valkey-server`. `--coins 200,1000`,
 * `--seconds 60`, `--ready-seconds 480` to load history. Linux only, because the kernel counts the CPU of each thread.
 */
import assert from 'node:assert/strict'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import Table from 'cli-table3'
import { end, launch } from '../src/roles/child-process.ts'
import { freePort } from '../src/roles/demo/free-port.ts'
import { systemClock } from '../src/roles/system-clock.ts'
import { metricOf } from '../test/support/cluster.ts'
import { startRedis } from '../test/support/redis.ts'
import { wait } from './cluster-buyers.ts'
import { quantile } from './cluster-line.ts'
import { MirrorProcess } from './cluster-mirror.ts'
import { cpuByThread } from './cluster-process-cpu.ts'
import { redisUsage } from './cluster-redis-usage.ts'

const { values: given } = parseArgs({
  options: {
    coins: { type: 'string', default: '50,200,1000' },
    seconds: { type: 'string', default: '60' },
    'ready-seconds': { type: 'string', default: '480' },
  },
})
const MAIN = join(import.meta.dirname, '../dist/main.js')
const VENUE = join(import.meta.dirname, 'cluster-venue.ts')
/** Of every coin, and for the most traded ones. */
const SUBSCRIPTIONS_PER_COIN = 5
/** History of all coins is loaded before that, or the measurement begins without it. */
const READY_MS_MAX = Number(given['ready-seconds']) * 1_000
const POLL_MS = 1_000
/** Coins whose documents are asked for their age. */
const SAMPLED_COINS = 200
const MIB = 2 ** 20

type Row = readonly [what: string, value: string]

const columns: { readonly coins: number; readonly rows: readonly Row[] }[] = []
for (const coins of given.coins.split(',').map(Number))
  columns.push({ coins, rows: await measure(coins, Number(given.seconds)) })
const table = new Table({
  head: ['', ...columns.map(({ coins }) => `${coins} coins`)],
  style: { head: [], border: [] },
})
for (const [at, [what]] of (columns[0]?.rows ?? []).entries())
  table.push([what, ...columns.map(({ rows }) => rows[at]?.[1] ?? '')])
console.log(table.toString())
console.log(
  `load of the machine at the end: ${loadavg()
    .map((load) => load.toFixed(1))
    .join(', ')}`,
)

async function measure(coins: number, seconds: number): Promise<readonly Row[]> {
  const cleanups: (() => unknown)[] = []
  try {
    const folder = mkdtempSync(join(tmpdir(), 'perpscope-growth-'))
    cleanups.push(() => rmSync(folder, { recursive: true, force: true }))
    const venue = fork(VENUE, [String(coins)])
    cleanups.push(() => end(venue))
    const [{ http }] = (await once(venue, 'message')) as [{ http: string }]
    const broker = await startRedis()
    cleanups.push(() => broker.close())
    const serve = async (role: string, flags: readonly string[]) => {
      const [port, adminPort] = [await freePort(), await freePort()]
      const ports = ['--port', String(port), '--admin-port', String(adminPort)]
      const common = ['--source', http, '--broker', broker.url, '--log-level', 'silent']
      const child = launch(
        MAIN,
        ['serve', '--role', role, '--data-dir', join(folder, role), ...common, ...ports, ...flags],
        'ignore',
      )
      cleanups.push(() => end(child, 'SIGKILL'))
      assert(child.pid !== undefined, 'it was started')
      return {
        pid: child.pid,
        url: `http://127.0.0.1:${port}`,
        adminUrl: `http://127.0.0.1:${adminPort}`,
      }
    }
    const engine = await serve('engine', [
      ...['--dexes', 'off', '--weight-per-minute', '1000000000'],
      ...['--subscriptions-max', String(coins * SUBSCRIPTIONS_PER_COIN + 1_000)],
    ])
    const gateway = await serve('gateway', ['--payment', 'open'])
    const { readyMs, answered } = await ready(gateway.url, coins)
    const published = () => metricOf(engine, 'perpscope_publications_total{outcome="published"}')
    const before = {
      ...{ engine: cpuByThread(engine.pid), gateway: cpuByThread(gateway.pid) },
      ...{ venue: cpuByThread(venue.pid ?? 0), broker: await redisUsage(broker) },
      published: await published(),
    }
    const sinceMs = performance.now()
    const agesSeconds: number[] = []
    while (performance.now() - sinceMs < seconds * 1_000) {
      agesSeconds.push(...(await agesOf(gateway.url)))
      await wait(POLL_MS)
    }
    const tookMs = performance.now() - sinceMs
    const finish = await redisUsage(broker)
    const publications = (await published()) - before.published
    const cpu = (
      pid: number,
      start: ReadonlyMap<string, number>,
      isCounted: (name: string) => boolean,
    ) =>
      [...cpuByThread(pid)].reduce(
        (sum, [name, microseconds]) =>
          isCounted(name) ? sum + microseconds - (start.get(name) ?? 0) : sum,
        0,
      )
    const share = (microseconds: number) => `${(microseconds / tookMs / 10).toFixed(1)} %`
    const engineCpu = (isCounted: (name: string) => boolean) =>
      cpu(engine.pid, before.engine, isCounted)
    const [thread, main] = ['engine', 'MainThread'].map((own) => engineCpu((name) => name === own))
    const others = engineCpu((name) => name !== 'engine' && name !== 'MainThread')
    const gatewayCpu = cpu(gateway.pid, before.gateway, () => true)
    const brokerCpu = finish.cpuMicroseconds - before.broker.cpuMicroseconds
    const bytes = finish.receivedBytes - before.broker.receivedBytes
    const [engineMib, gatewayMib] = [residentMib(engine.pid), residentMib(gateway.pid)]
    const late = new MirrorProcess(broker.url)
    cleanups.push(() => late.end())
    const mirror = await late.isReady().catch(() => late.report())
    const documents = Object.keys(await late.digests()).length
    return [
      ['coins with a pulse', `${answered} after ${(readyMs / 1_000).toFixed(0)} s`],
      ['documents', String(documents)],
      ['publications a second', ((publications / tookMs) * 1_000).toFixed(0)],
      ['bytes of a publication', `${(bytes / publications / 1_000).toFixed(1)} kB`],
      ['bytes a second to each gateway', `${(bytes / tookMs / 1_000).toFixed(1)} MB`],
      ['engine: CPU of its thread', share(thread ?? 0)],
      ['engine: CPU of the publishing thread', share(main ?? 0)],
      ['engine: CPU of workers, pool and V8', share(others)],
      ['engine: resident', `${engineMib.toFixed(0)} MiB`],
      ['broker: CPU', share(brokerCpu)],
      ['broker: stored', `${(finish.storedBytes / MIB).toFixed(0)} MiB`],
      ['gateway: CPU', share(gatewayCpu)],
      ['gateway: resident', `${gatewayMib.toFixed(0)} MiB`],
      [
        'late mirror: start to full',
        mirror.readyMs === null ? 'not within 120 s' : `${mirror.readyMs.toFixed(0)} ms`,
      ],
      [
        '/spread through the gateway: age of data, p50 / p99',
        `${quantile(agesSeconds, 0.5).toFixed(1)} / ${quantile(agesSeconds, 0.99).toFixed(1)} s of ${agesSeconds.length}`,
      ],
      ['simulated venue: CPU', share(cpu(venue.pid ?? 0, before.venue, () => true))],
    ]
  } finally {
    for (const cleanup of cleanups.reverse()) await cleanup()
  }
}

/** Waits until every coin has a pulse, which needs its history. */
async function ready(url: string, coins: number) {
  const sinceMs = systemClock.nowMs()
  let answered = 0
  while (answered < coins && systemClock.nowMs() - sinceMs < READY_MS_MAX) {
    await wait(POLL_MS)
    answered = (await coinsOf(url)).length
    process.stderr.write(`\r${answered} of ${coins} coins have a pulse `)
  }
  process.stderr.write('\n')
  return { readyMs: systemClock.nowMs() - sinceMs, answered }
}

async function coinsOf(url: string): Promise<readonly string[]> {
  try {
    const body = (await (await fetch(`${url}/coins`)).json()) as { coins?: readonly string[] }
    return body.coins ?? []
  } catch {
    // It does not listen yet.
    return []
  }
}

/** Seconds since the venue confirmed the book of each sampled coin; a refused answer counts as infinitely old. */
async function agesOf(url: string): Promise<readonly number[]> {
  const ages: number[] = []
  for (const coin of (await coinsOf(url)).slice(0, SAMPLED_COINS)) {
    const text = await (await fetch(`${url}/spread/${coin}`)).text()
    const age = /"data_age_seconds":([\d.]+)/.exec(text)?.[1]
    ages.push(age === undefined ? Number.POSITIVE_INFINITY : Number(age))
  }
  return ages
}

function residentMib(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]) / 1_024
}
