import { fc, test as property } from '@fast-check/vitest'
import { beforeEach, describe, expect, test } from 'vitest'
import type { CandleEvent, ContextEvent, MarkEvent, TradeEvent } from '../../../domain/event.ts'
import type { Outlier } from './plausibility-filter.ts'
import { isOutlierHeld, PlausibilityFilter } from './plausibility-filter.ts'

const NOW_MS = Date.UTC(2026, 0, 1)
const CADENCE_MS = 13_600

let filter: PlausibilityFilter

beforeEach(() => {
  filter = new PlausibilityFilter()
})

const resultOf = (outlier: Outlier | null) =>
  outlier === null ? 'accepted' : outlier.state === 'corrected' ? 'corrected' : 'held'

const contextOf = (figures: Partial<ContextEvent> = {}): ContextEvent =>
  ({
    kind: 'context',
    coin: 'BTC',
    markPrice: 100,
    oraclePrice: 100.1,
    midPrice: 99.9,
    impactBid: 99.8,
    impactAsk: 100,
    premium: -0.001,
    prevDayPrice: 97,
    fundingRateHourly: 0.0000125,
    openInterestBase: 1_000,
    dayNotional: 1e6,
    ...figures,
  }) as ContextEvent
const context = (figures: Partial<ContextEvent>, afterMs = 0) =>
  resultOf(filter.context(contextOf(figures), NOW_MS + afterMs))
const mark = (figures: Partial<MarkEvent>, afterMs = 0) =>
  resultOf(filter.mark({ kind: 'mark', coin: 'BTC', ...figures } as MarkEvent, NOW_MS + afterMs))

describe('an open interest of zero', () => {
  const zero = { openInterestBase: 0 }

  test('is held until it is repeated after five seconds', () => {
    expect(context(zero)).toBe('held')
    expect(context(zero, 4_999)).toBe('held')
    expect(context(zero, 5_000)).toBe('accepted')
    expect(context(zero, 5_001)).toBe('accepted')
  })

  test('is held if only marks were received before', () => {
    mark({ markPrice: 100 })
    expect(context(zero, 1_000)).toBe('held')
  })

  test('is an outlier if the next context has open interest', () => {
    context(zero)
    expect(context({}, 60_000)).toBe('corrected')
    expect(context(zero, 60_001), 'the rule starts again').toBe('held')
  })

  test('accepts the first open interest after it', () => {
    for (const afterMs of [0, 5_000]) context(zero, afterMs)
    expect(context({}, 9_000)).toBe('accepted')
  })

  test('is checked per coin', () => {
    context(zero)
    expect(context({ ...zero, coin: 'ETH' }, 5_000)).toBe('held')
  })
})

