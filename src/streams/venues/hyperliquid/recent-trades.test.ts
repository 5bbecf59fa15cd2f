import { fc, test } from '@fast-check/vitest'
import { describe, expect } from 'vitest'
import type { Batch, TradeEvent } from '../../../domain/event.ts'
import { ReplayFilter } from './recent-trades.ts'

const MEMORY = 1_024

describe('replayed trades', () => {
  test.prop([fc.array(fc.nat(400), { maxLength: 1_000 })])(
    'an id passes once while it is remembered',
    (ids) => {
      const filter = new ReplayFilter()
      const passed = ids.flatMap((id) => idsOf(filter.fresh([trade('BTC', id)])))
      expect(passed).toEqual([...new Set(ids)])
    },
  )

  test('the last 1,024 of a coin are remembered, however many there were', () => {
    const filter = new ReplayFilter()
    for (let id = 0; id < 10_500; id += 1) filter.fresh([trade('BTC', id)])
    const latest = Array.from({ length: MEMORY }, (_, index) => trade('BTC', 10_499 - index))
    expect(filter.fresh(latest)).toEqual([])
    expect(filter.fresh([trade('BTC', 0)]), 'older ones are forgotten').toHaveLength(1)
  })

  test('coins are told apart, and other events pass', () => {
    const filter = new ReplayFilter()
    expect(filter.fresh([trade('BTC', 1), trade('ETH', 1), trade('BTC', 1)])).toHaveLength(2)
    const mark = { kind: 'mark', coin: 'BTC', ...stamp } as const
    expect(filter.fresh([mark])).toEqual([mark])
  })
})

const stamp = { timeExchangeMs: 1, timeReceivedMs: 2 }

function trade(coin: string, tradeId: number): TradeEvent {
  return { kind: 'trade', coin, tradeId, takerSide: 'buy', price: 1, sizeBase: 1, ...stamp }
}

function idsOf(batch: Batch): readonly number[] {
  return batch.flatMap((event) => (event.kind === 'trade' ? [event.tradeId] : []))
}
