import { asyncScheduler, interval } from 'rxjs'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { analyses } from '../src/compute/analyses/registry.ts'
import { Processor, PUBLISH_PERIOD_MS, PUBLISH_PHASES } from '../src/compute/processor.ts'
import type { Document } from '../src/domain/document.ts'
import type { Batch, MarketEvent } from '../src/domain/event.ts'
import type { Timeframe } from '../src/domain/timeframe.ts'
import { barOpenTimeMs, timeframeMs } from '../src/domain/timeframe.ts'
import { systemClock } from '../src/roles/system-clock.ts'
import { connectWebSocket } from '../src/roles/system-runtime.ts'
import type { Market } from '../src/simulator/market/market.ts'
import { seededMarket } from '../src/simulator/market/seeded-market.ts'
import type { SimulatedVenue } from '../src/simulator/venue/simulated-venue.ts'
import { startSimulatedVenue } from '../src/simulator/venue/simulated-venue.ts'
import { postJson } from '../src/streams/http-exchange.ts'
import { WEIGHT_PER_MINUTE_DEFAULT } from '../src/streams/hyperliquid/backfill/weight-budget.ts'
import { hyperliquidFeed } from '../src/streams/hyperliquid/feed.ts'
import type { FeedEvent } from '../src/streams/hyperliquid/ingest/feed-event.ts'
import type { Runtime } from '../src/streams/runtime.ts'
import { VirtualVenue } from './support/virtual-venue.ts'

/** Trades that the venue replays after each subscription to a coin's trades. */
const REPLAYED_TRADES = 30
const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS

describe('our connector at the simulated venue', () => {
  let venue: SimulatedVenue
  let feed: Recording

  beforeEach(async () => {
    venue = await startSimulatedVenue({
      // All would be 227, more than this process can follow on a busy machine.
      market: seededMarket({ seed: 7, startMs: systemClock.nowMs(), coins: 40 }),
      clock: systemClock,
      port: 0,
      limits: { restWeightPerMinute: 120_000 },
      cadences: { l2BookMs: 500, allDexsAssetCtxsMs: 500 },
    })
    feed = new Recording(
      { wsUrl: venue.wsUrl, infoUrl: venue.httpUrl, weightPerMinute: 100_000 },
      {
        scheduler: asyncScheduler,
        random: () => 0.5,
        connect: connectWebSocket,
        post: postJson,
      },
    )
  })

  afterEach(async () => {
    feed.stop()
    await venue.close()
  })

  test('delivers every kind of event, and drops nothing', async () => {
    const kinds = [
      ...(['universe', 'context', 'feed-status', 'history'] as const),
      ...(['candle', 'trade', 'book', 'top-of-book', 'mark'] as const),
    ]
    await feed.until(() => kinds.every((kind) => feed.of(kind).length > 0))
    expect(feed.events[0]).toMatchObject({ kind: 'universe' })
    expect(feed.of('feed-status')).toMatchObject([{ state: 'up', coins: [] }])
    const listed = new Set(feed.of('universe')[0]?.listings.map(({ coin }) => coin))
    for (const event of feed.events) {
      if ('coin' in event) expect(listed).toContain(event.coin)
      // The venue replays the last trades of a coin, which are hours old where it is quiet.
      const ageMs = event.kind === 'trade' ? DAY_MS : MINUTE_MS
      expect(Math.abs(event.timeReceivedMs - event.timeExchangeMs), event.kind).toBeLessThan(ageMs)
    }
    expect(feed.notices).toEqual([])
  })

  test('history arrives complete, most traded coins first, 4h before 15m', async () => {
    await feed.until(() => feed.of('history').length >= 12)
    const histories = feed.of('history').slice(0, 12)
    expect(new Set(histories.map(({ coin }) => coin)).size).toBe(6)
    expect(histories.map(({ timeframe }) => timeframe)).toEqual(
      histories.map((_, index) => (index % 2 === 0 ? '4h' : '15m')),
    )
    for (const { bars, timeframe, coin, timeExchangeMs } of histories) {
      const firstMs = bars[0]?.openTimeMs ?? Number.NaN
      expect(firstMs, `${coin} ${timeframe}`).toBe(feed.neededFromMs(coin, timeframe))
      // The venue publishes with a delay, and a forming bar only after its first trade.
      const closedMs = barOpenTimeMs(timeExchangeMs - 5_000, timeframe) - timeframeMs[timeframe]
      expect(bars.at(-1)?.openTimeMs, `${coin} ${timeframe}`).toBeGreaterThanOrEqual(closedMs)
      for (const [index, bar] of bars.entries())
        expect(bar.openTimeMs).toBe(firstMs + index * timeframeMs[timeframe])
    }
    const dayNotional = new Map(
      feed.of('context').map((context) => [context.coin, context.dayNotional]),
    )
    const ranked = [...dayNotional].toSorted(([, one], [, other]) => other - one)
    const top = new Set(ranked.slice(0, 20).map(([coin]) => coin))
    for (const { coin } of histories) expect(top).toContain(coin)
  })
})

