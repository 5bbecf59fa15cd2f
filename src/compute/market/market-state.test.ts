import { describe, expect, test } from 'vitest'
import type { Bar } from '../../domain/bar.ts'
import { PulsePool } from '../indicators/pulse-series.ts'
import { newMarket } from '../testing/new-market.ts'
import { BOUNDARY_MS, context, history, NOW_MS, universe, wave } from '../testing/tape.ts'

describe('market state', () => {
  test('changing listings need no more memory than simultaneous ones', () => {
    const market = newMarket(new PulsePool(6))
    for (let round = 0; round < 50; round += 1) {
      market.apply(universe([`A${round}`, `B${round}`]))
      market.apply(history(`A${round}`, '15m', wave('15m', 20)))
    }
    expect(market.coin('A49')?.ladder.barCount('15m')).toBe(20)
    market.apply(universe(['NEW']))
    expect(market.coin('NEW')?.ladder.barCount('15m'), 'and start empty').toBe(0)
  })

  test('a lost connection interrupts the coins that came over it, and no other', () => {
    const market = newMarket(new PulsePool(6))
    market.apply(universe(['BTC', 'ETH']))
    for (const coin of ['BTC', 'ETH']) market.apply(history(coin, '15m', wave('15m', 20)))
    market.apply({
      kind: 'feed-status',
      feed: 'venue',
      state: 'down',
      reason: 'closed',
      coins: ['ETH'],
      timeExchangeMs: NOW_MS,
      timeReceivedMs: NOW_MS,
    })
    expect(market.coin('BTC')?.ladder.isContinuous).toBe(true)
    expect(market.coin('ETH')?.ladder.isContinuous).toBe(false)
  })

  test('a bar that begins for one coin has ended the one before for all of them', () => {
    const market = newMarket(new PulsePool(6))
    market.apply(universe(['BTC', 'ETH']))
    for (const coin of ['BTC', 'ETH']) market.apply(history(coin, '15m', wave('15m', 20)))
    const endMs = BOUNDARY_MS + 900_000
    for (let timeMs = NOW_MS; timeMs < endMs; timeMs += 5_000)
      for (const coin of ['BTC', 'ETH']) market.apply(context(coin, at(timeMs)))
    const bar = { ...(wave('15m', 1)[0] as Bar), openTimeMs: endMs }
    market.apply({ kind: 'candle', coin: 'ETH', timeframe: '15m', bar, ...at(endMs + 500) })
    market.apply(context('BTC', at(endMs + 2_000)))
    expect(market.coin('BTC')?.candlesConfirmedAtMs).toBe(endMs)
  })

  test('news about a coin that is not listed changes nothing', () => {
    const market = newMarket(new PulsePool(3))
    expect(market.apply(history('NOPE', '15m', wave('15m', 20)))).toBeNull()
  })
})

function at(timeMs: number) {
  return { timeExchangeMs: timeMs, timeReceivedMs: timeMs }
}
