import assert from 'node:assert/strict'
import type { ChildProcess } from 'node:child_process'
import { fork } from 'node:child_process'
import { on, once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { IntervalHistogram } from 'node:perf_hooks'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { parseArgs } from 'node:util'
import Table from 'cli-table3'
import pino from 'pino'
import { asyncScheduler, tap } from 'rxjs'
import type { Document } from '../src/domain/document.ts'
import { viewsOf } from '../src/domain/document.ts'
import { ownDocuments } from '../src/domain/placed-document.ts'
import { Engine } from '../src/engine/engine.ts'
import type { EngineMessage } from '../src/link/message.ts'
import { systemClock } from '../src/roles/system-clock.ts'
import { connectWebSocket } from '../src/roles/system-runtime.ts'
import { workerRenderer } from '../src/roles/worker-renderer.ts'
import { catalog } from '../src/simulator/market/catalog.ts'
import { CoinMarkets } from '../src/simulator/market/coin-markets.ts'
import { noiseKey, uniform } from '../src/simulator/market/noise.ts'
import { modelCoins } from '../src/simulator/market/seeded-market.ts'
import type { VenueFault } from '../src/simulator/venue/fault.ts'
import { venueCadences, venueLimits } from '../src/simulator/venue/limits.ts'
import { startSimulatedVenue } from '../src/simulator/venue/simulated-venue.ts'
import { walCheckpointThread } from '../src/store/wal-checkpoint-thread.ts'
import { postJson } from '../src/streams/http-exchange.ts'
import { isTraded } from './venue-frames.ts'

/**
 * Runs the engine for half an hour at ten times the venue's rate, with a fault every ten seconds. Simulator and
 * engine are separate processes. This process only waits and is the idle control: the delay of its event loop
 * is caused by the machine. Needs `npm run build`, because the workers run compiled.
 *
 * `tsx bench/soak.ts` runs 30 minutes and exits with 1 when a bar is missed; `--minutes N` is another duration;
 * `--quick` runs six seconds without judging; `--rate N` is another multiple of the venue's rate.
 */
const BARS = { heapMibPerMinute: 0.1, delayP999Ms: 20 }
const RATE_DEFAULT = 10
/** The venue sends about 300 trade and candle frames a second; with this factor the model sends 3,000. */
const NOTIONAL_TIMES_PER_RATE = 2_000
const BLOCK_MS_AT_RATE_1 = 250
const FAULT_PERIOD_MS = 10_000
/** No faults in the last part of the run, at most a third, so that all are repaired when it is judged. */
const FAULT_FREE_MS_MAX = 150_000
/** Until the first publication; a limit for a hang. */
const START_MS_MAX = 600_000
const SAMPLE_PERIOD_MS = 60_000
/** Share of the run that is excluded from the heap slope. */
const SETTLING_SHARE = 1 / 3
const SEED = 11
const MIB = 2 ** 20

type Sample = {
  readonly kind: 'sample'
  readonly atMs: number
  readonly heapMib: number
  readonly rssMib: number
  /** Event-loop delay of the last minute ... */
  readonly delayP999Ms: number
  /** ... and of the run, which includes one forced collection per minute among some 50,000 values. */
  readonly runDelayP999Ms: number
  /** Since the first publication. */
  readonly frames: number
  /** Trade and candle frames among them. */
  readonly tradedFrames: number
  readonly documents: number
  /** Time from a book or candle frame of a coin to the next document that includes it; null without one. */
  readonly publishP99Ms: number | null
  /** Coins whose pulse was not confirmed for longer than a fault lasts. */
  readonly late: readonly string[]
  readonly counts: Readonly<Record<string, number>>
}

type Report =
  | { readonly kind: 'venue'; readonly wsUrl: string; readonly infoUrl: string }
  /** The venue has injected a fault. */
  | { readonly kind: 'fault' }
  /** The engine has published its first documents. */
  | { readonly kind: 'begun' }
  | Sample

const [mode, ...rest] = process.argv.slice(2)
if (mode === 'run-venue') await runVenue(Number(rest[0]))
else if (mode === 'run-engine') await runEngine(rest[0] ?? '', rest[1] ?? '')
else {
  const { values } = parseArgs({
    options: {
      minutes: { type: 'string', default: '30' },
      rate: { type: 'string', default: String(RATE_DEFAULT) },
      quick: { type: 'boolean', default: false },
    },
  })
  await soak(values.quick ? 0.1 : Number(values.minutes), Number(values.rate))
}

/** @param rate multiple of the venue's rate */
async function soak(minutes: number, rate: number): Promise<void> {
  const runMs = minutes * 60_000
  const children: ChildProcess[] = []
  try {
    const venue = fork(import.meta.filename, ['run-venue', String(rate)])
    children.push(venue)
    const [urls] = (await once(venue, 'message')) as [Extract<Report, { kind: 'venue' }>]
    const engine = fork(import.meta.filename, ['run-engine', urls.wsUrl, urls.infoUrl], {
      execArgv: [...process.execArgv, '--expose-gc'],
    })
    children.push(engine)
    const samples: Sample[] = []
    const idleMinutesMs: number[] = []
    const [idle, idleMinute] = [delayMonitor(), delayMonitor()]
    engine.on('message', (report: Report) => {
      if (report.kind !== 'sample') return
      samples.push(report)
      idleMinutesMs.push(ms(idleMinute))
      idleMinute.reset()
      const { heapMib, delayP999Ms, late, documents } = report
      process.stderr.write(
        `${samples.length} min: heap ${heapMib.toFixed(1)} MiB, delay p99.9 ${delayP999Ms.toFixed(1)} ms ` +
          `(idle ${idleMinutesMs.at(-1)?.toFixed(1)}), ${documents} documents, late: ${late.join() || 'none'}\n`,
      )
    })
    const died = Promise.race(
      children.map(async (child) => {
        const [code, signal] = await once(child, 'exit')
        throw new Error(`a child ended: ${String(code ?? signal)}`)
      }),
    )
    await Promise.race([hasBegun(engine), died])
    let faults = 0
    venue.on('message', () => (faults += 1))
    venue.send(runMs - Math.min(FAULT_FREE_MS_MAX, runMs / 3))
    await Promise.race([wait(runMs), died])
    engine.send('sample')
    const [last] = (await Promise.race([once(engine, 'message'), died])) as [Sample]
    report({ samples: [...samples, last], minutes, faults, idleMs: ms(idle), idleMinutesMs })
    died.catch(() => undefined)
  } finally {
    for (const child of children) child.kill()
  }
}

async function hasBegun(engine: ChildProcess): Promise<void> {
  const reports = on(engine, 'message', { signal: AbortSignal.timeout(START_MS_MAX) })
  for await (const [{ kind }] of reports as AsyncIterable<[Report]>) if (kind === 'begun') return
}

function report(run: {
  readonly samples: readonly Sample[]
  readonly minutes: number
  readonly faults: number
  readonly idleMs: number
  readonly idleMinutesMs: readonly number[]
}): void {
  const { samples, minutes, faults, idleMs, idleMinutesMs } = run
  const last = samples.at(-1)
  assert(last !== undefined, 'there is at least one sample')
  const judged = samples.slice(Math.floor(samples.length * SETTLING_SHARE), -1)
  const slope = slopePerMinute(judged)
  const perSecond = (count: number) => Math.round(count / minutes / 60)
  const delayMs = last.runDelayP999Ms
  const worstMs = Math.max(...judged.map(({ delayP999Ms }) => delayP999Ms), 0)
  const rows: (readonly [string, string, string, boolean])[] = [
    [
      'heap after forced collection',
      `${slope >= 0 ? '+' : ''}${slope.toFixed(3)} MiB a minute`,
      `< ${BARS.heapMibPerMinute}`,
      slope < BARS.heapMibPerMinute,
    ],
    [
      'event-loop delay, p99.9 of the run',
      `${delayMs.toFixed(1)} ms (idle control ${idleMs.toFixed(1)} ms)`,
      `idle + ${BARS.delayP999Ms} ms`,
      delayMs <= idleMs + BARS.delayP999Ms,
    ],
    [
      'the same, of the worst minute once settled',
      `${worstMs.toFixed(1)} ms`,
      `idle + ${BARS.delayP999Ms} ms`,
      worstMs <= idleMs + BARS.delayP999Ms,
    ],
    ['stalled coins at the end', last.late.join(' ') || 'none', 'none', last.late.length === 0],
  ]
  const table = new Table({
    head: ['what', 'measured', 'bar', ''],
    style: { head: [], border: [] },
  })
  for (const [what, measured, bar, isMet] of rows)
    table.push([what, measured, bar, minutes < 1 ? 'not judged' : isMet ? 'met' : 'MISSED'])
  console.log(table.toString())
  console.log(
    `${minutes} minutes, ${faults} faults, ${last.frames} frames (${perSecond(last.frames)} a second, ` +
      `${perSecond(last.tradedFrames)} of them trades and candles), ` +
      `frame to published document p99 ${last.publishP99Ms?.toFixed(0) ?? '-'} ms, ` +
      `heap ${last.heapMib.toFixed(1)} MiB, rss ${last.rssMib.toFixed(0)} MiB`,
  )
  const minutesMs = samples.slice(0, -1).map(({ delayP999Ms }) => delayP999Ms)
  const worst = minutesMs.indexOf(Math.max(...minutesMs))
  if (worst >= 0)
    console.log(
      `worst minute: no. ${worst + 1}, p99.9 ${minutesMs[worst]?.toFixed(1)} ms, idle control in the same ${idleMinutesMs[worst]?.toFixed(1)} ms`,
    )
  console.log(`what the feed had to say: ${JSON.stringify(last.counts)}`)
  if (minutes >= 1 && rows.some(([, , , isMet]) => !isMet)) process.exitCode = 1
}

/** Least-squares slope over the samples. */
function slopePerMinute(samples: readonly Sample[]): number {
  const meanMs = mean(samples.map(({ atMs }) => atMs))
  const meanMib = mean(samples.map(({ heapMib }) => heapMib))
  let above = 0
  let below = 0
  for (const { atMs, heapMib } of samples) {
    const minutes = (atMs - meanMs) / 60_000
    above += minutes * (heapMib - meanMib)
    below += minutes * minutes
  }
  return below === 0 ? 0 : above / below
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length)
}

