import { fc, test as property } from '@fast-check/vitest'
import { beforeEach, describe, expect, test } from 'vitest'
import type {
  BookEvent,
  CandleEvent,
  ContextEvent,
  MarkEvent,
  TopOfBookEvent,
  TradeEvent,
} from '../../../domain/event.ts'
import { PlausibilityFilter } from './plausibility-filter.ts'

const NOW_MS = Date.UTC(2026, 0, 1)
const CADENCE_MS = 13_600

let doubt: PlausibilityFilter

beforeEach(() => {
  doubt = new PlausibilityFilter()
})

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
    dayNotionalUsd: 1e6,
    ...figures,
  }) as ContextEvent
const told = (figures: Partial<ContextEvent>, afterMs = 0) =>
  doubt.context(contextOf(figures), NOW_MS + afterMs)
const markTold = (figures: Partial<MarkEvent>, afterMs = 0) =>
  doubt.mark({ kind: 'mark', coin: 'BTC', ...figures } as MarkEvent, NOW_MS + afterMs)

describe('that nothing is open', () => {
  const zero = { openInterestBase: 0 }

  test('waits until it is told again, five seconds later or more', () => {
    expect(told(zero)).toBe('waits')
    expect(told(zero, 4_999)).toBe('waits')
    expect(told(zero, 5_000)).toBe('believed')
    expect(told(zero, 5_001)).toBe('believed')
  })

  test('waits where only marks were told before', () => {
    markTold({ markPrice: 100 })
    expect(told(zero, 1_000)).toBe('waits')
  })

  test('was a broken figure when something is open after all', () => {
    told(zero)
    expect(told({}, 60_000)).toBe('refuted')
    expect(told({}, 60_001), 'once').toBe('believed')
    expect(told(zero, 60_002), 'it begins anew').toBe('waits')
  })

  test('was true before somebody opened something', () => {
    for (const afterMs of [0, 5_000]) told(zero, afterMs)
    expect(told({}, 9_000)).toBe('believed')
  })

  test('of one coin says nothing of another', () => {
    told(zero)
    expect(told({ ...zero, coin: 'ETH' }, 5_000)).toBe('waits')
  })
})

describe('a figure with its decimal point elsewhere', () => {
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
    ['dayNotionalUsd', 1e9],
  ])('as %s %d waits, and is refuted by the next', (name, figure) => {
    told({})
    expect(told({ [name]: figure }, CADENCE_MS)).toBe('waits')
    expect(told({}, 2 * CADENCE_MS)).toBe('refuted')
    expect(told({}, 3 * CADENCE_MS)).toBe('believed')
  })

  test.each([
    ['markPrice', 300, 310],
    ['openInterestBase', 20_000, 21_000],
  ])('as %s is believed where it is told again', (name, figure, next) => {
    told({})
    expect(told({ [name]: figure }, CADENCE_MS)).toBe('waits')
    expect(told({ [name]: next }, 2 * CADENCE_MS)).toBe('believed')
    expect(told({ [name]: figure }, 3 * CADENCE_MS)).toBe('believed')
  })

  test('as premium is none where the prices beside it say the same: a crash is withheld from nobody', () => {
    const fallen = [0, 0.07, 0.14, 0.22, 0.3, 0.24, 0.11, 0]
    const verdicts = fallen.map((share, at) =>
      told({ markPrice: 100 * (1 - share), premium: -share - 0.01 }, at * CADENCE_MS),
    )
    expect(verdicts).toEqual(fallen.map(() => 'believed'))
  })

  test('is not believed because of another one', () => {
    told({})
    expect(told({ markPrice: 100_000 }, CADENCE_MS)).toBe('waits')
    expect(told({ markPrice: 0.1 }, 2 * CADENCE_MS)).toBe('waits')
    expect(told({}, 3 * CADENCE_MS)).toBe('refuted')
  })

  test.each([
    ['markPrice', 1_000],
    ['impactBid', 9.98],
    ['impactAsk', 1_000],
    ['fundingRateHourly', 0.0125],
  ])('is found in the first of all, too: %s %d', (name, figure) => {
    expect(told({ [name]: figure })).toBe('waits')
    expect(told({}, CADENCE_MS)).toBe('refuted')
  })

  test('is not suspected where a coin that hardly trades turns over a hundred times as much', () => {
    told({ dayNotionalUsd: 300 })
    expect(told({ dayNotionalUsd: 30_000 }, CADENCE_MS)).toBe('believed')
  })

  test('is found in marks, which tell of some prices only', () => {
    told({})
    expect(markTold({ midPrice: 100_000 }, 1_000)).toBe('waits')
    expect(markTold({ markPrice: 101 }, 2_000)).toBe('believed')
    expect(markTold({ midPrice: 100 }, 2_000)).toBe('refuted')
    expect(markTold({ midPrice: null }, 3_000)).toBe('believed')
  })
})

