import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { spread } from '../src/compute/analyses/spread/spread.ts'
import { Processor, PUBLISH_PHASES } from '../src/compute/processor.ts'
import type { Warning } from '../src/domain/document.ts'
import type { MarketEvent } from '../src/domain/event.ts'
import { catalog } from '../src/simulator/market/catalog.ts'
import { CoinMarkets } from '../src/simulator/market/coin-markets.ts'
import { readTapes } from '../src/simulator/market/recorded-tape.ts'
import { recordingMarket } from '../src/simulator/market/recording-market.ts'
import { modelCoins } from '../src/simulator/market/seeded-market.ts'
import { WEIGHT_PER_MINUTE_DEFAULT } from '../src/streams/hyperliquid/backfill/weight-budget.ts'
import { hyperliquidFeed } from '../src/streams/hyperliquid/feed.ts'
import type { FeedEvent } from '../src/streams/hyperliquid/ingest/feed-event.ts'
import { VirtualVenue } from './support/virtual-venue.ts'

const RECORDING = join(import.meta.dirname, '../../shared/data/hl-l2-trades-2025-09')
const isPresent = existsSync(RECORDING)

const START_MS = Date.UTC(2026, 0, 1, 12)
/** Outage of the recorder: no books from 1757015891504 to 1757015909480. */
const RECORDED_FROM_MS = 1_757_015_200_000
const OUTAGE_FROM_MS = 1_757_015_891_504 - RECORDED_FROM_MS
const OUTAGE_TO_MS = 1_757_015_909_480 - RECORDED_FROM_MS

test.skipIf(!isPresent)(
  'the recorded outage of 18 s: the replay bridges SOL, and shows that trades of BTC are lost (needs ../shared/data)',
  () => {
    const model = modelCoins(7, START_MS)
    const base = new CoinMarkets({
      clockShiftMs: 0,
      coins: catalog
        .filter(([coin]) => coin === 'BTC' || coin === 'SOL')
        .map((row) => model.ofCatalog(row)),
      newCoin: model.ofListing,
    })
    const market = recordingMarket(readTapes(RECORDING), base, { startMs: START_MS })
    const virtual = new VirtualVenue(market, START_MS)
    const events: MarketEvent[] = []
    const processor = new Processor({ coin: [spread], market: [] }, '0.0.0')
    const notices: FeedEvent[] = []
    hyperliquidFeed(
      {
        wsUrl: 'ws://venue',
        infoUrl: 'http://venue',
        weightPerMinute: WEIGHT_PER_MINUTE_DEFAULT,
        sockets: 2,
        historyOf: () => [],
        onFeedEvent: (notice) => notices.push(notice),
      },
      virtual.runtime(),
    ).subscribe((batch) => {
      events.push(...batch)
      processor.process(batch)
    })
    const of = <Kind extends MarketEvent['kind']>(kind: Kind) =>
      events.filter((event): event is Extract<MarketEvent, { kind: Kind }> => event.kind === kind)

    virtual.runUntil(START_MS + OUTAGE_FROM_MS - 1_000)
    expect(of('feed-status').map(({ state }) => state)).toEqual(['up'])
    expect(of('trade-gap')).toEqual([])
    notices.length = 0
    virtual.runUntil(START_MS + OUTAGE_TO_MS + 30_000)

    expect(of('feed-status').at(-1)).toMatchObject({ state: 'up' })
    expect(notices.filter(({ kind }) => kind === 'trades-bridged')).toEqual([
      { kind: 'trades-bridged', coin: 'SOL', repeated: 10, fresh: 20 },
    ])
    const [gap, ...others] = of('trade-gap')
    expect(others).toEqual([])
    expect(gap?.coin).toBe('BTC')
    // In the recording the last trade before it is of 1757015891087, the first after it of 1757015893170.
    expect((gap?.toMs ?? 0) - (gap?.fromMs ?? 0)).toBe(2_083)
    const ids = of('trade').map(({ coin, tradeId }) => `${coin}/${tradeId}`)
    expect(new Set(ids).size, 'no trade comes twice').toBe(ids.length)

    const warnings: Record<string, readonly Warning[]> = {}
    const nowMs = START_MS + OUTAGE_TO_MS + 30_000
    for (let phase = 0; phase < PUBLISH_PHASES; phase += 1)
      for (const { key, views } of processor.publish(nowMs)) {
        const view = views[spread.contract.defaultView]
        if (view?.kind === 'answer') warnings[key] = view.warnings
      }
    expect(warnings['spread/BTC'], 'and the answer says so').toContain('partial_data')
    expect(warnings['spread/SOL']).not.toContain('partial_data')
  },
)
