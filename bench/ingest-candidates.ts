import assert from 'node:assert/strict'
import { defer, of, tap } from 'rxjs'
import { WebSocket } from 'ws'
import { documentKinds } from '../src/compute/analyses/registry.ts'
import { Processor, PUBLISH_PHASES } from '../src/compute/processor.ts'
import { wave } from '../src/compute/testing/tape.ts'
import { timeframeMs } from '../src/domain/timeframe.ts'
import { connectWebSocket } from '../src/roles/system-runtime.ts'
import { hyperliquidFeed } from '../src/streams/hyperliquid/feed.ts'
import { PING } from '../src/streams/hyperliquid/wire/subscription.ts'
import type { HttpReply, Runtime } from '../src/streams/runtime.ts'
import { Chance } from '../test/simulation/chance.ts'
import { Kernel } from '../test/simulation/kernel.ts'
import { Machine } from '../test/simulation/machine.ts'

/** The candidates of `bench/ingest.ts`: each process is started with a name and receives {@link Orders}. */
export const candidates = ['floor', 'engine'] as const
export type Candidate = (typeof candidates)[number]

export type Orders = {
  readonly port: number
  readonly startMs: number
  /** When each of the frames was sent. */
  readonly timesMs: readonly number[]
  /** Replies by request body, as JSON. */
  readonly replies: readonly (readonly [string, HttpReply])[]
  /** Number of frames per report. */
  readonly share: number
}

export type Report =
  | { readonly kind: 'ready' }
  /** A share of the frames was processed; `checksum` with the last one. */
  | { readonly kind: 'share'; readonly cpuMicroseconds: number; readonly checksum?: string }

const WARM_BARS = 1_008
const INDICATOR = /"(?:rsi_14|ema_20|vwap_20)":([\d.]+)/g

const candidate = candidates.find((name) => name === process.argv[2])
if (candidate !== undefined) {
  process.once('message', (orders: Orders) => runs[candidate](orders))
  process.on('disconnect', () => process.exit())
}

const runs: Readonly<Record<Candidate, (orders: Orders) => void>> = {
  floor: runFloor,
  engine: runEngine,
}

function tell(report: Report): void {
  process.send?.(report)
}

/** Counts messages, and reports the CPU time of each share of them. */
class Meter {
  readonly #orders: Orders
  readonly #checksum: () => string
  #heard = 0
  #usage = process.cpuUsage()

  constructor(orders: Orders, checksum: () => string) {
    this.#orders = orders
    this.#checksum = checksum
  }

  /** Messages so far. */
  get heard(): number {
    return this.#heard
  }

  tick(): void {
    this.#heard += 1
    const isLast = this.#heard === this.#orders.timesMs.length
    // The current message is not processed yet.
    if (isLast || this.#heard % this.#orders.share === 0) setImmediate(() => this.#tell(isLast))
  }

  #tell(isLast: boolean): void {
    const { user, system } = process.cpuUsage(this.#usage)
    tell({
      kind: 'share',
      cpuMicroseconds: user + system,
      ...(isLast ? { checksum: this.#checksum() } : {}),
    })
    this.#usage = process.cpuUsage()
  }
}

function runFloor(orders: Orders): void {
  let members = 0
  const meter = new Meter(orders, () => String(members))
  const socket = new WebSocket(urlOf(orders), { perMessageDeflate: false })
  socket.on('open', () => {
    socket.send(PING)
    tell({ kind: 'ready' })
  })
  socket.on('message', (data) => {
    members += Object.keys(JSON.parse((data as Buffer).toString()) as object).length
    meter.tick()
  })
}

function runEngine(orders: Orders): void {
  const { startMs, timesMs } = orders
  const replies = new Map(orders.replies)
  const processor = new Processor(documentKinds, '0.0.0')
  const meter = new Meter(orders, () => checksumOf(processor, timesMs.at(-1) ?? startMs))
  // Replayed at many times the real speed, so clock and timers follow the recorded send times.
  const kernel = new Kernel(startMs)
  const machine = new Machine(kernel, new Chance(1, 'ingest'))
  const { scheduler } = machine.process((cause) => assert.fail(String(cause)))
  const untilNextFrame = () => kernel.runUntil(timesMs[meter.heard] ?? kernel.nowMs)
  const runtime: Runtime = {
    scheduler,
    random: () => 0.5,
    connect: (url, outbound) => {
      const opened = defer(() => {
        // The first ping, which the first frame answers.
        setImmediate(untilNextFrame)
        return outbound
      })
      tell({ kind: 'ready' })
      return connectWebSocket(url, opened).pipe(tap(untilNextFrame))
    },
    // Other requests fail, because they are not measured.
    post: (_, body) => of(replies.get(JSON.stringify(body)) ?? { status: 500, body: 'null' }),
  }
  const feed = hyperliquidFeed(
    {
      wsUrl: urlOf(orders),
      infoUrl: 'http://127.0.0.1/info',
      weightPerMinute: 1e9,
      // Accounts are ranked as usual, and their positions are not requested.
      accountWeightPerMinute: 0,
      sockets: 1,
      historyOf: () => [],
      // Counts every frame, also those without events.
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
}

function urlOf({ port }: Orders): string {
  return `ws://127.0.0.1:${port}/ws`
}

/** Loads enough bars for every indicator, up to the quarter that is open at the start. */
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

/** Sum of some indicators of all coins, which changes with any of their bars. */
function checksumOf(processor: Processor, nowMs: number): string {
  let sum = 0
  for (let phase = 0; phase < PUBLISH_PHASES; phase += 1)
    for (const { bytes } of processor.publish(nowMs))
      for (const [, value] of Buffer.from(bytes).toString().matchAll(INDICATOR))
        sum += Number(value)
  return sum.toFixed(6)
}
