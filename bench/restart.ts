/**
 * Restarts the service with a month of history on disk. Measures the time until every earlier answer is
 * available again, and until all inputs of all answers are newer than the restart.
 * `tsx bench/restart.ts`; needs `npm run build`. `--quick` kills a service of few coins soon after its
 * first answers, and only checks that it answers again with correct ages; `--days N` of history.
 */
import type { ChildProcess } from 'node:child_process'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import Table from 'cli-table3'
import { Pool } from 'undici'
import { contracts } from '../src/compute/analyses/registry.ts'
import { pathOf } from '../src/domain/contract.ts'
import { end, firstLineOf, launch } from '../src/roles/child-process.ts'
import { freePort } from '../src/roles/demo/free-port.ts'
import { systemClock } from '../src/roles/system-clock.ts'
import { HistoryStore } from '../src/store/history-store.ts'
import { fewCoins } from '../test/support/service.ts'
import { historyOf } from './history-month.ts'

const { values: given } = parseArgs({
  options: { quick: { type: 'boolean', default: false }, days: { type: 'string' } },
})
const isQuick = given.quick
/** Limit for every answer to be available again, from the start of the process. */
const AGAIN_MS_MAX = 2_000
/** One warm-up: a REST weight of 20 per coin, of the planned 1,000 per minute. */
const FRESH_MS_PER_COIN_MAX = (20 / 1_000) * 60_000
const DAYS = Number(given.days ?? (isQuick ? 2 : 30))
const WARM_MS_MAX = 6 * 60_000
/** The service is warm after this time without a new answer. */
const STEADY_MS = isQuick ? 3_000 : 20_000
const COINS_MS = 5_000
const COINS_MS_MAX = 180_000
/** The refusal of an answer that is too old, in contrast to one that is not available yet. */
const STALE = /^The data behind this answer is \d+ s old/
/** Inputs that update hourly, daily or on a price move, so a restart does not make them older. */
const SLOW_INPUTS: ReadonlySet<string> = new Set([
  ...['funding_history', 'supply', 'sentiment_index'],
  ...['oracle', 'dex'],
])
const CONNECTIONS = 8
const SAMPLE_EVERY = 25
const MAIN = join(import.meta.dirname, '../dist/main.js')
const [PORT, ADMIN_PORT] = [String(await freePort()), String(await freePort())]
const URL_OF_SERVICE = `http://127.0.0.1:${PORT}`

/** The oldest and the newest input of an answer, by its `as_of`. */
type Ages = { readonly oldestMs: number; readonly newestMs: number }
type Reply = Ages | { readonly refused: string }

const folder = mkdtempSync(join(tmpdir(), 'perpscope-restart-'))
const children: ChildProcess[] = []
const pool = new Pool(URL_OF_SERVICE, { connections: CONNECTIONS })
const failures: string[] = []
/** Late answers by analysis over all restarts, and the refusals that were sent instead. */
const late = new Map<string, number>()
const saidInstead = new Set<string>()
/** Answers by analysis that were first refused as too old. */
const stale = new Map<string, number>()
let requests = 0

try {
  await bench()
} finally {
  for (const child of children) await end(child)
  await pool.destroy()
  rmSync(folder, { recursive: true })
}
for (const failure of failures) console.log(`failed: ${failure}`)
if (failures.length > 0) process.exitCode = 1

