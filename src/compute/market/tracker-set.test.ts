import { describe, expect, test } from 'vitest'
import { CandleLadder } from '../candles/candle-ladder.ts'
import { PulsePool } from '../indicators/pulse-series.ts'
import { CoinMarket } from './coin-market.ts'
import type { CoinTracker } from './coin-tracker.ts'
import { coinTracker } from './coin-tracker.ts'
import { joinNamed, splitNamed } from './saved-sections.ts'
import { TrackerSet } from './tracker-set.ts'

class Counter implements CoinTracker {
  readonly inputs = ['trade'] as const
  count = 0

  apply(): void {
    this.count += 1
  }

  save(): Float64Array {
    return Float64Array.of(this.count)
  }

  restore([count = 0]: Float64Array): boolean {
    this.count = count
    return true
  }
}

const trades = coinTracker('test/trades', () => new Counter())
const others = coinTracker('test/others', () => new Counter())
const NOW_MS = 1_750_000_000_000

const btc = {
  coin: 'BTC',
  sizeDecimals: 5,
  maxLeverage: 40,
  marginTiers: [{ lowerBoundUsd: 0, maxLeverage: 40 }],
  isDelisted: false,
}

const coinWith = (...kinds: (typeof trades)[]) =>
  new CoinMarket(btc, new CandleLadder(new PulsePool(3)), kinds)

describe('trackers', () => {
  test('are found by their kind', () => {
    const set = new TrackerSet<Counter>([trades, others])
    expect(set.of(trades)).toBe(set.all[0])
    expect(set.of(others)).toBe(set.all[1])
  })

  test('of a kind that no analysis lists are refused with what to do', () => {
    expect(() => coinWith(trades).of(others)).toThrow(
      'test/others is tracked where an analysis lists it (`trackers`)',
    )
  })

  test('of one id are one', () => {
    const twin = coinTracker('test/trades', () => new Counter())
    expect(() => new TrackerSet<Counter>([trades, twin])).toThrow('an id has one tracker')
  })

  test('hear the kinds of event that they name', () => {
    const set = new TrackerSet<Counter>([trades])
    expect(set.takingInput('trade')).toEqual([set.of(trades)])
    expect(set.takingInput('book')).toEqual([])
  })
})

describe('a checkpoint', () => {
  test('of before a tracker was added keeps what the others know', () => {
    const before = coinWith(trades)
    before.of(trades).count = 7
    const after = coinWith(others, trades)
    expect(after.restore(before.save(NOW_MS), NOW_MS)).toBe(true)
    expect(after.of(trades).count).toBe(7)
    expect(after.of(others).count, 'the new one begins empty').toBe(0)
  })

  test('of before a tracker was removed is restored without it', () => {
    const before = coinWith(others, trades)
    before.of(trades).count = 7
    const after = coinWith(trades)
    expect(after.restore(before.save(NOW_MS), NOW_MS)).toBe(true)
    expect(after.of(trades).count).toBe(7)
  })
})

test('a tracker that history restores has no section, and one of an older checkpoint is ignored', () => {
  const unsaved = coinTracker('test/others', (): CoinTracker => ({}))
  expect(new TrackerSet<CoinTracker>([unsaved]).saved()).toEqual([])
  const before = coinWith(others, trades)
  before.of(trades).count = 7
  const after = new CoinMarket(btc, new CandleLadder(new PulsePool(3)), [unsaved, trades])
  expect(after.restore(before.save(NOW_MS), NOW_MS)).toBe(true)
  expect(after.of(trades).count).toBe(7)
})

describe('named sections', () => {
  test('come back by their names', () => {
    const sections = new Map([
      ['a/b', Float64Array.of(1, 2)],
      ['c', Float64Array.of()],
    ])
    expect(splitNamed(joinNamed(sections))).toEqual(sections)
  })

  test.each([
    ['an odd number of sections', [1, 97]],
    ['a name of thousands of characters', [5_000, ...new Array(5_000).fill(97), 0]],
    ['sections that end too early', [1, 97, 3, 1]],
  ])('are none in %s', (_what, numbers) => {
    expect(splitNamed(Float64Array.from(numbers))).toBeNull()
  })
})
