import assert from 'node:assert/strict'
import type { ChildProcess } from 'node:child_process'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import Table from 'cli-table3'
import { asyncScheduler, of } from 'rxjs'
import { WebSocket, WebSocketServer } from 'ws'
import { analyses } from '../src/compute/analyses/registry.ts'
import { Processor, PUBLISH_PHASES } from '../src/compute/processor.ts'
import { wave } from '../src/compute/testing/tape.ts'
import { timeframeMs } from '../src/domain/timeframe.ts'
import { systemClock } from '../src/roles/system-clock.ts'
import { connectWebSocket } from '../src/roles/system-runtime.ts'
import type { HttpReply, Runtime } from '../src/streams/runtime.ts'
import { hyperliquidFeed } from '../src/streams/venues/hyperliquid/feed.ts'
import { PING } from '../src/streams/venues/hyperliquid/session.ts'
import type { VenueFrames } from './venue-frames.ts'
import { venueFrames } from './venue-frames.ts'

/**
 * From a frame on a real socket to updated indicators, in CPU per message, beside the floor: the same
 * frames through `ws` and `JSON.parse` and nothing else. Both are processes of their own, fed by this
 * one as fast as they take it; every round has new ones, and rounds alternate.
 *
 * `tsx bench/ingest.ts` measures and exits with 1 when the bar is missed; `--quick` only checks that all
 * frames arrive.
 */
const BAR = 1.35
const WARM_BARS = 1_008
const INDICATOR = /"(?:rsi_14|ema_20|vwap_20)":([\d.]+)/g

const candidates = ['floor', 'engine'] as const
type Candidate = (typeof candidates)[number]

const fullMode = { seconds: 900, rounds: 7 }
const quickMode = { seconds: 12, rounds: 1 }

type Report =
  | { readonly kind: 'ready' }
  | { readonly kind: 'done'; readonly cpuMicroseconds: number; readonly checksum: string }

const [mode, port = ''] = process.argv.slice(2)
if (mode === 'run-floor') runFloor(Number(port))
else if (mode === 'run-engine') runEngine(Number(port))
else await measure(mode === '--quick')

async function measure(isQuick: boolean): Promise<void> {
  const { seconds, rounds } = isQuick ? quickMode : fullMode
  const taken = venueFrames({ startMs: systemClock.nowMs() - seconds * 1_000, seconds })
  const costs: Record<Candidate, number[]> = { floor: [], engine: [] }
  const checksums = new Set<string>()
  for (let round = 0; round < rounds; round += 1) {
    for (const candidate of round % 2 === 0 ? candidates : candidates.toReversed()) {
      const { cpuMicroseconds, checksum } = await oneRun(candidate, taken)
      const measured = taken.frames.length - warmUpCount(taken.frames.length)
      costs[candidate].push(cpuMicroseconds / measured)
      if (candidate === 'engine') checksums.add(checksum)
    }
    process.stderr.write(`${round + 1} of ${rounds} rounds
`)
  }
  assert.equal(checksums.size, 1, 'every round has computed the same')
  console.log(`checksum of all indicators: ${[...checksums].join()}`)
  if (isQuick) console.log('quick: all frames arrived; nothing was measured')
  else report(costs, taken)
}

function report(costs: Readonly<Record<Candidate, readonly number[]>>, taken: VenueFrames): void {
  const ratios = costs.engine.map((cost, round) => cost / (costs.floor[round] ?? Number.NaN))
  const ratio = median(ratios)
  const head = ['path', 'CPU µs/message', 'against the floor', 'of all rounds', 'bar']
  const table = new Table({ head, style: { head: [], border: [] } })
  table.push(['ws + JSON.parse', median(costs.floor).toFixed(2), '1.00', '', ''])
  table.push([
    'ws + RxJS + decode + indicators',
    median(costs.engine).toFixed(2),
    ratio.toFixed(2),
    `${Math.min(...ratios).toFixed(2)}..${Math.max(...ratios).toFixed(2)}`,
    `<= ${BAR} ${ratio <= BAR ? 'met' : 'MISSED'}`,
  ])
  if (ratio > BAR) process.exitCode = 1
  const bytes = taken.frames.reduce((sum, text) => sum + text.length, 0)
  console.log(table.toString())
  console.log(
    `${taken.frames.length} messages, ${Math.round(bytes / taken.frames.length)} bytes each`,
  )
}

/** Serves the frames once to a child, and waits for what it has to report. */
async function oneRun(
  candidate: Candidate,
  { frames, timesMs, replies, startMs }: VenueFrames,
): Promise<Extract<Report, { kind: 'done' }>> {
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0, perMessageDeflate: false })
  await once(server, 'listening')
  const address = server.address()
  assert(typeof address === 'object' && address !== null, 'a TCP address')
  // The first of the frames answers a ping: not asked for, the next one would count as 20 s late.
  const asked = once(server, 'connection').then(async ([socket]: WebSocket[]) => {
    assert(socket !== undefined)
    await once(socket, 'message')
    return socket
  })
  const child = fork(import.meta.filename, [`run-${candidate}`, String(address.port)])
  try {
    child.send({ replies: [...replies], timesMs, startMs })
    await reported(child, 'ready')
    const socket = await asked
    const done = reported(child, 'done')
    for (const text of frames) {
      socket.send(text)
      if (socket.bufferedAmount > 4e6) await new Promise((resolve) => setImmediate(resolve))
    }
    return await done
  } finally {
    child.kill()
    for (const socket of server.clients) socket.terminate()
    server.close()
  }
}

