import { asyncScheduler } from 'rxjs'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Clock } from '../src/domain/clock.ts'
import type { MarketEvent } from '../src/domain/event.ts'
import { timeframeMs } from '../src/domain/timeframe.ts'
import { seededMarket } from '../src/simulator/market/seeded-market.ts'
import type { SimulatedVenue } from '../src/simulator/venue/simulated-venue.ts'
import { startSimulatedVenue } from '../src/simulator/venue/simulated-venue.ts'
import { postJson } from '../src/streams/http-post.ts'
import { hyperliquidFeed } from '../src/streams/venues/hyperliquid/feed.ts'
import type { FeedNotice } from '../src/streams/venues/hyperliquid/notice.ts'
import { connectWebSocket } from '../src/streams/web-socket.ts'

const BARS_4H = 250
const BARS_15M = 1_000

const clock: Clock = {
  nowMs: () => Date.now(),
  after: (delayMs, task) => {
    const timer = setTimeout(task, delayMs)
    return () => clearTimeout(timer)
  },
  every: (periodMs, task) => {
    const timer = setInterval(task, periodMs)
    return () => clearInterval(timer)
  },
}

let venue: SimulatedVenue
let feed: Recording

beforeEach(async () => {
  venue = await startSimulatedVenue({
    market: seededMarket({ seed: 7, startMs: clock.nowMs() }),
    clock,
    port: 0,
    limits: { restWeightPerMinute: 120_000 },
    cadences: { l2BookMs: 500, allDexsAssetCtxsMs: 500 },
  })
  feed = new Recording(venue)
})

afterEach(async () => {
  feed.stop()
  await venue.close()
})

describe('our connector at the simulated venue', () => {
  test('delivers every kind of event, and nothing has to be left out', async () => {
    const kinds = [
      ...(['universe', 'context', 'feed-status', 'history'] as const),
      ...(['candle', 'trade', 'book', 'top-of-book', 'mark'] as const),
    ]
    await feed.until(() => kinds.every((kind) => feed.of(kind).length > 0))
    expect(feed.events[0]).toMatchObject({ kind: 'universe' })
    expect(feed.of('feed-status')).toMatchObject([{ state: 'up' }])
    const listed = new Set(feed.of('universe')[0]?.listings.map(({ coin }) => coin))
    for (const event of feed.events) {
      if ('coin' in event) expect(listed).toContain(event.coin)
      expect(Math.abs(event.timeReceivedMs - event.timeExchangeMs)).toBeLessThan(60 * 60_000)
    }
    expect(feed.notices).toEqual([])
  })

  test('history comes for the most traded coins first, whole, 4h before 15m', async () => {
    await feed.until(() => feed.of('history').length >= 12)
    const histories = feed.of('history').slice(0, 12)
    expect(new Set(histories.map(({ coin }) => coin)).size).toBe(6)
    expect(histories.map(({ timeframe }) => timeframe)).toEqual(
      histories.map((_, index) => (index % 2 === 0 ? '4h' : '15m')),
    )
    for (const { bars, timeframe, coin } of histories) {
      const wanted = timeframe === '4h' ? BARS_4H : BARS_15M
      expect(bars.length, `${coin} ${timeframe}`).toBeGreaterThanOrEqual(wanted - 2)
      for (const [index, bar] of bars.entries())
        expect(bar.openTimeMs).toBe((bars[0]?.openTimeMs ?? 0) + index * timeframeMs[timeframe])
    }
    const dayNotionalUsd = new Map(
      feed.of('context').map((context) => [context.coin, context.dayNotionalUsd]),
    )
    const ranked = [...dayNotionalUsd].toSorted(([, one], [, other]) => other - one)
    const top = new Set(ranked.slice(0, 20).map(([coin]) => coin))
    for (const { coin } of histories) expect(top).toContain(coin)
  })

  test('after an outage it is up again, and no trade comes twice', async () => {
    await feed.until(() => feed.of('history').length >= 4 && feed.of('trade').length >= 500)
    const tradesBefore = feed.of('trade').length
    const historiesBefore = feed.of('history').length
    venue.dropConnections()
    await feed.until(() => feed.of('feed-status').some(({ state }) => state === 'down'))
    await feed.until(() => feed.of('feed-status').at(-1)?.state === 'up')
    await feed.until(
      () =>
        feed.of('trade').length >= tradesBefore + 200 &&
        feed.of('history').length >= historiesBefore + 4,
    )
    const ids = feed.of('trade').map(({ coin, tradeId }) => `${coin}/${tradeId}`)
    expect(new Set(ids).size).toBe(ids.length)
    expect(feed.notices.map(({ kind }) => kind)).toEqual(['reconnect', 'reconnect', 'reconnect'])
  })

  test('a coin that is listed while it runs is followed', async () => {
    await feed.until(() => feed.of('feed-status').length > 0)
    venue.addListing({
      coin: 'kNEW',
      sizeDecimals: 0,
      maxLeverage: 3,
      priceUsd: 0.5,
      dayNotionalUsd: 5e8,
    })
    const kinds = ['context', 'trade', 'candle', 'book', 'history'] as const
    await feed.until(() => kinds.every((kind) => feed.of(kind).some(({ coin }) => coin === 'kNEW')))
    expect(feed.of('universe').at(-1)?.listings.at(-1)).toEqual({
      coin: 'kNEW',
      sizeDecimals: 0,
      maxLeverage: 3,
      isDelisted: false,
    })
    expect(feed.of('feed-status'), 'and no socket was lost over it').toHaveLength(1)
  })
})

/** Everything that one feed said. */
class Recording {
  readonly events: MarketEvent[] = []
  readonly notices: FeedNotice[] = []
  readonly stop: () => void
  #waiting: { readonly isDone: () => boolean; readonly resolve: () => void }[] = []

  constructor({ wsUrl, httpUrl }: SimulatedVenue) {
    const batches = hyperliquidFeed(
      {
        wsUrl,
        infoUrl: httpUrl,
        weightPerMinute: 100_000,
        sockets: 3,
        historyOf: (_, nowMs) => [
          { timeframe: '15m', fromMs: nowMs - BARS_15M * timeframeMs['15m'] },
          { timeframe: '4h', fromMs: nowMs - BARS_4H * timeframeMs['4h'] },
        ],
        onNotice: (notice) => this.notices.push(notice),
      },
      {
        scheduler: asyncScheduler,
        random: Math.random,
        connect: connectWebSocket,
        post: postJson,
      },
    )
    const subscription = batches.subscribe((batch) => {
      this.events.push(...batch)
      for (const { resolve } of this.#waiting.filter(({ isDone }) => isDone())) resolve()
    })
    this.stop = () => subscription.unsubscribe()
  }

  of<Kind extends MarketEvent['kind']>(kind: Kind): Extract<MarketEvent, { kind: Kind }>[] {
    return this.events.filter(
      (event): event is Extract<MarketEvent, { kind: Kind }> => event.kind === kind,
    )
  }

  async until(isDone: () => boolean): Promise<void> {
    if (isDone()) return
    await new Promise<void>((resolve) => {
      this.#waiting.push({ isDone, resolve })
    })
    this.#waiting = this.#waiting.filter((waiting) => waiting.isDone !== isDone)
  }
}
