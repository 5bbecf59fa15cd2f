import type { ISubscription } from '@nktkas/hyperliquid'
import {
  HttpTransport,
  InfoClient,
  SubscriptionClient,
  WebSocketTransport,
} from '@nktkas/hyperliquid'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import type { Clock } from '../src/domain/clock.ts'
import { seededMarket } from '../src/simulator/market/seeded-market.ts'
import type { SimulatedVenue } from '../src/simulator/venue/simulated-venue.ts'
import { startSimulatedVenue } from '../src/simulator/venue/simulated-venue.ts'

const HOUR_MS = 3_600_000
const EVENT_MS_MAX = 10_000

/** Real time that began at a busy hour, so that the model trades often enough for a short test. */
const CLOCK_START_MS = Date.UTC(2026, 9, 7, 15, 7)
const bootMs = performance.now()

const movingClock: Clock = {
  nowMs: () => CLOCK_START_MS + performance.now() - bootMs,
  after(delayMs, task) {
    const timer = setTimeout(task, delayMs)
    return () => clearTimeout(timer)
  },
  every(periodMs, task) {
    const timer = setInterval(task, periodMs)
    return () => clearInterval(timer)
  },
}

const channels = [
  'trades',
  'l2Book',
  'candle',
  'activeAssetCtx',
  'bbo',
  'allMids',
  'allDexsAssetCtxs',
] as const

type Channel = (typeof channels)[number]

/** The events that the public client delivered, by channel. */
class Inbox {
  readonly #events = new Map<Channel, unknown[]>()
  readonly #waiting = new Map<Channel, () => void>()

  readonly listen = (channel: Channel) => (event: unknown) => {
    this.#events.set(channel, [...(this.#events.get(channel) ?? []), event])
    this.#waiting.get(channel)?.()
  }

  count(channel: Channel): number {
    return this.#events.get(channel)?.length ?? 0
  }

  at(channel: Channel, index: number): unknown {
    return this.#events.get(channel)?.[index]
  }

  async more(channel: Channel, than: number): Promise<void> {
    if (this.count(channel) > than) return
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`no ${channel} event`)), EVENT_MS_MAX)
      this.#waiting.set(channel, () => {
        clearTimeout(timer)
        resolve()
      })
    })
  }
}

describe('the public client @nktkas/hyperliquid against the simulated venue', () => {
  let venue: SimulatedVenue

  beforeAll(async () => {
    // The client wants the browser's WebSocket, which Node 20 lacks.
    if (globalThis.WebSocket === undefined) {
      Object.assign(globalThis, { WebSocket })
    }
    venue = await startSimulatedVenue({
      market: seededMarket({ seed: 11, startMs: CLOCK_START_MS }),
      clock: movingClock,
      port: 0,
      cadences: { l2BookMs: 300, allMidsMs: 300, allDexsAssetCtxsMs: 500, activeAssetCtxMs: 200 },
    })
  })

  afterAll(async () => {
    await venue.close()
    if (globalThis.WebSocket === (WebSocket as unknown)) {
      Reflect.deleteProperty(globalThis, 'WebSocket')
    }
  })

  test('reads every info endpoint that the service needs', async () => {
    const info = new InfoClient({ transport: new HttpTransport({ apiUrl: venue.httpUrl }) })

    const meta = await info.meta()
    const [metaAgain, contexts] = await info.metaAndAssetCtxs()
    expect(metaAgain).toEqual(meta)
    expect(contexts).toHaveLength(meta.universe.length)
    expect(meta.universe.filter(({ isDelisted }) => !isDelisted).length).toBeGreaterThanOrEqual(180)

    const endTime = Math.floor(movingClock.nowMs())
    const candles = await info.candleSnapshot({
      coin: 'BTC',
      interval: '15m',
      startTime: endTime - 100 * HOUR_MS,
      endTime,
    })
    expect(candles.length).toBeGreaterThanOrEqual(400)
    const funding = await info.fundingHistory({ coin: 'ETH', startTime: endTime - 48 * HOUR_MS })
    expect(funding).toHaveLength(48)
    const book = await info.l2Book({ coin: 'SOL' })
    expect(book?.levels.map((side) => side.length)).toEqual([20, 20])
    const mids = await info.allMids()
    const { BTC } = mids
    expect(Number(BTC)).toBeGreaterThan(0)
    expect(await info.perpDexs()).toEqual([null])
    expect((await info.spotMeta()).tokens[0]?.name).toBe('USDC')
    expect(await info.allPerpMetas()).toEqual([meta])
    expect((await info.exchangeStatus()).time).toBeLessThanOrEqual(movingClock.nowMs())
  })

  test('gets events on every channel, and again after its sockets were dropped', async () => {
    const transport = new WebSocketTransport({ url: venue.wsUrl })
    const client = new SubscriptionClient({ transport })
    const inbox = new Inbox()
    const subscriptions: ISubscription[] = await Promise.all([
      client.trades({ coin: 'BTC' }, inbox.listen('trades')),
      client.l2Book({ coin: 'BTC' }, inbox.listen('l2Book')),
      client.candle({ coin: 'BTC', interval: '15m' }, inbox.listen('candle')),
      client.activeAssetCtx({ coin: 'BTC' }, inbox.listen('activeAssetCtx')),
      client.bbo({ coin: 'BTC' }, inbox.listen('bbo')),
      client.allMids(inbox.listen('allMids')),
      client.allDexsAssetCtxs(inbox.listen('allDexsAssetCtxs')),
    ])
    await Promise.all(channels.map((channel) => inbox.more(channel, 0)))
    expect(inbox.at('trades', 0), 'the replay comes first').toHaveLength(30)

    venue.dropConnections()
    const before = channels.map((channel) => [channel, inbox.count(channel)] as const)
    await Promise.all(before.map(([channel, count]) => inbox.more(channel, count)))

    const tradesBefore = new Map(before).get('trades') ?? 0
    expect(inbox.at('trades', tradesBefore), 'and again after the reconnect').toHaveLength(30)
    for (const { failureSignal } of subscriptions) {
      expect(failureSignal.aborted, 'no subscription failed').toBe(false)
    }
    await transport.close()
  })

  test('reads over the websocket what it reads over HTTP', async () => {
    const transport = new WebSocketTransport({ url: venue.wsUrl })
    const overSocket = await new InfoClient({ transport }).meta()
    const overHttp = await new InfoClient({
      transport: new HttpTransport({ apiUrl: venue.httpUrl }),
    }).meta()
    expect(overSocket).toEqual(overHttp)
    await transport.close()
  })
})