function delayMonitor(): IntervalHistogram {
  const monitor = monitorEventLoopDelay({ resolution: 1 })
  monitor.enable()
  return monitor
}

function ms(histogram: IntervalHistogram): number {
  return histogram.percentile(99.9) / 1e6
}

function wait(delayMs: number): Promise<void> {
  return new Promise((resolve) => {
    systemClock.after(delayMs, resolve)
  })
}

function tell(report: Report): void {
  process.send?.(report)
}

/** The simulated venue with multiplied trading, shorter cadences and faults. */
async function runVenue(rate: number): Promise<void> {
  const startMs = systemClock.nowMs()
  const model = modelCoins(SEED, startMs)
  const market = new CoinMarkets({
    clockShiftMs: 0,
    coins: catalog.map(([coin, decimals, table, price, notional, ...others]) =>
      model.ofCatalog([
        coin,
        decimals,
        table,
        price,
        notional * rate * NOTIONAL_TIMES_PER_RATE,
        ...others,
      ]),
    ),
    newCoin: model.ofListing,
  })
  const cadences = Object.fromEntries(
    Object.entries(venueCadences).map(([name, periodMs]) => [name, periodMs / rate]),
  )
  const venue = await startSimulatedVenue({
    market,
    clock: systemClock,
    port: 0,
    limits: { ...venueLimits, restWeightPerMinute: 12_000 },
    cadences: { ...cadences, blockMs: BLOCK_MS_AT_RATE_1 / rate },
  })
  const key = noiseKey(SEED, 'soak')
  let drawn = 0
  const chance = () => uniform(key, drawn++)
  const inject = () => {
    venue.inject(faultBy(chance))
    tell({ kind: 'fault' })
  }
  process.on('message', (faultyMs: number) => {
    inject()
    systemClock.after(faultyMs, systemClock.every(FAULT_PERIOD_MS, inject))
  })
  process.on('disconnect', () => process.exit())
  tell({ kind: 'venue', wsUrl: venue.wsUrl, infoUrl: venue.httpUrl })
}

