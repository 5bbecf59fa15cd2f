import { test as property } from '@fast-check/vitest'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { LiquidationEvent } from '../../domain/event.ts'
import { joinSections, splitSections } from '../market/saved-sections.ts'
import { REALISED_MS, RealisedLiquidations } from './realised-liquidations.ts'

const NOW_MS = Date.UTC(2026, 5, 1)
const HOUR_MS = 3_600_000

function liquidation(of: Partial<LiquidationEvent> = {}): LiquidationEvent {
  return {
    ...{ kind: 'liquidation', coin: 'ETH', tradeId: 1, account: '0xa', side: 'long' },
    ...{ price: 99, sizeBase: 2, markPrice: 100, method: 'market' },
    ...{ timeExchangeMs: NOW_MS - HOUR_MS, timeReceivedMs: NOW_MS },
    ...of,
  } as LiquidationEvent
}

function trackerOf(events: readonly LiquidationEvent[]): RealisedLiquidations {
  const tracker = new RealisedLiquidations()
  for (const event of events) tracker.apply(event)
  return tracker
}

/** A trade has one set of figures. */
const events = fc.uniqueArray(
  fc.record({
    tradeId: fc.integer({ min: 1, max: 40 }),
    account: fc.constantFrom('0xa', '0xb', '0xc'),
    side: fc.constantFrom('long', 'short'),
    method: fc.constantFrom('market', 'backstop'),
    markPrice: fc.integer({ min: 90, max: 110 }),
    sizeBase: fc.integer({ min: 1, max: 50 }),
    timeExchangeMs: fc.integer({ min: 0, max: 60 }).map((half) => NOW_MS - (half * HOUR_MS) / 2),
  }),
  { maxLength: 40, selector: ({ tradeId }) => tradeId },
)