/**
 * The same venue without sockets, in virtual time, so that waits of minutes are fast and deterministic.
 * Nothing has to be stopped, because it runs only while the test advances the time.
 */
describe('our connector and engine at the simulated venue, in virtual time', () => {
  /** Shortly before a quarter of an hour ends. */
  const START_MS = Date.UTC(2026, 0, 1, 12, 11)
  const NEW = 'kNEW'

  test('a coin that is listed during the run is followed, and its bars are aggregated', () => {
    const virtual = smallVenue()
    const { scheduler, venue } = virtual
    const feed = new Recording(
      { wsUrl: 'ws://venue', infoUrl: 'http://venue', weightPerMinute: WEIGHT_PER_MINUTE_DEFAULT },
      virtual.runtime(),
    )
    const documents = new Map<string, Document>()
    interval(PUBLISH_PERIOD_MS / PUBLISH_PHASES, scheduler).subscribe(() => {
      for (const document of feed.processor.publish(scheduler.now()))
        documents.set(document.key, document)
    })
    const needs = () =>
      feed.coins.filter((coin) => feed.processor.view.missingBars(coin, scheduler.now()).length > 0)

    virtual.runUntil(START_MS + 2.2 * MINUTE_MS)
    expect(feed.coins.length).toBeGreaterThan(3)
    expect(needs(), 'every coin has its history').toEqual([])
    venue.addListing({
      coin: NEW,
      sizeDecimals: 0,
      maxLeverage: 3,
      priceUsd: 0.5,
      dayNotionalUsd: 5e8,
    })
    virtual.runUntil(START_MS + 3 * MINUTE_MS)
    expect(feed.of('universe').at(-1)?.listings.at(-1)).toEqual({
      coin: NEW,
      sizeDecimals: 0,
      maxLeverage: 3,
      marginTiers: [{ lowerBoundUsd: 0, maxLeverage: 3 }],
      isDelisted: false,
    })
    for (const kind of ['context', 'trade', 'candle', 'book', 'history'] as const)
      expect(
        feed.of(kind).some(({ coin }) => coin === NEW),
        kind,
      ).toBe(true)
    expect(feed.coins).toContain(NEW)
    expect(needs()).toEqual([])
    expect(documents.get(`pulse/${NEW}`)?.views['15m']).toMatchObject({ have: 0 })

    virtual.runUntil(START_MS + 5 * MINUTE_MS)
    expect(documents.get(`pulse/${NEW}`)?.views['15m']).toMatchObject({ have: 1 })
    expect(needs()).toEqual([])
    expect(feed.of('feed-status'), 'and no socket was lost over it').toHaveLength(1)
    expect(
      new Set(feed.notices.map((notice) => ('reason' in notice ? notice.reason : notice.kind))),
      'but for the first frame that names the coin: the list is asked for at once',
    ).toEqual(new Set(['unknown_coin']))
  })

  /** The venue replays the last 30 trades of a coin. The busiest make those in 2.3 s. */
  test.each([
    { outageMs: 0, isLossy: false },
    { outageMs: 30_000, isLossy: true },
  ])(
    'an outage of $outageMs ms loses no trade unreported, and a short one none',
    ({ outageMs, isLossy }) => {
      const market = smallMarket()
      const virtual = new VirtualVenue(market, START_MS)
      const feed = new Recording(
        {
          wsUrl: 'ws://venue',
          infoUrl: 'http://venue',
          weightPerMinute: WEIGHT_PER_MINUTE_DEFAULT,
        },
        virtual.runtime(),
      )
      virtual.runUntil(START_MS + MINUTE_MS)
      virtual.venue.dropConnections()
      virtual.venue.inject({ kind: 'refuse-connections', durationMs: outageMs })
      virtual.runUntil(START_MS + 3 * MINUTE_MS)
      expect(feed.of('feed-status').at(-1)?.state).toBe('up')
      const ids = feed.of('trade').map(({ coin, tradeId }) => `${coin}/${tradeId}`)
      expect(new Set(ids).size).toBe(ids.length)
      const kinds = new Set(feed.notices.map(({ kind }) => kind))
      expect(kinds, 'the replays reach back to what was known').toContain('trades-bridged')
      expect(feed.of('trade-gap').length > 0).toBe(isLossy)
      expect(unreportedLosses(market, feed)).toEqual([])
      for (const { coin, fromMs, timeReceivedMs } of feed.of('trade-gap'))
        expect(
          market.trades(coin, fromMs, timeReceivedMs).length,
          `${coin}: a replay would have reached back`,
        ).toBeGreaterThanOrEqual(REPLAYED_TRADES)
      const usual = ['reconnect', 'trades-bridged', 'quarantined', 'probed']
      expect([...kinds].filter((kind) => !usual.includes(kind))).toEqual([])
    },
  )

  function smallVenue(): VirtualVenue {
    return new VirtualVenue(smallMarket(), START_MS)
  }

  function smallMarket(): Market {
    return seededMarket({ seed: 7, startMs: START_MS, coins: 5 })
  }
})

