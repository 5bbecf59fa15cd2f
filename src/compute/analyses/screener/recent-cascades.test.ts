import { describe, expect, test } from 'vitest'
import { PulsePool } from '../../indicators/pulse-series.ts'
import { cascadeLevelOf } from '../../liquidation/cascade.ts'
import { MarketState } from '../../market/market-state.ts'
import { randomMarket } from '../../testing/random-market.ts'
import { context, NOW_MS } from '../../testing/tape.ts'
import { cascadeLevelsOf } from './recent-cascades.ts'

describe('recent cascade levels', () => {
  test('are those of now for a coin that was not asked for yet', () => {
    const market = marketOf()
    const coins = [...market.coins()]
    const levels = cascadeLevelsOf(coins, NOW_MS)
    expect(coins.map((coin) => levels.get(coin))).toEqual(coins.map(cascadeLevelOf))
    expect(new Set(levels.values()).size, 'they differ').toBeGreaterThan(1)
  })

  test('are kept for half a minute', () => {
    const market = marketOf()
    const coins = [...market.coins()]
    const before = cascadeLevelsOf(coins, NOW_MS)
    for (const { listing } of coins) market.apply(context(listing.coin, { openInterestBase: 0 }))
    expect(cascadeLevelsOf(coins, NOW_MS + 29_999)).toEqual(before)
    const after = cascadeLevelsOf(coins, NOW_MS + 30_000)
    expect([...after.values()]).toEqual(coins.map(cascadeLevelOf))
    expect([...after.values()]).not.toEqual([...before.values()])
  })

  test('are worked out again for forty coins at a time, and for every new one', () => {
    const market = marketOf(45)
    const coins = [...market.coins()]
    const before = cascadeLevelsOf(coins, NOW_MS)
    expect([...before.values()]).toEqual(coins.map(cascadeLevelOf))
    for (const { listing } of coins) market.apply(context(listing.coin, { openInterestBase: 0 }))
    const after = cascadeLevelsOf(coins, NOW_MS + 60_000)
    const aged = coins.slice(40).map((coin) => before.get(coin))
    expect(coins.slice(0, 40).map((coin) => after.get(coin))).toEqual(
      coins.slice(0, 40).map(cascadeLevelOf),
    )
    expect(
      coins.slice(40).map((coin) => after.get(coin)),
      'the others a little later',
    ).toEqual(aged)
    const later = cascadeLevelsOf(coins, NOW_MS + 65_000)
    expect([...later.values()]).toEqual(coins.map(cascadeLevelOf))
  })

  test('are worked out again when the clock was set back', () => {
    const market = marketOf()
    const coins = [...market.coins()]
    cascadeLevelsOf(coins, NOW_MS + 86_400_000)
    for (const { listing } of coins) market.apply(context(listing.coin, { openInterestBase: 0 }))
    expect([...cascadeLevelsOf(coins, NOW_MS).values()]).toEqual(coins.map(cascadeLevelOf))
  })
})

function marketOf(count = 12): MarketState {
  const market = new MarketState(new PulsePool(3 * count))
  const names = Array.from({ length: count }, (_, at) => `C${at}`)
  for (const batch of randomMarket(names, 5)) for (const event of batch) market.apply(event)
  market.advance(0)
  return market
}
