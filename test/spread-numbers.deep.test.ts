import { afterAll, describe, expect, test } from 'vitest'
import { spread } from '../src/compute/analyses/spread/spread.ts'
import type { TradeCosts } from '../src/compute/execution/trade-costs.ts'
import { TradeCosts as Tracker } from '../src/compute/execution/trade-costs.ts'
import { Processor, PUBLISH_PHASES } from '../src/compute/processor.ts'
import { bps, score, usd } from '../src/compute/render/significance.ts'
import type { Batch, CoinEvent } from '../src/domain/event.ts'
import { catalog } from '../src/simulator/market/catalog.ts'
import { CoinMarkets } from '../src/simulator/market/coin-markets.ts'
import { modelCoins } from '../src/simulator/market/seeded-market.ts'
import { hyperliquidFeed } from '../src/streams/hyperliquid/feed.ts'
import { naiveSpread } from './golden/naive-spread.ts'
import { Chance } from './simulation/chance.ts'
import { hasRecordedTrading, recordedTrading } from './support/recorded-trading.ts'
import { VirtualVenue } from './support/virtual-venue.ts'

const START_MS = Date.UTC(2026, 0, 1, 12, 11)
const MINUTE_MS = 60_000
const SEED = 5

/** Trade statistics of spread answers, compared with a slow search through all received events. */
describe('costs of trading', () => {
  test('equal those of the whole log of the simulated venue at random moments', () => {
    // Of the most traded coins a minute has thousands of trades, which the slow search has no time for.
    const coins = ['HYPE', 'XRP', 'kPEPE']
    const model = modelCoins(SEED, START_MS)
    const market = new CoinMarkets({
      clockShiftMs: 0,
      coins: coins.map((coin) => {
        const row = catalog.find(([name]) => name === coin)
        if (row === undefined) throw new Error(`${coin} is in the catalogue`)
        const [, sizeDecimals, marginTableId, priceUsd] = row
        return model.ofCatalog([coin, sizeDecimals, marginTableId, priceUsd, 4e7, 1e8])
      }),
      newCoin: model.ofListing,
    })
    const virtual = new VirtualVenue(market, START_MS)
    const processor = new Processor({ coin: [spread], market: [] }, '0.0.0')
    const logs = new Map<string, CoinEvent[]>(coins.map((coin) => [coin, []]))
    hyperliquidFeed(
      {
        wsUrl: 'ws://venue',
        infoUrl: 'http://venue',
        weightPerMinute: 1_000,
        sockets: 2,
        historyOf: () => [],
      },
      virtual.runtime(),
    ).subscribe((batch: Batch) => {
      processor.process(batch)
      for (const event of batch) if (isOfTrading(event)) logs.get(event.coin)?.push(event)
    })
    const chance = new Chance(SEED, 'moments')
    let compared = 0
    for (let moment = 0; moment < 6; moment += 1) {
      virtual.runUntil(virtual.nowMs + Math.floor(chance.next() * 3 * MINUTE_MS) + MINUTE_MS)
      const said = read(processor, virtual.nowMs)
      for (const [coin, log] of logs) {
        const { trade_costs, calibration } = said.get(coin) ?? {}
        const naive = naiveSpread(log)
        if (!Number.isNaN(naive.effectiveBps) && !Number.isNaN(naive.medianErrorBps)) compared += 1
        expect(trade_costs).toEqual({
          effective_spread_bps: shown(naive.effectiveBps),
          n: naive.n,
          notional_usd: usd(naive.notionalUsd),
          realized_spread_10s_bps: shown(naive.realizedBps),
          realized_n: naive.realizedN,
          window_seconds: Math.round(naive.windowSeconds),
          is_partial: log.some(({ kind }) => kind === 'trade-gap'),
        })
        expect(calibration).toMatchObject({
          n: naive.calibrationN,
          median_abs_error_bps: shown(naive.medianAbsErrorBps),
          p90_abs_error_bps: shown(naive.p90AbsErrorBps),
          median_error_bps: shown(naive.medianErrorBps),
          model_n: naive.modelN,
          model_scale: score(naive.modelScale),
        })
      }
    }
    expect(compared, 'several moments had enough to compare').toBeGreaterThan(5)
  })

  test.skipIf(!hasRecordedTrading).each([
    { coin: 'BTC', fromMinute: 0 },
    { coin: 'SOL', fromMinute: 7 },
  ])(
    'are those of the whole log on eight recorded minutes of $coin (needs ../shared/data)',
    ({ coin, fromMinute }) => {
      const all = recorded(coin)
      const startMs = (all[0]?.timeReceivedMs ?? 0) + fromMinute * MINUTE_MS
      const log = all.filter(
        ({ timeReceivedMs: ms }) => ms >= startMs && ms < startMs + 8 * MINUTE_MS,
      )
      const costs = heard(log)
      const naive = naiveSpread(log)
      const { effectiveBps, realizedBps, n, realizedN } = costs.costs()
      expect([n, realizedN]).toEqual([naive.n, naive.realizedN])
      expect(n).toBeGreaterThan(100)
      expect(effectiveBps).toBeCloseTo(naive.effectiveBps, 9)
      expect(realizedBps).toBeCloseTo(naive.realizedBps, 9)
      const { medianAbsErrorBps, medianErrorBps, n: calibrated } = costs.calibration()
      expect(calibrated).toBe(naive.calibrationN)
      expect(medianAbsErrorBps).toBeCloseTo(naive.medianAbsErrorBps, 9)
      expect(medianErrorBps).toBeCloseTo(naive.medianErrorBps, 9)
    },
  )

  test.skipIf(!hasRecordedTrading).each(['BTC', 'SOL'])(
    'of the recorded %s are plausible: makers keep less than takers pay, estimates are near (needs ../shared/data)',
    (coin) => {
      const costs = heard(recorded(coin))
      const { effectiveBps, realizedBps } = costs.costs()
      const { medianAbsErrorBps, p90AbsErrorBps } = costs.calibration()
      expect(effectiveBps).toBeGreaterThan(0)
      expect(effectiveBps).toBeLessThan(10)
      expect(realizedBps).toBeLessThan(effectiveBps ?? 0)
      expect(medianAbsErrorBps).toBeLessThan(0.1)
      expect(p90AbsErrorBps).toBeLessThan(1)
    },
  )

  test.skipIf(!hasRecordedTrading)(
    'are measured against the quote before the instant of a trade, because recorded takers paid that one (needs ../shared/data)',
    () => {
      const [before, same] = [share('before'), share('same')]
      expect(before).toBeGreaterThan(0.97)
      expect(same).toBeLessThan(0.7)
    },
  )
})

