import { describe, expect, test } from 'vitest'
import type { MarketEvent } from '../../domain/event.ts'
import { LiquidationCandidates } from './liquidation-candidates.ts'

const NOW_MS = Date.UTC(2026, 5, 1)
const VAULT = `0x${'ee'.repeat(20)}`
const HOLDER = `0x${'0a'.repeat(20)}`
const OTHER = `0x${'0b'.repeat(20)}`
const LATER_MS = NOW_MS + 600_000

const at = (timeMs: number) => ({ timeExchangeMs: timeMs, timeReceivedMs: timeMs })

function trade(of: {
  buyer: string
  seller: string
  takerSide: 'buy' | 'sell'
  sizeBase?: number
}) {
  const base = { kind: 'trade', coin: 'ETH', tradeId: 1, price: 100, sizeBase: 1 } as const
  return { ...base, ...of, ...at(NOW_MS) }
}

function position(sizeBase: number, liquidationPrice: number | null, timeMs = NOW_MS - 60_000) {
  const kind = 'account-position'
  const base = { coin: 'ETH', account: HOLDER, entryPrice: 100, leverage: 5 }
  return { kind, ...base, sizeBase, liquidationPrice, ...at(timeMs) } as const
}

function candidatesOf(...events: readonly MarketEvent[]): LiquidationCandidates {
  const tracker = new LiquidationCandidates()
  tracker.apply({ kind: 'liquidator-vaults', accounts: [VAULT], ...at(NOW_MS) })
  tracker.apply({ kind: 'mark', coin: 'ETH', markPrice: 100, ...at(NOW_MS) })
  for (const event of events) tracker.apply(event)
  return tracker
}

const WINDOW = { fromMs: NOW_MS - 1_000, untilMs: NOW_MS + 1_000 }
const sold = trade({ buyer: OTHER, seller: HOLDER, takerSide: 'sell', sizeBase: 1 })

