import { describe, expect, test } from 'vitest'
import type { ScreenerFilters, ScreenerRow } from './screener-rows.ts'
import { filteredRows, readFilters } from './screener-rows.ts'

const short = (coin: string, more: Partial<ScreenerRow> = {}): ScreenerRow => ({
  ...{ coin, price: 1, change_24h_pct: 0, signal_strength: 0.5 },
  ...{ confluence_bias: 'neutral', trend: 'neutral', vol_regime: 'NORMAL' },
  ...{ funding_bias: 'NEUTRAL' },
  ...more,
})
const coinsOf = (rows: readonly ScreenerRow[]) => rows.map(({ coin }) => coin)
const rows = [
  short('BTC', { volume_24h_usd: 2e9, trend: 'bullish' }),
  short('ETH', { volume_24h_usd: 1e8, funding_bias: 'LONG_PAYING' }),
  short('kPEPE', { volume_24h_usd: null, funding_bias: 'SHORT_PAYING' }),
  short('SOL', { trend: 'bearish' }),
]
const filtersOf = (query: string): ScreenerFilters => readFilters(new URLSearchParams(query))

describe('filters', () => {
  test.each([
    ['', ['BTC', 'ETH', 'kPEPE', 'SOL']],
    ['coin=pe', ['kPEPE']],
    ['coin=+Et', ['ETH']],
    ['sector=L1', ['ETH', 'SOL']],
    ['sector=none', ['BTC']],
    ['trend=bearish', ['SOL']],
    ['crowding=LONG_PAYING', ['ETH']],
    ['volume=100000000', ['BTC', 'ETH']],
    ['volume=1000000000&trend=bullish', ['BTC']],
    ['sector=Meme&trend=bullish', []],
  ])('%s', (query, coins) => {
    expect(coinsOf(filteredRows(rows, filtersOf(query)))).toEqual(coins)
  })

  test('a value that is not offered filters nothing', () => {
    const filters = filtersOf('sector=L9&trend=up&crowding=X&volume=7')
    expect(coinsOf(filteredRows(rows, filters))).toHaveLength(4)
  })
})
