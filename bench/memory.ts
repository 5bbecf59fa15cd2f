/**
 * Memory of `perpscope serve` at several numbers of coins: resident set, heap and buffers of every thread. History
 * is loaded from a database with 30 days of each coin. The simulator is a separate process and not counted. Linux only;
 * needs `npm run build`.
 *
 * `tsx bench/memory.ts` exits with 1 when a bar is missed. `--coins 14,230`; 0 for a venue that does not answer;
 * `--seconds N` after all coins have answers; `--days N` of history; `--quick` 5 coins, two days of history.
 */
import assert from 'node:assert/strict'
import type { ChildProcess } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import Table from 'cli-table3'
import { end, firstLineOf, launch } from '../src/roles/child-process.ts'
import { freePort } from '../src/roles/demo/free-port.ts'
import { systemClock } from '../src/roles/system-clock.ts'
import { catalog } from '../src/simulator/market/catalog.ts'
import { HistoryStore } from '../src/store/history-store.ts'
import { historyOf } from './history-month.ts'

const { values: given } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    coins: { type: 'string' },
    seconds: { type: 'string' },
    days: { type: 'string' },
  },
})
const isQuick = given.quick
const COUNTS = (given.coins ?? (isQuick ? '5' : '0,14,180,230')).split(',').map(Number)
const SECONDS = Number(given.seconds ?? (isQuick ? 5 : 300))
const DAYS = Number(given.days ?? (isQuick ? 2 : 30))
/** Days of stored measures. */
const MEASURE_DAYS = 7
const RSS_MIB_MAX = 300
const READY_MS_MAX = 600_000
const NO_MARKET_SECONDS = 30
const SAMPLE_MS = 5_000
const SAMPLES_JUDGED = 6
const MIB = 2 ** 20
/** Coins of the catalogue, for which the simulator has history. */
const known = new Set(catalog.map(([coin]) => coin))
const [DAY_MS, HOUR_MS, MINUTE_MS] = [86_400_000, 3_600_000, 60_000]
const MAIN = join(import.meta.dirname, '../dist/main.js')
const PROBE = pathToFileURL(join(import.meta.dirname, 'memory-probe.mjs')).href

type PartSample = {
  readonly part: string
  readonly heapTotal: number
  readonly heapUsed: number
  readonly external: number
  readonly malloced: number
}

type Sample = {
  readonly rssMib: number
  readonly fileMib: number
  readonly parts: readonly PartSample[]
}

const folder = mkdtempSync(join(tmpdir(), 'perpscope-memory-'))
const children: ChildProcess[] = []
const failures: string[] = []
let checksum = 0
try {
  const table = new Table({
    style: { head: [], border: [] },
    head: ['coins', 'part', 'MiB', 'heap used', 'heap committed', 'external', 'bar'],
    colAligns: ['right', 'left', 'right', 'right', 'right', 'right', 'left'],
  })
  for (const count of COUNTS) for (const row of rowsOf(count, await measure(count))) table.push(row)
  console.log(table.toString())
  console.log(`${DAYS} days of history, checksum ${checksum} coins answered and rows of history`)
} finally {
  for (const child of children) await end(child)
  rmSync(folder, { recursive: true })
}
for (const failure of failures) console.log(`failed: ${failure}`)
if (failures.length > 0) process.exitCode = 1

async function measure(count: number): Promise<readonly Sample[]> {
  const place = join(folder, String(count))
  const [dataDir, probeDir] = [join(place, 'data'), join(place, 'probe')]
  for (const path of [dataDir, probeDir]) mkdirSync(path, { recursive: true })
  const listed = coinsOf(count)
  const simulator = await simulatorOf(listed, place)
  if (count > 0) fill(join(dataDir, 'history.db'), listed)
  const [port, adminPort] = [await freePort(), await freePort()]
  const service = launch(
    MAIN,
    [
      ...['serve', '--source', simulator.url, '--payment', 'open', '--dexes', 'off'],
      ...['--port', String(port), '--admin-port', String(adminPort), '--data-dir', dataDir],
      ...['--weight-per-minute', '50000', '--log-level', 'silent'],
    ],
    'ignore',
    { NODE_OPTIONS: `--import=${PROBE}?folder=${encodeURIComponent(probeDir)}` },
  )
  children.push(service)
  if (count > 0) await answered(port, listed)
  const samples: Sample[] = []
  const untilMs = systemClock.nowMs() + (count === 0 ? NO_MARKET_SECONDS : SECONDS) * 1_000
  while (systemClock.nowMs() < untilMs || samples.length < SAMPLES_JUDGED) {
    await wait(SAMPLE_MS)
    assert(service.pid !== undefined && service.exitCode === null, 'the service runs')
    samples.push(sampleOf(service.pid, probeDir))
    process.stderr.write(`${count} coins: ${samples.at(-1)?.rssMib.toFixed(0)} MiB\n`)
  }
  await end(service)
  if (simulator.child !== null) await end(simulator.child)
  return samples
}

/** Coins of the catalogue, then invented ones. */
function coinsOf(count: number): readonly string[] {
  const traded = catalog.filter(([, , , , , , isDelisted]) => isDelisted !== true)
  return Array.from({ length: count }, (_, at) => traded[at]?.[0] ?? `MEM${at}`)
}

