import { fc, test } from '@fast-check/vitest'
import { describe, expect } from 'vitest'
import type { TradeEvent } from '../../../domain/event.ts'
import { ACCOUNTS_KEPT, AccountRanking } from './account-ranking.ts'

const START_MS = Date.UTC(2026, 0, 1)
const HOUR_MS = 3_600_000

describe('accounts by what they traded', () => {
  test('both sides of a trade count, by notional', () => {
    const ranking = new AccountRanking(START_MS)
    ranking.note(trade({ buyer: 'a', seller: 'b', usd: 50_000 }), START_MS)
    ranking.note(trade({ buyer: 'c', seller: 'b', usd: 20_000 }), START_MS)
    expect(ranking.top(3)).toEqual(['b', 'a', 'c'])
    expect(ranking.top(1)).toEqual(['b'])
  })

  test('what was traded four hours ago counts half', () => {
    const ranking = new AccountRanking(START_MS)
    ranking.note(trade({ buyer: 'early', seller: 'x', usd: 100_000 }), START_MS)
    ranking.note(trade({ buyer: 'late', seller: 'x', usd: 49_000 }), START_MS + 4 * HOUR_MS)
    expect(ranking.top(3)).toEqual(['x', 'early', 'late'])
    ranking.note(trade({ buyer: 'late', seller: 'y', usd: 51_000 }), START_MS + 8 * HOUR_MS)
    expect(ranking.top(4), 'a quarter of it, after eight').toEqual(['late', 'y', 'x', 'early'])
  })

  test('works after years, and after a backward clock step', () => {
    const ranking = new AccountRanking(START_MS)
    ranking.note(trade({ buyer: 'old', seller: 'x', usd: 1e9 }), START_MS)
    const laterMs = START_MS + 50_000 * HOUR_MS
    ranking.note(trade({ buyer: 'new', seller: 'y', usd: 5_000 }), laterMs)
    expect(ranking.top(2)).toEqual(['new', 'y'])
    ranking.note(trade({ buyer: 'b', seller: 'c', usd: 6_000 }), START_MS)
    expect(ranking.top(9)).toHaveLength(6)
  })

  test.each([
    ['nobody is named', { buyer: undefined, seller: undefined, usd: 1e6 }],
    ['a coin of another dex', { coin: 'xyz:GOLD', buyer: 'a', seller: 'b', usd: 1e6 }],
  ])('a trade does not count: %s', (_, facts) => {
    const ranking = new AccountRanking(START_MS)
    ranking.note(trade(facts), START_MS)
    expect(ranking.top(9)).toEqual([])
  })

  test('small trades count on average, though most of them are passed over', () => {
    const ranking = new AccountRanking(START_MS)
    const trades = 20_000
    for (let tid = 0; tid < trades; tid += 1) {
      const tradeId = Math.imul(tid, 0x9e3779b1) >>> 0
      ranking.note(trade({ buyer: 'small', seller: 'x', usd: 100, tradeId }), START_MS)
    }
    // Two million dollars: less than one account that traded a tenth more, more than one a tenth less.
    ranking.note(trade({ buyer: 'more', seller: 'y', usd: 2_200_000 }), START_MS)
    ranking.note(trade({ buyer: 'less', seller: 'z', usd: 1_800_000 }), START_MS)
    const order = ranking.top(9).filter((account) => ['more', 'small', 'less'].includes(account))
    expect(order).toEqual(['more', 'small', 'less'])
  })

  test.prop([fc.integer({ min: 0, max: 3_000 }), fc.integer({ min: 1, max: 5 })])(
    'never remembers more than twice as many as it keeps, and the large ones among them',
    (crowd, large) => {
      const ranking = new AccountRanking(START_MS)
      for (let i = 0; i < crowd; i += 1) {
        if (i % 500 === 0)
          for (let l = 0; l < large; l += 1)
            ranking.note(trade({ buyer: `large${l}`, seller: 'x', usd: 1e6 * (l + 1) }), START_MS)
        ranking.note(trade({ buyer: `b${i}`, seller: `s${i}`, usd: 10_000 }), START_MS)
      }
      expect(ranking.top(1e9).length).toBeLessThanOrEqual(2 * ACCOUNTS_KEPT)
      if (crowd > 0)
        expect(ranking.top(large + 1).toSorted()).toEqual(
          [...Array.from({ length: large }, (_, l) => `large${l}`), 'x'].toSorted(),
        )
    },
  )
})

function trade(facts: {
  readonly buyer: string | undefined
  readonly seller: string | undefined
  readonly usd: number
  readonly coin?: string
  readonly tradeId?: number
}): TradeEvent {
  const { buyer, seller, usd, coin = 'BTC', tradeId = 1 } = facts
  return {
    kind: 'trade',
    coin,
    timeExchangeMs: START_MS,
    timeReceivedMs: START_MS,
    tradeId,
    takerSide: 'buy',
    price: 2,
    sizeBase: usd / 2,
    ...(buyer !== undefined && seller !== undefined ? { buyer, seller } : {}),
  }
}