describe('candidates of liquidations', () => {
  test.each([
    ['buys', { buyer: VAULT, seller: OTHER, takerSide: 'sell' }],
    ['sells', { buyer: OTHER, seller: VAULT, takerSide: 'sell' }],
  ] as const)('a vault that %s', (_, of) => {
    expect(candidatesOf(trade(of)).next(LATER_MS)).toEqual({ account: VAULT, ...WINDOW })
  })

  test('a followed account that closes as a taker while the mark is at its liquidation price', () => {
    expect(candidatesOf(position(500, 99), sold).next(LATER_MS)).toEqual({
      account: HOLDER,
      ...WINDOW,
    })
    const bought = trade({ buyer: HOLDER, seller: OTHER, takerSide: 'buy' })
    expect(candidatesOf(position(-500, 101), bought).next(LATER_MS)?.account).toBe(HOLDER)
  })

  test.each([
    ['far from its price', position(500, 80), sold],
    ['without a price', position(500, null), sold],
    ['as the maker', position(500, 99), trade({ buyer: OTHER, seller: HOLDER, takerSide: 'buy' })],
    ['and opens more', position(-500, 101), sold],
    ['and is not followed', position(0, 99), sold],
    ['long after its last update', position(500, 99, NOW_MS - 61 * 60_000), sold],
  ])('not one that trades %s', (_, held, traded) => {
    expect(candidatesOf(held, traded).next(LATER_MS)).toBeNull()
  })

  test('a large closing at any price waits behind the likely ones', () => {
    const far = position(10, 80)
    const large = trade({ buyer: OTHER, seller: HOLDER, takerSide: 'sell', sizeBase: 2 })
    const tracker = candidatesOf(far, large)
    expect(tracker.next(NOW_MS + 60_000)).toBeNull()
    expect(tracker.next(LATER_MS)?.account).toBe(HOLDER)
    tracker.apply({
      ...trade({ buyer: VAULT, seller: OTHER, takerSide: 'sell' }),
      ...at(NOW_MS + 1),
    })
    expect(tracker.next(LATER_MS)?.account).toBe(VAULT)
  })

  test('a large closing against many small orders', () => {
    const far = position(100, 80)
    const part = { ...sold, sizeBase: 3 }
    expect(candidatesOf(far, part).next(LATER_MS)).toBeNull()
    expect(candidatesOf(far, part, { ...part, ...at(NOW_MS + 1) }).next(LATER_MS)).toBeNull()
    const bought = trade({ buyer: HOLDER, seller: OTHER, takerSide: 'buy', sizeBase: 3 })
    expect(candidatesOf(far, part, bought).next(LATER_MS), 'the other side').toBeNull()
    expect(candidatesOf(far, part, part).next(LATER_MS)?.account).toBe(HOLDER)
    const half = candidatesOf(far, part)
    const restored = new LiquidationCandidates()
    restored.restore(half.save())
    restored.apply(part)
    expect(restored.next(LATER_MS)?.account, 'and a restart in between').toBe(HOLDER)
  })

  test('small closings in two coins at one instant are not one large closing', () => {
    const part = { ...sold, sizeBase: 3 }
    const held = [position(100, 80), { ...position(100, 80), coin: 'BTC' }]
    const tracker = candidatesOf(...held, part, { ...part, coin: 'BTC' })
    expect(tracker.next(LATER_MS)).toBeNull()
    tracker.apply({ ...part, coin: 'BTC' })
    expect(tracker.next(LATER_MS)?.account).toBe(HOLDER)
  })

  test('a position that became smaller between two replies near its price', () => {
    const tracker = candidatesOf(position(500, 97), position(100, 97, NOW_MS))
    expect(tracker.next(LATER_MS)).toEqual({
      ...{ account: HOLDER, fromMs: NOW_MS - 61_000, untilMs: NOW_MS + 1_000 },
    })
    expect(candidatesOf(position(500, 50), position(100, 50, NOW_MS)).next(LATER_MS)).toBeNull()
  })

  test('lost trades: the vaults, and who is near its price', () => {
    const gap = { kind: 'trade-gap', coin: 'ETH', fromMs: NOW_MS - 9_000, toMs: NOW_MS } as const
    const tracker = candidatesOf(position(500, 97), { ...gap, ...at(NOW_MS) })
    const window = { fromMs: NOW_MS - 10_000, untilMs: NOW_MS + 1_000 }
    const first = tracker.next(LATER_MS)
    expect(first, 'vaults first').toEqual({ account: VAULT, ...window })
    tracker.apply({ kind: 'fills-read', ...first, ...at(LATER_MS) } as MarketEvent)
    expect(tracker.next(LATER_MS)).toEqual({ account: HOLDER, ...window })
  })

  test('the largest notional first, and a vault once it waits for three minutes', () => {
    const small = { ...position(50, 99), account: OTHER }
    const also = trade({ buyer: HOLDER, seller: OTHER, takerSide: 'sell', sizeBase: 5 })
    const large = { ...sold, sizeBase: 20 }
    const bought = trade({ buyer: VAULT, seller: `0x${'0c'.repeat(20)}`, takerSide: 'sell' })
    const tracker = candidatesOf(position(500, 99), small, also, large, bought)
    const order = (atMs: number) => {
      const next = tracker.next(atMs)
      if (next !== null) tracker.apply({ kind: 'fills-read', ...next, ...at(atMs) })
      return next?.account
    }
    expect(order(NOW_MS + 100_000)).toBe(HOLDER)
    expect(order(NOW_MS + 179_000)).toBe(VAULT)
    expect(order(NOW_MS + 179_000)).toBe(OTHER)
    expect(order(NOW_MS + 179_000)).toBeUndefined()
  })

  test('a deferred vault does not hold up the others', () => {
    const bought = trade({ buyer: VAULT, seller: OTHER, takerSide: 'sell' })
    const tracker = candidatesOf(position(500, 99), sold, bought)
    expect(tracker.next(LATER_MS)?.account, 'it waits for three minutes').toBe(VAULT)
    expect(tracker.next(LATER_MS, (account) => account === VAULT)?.account).toBe(HOLDER)
  })

  test('a reply removes what it covers, and a partial one only that', () => {
    const tracker = candidatesOf(position(500, 99), sold, { ...sold, ...at(NOW_MS + 40_000) })
    const read = { kind: 'fills-read', account: HOLDER, fromMs: WINDOW.fromMs } as const
    tracker.apply({ ...read, untilMs: NOW_MS + 20_000, ...at(NOW_MS) })
    expect(tracker.next(LATER_MS)?.fromMs).toBe(NOW_MS + 20_001)
    tracker.apply({ ...read, fromMs: NOW_MS, untilMs: NOW_MS + 41_000, ...at(NOW_MS) })
    expect(tracker.next(LATER_MS)).toBeNull()
  })

  test('nothing is asked before the venue serves it, and one request collects several', () => {
    const tracker = candidatesOf(position(500, 99), sold)
    expect(tracker.next(NOW_MS + 8_000)).toBeNull()
    expect(tracker.next(NOW_MS + 9_000)).not.toBeNull()
    const vault = candidatesOf(trade({ buyer: VAULT, seller: OTHER, takerSide: 'sell' }))
    expect(vault.next(NOW_MS + 58_000)).toBeNull()
    expect(vault.next(NOW_MS + 59_000)).not.toBeNull()
  })

  test('a restart loses neither positions nor candidates', () => {
    const tracker = candidatesOf(
      position(500, 99),
      trade({ buyer: VAULT, seller: OTHER, takerSide: 'sell' }),
    )
    const restored = new LiquidationCandidates()
    expect(restored.restore(tracker.save())).toBe(true)
    expect(restored.save()).toEqual(tracker.save())
    expect(restored.next(LATER_MS)).toEqual({ account: VAULT, ...WINDOW })
    restored.apply({ ...sold, ...at(NOW_MS - 100_000) })
    restored.apply({ kind: 'fills-read', account: VAULT, ...WINDOW, ...at(LATER_MS) })
    expect(restored.next(LATER_MS)?.account).toBe(HOLDER)
    expect(new LiquidationCandidates().restore(Float64Array.of(1, 5))).toBe(false)
  })

  test('memory is bounded by 1,024 accounts', () => {
    const tracker = candidatesOf()
    for (let i = 0; i < 3_000; i += 1) {
      const account = `0x${i.toString(16).padStart(40, '0')}`
      tracker.apply({ ...position(500, 99), account })
      tracker.apply(trade({ buyer: OTHER, seller: account, takerSide: 'sell' }))
    }
    expect(tracker.save().length).toBeLessThan(1_024 * 16 + 64)
  })
})
