import { beforeEach, describe, expect, test } from 'vitest'
import type { MarketEvent } from '../../domain/event.ts'
import { PulsePool } from '../indicators/pulse-series.ts'
import type { MarketState } from '../market/market-state.ts'
import { newMarket } from '../testing/new-market.ts'
import { context, NOW_MS, universe } from '../testing/tape.ts'
import { liquidatedIn, liquidationCoverage } from './liquidation-coverage.ts'

const HOUR_MS = 3_600_000
const range = { side: 'long', fromPrice: 90, untilPrice: 101 } as const

describe('what was liquidated in a range, and whether it was observed', () => {
  let market: MarketState
  const at = (timeMs: number) => ({ timeExchangeMs: timeMs, timeReceivedMs: timeMs })
  const apply = (...events: readonly MarketEvent[]) => {
    for (const event of events) market.apply(event)
  }
  const between = (fromMs: number, untilMs: number) => {
    const coin = market.coin('BTC')
    if (coin === undefined) throw new Error('BTC is listed')
    return liquidatedIn(coin, market, { ...range, fromMs, untilMs })
  }

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

  test('a lower bound while no trade was lost', () => {
    expect(between(NOW_MS - 2 * HOUR_MS, NOW_MS)).toEqual({ notional: 300, observed: 'followed' })
    expect(between(NOW_MS - 3 * HOUR_MS, NOW_MS - 2 * HOUR_MS).notional).toBe(0)
  })

  test('not before the start, not before the end of the range, and not over a gap', () => {
    expect(between(NOW_MS - 11 * HOUR_MS, NOW_MS).observed).toBe('no')
    expect(between(NOW_MS - HOUR_MS, NOW_MS + 1).observed).toBe('no')
    const gap = { fromMs: NOW_MS - HOUR_MS - 9, toMs: NOW_MS - HOUR_MS }
    apply({ kind: 'trade-gap', coin: 'BTC', ...gap, ...at(NOW_MS) })
    expect(between(NOW_MS - 2 * HOUR_MS, NOW_MS).observed).toBe('no')
    expect(between(NOW_MS - HOUR_MS, NOW_MS).observed).toBe('followed')
  })

  test('everything while a source of all liquidations missed nothing', () => {
    const feed = (fromMs: number, untilMs: number) =>
      apply({ kind: 'liquidation-feed', fromMs, untilMs, ...at(NOW_MS) })
    feed(NOW_MS - 4 * HOUR_MS, NOW_MS - 3 * HOUR_MS)
    feed(NOW_MS - 3 * HOUR_MS, NOW_MS - 2 * HOUR_MS)
    expect(between(NOW_MS - 4 * HOUR_MS, NOW_MS - 2 * HOUR_MS).observed).toBe('market')
    expect(between(NOW_MS - 4 * HOUR_MS, NOW_MS - HOUR_MS).observed).toBe('followed')
    feed(NOW_MS - HOUR_MS, NOW_MS)
    const tracker = market.of(liquidationCoverage)
    expect(tracker.marketShare(NOW_MS - 4 * HOUR_MS, NOW_MS)).toBe(0.75)
    const restored = liquidationCoverage.create()
    expect(restored.restore(tracker.save())).toBe(true)
    expect(restored.marketShare(NOW_MS - 4 * HOUR_MS, NOW_MS)).toBe(0.75)
    expect(restored.restore(Float64Array.of(1, 3))).toBe(false)
  })
})
