import { fc, test } from '@fast-check/vitest'
import { describe, expect } from 'vitest'
import type { TradeEvent } from '../../../domain/event.ts'
import { TradeMemory } from './recent-trades.ts'

const MEMORY = 256

describe('repeated trades', () => {
  test.prop([fc.array(fc.nat(400), { maxLength: 1_000 })])(
    'an id passes once while it is remembered',
    (ids) => {
      const memory = new TradeMemory()
      const passed = ids.flatMap((id) => memory.accept('BTC', [trade(id)], false).fresh)
      expect(passed.map(({ tradeId }) => tradeId)).toEqual([...new Set(ids)])
    },
  )

  test.prop([fc.array(fc.nat(400), { maxLength: 1_000 }), fc.func(fc.nat(20))])(
    'an id passes once, whichever trades share an instant, and in whatever order they come',
    (ids, instantOf) => {
      const memory = new TradeMemory()
      const passed = ids.flatMap(
        (id) => memory.accept('BTC', [trade(id, instantOf(id))], false).fresh,
      )
      expect(passed.map(({ tradeId }) => tradeId)).toEqual([...new Set(ids)])
    },
  )

  test('the last 256 of a coin are remembered, however many there were', () => {
    const memory = new TradeMemory()
    for (let id = 0; id < 10_500; id += 1) memory.accept('BTC', [trade(id)], false)
    const latest = Array.from({ length: MEMORY }, (_, index) => trade(10_499 - index))
    expect(memory.accept('BTC', latest, false)).toMatchObject({ fresh: [], repeated: MEMORY })
    const { fresh } = memory.accept('BTC', [trade(0)], false)
    expect(fresh, 'older ones are forgotten').toHaveLength(1)
  })

  test('coins are told apart', () => {
    const memory = new TradeMemory()
    memory.accept('BTC', [trade(1)], false)
    expect(memory.accept('ETH', [trade(1)], false).fresh).toHaveLength(1)
  })
})

describe('a replay after an interruption', () => {
  const known = [trade(1), trade(2), trade(3)]

  test('that shows a known trade bridges it, whatever else it brings', () => {
    const memory = new TradeMemory()
    memory.accept('BTC', known, true)
    expect(memory.accept('BTC', [trade(3), trade(4), trade(5)], true)).toEqual({
      fresh: [trade(4), trade(5)],
      repeated: 1,
      gap: null,
    })
  })

  test('that shows none has lost what lies between, in whatever order it comes', () => {
    const memory = new TradeMemory()
    memory.accept('BTC', known, true)
    const { fresh, gap } = memory.accept('BTC', [trade(12), trade(10), trade(11)], true)
    expect(fresh).toHaveLength(3)
    expect(gap).toMatchObject({ kind: 'trade-gap', coin: 'BTC', fromMs: 3_000, toMs: 10_000 })
  })

  test('knows a trade by its id, though its time was bent when it was told first', () => {
    const memory = new TradeMemory()
    memory.accept('BTC', known, true)
    memory.accept('BTC', [trade(4, 1), trade(9, 3)], false)
    expect(memory.accept('BTC', [trade(4), trade(5)], true)).toMatchObject({
      fresh: [trade(5)],
      repeated: 1,
    })
  })

  test('is no gap when nothing was known before', () => {
    expect(new TradeMemory().accept('BTC', known, true).gap).toBeNull()
  })

  test.each([
    { knownMs: 3_000, lost: { fromMs: 3_000, toMs: 10_000 } },
    { knownMs: 10_000, lost: null },
    { knownMs: Number.NaN, lost: null },
  ])(
    'is held against what an engine knew until $knownMs before it began anew',
    ({ knownMs, lost }) => {
      const memory = new TradeMemory(() => ({ newestMs: knownMs, observedMs: 1_000 }))
      const { gap, fresh } = memory.accept('BTC', [trade(10), trade(11)], true)
      expect(fresh).toHaveLength(2)
      if (lost === null) expect(gap).toBeNull()
      else expect(gap).toMatchObject(lost)
      expect(memory.accept('BTC', [trade(11), trade(12)], true).gap, 'once').toBeNull()
    },
  )

  describe('of a coin that had no trade while it was observed', () => {
    /** @param lostMs when the coin was observed last, at each loss of its connection */
    const gapOf = (count: number, lostMs: readonly number[] = [1_000], isSubscribed = false) => {
      let observedMs = Number.NaN
      const memory = new TradeMemory(() => ({ newestMs: Number.NaN, observedMs }))
      for (const ms of lostMs) {
        observedMs = ms
        memory.interrupted('BTC')
        if (isSubscribed) memory.subscribed('BTC')
      }
      const replayed = Array.from({ length: count }, (_, index) => trade(10 + index))
      return memory.accept('BTC', replayed, true).gap
    }

    test('has lost what came before the 30 that the venue repeats', () => {
      const lost = { kind: 'trade-gap', coin: 'BTC', fromMs: -59_000, toMs: 10_000 }
      expect(gapOf(30), 'a dead connection is detected late').toMatchObject(lost)
    })

    test('has lost nothing where fewer than 30 are all that there ever were', () => {
      expect(gapOf(29)).toBeNull()
    })

    test('has lost nothing where the replay begins before the loss', () => {
      expect(gapOf(30, [80_000])).toBeNull()
    })

    test('has lost nothing without a loss, or before it was observed: with it the trades begin', () => {
      expect(gapOf(30, [])).toBeNull()
      expect(gapOf(30, [Number.NaN])).toBeNull()
    })

    test('was lost at the first of several losses, unless it was subscribed between them', () => {
      expect(gapOf(30, [1_000, 90_000])).toMatchObject({ fromMs: -59_000 })
      expect(gapOf(30, [1_000, 69_000], true)).toMatchObject({ fromMs: 9_000 })
      expect(gapOf(30, [Number.NaN, 69_000], true)).toMatchObject({ fromMs: 9_000 })
    })
  })

  test('of another listing has lost nothing since the last trade of the earlier one', () => {
    const memory = new TradeMemory()
    memory.accept('BTC', known, true)
    memory.forget('BTC')
    expect(memory.accept('BTC', [trade(10), trade(11)], true).gap).toBeNull()
  })

  test('is told from live trades, which follow one another', () => {
    const memory = new TradeMemory()
    memory.accept('BTC', known, true)
    expect(memory.accept('BTC', [trade(10)], false).gap).toBeNull()
  })
})

function trade(tradeId: number, second = tradeId): TradeEvent {
  const timeExchangeMs = second * 1_000
  const stamp = { timeExchangeMs, timeReceivedMs: timeExchangeMs + 300 }
  return {
    kind: 'trade',
    coin: 'BTC',
    tradeId,
    takerSide: 'buy',
    price: 1,
    sizeBase: 1,
    ...stamp,
  }
}