function faultBy(chance: () => number): VenueFault {
  const durationMs = 1_000 + Math.floor(chance() * 7_000)
  const share = 0.02 + 0.2 * chance()
  const coin = catalog[Math.floor(chance() * 20)]?.[0] ?? 'BTC'
  const faults: readonly VenueFault[] = [
    { kind: 'drop-connections' },
    { kind: 'refuse-connections', durationMs },
    { kind: 'half-open', durationMs },
    { kind: 'stall', coin, durationMs: 4 * durationMs },
    { kind: 'drop-frames', share, durationMs },
    { kind: 'duplicate-frames', share, durationMs },
    { kind: 'reorder-frames', share, durationMs },
    { kind: 'garble-frames', share, durationMs },
    { kind: 'delay-frames', delayMs: durationMs, durationMs },
    { kind: 'rest-429', durationMs },
    { kind: 'rest-outage', durationMs, how: '500' },
    { kind: 'late-flat-bars', durationMs },
  ]
  const fault = faults[Math.floor(chance() * faults.length)]
  assert(fault !== undefined, 'chance is below one')
  return fault
}

const LATE_MS = 60_000
const LATENCIES_MAX = 100_000
/** Matches a book frame or a candle frame and captures its coin. */
const FRAME_OF_COIN =
  /^\{"channel":(?:"l2Book","data":\{"coin":"([^"]+)"|"candle","data":\{.*?"s":"([^"]+)")/

async function runEngine(wsUrl: string, infoUrl: string): Promise<void> {
  const dataDir = mkdtempSync(join(tmpdir(), 'perpscope-soak-'))
  process.on('exit', () => rmSync(dataDir, { recursive: true }))
  for (const end of ['disconnect', 'SIGTERM']) process.on(end, () => process.exit())
  const [delay, runDelay] = [delayMonitor(), delayMonitor()]
  const documents = new Map<string, Document>()
  let published = 0
  let [frames, tradedFrames] = [0, 0]
  let counts: Readonly<Record<string, number>> = {}
  let latenciesMs: number[] = []
  /**
   * By document, the receive time of the oldest frame that it does not include yet, from its first answer on. The
   * time that a burst waits in its socket is not included; the delay of the event loop measures it.
   */
  const awaitedSinceMs = new Map<string, number>()
  const heard = (text: string) => {
    frames += 1
    if (isTraded(text)) tradedFrames += 1
    const [, book, candle] = FRAME_OF_COIN.exec(text) ?? []
    const key = book !== undefined ? `spread/${book}` : `pulse/${candle ?? ''}`
    const document = documents.get(key)
    if (document === undefined || inputsOf(document).length === 0 || awaitedSinceMs.has(key)) return
    awaitedSinceMs.set(key, performance.now())
  }
  const take = (message: EngineMessage) => {
    if (message.kind === 'heartbeat') counts = message.heartbeat.counts
    if (message.kind !== 'documents') return
    if (published === 0) {
      tell({ kind: 'begun' })
      frames = 0
      tradedFrames = 0
    }
    published += message.documents.length
    for (const document of ownDocuments(message.documents)) {
      documents.set(document.key, document)
      const sinceMs = awaitedSinceMs.get(document.key)
      awaitedSinceMs.delete(document.key)
      if (sinceMs !== undefined && latenciesMs.length < LATENCIES_MAX)
        latenciesMs.push(performance.now() - sinceMs)
    }
  }
  Engine.start(
    {
      venue: { wsUrl, infoUrl },
      weightPerMinute: 10_000,
      dexes: [],
      dataDir,
      version: '0.0.0',
    },
    {
      clock: systemClock,
      log: pino({ level: 'silent' }),
      // As in the service.
      checkpointer: walCheckpointThread(
        join(import.meta.dirname, '../dist/store/wal-checkpoint-worker.js'),
      ).checkpoint,
      renderer: workerRenderer(
        (cause) => {
          throw cause
        },
        join(import.meta.dirname, '../dist/workers/market-worker.js'),
      ),
      runtime: {
        scheduler: asyncScheduler,
        random: Math.random,
        connect: (url, outbound) => connectWebSocket(url, outbound).pipe(tap(heard)),
        post: postJson,
      },
    },
    take,
  )
  const sample = () => {
    const delayP999Ms = ms(delay)
    // A forced collection blocks the event loop and is not measured.
    delay.disable()
    assert(globalThis.gc !== undefined, 'started with --expose-gc')
    globalThis.gc()
    const { heapUsed, rss } = process.memoryUsage()
    const nowMs = systemClock.nowMs()
    const late = [...documents.values()].filter(
      (document) =>
        document.key.startsWith('pulse/') &&
        inputsOf(document).some(({ confirmedAtMs }) => nowMs - confirmedAtMs > LATE_MS),
    )
    const sorted = latenciesMs.toSorted((one, other) => one - other)
    tell({
      kind: 'sample',
      atMs: nowMs,
      heapMib: heapUsed / MIB,
      rssMib: rss / MIB,
      delayP999Ms,
      runDelayP999Ms: ms(runDelay),
      frames,
      tradedFrames,
      documents: published,
      publishP99Ms: sorted[Math.floor(sorted.length * 0.99)] ?? null,
      late: late.map(({ key }) => key.slice(key.indexOf('/') + 1)),
      counts,
    })
    latenciesMs = []
    setImmediate(() => {
      delay.reset()
      delay.enable()
    })
  }
  systemClock.every(SAMPLE_PERIOD_MS, sample)
  process.on('message', sample)
}

function inputsOf(document: Document) {
  return Object.values(viewsOf(document)).flatMap((view) =>
    view.kind === 'answer' ? view.inputs : [],
  )
}