describe('beside a mark that is known', () => {
  const book = (bid: number | null, ask: number | null): BookEvent =>
    ({
      kind: 'book',
      coin: 'BTC',
      bids: bid === null ? [] : [{ price: bid, sizeBase: 1 }],
      asks: ask === null ? [] : [{ price: ask, sizeBase: 1 }],
    }) as unknown as BookEvent
  const top = (bid: number | null, ask: number | null): TopOfBookEvent =>
    ({
      kind: 'top-of-book',
      coin: 'BTC',
      bid: bid === null ? null : { price: bid, sizeBase: 1 },
      ask: ask === null ? null : { price: ask, sizeBase: 1 },
    }) as TopOfBookEvent
  const trade = (price: number, sizeBase: number): TradeEvent =>
    ({ kind: 'trade', coin: 'BTC', price, sizeBase }) as TradeEvent
  const candle = (high: number, low: number, close: number, volumeBase: number): CandleEvent =>
    ({ kind: 'candle', coin: 'BTC', bar: { high, low, close, volumeBase } }) as CandleEvent

  test.each([
    ['a book around it', book(99, 101), false],
    ['an empty one', book(null, null), false],
    ['a wide one', book(1, 10_000), false],
    ['bids far above it', book(300, null), true],
    ['asks far below it', book(null, 30), true],
    ['best prices around it', top(99, 101), false],
    ['best prices far above it', top(9_900, 10_100), true],
    ['best prices far below it', top(0.99, 1.01), true],
  ])('%s', (_, event, isOff) => {
    told({})
    expect(doubt.book(event, NOW_MS + 5_000)).toBe(isOff ? 'new' : 'none')
  })

  test.each([
    ['a trade near it', trade(101, 3), false],
    ['a trade far from it', trade(1_010, 3), true],
    ['a large one', trade(100, 9_000), false],
    ['one larger than ten times all that is open and turned over', trade(100, 120_000), true],
  ])('%s', (_, event, isOff) => {
    told({})
    expect(doubt.isTradeStrange(event, NOW_MS + 5_000)).toBe(isOff)
  })

  test.each([
    ['a candle around it', candle(110, 90, 100, 500), false],
    ['one that ends far from it', candle(310, 90, 300, 500), true],
    ['one with a wick', candle(350, 30, 100, 500), false],
    ['one that reaches nowhere', candle(100_000, 90, 100, 500), true],
    ['one from nowhere', candle(110, 0.1, 100, 500), true],
    ['one of more than can be', candle(110, 90, 100, 5e9), true],
  ])('%s', (_, event, isOff) => {
    told({})
    expect(doubt.candle(event, NOW_MS + 5_000)).toBe(isOff ? 'new' : 'none')
  })

  test('nothing is doubted by one that is a minute old, or that nobody told', () => {
    expect(doubt.book(book(300, null), NOW_MS)).toBe('none')
    told({})
    expect(doubt.book(book(300, null), NOW_MS + 60_000)).toBe('new')
    expect(doubt.book(book(300, null), NOW_MS + 60_001)).toBe('none')
  })

  test('what is strange is believed where it is told again, as a wick is in every candle of its bar', () => {
    told({})
    const wick = candle(101, 10, 100, 500)
    expect(doubt.candle(wick, NOW_MS + 1_000)).toBe('new')
    expect(doubt.candle(candle(102, 10, 101, 1_600), NOW_MS + 5_999)).toBe('again')
    expect(doubt.candle(candle(103, 10, 102, 700), NOW_MS + 6_000)).toBe('none')
    expect(doubt.candle(candle(103, 10, 102, 710), NOW_MS + 7_000)).toBe('none')
    expect(doubt.book(book(300, 310), NOW_MS + 7_000)).toBe('new')
    expect(doubt.book(book(320, 330), NOW_MS + 12_400)).toBe('none')
  })

  test('what is strange begins anew after something that is not', () => {
    told({})
    expect(doubt.book(book(300, 310), NOW_MS)).toBe('new')
    expect(doubt.book(book(99, 101), NOW_MS + 5_400)).toBe('none')
    expect(doubt.book(book(300, 310), NOW_MS + 10_800)).toBe('new')
  })
})