/** A simulator whose fault script delists all other coins and lists the missing ones at the start. */
async function simulatorOf(
  coins: readonly string[],
  place: string,
): Promise<{ readonly url: string; readonly child: ChildProcess | null }> {
  // A port on which no server listens.
  if (coins.length === 0) return { url: `http://127.0.0.1:${await freePort()}/info`, child: null }
  const wanted = new Set(coins)
  const faults = [
    ...catalog.flatMap(([coin, , , , , , isDelisted]) =>
      wanted.has(coin) || isDelisted === true ? [] : [{ at_ms: 0, kind: 'delist', coin }],
    ),
    ...coins.flatMap((coin) =>
      known.has(coin) ? [] : [{ at_ms: 0, kind: 'list', listing: listingOf(coin) }],
    ),
  ]
  const file = join(place, 'faults.json')
  writeFileSync(file, JSON.stringify(faults))
  // The simulator rejects an empty script.
  const script = faults.length === 0 ? [] : ['--faults', file]
  const child = launch(MAIN, ['simulate', '--weight-per-minute', '60000', ...script], 'pipe')
  children.push(child)
  const { venue } = JSON.parse(await firstLineOf(child)) as { venue: { http: string } }
  return { url: venue.http, child }
}

function listingOf(coin: string) {
  return { coin, size_decimals: 1, max_leverage: 5, price_usd: 12.5, day_notional_usd: 2_000_000 }
}

function fill(path: string, coins: readonly string[]): void {
  const nowMs = systemClock.nowMs()
  const store = new HistoryStore(
    { path, onNotice: (notice) => failures.push(JSON.stringify(notice)) },
    nowMs,
  )
  const untilMs = Math.floor(nowMs / HOUR_MS) * HOUR_MS - HOUR_MS
  for (let day = DAYS; day > 0; day -= 1) {
    process.stderr.write(`\r${coins.length} coins, ${day} days of history to write `)
    const fromMs = untilMs - day * DAY_MS
    for (const coin of coins) {
      const batch = historyOf(coin, fromMs, fromMs + DAY_MS, untilMs - 2 * DAY_MS)
      const measures = day > MEASURE_DAYS ? [] : measuresOf(coin, fromMs)
      checksum += batch.bars.length + batch.samples.length + measures.length
      store.add({ ...batch, measures })
      for (const _ of store.write(fromMs + DAY_MS, true));
    }
    for (const _ of store.tidy(fromMs + DAY_MS));
  }
  process.stderr.write('\n')
  store.close(nowMs)
}

/** Two series per coin, as the service stores them for the oracle network with the most coins. */
function measuresOf(coin: string, fromMs: number) {
  return ['basis', 'cex-dex'].flatMap((analysis) =>
    Array.from({ length: DAY_MS / MINUTE_MS }, (_, minute) => ({
      series: `${analysis}/${coin}/redstone`,
      timeMs: fromMs + minute * MINUTE_MS,
      value: Math.sin(minute / 7) + minute / 1_440,
    })),
  )
}

/**
 * Waits until every catalogue coin has a pulse, so that all history is loaded. Invented coins are new at the venue and
 * have no bars for a pulse; their stored history is loaded nevertheless.
 */
async function answered(port: number, listed: readonly string[]): Promise<void> {
  const deadlineMs = systemClock.nowMs() + READY_MS_MAX
  const awaited = listed.filter((coin) => known.has(coin))
  let coins: readonly string[] = []
  while (awaited.some((coin) => !coins.includes(coin))) {
    assert(
      systemClock.nowMs() < deadlineMs,
      `${coins.length} of ${awaited.length} coins are answered`,
    )
    await wait(500)
    try {
      const reply = await fetch(`http://127.0.0.1:${port}/coins`)
      const body = (await reply.json()) as { coins?: readonly string[] }
      coins = body.coins ?? []
    } catch {
      // Not listening yet.
    }
  }
  checksum += coins.length
}

function sampleOf(pid: number, probeDir: string): Sample {
  const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8')
  const kib = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(rollup)?.[1])
  const [rss, anonymous] = [kib('Rss'), kib('Anonymous')]
  const parts = readdirSync(probeDir).flatMap((name) => {
    const text = readFileSync(join(probeDir, name), 'utf8')
    // Skips a file that is still being written.
    return text.endsWith(']') ? (JSON.parse(text) as PartSample[]) : []
  })
  return { rssMib: rss / 1_024, fileMib: (rss - anonymous) / 1_024, parts }
}

function rowsOf(count: number, samples: readonly Sample[]): string[][] {
  const judged = samples.slice(-SAMPLES_JUDGED)
  const last = judged.at(-1)
  assert(last !== undefined, 'there are samples')
  const rssMib = Math.max(...judged.map((sample) => sample.rssMib))
  const isMet = rssMib <= RSS_MIB_MAX
  if (!isMet) failures.push(`${count} coins: ${rssMib.toFixed(0)} of ${RSS_MIB_MAX} MiB`)
  const mib = (bytes: number) => (bytes / MIB).toFixed(0)
  const known = last.parts.reduce((sum, part) => sum + part.heapTotal + part.external, 0) / MIB
  const others = last.rssMib - last.fileMib - known
  return [
    [
      ...[String(count), 'resident', rssMib.toFixed(0), '', '', ''],
      `<= ${RSS_MIB_MAX} ${isMet ? 'met' : 'MISSED'}`,
    ],
    ...last.parts.map((part) => [
      ...['', part.part, mib(part.heapTotal + part.external), mib(part.heapUsed)],
      ...[mib(part.heapTotal), mib(part.external), ''],
    ]),
    ['', 'code and data of Node and its libraries', last.fileMib.toFixed(0), '', '', '', ''],
    ['', 'documents, SQLite, compiler, free memory, stacks', others.toFixed(0), '', '', '', ''],
  ]
}

function wait(ms: number): Promise<void> {
  return new Promise((resolve) => {
    systemClock.after(ms, resolve)
  })
}