/** Trades of the market between two delivered ones of their coin that are neither delivered nor in a gap. */
function unreportedLosses(
  market: Market,
  feed: Recording,
): readonly { readonly coin: string; readonly timeMs: number }[] {
  const gaps = feed.of('trade-gap')
  return feed.coins.flatMap((coin) => {
    const delivered = feed.of('trade').filter((trade) => trade.coin === coin)
    const [ids, times] = [new Set<number>(), [] as number[]]
    for (const { tradeId, timeExchangeMs } of delivered) {
      ids.add(tradeId)
      times.push(timeExchangeMs)
    }
    return market
      .trades(coin, Math.min(...times), Math.max(...times))
      .filter(({ id }) => !ids.has(id))
      .map(({ timeMs }) => ({ coin, timeMs }))
      .filter(
        ({ timeMs }) =>
          !gaps.some((gap) => gap.coin === coin && gap.fromMs <= timeMs && timeMs <= gap.toMs),
      )
  })
}

/** All events of one feed, and an engine that processes them. */
class Recording {
  readonly events: MarketEvent[] = []
  readonly notices: FeedEvent[] = []
  readonly processor = new Processor(analyses, '0.0.0')
  readonly stop: () => void
  /** By kind, because `until` checks every batch. */
  readonly #byKind = new Map<string, MarketEvent[]>()
  readonly #neededFromMs = new Map<string, number>()
  #waiting: { readonly isDone: () => boolean; readonly resolve: () => void }[] = []

  constructor(
    options: {
      readonly wsUrl: string
      readonly infoUrl: string
      readonly weightPerMinute: number
    },
    runtime: Runtime,
  ) {
    const batches = hyperliquidFeed(
      {
        ...options,
        sockets: 3,
        historyOf: (coin, nowMs) => {
          const needs = this.processor.view.missingBars(coin, nowMs)
          for (const { timeframe, fromMs } of needs) {
            const key = `${coin}/${timeframe}`
            if (!this.#neededFromMs.has(key)) this.#neededFromMs.set(key, fromMs)
          }
          return needs
        },
        onFeedEvent: (notice) => this.notices.push(notice),
      },
      runtime,
    )
    const subscription = batches.subscribe((batch) => this.#take(batch))
    this.stop = () => subscription.unsubscribe()
  }

  /** Coins that the engine has listed and that trade. */
  get coins(): readonly string[] {
    return this.processor.view.listings.flatMap(({ coin, isDelisted }) =>
      isDelisted ? [] : [coin],
    )
  }

  /** Start of the bars in the engine's first request. */
  neededFromMs(coin: string, timeframe: Timeframe): number | undefined {
    return this.#neededFromMs.get(`${coin}/${timeframe}`)
  }

  of<Kind extends MarketEvent['kind']>(kind: Kind): Extract<MarketEvent, { kind: Kind }>[] {
    return (this.#byKind.get(kind) ?? []) as Extract<MarketEvent, { kind: Kind }>[]
  }

  async until(isDone: () => boolean): Promise<void> {
    if (isDone()) return
    await new Promise<void>((resolve) => {
      this.#waiting.push({ isDone, resolve })
    })
    this.#waiting = this.#waiting.filter((waiting) => waiting.isDone !== isDone)
  }

  #take(batch: Batch): void {
    this.processor.process(batch)
    for (const event of batch) {
      this.events.push(event)
      const same = this.#byKind.get(event.kind)
      if (same === undefined) this.#byKind.set(event.kind, [event])
      else same.push(event)
    }
    for (const { resolve } of this.#waiting.filter(({ isDone }) => isDone())) resolve()
  }
}