async function bench(): Promise<void> {
  const few = isQuick ? fewCoins : []
  const simulator = launch(MAIN, ['simulate', ...few, '--weight-per-minute', '60000'], 'pipe')
  children.push(simulator)
  const { venue } = JSON.parse(await firstLineOf(simulator)) as { venue: { http: string } }
  let service = serve(venue.http, 50_000)
  const coins = await allCoins()
  await end(service)
  fill(coins)
  // A high weight limit for a fast warm-up, because only the restart is measured.
  service = serve(venue.http, 50_000)
  const before = await warm(coins)
  if (before.size === 0) throw new Error('nothing is answered, so nothing can be answered again')
  const table = new Table({
    style: { head: [], border: [] },
    head: [
      'ended by',
      'listens',
      'half again',
      'all again',
      'of them late',
      'refused for their age first',
      'fresh',
      'bar',
    ],
  })
  const report = async (what: string, endedAtMs: number, startedAtMs: number) => {
    const again = await answeredAgain(before, startedAtMs, endedAtMs)
    // Only after the last restart, because it waits for a full round of requests to the venue.
    const freshMs = isQuick || what !== 'SIGKILL' ? null : await fresh(before, startedAtMs)
    table.push(row(what, again, freshMs, coins.length))
  }
  for (const signal of isQuick ? (['SIGKILL'] as const) : (['SIGTERM', 'SIGKILL'] as const)) {
    const endedAtMs = systemClock.nowMs()
    await end(service, signal)
    const startedAtMs = systemClock.nowMs()
    service = serve(venue.http, 1_000)
    await report(signal, endedAtMs, startedAtMs)
    if (signal === 'SIGKILL') continue
    const orderedAtMs = systemClock.nowMs()
    await fetch(`http://127.0.0.1:${ADMIN_PORT}/engine/restart`, { method: 'POST' })
    await report('restart of the engine', orderedAtMs, orderedAtMs)
  }
  const { size } = statSync(join(folder, 'history.db'))
  console.log(table.toString())
  for (const said of saidInstead) console.log(said)
  console.log(`late: ${listed(late)}; refused for their age first: ${listed(stale)}`)
  console.log(
    `${coins.length} coins, ${before.size} answers, ${DAYS} days of history in ${(size / 1e6).toFixed(0)} MB, ` +
      `checksum ${requests} requests`,
  )
}

function row(
  what: string,
  { listensMs, againMs, lateMs, laterMs }: Again,
  freshMs: number | null,
  coins: number,
): string[] {
  const sorted = againMs.toSorted((one, other) => one - other)
  const halfMs = sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
  const allMs = Math.max(...sorted, ...lateMs)
  const isAgain = allMs <= AGAIN_MS_MAX
  const isFresh = freshMs === null || freshMs <= FRESH_MS_PER_COIN_MAX * coins
  if (!isQuick && !isAgain) failures.push(`after ${what}, all again within ${AGAIN_MS_MAX} ms`)
  if (!isQuick && !isFresh) failures.push(`after ${what}, fresh within one warm-up`)
  const seconds = (ms: number) => `${(ms / 1_000).toFixed(2)} s`
  return [
    ...[what, seconds(listensMs), seconds(halfMs), seconds(allMs), String(lateMs.length)],
    `${laterMs.length}, last ${seconds(Math.max(0, ...laterMs))}`,
    freshMs === null ? 'not measured' : seconds(freshMs),
    isQuick ? '' : isAgain && isFresh ? 'met' : 'MISSED',
  ]
}

function serve(source: string, weight: number): ChildProcess {
  const flags = ['--source', source, '--port', PORT, '--admin-port', ADMIN_PORT]
  const child = launch(
    MAIN,
    [
      ...['serve', ...flags, '--data-dir', folder, '--payment', 'open'],
      ...['--weight-per-minute', String(weight), '--log-level', 'silent'],
      // The requests have different client addresses, as in `x-forwarded-for`.
      ...['--trust-proxy', 'loopback'],
    ],
    'ignore',
  )
  children.push(child)
  return child
}