describe('a figure with a shifted decimal point', () => {
  test.each([
    ['markPrice', 100_000],
    ['markPrice', 0.1],
    ['oraclePrice', 1_001],
    ['midPrice', 9.99],
    ['impactBid', 998],
    ['impactAsk', 10],
    ['prevDayPrice', 9.7],
    ['premium', -0.1],
    ['fundingRateHourly', 0.0125],
    ['openInterestBase', 1e6],
    ['openInterestBase', 1],
    ['dayNotional', 1e9],
  ])('%s %d is held, and the next value accepted', (name, figure) => {
    context({})
    expect(context({ [name]: figure }, CADENCE_MS)).toBe('held')
    expect(context({}, 2 * CADENCE_MS)).toBe('corrected')
    expect(context({}, 3 * CADENCE_MS)).toBe('accepted')
  })

  test.each([
    ['markPrice', 300, 310],
    ['openInterestBase', 20_000, 21_000],
  ])('%s is accepted if repeated', (name, figure, next) => {
    context({})
    expect(context({ [name]: figure }, CADENCE_MS)).toBe('held')
    expect(context({ [name]: next }, 2 * CADENCE_MS)).toBe('accepted')
    expect(context({ [name]: figure }, 3 * CADENCE_MS)).toBe('accepted')
  })

  test('a premium is accepted if the prices beside it confirm it, as in a crash', () => {
    const fallen = [0, 0.07, 0.14, 0.22, 0.3, 0.24, 0.11, 0]
    const results = fallen.map((share, at) =>
      context({ markPrice: 100 * (1 - share), premium: -share - 0.01 }, at * CADENCE_MS),
    )
    expect(results).toEqual(fallen.map(() => 'accepted'))
  })

  test('is not accepted after another outlier', () => {
    context({})
    expect(context({ markPrice: 100_000 }, CADENCE_MS)).toBe('held')
    expect(context({ markPrice: 0.1 }, 2 * CADENCE_MS)).toBe('held')
    expect(context({}, 3 * CADENCE_MS)).toBe('corrected')
  })

  test.each([
    ['markPrice', 1_000],
    ['impactBid', 9.98],
    ['impactAsk', 1_000],
    ['fundingRateHourly', 0.0125],
  ])('is held as the first value: %s %d', (name, figure) => {
    expect(context({ [name]: figure })).toBe('held')
    expect(context({}, CADENCE_MS)).toBe('corrected')
  })

  test('the volume of a coin that hardly trades may rise a hundredfold', () => {
    context({ dayNotional: 300 })
    expect(context({ dayNotional: 30_000 }, CADENCE_MS)).toBe('accepted')
  })

  test('is held in marks', () => {
    context({})
    expect(mark({ midPrice: 100_000 }, 1_000)).toBe('held')
    expect(mark({ markPrice: 101 }, 2_000)).toBe('accepted')
    expect(mark({ midPrice: 100 }, 2_000)).toBe('corrected')
    expect(mark({ midPrice: null }, 3_000)).toBe('accepted')
  })
})

describe('relative to the mark price', () => {
  const trade = (price: number, sizeBase: number): TradeEvent =>
    ({ kind: 'trade', coin: 'BTC', price, sizeBase }) as TradeEvent
  const candle = (high: number, low: number, close: number, volumeBase: number): CandleEvent =>
    ({ kind: 'candle', coin: 'BTC', bar: { high, low, close, volumeBase } }) as CandleEvent

  test.each([
    ['a trade near the mark price', trade(101, 3), false],
    ['a trade far from it', trade(1_010, 3), true],
    ['a large trade', trade(100, 9_000), false],
    ['a trade above ten times open interest and volume', trade(100, 120_000), true],
  ])('%s', (_, event, isOff) => {
    context({})
    expect(filter.trade(event, NOW_MS + 5_000) !== null).toBe(isOff)
  })

  test.each([
    ['a candle around the mark price', candle(110, 90, 100, 500), false],
    ['a close far from it', candle(310, 90, 300, 500), true],
    ['a wick', candle(350, 30, 100, 500), false],
    ['a high far from it', candle(100_000, 90, 100, 500), true],
    ['a low far from it', candle(110, 0.1, 100, 500), true],
    ['a volume beyond ten times open interest and volume', candle(110, 90, 100, 5e9), true],
  ])('%s', (_, event, isOff) => {
    context({})
    expect(filter.candle(event, NOW_MS + 5_000)).toEqual(
      isOff ? expect.objectContaining({ state: 'held' }) : null,
    )
  })

  test('nothing is held without a mark price of the last minute', () => {
    const far = candle(310, 90, 300, 500)
    expect(isOutlierHeld(filter.candle(far, NOW_MS))).toBe(false)
    context({})
    expect(isOutlierHeld(filter.candle(far, NOW_MS + 60_000))).toBe(true)
    expect(isOutlierHeld(filter.candle(far, NOW_MS + 60_001))).toBe(false)
  })

  test('an outlier is accepted if repeated, as a wick in every candle of its bar', () => {
    context({})
    const wick = candle(101, 10, 100, 500)
    expect(filter.candle(wick, NOW_MS + 1_000)).toMatchObject({ state: 'held' })
    expect(filter.candle(candle(102, 10, 101, 1_600), NOW_MS + 5_999)).toMatchObject({
      state: 'held again',
    })
    expect(isOutlierHeld(filter.candle(candle(103, 10, 102, 700), NOW_MS + 6_000))).toBe(false)
    expect(isOutlierHeld(filter.candle(candle(103, 10, 102, 710), NOW_MS + 7_000))).toBe(false)
  })
})