/** Of recorded trades: those at or beyond the last best quote strictly before, or up to, their instant. */
function share(which: 'before' | 'same'): number {
  let [hits, trades] = [0, 0]
  for (const coin of ['BTC', 'SOL']) {
    const events = recorded(coin).toSorted(
      (one, other) =>
        one.timeExchangeMs - other.timeExchangeMs || rank(one, which) - rank(other, which),
    )
    let [bid, ask, quotedMs] = [Number.NaN, Number.NaN, Number.NaN]
    for (const event of events) {
      if (event.kind === 'top-of-book') {
        if (event.bid === null || event.ask === null) continue
        ;[bid, ask, quotedMs] = [event.bid.price, event.ask.price, event.timeExchangeMs]
      } else if (event.kind === 'trade' && event.timeExchangeMs - quotedMs <= 1_000) {
        trades += 1
        if (event.takerSide === 'buy' ? event.price >= ask : event.price <= bid) hits += 1
      }
    }
  }
  return hits / trades
}

/** Trades of an instant come before its quotes, or after. */
function rank({ kind }: CoinEvent, which: 'before' | 'same'): number {
  return (kind === 'trade') === (which === 'before') ? 0 : 1
}

function heard(log: readonly CoinEvent[]): TradeCosts {
  const costs = new Tracker()
  for (const event of log) costs.apply(event)
  return costs
}

function isOfTrading(event: Batch[number]): event is CoinEvent {
  return ['trade', 'book', 'top-of-book', 'trade-gap', 'silence'].includes(event.kind)
}

function shown(value: number): number | null {
  return Number.isNaN(value) ? null : bps(value)
}

type Said = {
  readonly trade_costs: Readonly<Record<string, number | null>>
  readonly calibration: Readonly<Record<string, number | string | null>>
}

/** Current answers by coin; each has received a book since the previous moment. */
function read(processor: Processor, nowMs: number): ReadonlyMap<string, Said> {
  const said = new Map<string, Said>()
  for (let phase = 0; phase < PUBLISH_PHASES; phase += 1) {
    for (const document of processor.publish(nowMs)) {
      const text = new TextDecoder().decode(document.bytes)
      const body = `${text.slice(0, text.indexOf(',"meta"'))}}`
      said.set(
        document.key.replace('spread/', ''),
        (JSON.parse(body) as { readonly spread: Said }).spread,
      )
    }
  }
  return said
}

/** Read once for all tests. */
const recordings = new Map<string, readonly CoinEvent[]>()
afterAll(() => recordings.clear())

function recorded(coin: string): readonly CoinEvent[] {
  const events = recordings.get(coin) ?? recordedTrading(coin)
  recordings.set(coin, events)
  return events
}