function fill(coins: readonly string[]): void {
  const nowMs = systemClock.nowMs()
  const path = join(folder, 'history.db')
  const store = new HistoryStore(
    { path, onNotice: (notice) => failures.push(JSON.stringify(notice)) },
    nowMs,
  )
  const [dayMs, hourMs] = [86_400_000, 3_600_000]
  // Up to the previous hour; the service writes the following ones.
  const untilMs = Math.floor(nowMs / hourMs) * hourMs - hourMs
  const denseFromMs = untilMs - 2 * dayMs
  // Day by day as in operation, so that old rows are removed while new ones are written.
  for (let day = DAYS; day > 0; day -= 1) {
    process.stderr.write(`\r${day} days of history to write `)
    const fromMs = untilMs - day * dayMs
    for (const coin of coins) {
      store.add(historyOf(coin, fromMs, fromMs + dayMs, denseFromMs))
      for (const _ of store.write(fromMs + dayMs, true));
    }
    for (const _ of store.tidy(fromMs + dayMs));
  }
  process.stderr.write('\n')
  store.close(nowMs)
}

/** Waits until the number of listed coins is stable. */
async function allCoins(): Promise<readonly string[]> {
  let known: readonly string[] = []
  const deadlineMs = systemClock.nowMs() + COINS_MS_MAX
  while (systemClock.nowMs() < deadlineMs) {
    const reply = await asked('/coins')
    const { coins = [] } = (reply?.body ?? {}) as { coins?: readonly string[] }
    if (coins.length > 0 && coins.length === known.length) return coins
    known = coins
    await wait(COINS_MS)
  }
  throw new Error(`${URL_OF_SERVICE} lists no coins: is the port taken?`)
}

/** Requests all answers until no new one appears. @returns the paths with an answer */
async function warm(coins: readonly string[]): Promise<ReadonlySet<string>> {
  const paths = contracts.flatMap((contract) =>
    contract.scope === 'market'
      ? [pathOf(contract, '')]
      : coins.map((coin) => pathOf(contract, coin)),
  )
  const answered = new Set<string>()
  const startedAtMs = systemClock.nowMs()
  let changedAtMs = startedAtMs
  while (answered.size === 0 || systemClock.nowMs() - changedAtMs < STEADY_MS) {
    if (systemClock.nowMs() - startedAtMs > WARM_MS_MAX) break
    await each(paths, async (path) => {
      const reply = await replyOf(path)
      if (reply === null || 'refused' in reply || answered.has(path)) return
      answered.add(path)
      changedAtMs = systemClock.nowMs()
    })
    process.stderr.write(`\r${answered.size} of ${paths.length} answers`)
    await wait(500)
  }
  process.stderr.write('\n')
  return answered
}

type Again = {
  readonly listensMs: number
  /** Times of the sampled answers, since the start of the process. */
  readonly againMs: readonly number[]
  /** Times of answers that were missing when all were first requested. */
  readonly lateMs: readonly number[]
  /** Times of answers that were first refused as too old. */
  readonly laterMs: readonly number[]
}

/**
 * Requests all earlier answers until they are available: first a sample, then all of them, because constant
 * requests for all would slow down the service that is measured.
 */