describe('between two contexts that contradict what is known', () => {
  /** Marks come every second, contexts at their cadence. @returns the verdicts on the contexts */
  const heard = (
    contexts: readonly Partial<ContextEvent>[],
    marks: Partial<MarkEvent> = { markPrice: 100, midPrice: 99.9 },
  ): readonly string[] => {
    let lastMs = 0
    return contexts.map((figures, at) => {
      for (; lastMs < at * CADENCE_MS; lastMs += 1_000) markTold(marks, lastMs)
      return told(figures, at * CADENCE_MS)
    })
  }

  test.each([
    ['twenty times the open interest', {}, { openInterestBase: 20_000 }],
    ['nothing open any more', {}, { openInterestBase: 0 }],
    ['another oracle price', {}, { oraclePrice: 45 }],
    ['less than what the first of all told', { openInterestBase: 1e9 }, {}],
  ])('marks that go on refute nothing: %s', (_, first, then) => {
    expect(heard([first, then, then, then])).toEqual(['believed', 'waits', 'believed', 'believed'])
  })

  test('marks that go on do not make nothing open from the start unheard', () => {
    const zero = { openInterestBase: 0 }
    expect(heard([zero, zero, zero])).toEqual(['waits', 'believed', 'believed'])
  })

  test('marks may be the first to tell of a price three times as high', () => {
    told({})
    for (const afterMs of [1_000, 3_000, 6_000])
      markTold({ markPrice: 300, midPrice: 301 }, afterMs)
    const tripled = { markPrice: 305, oraclePrice: 300, midPrice: 306 }
    expect(told(tripled, CADENCE_MS)).toBe('waits')
    for (let afterMs = CADENCE_MS; afterMs < 2 * CADENCE_MS; afterMs += 1_000)
      markTold({ markPrice: 304 }, afterMs)
    expect(told(tripled, 2 * CADENCE_MS)).toBe('believed')
  })

  property.prop([
    fc.record({
      markPrice: fc.double({ min: 1e-3, max: 1e6, noNaN: true }),
      oraclePrice: fc.double({ min: 1e-3, max: 1e6, noNaN: true }),
      midPrice: fc.option(fc.double({ min: 1e-3, max: 1e6, noNaN: true })),
      openInterestBase: fc.oneof(fc.constant(0), fc.double({ min: 1, max: 1e9, noNaN: true })),
    }),
  ])('whatever is told steadily is believed within two cadences', (figures) => {
    doubt = new PlausibilityFilter()
    told({})
    const { markPrice, midPrice } = figures
    const verdicts = heard([{}, figures, figures, figures], { markPrice, midPrice })
    expect(verdicts.slice(2)).not.toContain('waits')
  })
})

property.prop([
  fc.array(
    fc.record({ step: fc.double({ min: -0.4, max: 0.6, noNaN: true }), gapMs: fc.nat(20_000) }),
  ),
])(
  'a market that moves by less than half of its price between two words is never doubted',
  (path) => {
    const own = new PlausibilityFilter()
    let [price, nowMs] = [100, NOW_MS]
    own.context(contextOf({}), nowMs)
    for (const { step, gapMs } of path) {
      price = Math.min(1e8, Math.max(1e-6, price * (1 + step)))
      nowMs += gapMs
      const prices = { markPrice: price, oraclePrice: price, midPrice: price }
      expect(own.context(contextOf(prices), nowMs)).toBe('believed')
    }
  },
)