async function reported<Kind extends Report['kind']>(
  child: ChildProcess,
  kind: Kind,
): Promise<Extract<Report, { kind: Kind }>> {
  const [report] = (await Promise.race([
    once(child, 'message'),
    once(child, 'exit').then(([code]) => {
      throw new Error(`a child ended with code ${String(code)}`)
    }),
  ])) as [Report]
  assert.equal(report.kind, kind)
  return report as Extract<Report, { kind: Kind }>
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other)
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
}

/** The children's side. */
type Orders = {
  readonly replies: VenueFrames['replies']
  readonly timesMs: readonly number[]
  readonly startMs: number
}

function onOrders(start: (orders: Orders) => void): void {
  process.once('message', ({ replies, ...orders }: Orders & { replies: [string, HttpReply][] }) =>
    start({ ...orders, replies: new Map(replies) }),
  )
  process.on('disconnect', () => process.exit())
}

/** V8 is done with an engine of this size after some 200,000 messages; compiling is not what is measured. */
function warmUpCount(count: number): number {
  return Math.floor((2 * count) / 3)
}

function tell(report: Report): void {
  process.send?.(report)
}

/** The CPU of all messages but the first ones, during which V8 compiles. */
class Meter {
  readonly #count: number
  readonly #checksum: () => string
  #heard = 0
  #started = process.cpuUsage()

  constructor(count: number, checksum: () => string) {
    this.#count = count
    this.#checksum = checksum
  }

  /** Messages so far. */
  get heard(): number {
    return this.#heard
  }

  tick(): void {
    if (this.#heard === warmUpCount(this.#count)) this.#started = process.cpuUsage()
    this.#heard += 1
    if (this.#heard !== this.#count) return
    const { user, system } = process.cpuUsage(this.#started)
    setImmediate(() =>
      tell({ kind: 'done', cpuMicroseconds: user + system, checksum: this.#checksum() }),
    )
  }
}

function runFloor(port: number): void {
  onOrders(({ timesMs }) => {
    let members = 0
    const meter = new Meter(timesMs.length, () => String(members))
    const socket = new WebSocket(`ws://127.0.0.1:${port}/ws`, { perMessageDeflate: false })
    socket.on('open', () => {
      socket.send(PING)
      tell({ kind: 'ready' })
    })
    socket.on('message', (data) => {
      members += Object.keys(JSON.parse(String(data)) as object).length
      meter.tick()
    })
  })
}

function runEngine(port: number): void {
  onOrders(({ timesMs, replies, startMs }) => {
    const processor = new Processor(analyses, '0.0.0')
    const meter = new Meter(timesMs.length, () => checksumOf(processor))
    const runtime: Runtime = {
      // Five minutes pass in a second, and every frame is as prompt as it was then.
      scheduler: {
        now: () => timesMs[Math.min(meter.heard, timesMs.length - 1)] ?? startMs,
        schedule: asyncScheduler.schedule.bind(asyncScheduler),
      },
      random: Math.random,
      connect: (url, outbound) => {
        const frames = connectWebSocket(url, outbound)
        tell({ kind: 'ready' })
        return frames
      },
      post: (_, body) => {
        // What can wait is refused: it is not what is measured.
        return of(replies.get(JSON.stringify(body)) ?? { status: 500, body: 'null' })
      },
    }
    const feed = hyperliquidFeed(
      {
        wsUrl: `ws://127.0.0.1:${port}/ws`,
        infoUrl: 'http://127.0.0.1/info',
        weightPerMinute: 1e9,
        // They are ranked, as ever; nobody is here to be asked.
        accountWeightPerMinute: 0,
        sockets: 1,
        historyOf: () => [],
        // Every message is heard of, also the one that gives no event.
        onArrival: ({ kind }) => {
          if (kind === 'frame') meter.tick()
        },
      },
      runtime,
    )
    feed.subscribe((batch) => {
      processor.process(batch)
      for (const event of batch)
        if (event.kind === 'universe') warmUp(processor, event.listings, startMs)
    })
  })
}

/** So many bars that every indicator has something to say, up to the quarter that is open at the start. */
function warmUp(
  processor: Processor,
  listings: readonly { readonly coin: string }[],
  startMs: number,
): void {
  const stepMs = timeframeMs['15m']
  const bars = wave('15m', WARM_BARS)
  const firstMs = Math.floor(startMs / stepMs) * stepMs - WARM_BARS * stepMs
  const recent = bars.map((bar, index) => ({ ...bar, openTimeMs: firstMs + index * stepMs }))
  const stamp = { timeExchangeMs: startMs, timeReceivedMs: startMs }
  for (const { coin } of listings)
    processor.process([{ kind: 'history', coin, timeframe: '15m', bars: recent, ...stamp }])
}

/** Sum of some indicators of all coins: it changes when any of their bars does. */
function checksumOf(processor: Processor): string {
  let sum = 0
  for (let phase = 0; phase < PUBLISH_PHASES; phase += 1)
    for (const { bytes } of processor.publish(systemClock.nowMs()))
      for (const [, value] of Buffer.from(bytes).toString().matchAll(INDICATOR))
        sum += Number(value)
  return sum.toFixed(6)
}