async function answeredAgain(
  before: ReadonlySet<string>,
  startedAtMs: number,
  endedAtMs: number,
): Promise<Again> {
  const againMs: number[] = []
  const lateMs: number[] = []
  const laterMs: number[] = []
  const refused = new Set<string>()
  let listensMs = NaN
  const open = new Set(before)
  let rounds = 0
  const isOfMarket = (path: string) => path.lastIndexOf('/') === 0
  const sample = [...before].filter((path, at) => at % SAMPLE_EVERY === 0 || isOfMarket(path))
  while (open.size > 0) {
    if (systemClock.nowMs() - startedAtMs > WARM_MS_MAX) {
      const missing = [...open].filter((path) => !refused.has(path))
      if (missing.length > 0)
        failures.push(`never again: ${missing.slice(0, 5).join(', ')}, ${missing.length} in all`)
      break
    }
    const sampled = sample.filter((path) => open.has(path) && !refused.has(path))
    const isSampling = sampled.length > 0
    rounds += isSampling ? 0 : 1
    await each(isSampling ? sampled : [...open], async (path) => {
      const reply = await replyOf(path)
      if (reply === null) return
      const passedMs = systemClock.nowMs() - startedAtMs
      if (Number.isNaN(listensMs)) listensMs = passedMs
      if ('refused' in reply) {
        if (!STALE.test(reply.refused)) {
          if (!isSampling) saidInstead.add(`${path}: ${reply.refused}`)
          return
        }
        if (refused.has(path)) return
        count(stale, path)
        refused.add(path)
        return
      }
      open.delete(path)
      if (refused.has(path)) laterMs.push(passedMs)
      else if (isSampling) againMs.push(passedMs)
      else if (rounds > 1) {
        lateMs.push(passedMs)
        count(late, path)
      }
      // The service received nothing between end and start.
      const { oldestMs, newestMs } = reply
      const isOfNobody = [oldestMs, newestMs].some(
        (ms) => ms > endedAtMs + 1_000 && ms < startedAtMs,
      )
      if (isOfNobody) failures.push(`${path} is of an instant at which nobody listened`)
    })
    await wait(25)
  }
  return { listensMs, againMs, lateMs, laterMs }
}

function count(counts: Map<string, number>, path: string): void {
  const [, analysis = ''] = path.split('/')
  counts.set(analysis, (counts.get(analysis) ?? 0) + 1)
}

function listed(counts: ReadonlyMap<string, number>): string {
  return Array.from(counts, ([analysis, many]) => `${analysis} ${many}`).join(', ') || 'none'
}

/** @returns the time from the start until all inputs of all answers are newer than the start; Infinity for never */
async function fresh(before: ReadonlySet<string>, startedAtMs: number): Promise<number | null> {
  const open = new Set(before)
  while (open.size > 0) {
    if (systemClock.nowMs() - startedAtMs > WARM_MS_MAX) {
      failures.push(`never fresh: ${[...open].slice(0, 5).join(', ')}, ${open.size} in all`)
      return Number.POSITIVE_INFINITY
    }
    await each([...open], async (path) => {
      const reply = await replyOf(path)
      if (reply !== null && !('refused' in reply) && reply.oldestMs >= startedAtMs)
        open.delete(path)
    })
    process.stderr.write(`\r${before.size - open.size} of ${before.size} fresh `)
    await wait(1_000)
  }
  process.stderr.write('\n')
  return systemClock.nowMs() - startedAtMs
}

/** null while the service does not listen. */
async function replyOf(path: string): Promise<Reply | null> {
  const reply = await asked(path)
  if (reply === null) return null
  const { status, body } = reply
  const { detail = String(status), meta } = body as {
    detail?: string
    meta?: { as_of: Readonly<Record<string, string>> }
  }
  if (status !== 200 || meta === undefined) return { refused: detail }
  const times = Object.entries(meta.as_of).flatMap(([input, iso]) =>
    SLOW_INPUTS.has(input) ? [] : [Date.parse(iso)],
  )
  return { oldestMs: Math.min(...times), newestMs: Math.max(...times) }
}

async function asked(path: string): Promise<{ status: number; body: unknown } | null> {
  requests += 1
  const [high, low] = [Math.floor(requests / 250) % 250, requests % 250]
  try {
    const { statusCode, body } = await pool.request({
      path,
      method: 'GET',
      headers: { 'x-forwarded-for': `10.1.${high}.${low}` },
    })
    return { status: statusCode, body: await body.json() }
  } catch {
    return null
  }
}

/** Some at a time. */
async function each(
  paths: readonly string[],
  task: (path: string) => Promise<void>,
): Promise<void> {
  const waiting = paths.values()
  await Promise.all(
    Array.from({ length: CONNECTIONS }, async () => {
      for (const path of waiting) await task(path)
    }),
  )
}

function wait(ms: number): Promise<void> {
  return new Promise((resolve) => {
    systemClock.after(ms, resolve)
  })
}