describe('realised liquidations', () => {
  test('without removed fills are saved as earlier versions read them', () => {
    expect(splitSections(trackerOf([liquidation()]).save())).toHaveLength(2)
  })

  test('by hand: two fills of one closing, one backstop, the other side', () => {
    const tracker = trackerOf([
      liquidation(),
      liquidation({ tradeId: 2, sizeBase: 3 }),
      liquidation({ tradeId: 3, sizeBase: 1, account: '0xb', method: 'backstop' }),
      liquidation({ tradeId: 4, side: 'short', markPrice: 110, sizeBase: 1 }),
    ])
    expect(tracker.side('long', NOW_MS)).toEqual({
      ...{ notional: 600, count: 2, largest: 500, byMethod: { market: 500, backstop: 100 } },
    })
    expect(tracker.total(NOW_MS)).toBe(710)
    const range = { side: 'long', fromPrice: 100, untilPrice: 101 } as const
    const times = { fromMs: NOW_MS - HOUR_MS, untilMs: NOW_MS }
    expect(tracker.notional({ ...range, ...times })).toBe(600)
    expect(tracker.notional({ ...range, ...times, fromPrice: 100.5 })).toBe(0)
    expect(tracker.notional({ ...range, ...times, fromMs: NOW_MS - HOUR_MS + 1 })).toBe(0)
  })

  test('a fill of the venue replaces that of a vendor, and never the other way round', () => {
    const vendor = liquidation({ sizeBase: 3, method: 'backstop', isFromVendor: true })
    const venue = liquidation({ sizeBase: 2, method: 'market' })
    const byVendor = trackerOf([vendor, liquidation({ ...vendor, sizeBase: 9 })])
    expect(byVendor.side('long', NOW_MS)).toMatchObject({ byMethod: { market: 0, backstop: 300 } })
    const restored = new RealisedLiquidations()
    restored.restore(byVendor.save())
    for (const tracker of [restored, byVendor, trackerOf([venue, vendor])]) {
      tracker.apply(venue)
      tracker.apply(vendor)
      const market = { count: 1, byMethod: { market: 200, backstop: 0 } }
      expect(tracker.side('long', NOW_MS)).toMatchObject(market)
    }
  })

  property.prop([events])('equals a list without repeated trades', (given) => {
    const all = given.map((one) => liquidation(one as Partial<LiquidationEvent>))
    // Every second one arrives again, and after a restart.
    const tracker = trackerOf([...all, ...all.filter((_, at) => at % 2 === 0)])
    const restored = new RealisedLiquidations()
    expect(restored.restore(tracker.save())).toBe(true)
    for (const event of all) restored.apply(event)
    for (const side of ['long', 'short'] as const) {
      const inWindow = all.filter(
        (one) => one.side === side && one.timeExchangeMs > NOW_MS - REALISED_MS,
      )
      const usd = inWindow.map(({ sizeBase, markPrice }) => sizeBase * markPrice)
      const expected = usd.reduce((sum, one) => sum + one, 0)
      expect(tracker.side(side, NOW_MS).notional).toBe(expected)
      expect(restored.side(side, NOW_MS)).toEqual(tracker.side(side, NOW_MS))
      expect(tracker.side(side, NOW_MS).count).toBe(
        new Set(inWindow.map(({ account, timeExchangeMs }) => `${account} ${timeExchangeMs}`)).size,
      )
    }
  })

  test('is observed from the first figures on, and anew after a gap', () => {
    const tracker = new RealisedLiquidations()
    expect(tracker.observedFromMs).toBeNaN()
    const times = { timeExchangeMs: NOW_MS, timeReceivedMs: NOW_MS }
    tracker.apply({ kind: 'context', coin: 'ETH', ...times } as never)
    expect(tracker.observedFromMs).toBe(NOW_MS)
    const gap = { kind: 'trade-gap', coin: 'ETH', fromMs: NOW_MS + 5, toMs: NOW_MS + 9 } as const
    tracker.apply({ ...gap, ...times })
    expect(tracker.observedFromMs).toBe(NOW_MS + 9)
  })

  describe('of which a source lost some', () => {
    const gap = (fromMs: number, untilMs: number) => {
      const times = { timeExchangeMs: NOW_MS, timeReceivedMs: NOW_MS }
      return { kind: 'liquidation-gap', coin: 'ETH', fromMs, untilMs, ...times } as const
    }
    const tracker = trackerOf([liquidation({ timeExchangeMs: NOW_MS })])
    tracker.apply(gap(NOW_MS - 2 * HOUR_MS, NOW_MS - HOUR_MS))

    test('are not whole while the loss is in the range', () => {
      expect(tracker.hasAll(NOW_MS - 3 * HOUR_MS, NOW_MS - 2 * HOUR_MS)).toBe(true)
      expect(tracker.hasAll(NOW_MS - 3 * HOUR_MS, NOW_MS - 2 * HOUR_MS + 1)).toBe(false)
      expect(tracker.hasAll(NOW_MS - HOUR_MS - 1, NOW_MS)).toBe(false)
      expect(tracker.hasAll(NOW_MS - HOUR_MS, NOW_MS)).toBe(true)
      expect(tracker.isWhole(NOW_MS)).toBe(false)
      expect(tracker.isWhole(NOW_MS + 23 * HOUR_MS - 1)).toBe(false)
      expect(tracker.isWhole(NOW_MS + 23 * HOUR_MS)).toBe(true)
    })

    test('are so after a restart', () => {
      const restored = new RealisedLiquidations()
      expect(restored.restore(tracker.save())).toBe(true)
      expect(restored.isWhole(NOW_MS)).toBe(false)
      expect(restored.hasAll(NOW_MS - HOUR_MS, NOW_MS)).toBe(true)
      const [header = [], rows = [], sums = []] = splitSections(tracker.save()) ?? []
      expect(restored.restore(joinSections([header, rows, sums, [1]]))).toBe(false)
    })

    test('are removed after two days, and the oldest of many become one', () => {
      const many = trackerOf([])
      for (let at = 0; at < 100; at += 1)
        many.apply(gap(NOW_MS + at * 1_000, NOW_MS + at * 1_000 + 1))
      expect(splitSections(many.save())?.at(-1)).toHaveLength(2 * 64)
      expect(many.hasAll(NOW_MS + 20_500, NOW_MS + 20_600)).toBe(false)
      expect(many.hasAll(NOW_MS + 90_500, NOW_MS + 90_600)).toBe(true)
      many.apply(gap(NOW_MS + 49 * HOUR_MS, NOW_MS + 49 * HOUR_MS + 1))
      expect(splitSections(many.save())?.at(-1)).toHaveLength(2)
    })
  })

  test('memory is bounded: the oldest are removed, and the observation begins after them', () => {
    const tracker = new RealisedLiquidations()
    for (let at = 0; at < 20_000; at += 1)
      tracker.apply(liquidation({ tradeId: at, timeExchangeMs: NOW_MS + at }))
    const { count } = tracker.side('long', NOW_MS + 20_000)
    expect(count).toBeLessThanOrEqual(8_192)
    expect(count).toBeGreaterThan(7_000)
    expect(tracker.observedFromMs).toBeGreaterThan(NOW_MS)
  })

  describe('in a cascade of more fills than are kept', () => {
    const QUARTER_MS = HOUR_MS / 4
    const START_MS = NOW_MS - 23 * HOUR_MS
    /** Every 4 s for 22 hours, of both sides, at 31 prices. */
    const all = Array.from({ length: 20_000 }, (_, at) =>
      liquidation({
        ...{ tradeId: at, timeExchangeMs: START_MS + at * 4_000, sizeBase: 1 + (at % 7) },
        ...{ markPrice: 85 + (at % 31), side: at % 3 === 0 ? 'short' : 'long' },
      }),
    )
    const tracker = trackerOf(all)
    const range = { side: 'long', fromPrice: 90, untilPrice: 100 } as const
    const notional = (fromMs: number, untilMs: number) =>
      all
        .filter(({ side, timeExchangeMs }) => {
          return side === 'long' && timeExchangeMs >= fromMs && timeExchangeMs < untilMs
        })
        .filter(({ markPrice }) => markPrice >= 90 && markPrice < 100)
        .reduce((sum, { sizeBase, markPrice }) => sum + sizeBase * markPrice, 0)

    test('the notional of a range is exact by quarters of an hour, also after a restart', () => {
      const restored = new RealisedLiquidations()
      expect(restored.restore(tracker.save())).toBe(true)
      for (const one of [tracker, restored])
        for (const [from, until] of [
          [0, 92],
          [0, 5],
          [3, 40],
          [50, 92],
        ] as const) {
          const [fromMs, untilMs] = [from, until].map((at) => START_MS + at * QUARTER_MS)
          const times = { fromMs: fromMs as number, untilMs: untilMs as number }
          expect(one.hasAll(times.fromMs, Number.POSITIVE_INFINITY)).toBe(true)
          expect(one.notional({ ...range, ...times })).toBe(notional(times.fromMs, times.untilMs))
          expect(notional(times.fromMs, times.untilMs)).toBeGreaterThan(0)
        }
    })

    test('a removed fill that is delivered again counts once', () => {
      for (const event of all.slice(0, 500)) tracker.apply(event)
      const times = { fromMs: START_MS, untilMs: NOW_MS }
      expect(tracker.notional({ ...range, ...times })).toBe(notional(START_MS, NOW_MS))
      expect(tracker.side('long', NOW_MS).count).toBeLessThan(8_192)
    })

    test('what is older than a day and an hour is not known', () => {
      const newestMs = all.at(-1)?.timeExchangeMs ?? Number.NaN
      expect(tracker.hasAll(newestMs - 25 * HOUR_MS, Number.POSITIVE_INFINITY)).toBe(false)
      expect(tracker.hasAll(newestMs - 25 * HOUR_MS + 1, Number.POSITIVE_INFINITY)).toBe(true)
      expect(new RealisedLiquidations().hasAll(0, Number.POSITIVE_INFINITY)).toBe(true)
    })

    test('sums are bounded, and what they lacked is not known', () => {
      const many = new RealisedLiquidations()
      // 600 a quarter, at another price each.
      for (let at = 0; at < 40_000; at += 1) {
        const timeExchangeMs = START_MS + at * 1_500
        many.apply(liquidation({ tradeId: at, timeExchangeMs, markPrice: 1 + at }))
      }
      expect(many.save().length).toBeLessThan(6 * 8_192 + 4 * 16_384 + 20)
      expect(many.hasAll(START_MS, Number.POSITIVE_INFINITY)).toBe(false)
      const fromMs = START_MS + 30 * QUARTER_MS
      expect(many.hasAll(fromMs, Number.POSITIVE_INFINITY)).toBe(true)
      const quarter = { fromMs, untilMs: fromMs + QUARTER_MS }
      const sum = many.notional({ side: 'long', fromPrice: 1, untilPrice: 1e9, ...quarter })
      expect(sum).toBe(2 * (600 * 18_001 + (599 * 600) / 2))
    })
  })

  test('numbers of another version are not restored', () => {
    const tracker = new RealisedLiquidations()
    expect(tracker.restore(Float64Array.of(1, 2, 3))).toBe(false)
    expect(tracker.restore(tracker.save().with(1, 1))).toBe(false)
    const [header, rows] = splitSections(trackerOf([liquidation()]).save()) ?? []
    const earlier = joinSections([header ?? [], rows ?? []])
    expect(tracker.restore(earlier)).toBe(true)
    expect(tracker.hasAll(NOW_MS - 24 * HOUR_MS, Number.POSITIVE_INFINITY)).toBe(true)
    expect(tracker.restore(joinSections([header ?? [], rows ?? [], [1, 2]]))).toBe(false)
  })
})
