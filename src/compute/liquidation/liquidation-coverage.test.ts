import { beforeEach, describe, expect, test } from 'vitest'
import type { MarketEvent } from '../../domain/event.ts'
import { PulsePool } from '../indicators/pulse-series.ts'
import type { MarketState } from '../market/market-state.ts'
import { newMarket } from '../testing/new-market.ts'
import { context, NOW_MS, universe } from '../testing/tape.ts'
import { liquidationCoverage } from './liquidation-coverage.ts'
import { realisedLiquidations } from './realised-liquidations.ts'

const HOUR_MS = 3_600_000
const range = { side: 'long', fromPrice: 90, untilPrice: 101 } as const

describe('what was liquidated in a range, and whether it was observed', () => {
  let market: MarketState
  const at = (timeMs: number) => ({ timeExchangeMs: timeMs, timeReceivedMs: timeMs })
  const apply = (...events: readonly MarketEvent[]) => {
    for (const event of events) market.apply(event)
  }
  const notional = (fromMs: number, untilMs: number) =>
    market
      .coin('BTC')
      ?.of(realisedLiquidations)
      .notional({ ...range, fromMs, untilMs })

  beforeEach(() => {
    market = newMarket(new PulsePool(3))
    const start = NOW_MS - 10 * HOUR_MS
    apply(universe(['BTC']), { ...context('BTC', {}), ...at(start) })
    apply({
      ...{ kind: 'liquidation', coin: 'BTC', tradeId: 1, account: '0xa', side: 'long' },
      ...{ price: 99, sizeBase: 3, markPrice: 100, method: 'market', ...at(NOW_MS - HOUR_MS) },
    })
    apply({ ...context('BTC', {}), ...at(NOW_MS) })
  })

  test('the liquidations of a range are a lower bound', () => {
    expect(notional(NOW_MS - 2 * HOUR_MS, NOW_MS)).toBe(300)
    expect(notional(NOW_MS - 3 * HOUR_MS, NOW_MS - 2 * HOUR_MS)).toBe(0)
  })

  test('a share of a range is observed by a source of all liquidations', () => {
    const feed = (fromMs: number, untilMs: number) =>
      apply({ kind: 'liquidation-feed', fromMs, untilMs, ...at(NOW_MS) })
    feed(NOW_MS - 4 * HOUR_MS, NOW_MS - 3 * HOUR_MS)
    feed(NOW_MS - 3 * HOUR_MS, NOW_MS - 2 * HOUR_MS)
    const tracker = market.of(liquidationCoverage)
    expect(tracker.marketShare(NOW_MS - 4 * HOUR_MS, NOW_MS - 2 * HOUR_MS)).toBe(1)
    expect(tracker.marketShare(NOW_MS - 4 * HOUR_MS, NOW_MS - HOUR_MS)).toBeCloseTo(2 / 3)
    feed(NOW_MS - HOUR_MS, NOW_MS)
    expect(tracker.marketShare(NOW_MS - 4 * HOUR_MS, NOW_MS)).toBe(0.75)
    expect(tracker.at(NOW_MS + 8_000).marketShare, 'stated until some seconds ago').toBe(
      tracker.at(NOW_MS).marketShare,
    )
    expect(tracker.at(NOW_MS + 22 * HOUR_MS).marketShare).toBeLessThan(
      tracker.at(NOW_MS).marketShare,
    )
    const restored = liquidationCoverage.create()
    expect(restored.restore(tracker.save())).toBe(true)
    expect(restored.marketShare(NOW_MS - 4 * HOUR_MS, NOW_MS)).toBe(0.75)
    expect(restored.restore(Float64Array.of(1, 3))).toBe(false)
  })

  test('a source covers the present until its newest statement is two minutes old', () => {
    const tracker = market.of(liquidationCoverage)
    expect(tracker.isCurrent(NOW_MS)).toBe(false)
    apply({ kind: 'liquidation-feed', fromMs: NOW_MS - HOUR_MS, untilMs: NOW_MS, ...at(NOW_MS) })
    expect(tracker.isCurrent(NOW_MS + 120_000)).toBe(true)
    expect(tracker.isCurrent(NOW_MS + 120_001)).toBe(false)
  })

  test('connections that cover no time remove no span', () => {
    const feed = (fromMs: number, untilMs: number) =>
      apply({ kind: 'liquidation-feed', fromMs, untilMs, ...at(NOW_MS) })
    feed(NOW_MS - 4 * HOUR_MS, NOW_MS)
    for (let more = 1; more <= 100; more += 1) feed(NOW_MS + more, NOW_MS + more)
    expect(market.of(liquidationCoverage).marketShare(NOW_MS - 4 * HOUR_MS, NOW_MS)).toBe(1)
  })
})