describe('marks between two contexts', () => {
  /** Marks every second, contexts at their cadence. @returns the results of the contexts */
  const play = (
    contexts: readonly Partial<ContextEvent>[],
    marks: Partial<MarkEvent> = { markPrice: 100, midPrice: 99.9 },
  ): readonly string[] => {
    let lastMs = 0
    return contexts.map((figures, at) => {
      for (; lastMs < at * CADENCE_MS; lastMs += 1_000) mark(marks, lastMs)
      return context(figures, at * CADENCE_MS)
    })
  }

  test.each([
    ['twenty times the open interest', {}, { openInterestBase: 20_000 }],
    ['nothing open any more', {}, { openInterestBase: 0 }],
    ['another oracle price', {}, { oraclePrice: 45 }],
    ['less than the first context', { openInterestBase: 1e9 }, {}],
  ])('do not end the repetition: %s', (_, first, then) => {
    expect(play([first, then, then, then])).toEqual(['accepted', 'held', 'accepted', 'accepted'])
  })

  test('do not hold back an open interest of zero from the start', () => {
    const zero = { openInterestBase: 0 }
    expect(play([zero, zero, zero])).toEqual(['held', 'accepted', 'accepted'])
  })

  test('may be the first with a threefold price', () => {
    context({})
    for (const afterMs of [1_000, 3_000, 6_000]) mark({ markPrice: 300, midPrice: 301 }, afterMs)
    const tripled = { markPrice: 305, oraclePrice: 300, midPrice: 306 }
    expect(context(tripled, CADENCE_MS)).toBe('held')
    for (let afterMs = CADENCE_MS; afterMs < 2 * CADENCE_MS; afterMs += 1_000)
      mark({ markPrice: 304 }, afterMs)
    expect(context(tripled, 2 * CADENCE_MS)).toBe('accepted')
  })

  property.prop([
    fc.record({
      markPrice: fc.double({ min: 1e-3, max: 1e6, noNaN: true }),
      oraclePrice: fc.double({ min: 1e-3, max: 1e6, noNaN: true }),
      midPrice: fc.option(fc.double({ min: 1e-3, max: 1e6, noNaN: true })),
      openInterestBase: fc.oneof(fc.constant(0), fc.double({ min: 1, max: 1e9, noNaN: true })),
    }),
  ])('a repeated context is accepted within two cadences', (figures) => {
    filter = new PlausibilityFilter()
    context({})
    const { markPrice, midPrice } = figures
    const results = play([{}, figures, figures, figures], { markPrice, midPrice })
    expect(results.slice(2)).not.toContain('held')
  })
})

property.prop([
  fc.array(
    fc.record({ step: fc.double({ min: -0.4, max: 0.6, noNaN: true }), gapMs: fc.nat(20_000) }),
  ),
])('a price that moves by less than half between two contexts is never held', (path) => {
  const own = new PlausibilityFilter()
  let [price, nowMs] = [100, NOW_MS]
  own.context(contextOf({}), nowMs)
  for (const { step, gapMs } of path) {
    price = Math.min(1e8, Math.max(1e-6, price * (1 + step)))
    nowMs += gapMs
    const prices = { markPrice: price, oraclePrice: price, midPrice: price }
    expect(own.context(contextOf(prices), nowMs)).toBeNull()
  }
})
