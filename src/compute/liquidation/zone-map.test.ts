import { test as property } from '@fast-check/vitest'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Side } from './leverage-ladder.ts'
import { TIER_COUNT } from './leverage-ladder.ts'
import { BUCKETS, ZoneMap } from './zone-map.ts'

type Step =
  | { readonly kind: 'mark'; readonly move: number }
  | { readonly kind: 'open'; readonly tier: number; readonly side: Side; readonly away: number }
  | { readonly kind: 'shrink'; readonly share: number }
  | { readonly kind: 'sweep'; readonly down: number; readonly up: number }

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    kind: fc.constant('mark' as const),
    move: fc.oneof(
      fc.double({ min: -0.05, max: 0.05, noNaN: true }),
      fc.double({ min: -0.7, max: 2, noNaN: true }),
    ),
  }),
  fc.record({
    kind: fc.constant('open' as const),
    tier: fc.integer({ min: 0, max: TIER_COUNT - 1 }),
    side: fc.constantFrom<Side>('long', 'short'),
    away: fc.oneof(
      fc.double({ min: 0.005, max: 0.35, noNaN: true }),
      fc.double({ min: 0.4, max: 0.999, noNaN: true }),
    ),
  }),
  fc.record({
    kind: fc.constant('shrink' as const),
    share: fc.double({ min: 0.3, max: 1, noNaN: true }),
  }),
  fc.record({
    kind: fc.constant('sweep' as const),
    down: fc.double({ min: 0, max: 0.03, noNaN: true }),
    up: fc.double({ min: 0, max: 0.03, noNaN: true }),
  }),
)
const steps = fc.array(step, { maxLength: 100, size: 'max' })

describe('zone map', () => {
  property.prop([steps])('holds what a list of single positions holds', (taken) => {
    const { map, lots, mark } = walked(taken)
    for (const side of ['long', 'short'] as const)
      for (let tier = 0; tier < TIER_COUNT; tier += 1) {
        const expected = lots.filter((lot) => lot.side === side && lot.tier === tier)
        const sum = (of: readonly Lot[]) => of.reduce((total, { size }) => total + size, 0)
        const onMap = expected.filter(({ price }) => isOnMap(price, mark))
        // Dust may be dropped: a billionth of everything.
        expect(sumOf(map, side, tier)).toBeCloseTo(sum(onMap), 6)
        const beyond = [...map.beyond(side)].filter((cell) => cell.tier === tier)
        const beyondBase = beyond.reduce((total, { sizeBase }) => total + sizeBase, 0)
        expect(beyondBase).toBeCloseTo(sum(expected) - sum(onMap), 6)
        for (const { price, sizeBase } of beyond) {
          const there = expected.filter((lot) => Math.abs(lot.price / price - 1) < 1e-9)
          expect(sizeBase, 'at its own price').toBeCloseTo(sum(there), 6)
        }
      }
  })

  property.prop([steps])('has all of the map on its grid wherever the mark goes', (taken) => {
    const { map } = walked(taken)
    expect(map.from('long')).toBeGreaterThanOrEqual(0)
    expect(map.until('short')).toBeLessThanOrEqual(BUCKETS)
  })

  property.prop([steps])(
    'has no negative bucket, and every zone on its side of the mark',
    (taken) => {
      const { map, mark } = walked(taken)
      const misplaced: number[] = []
      for (let tier = 0; tier < TIER_COUNT; tier += 1)
        for (let bucket = 0; bucket < BUCKETS; bucket += 1) {
          const size = map.sizeAt(tier, bucket)
          const isBelow = map.priceAt(bucket) < mark
          const isRight = size === 0 || (size > 0 && isBelow === bucket < map.until('long'))
          if (!isRight) misplaced.push(map.priceAt(bucket))
        }
      expect(misplaced).toEqual([])
    },
  )

  property.prop([steps, steps])('continues the same after a restart', (first, second) => {
    const { map, mark } = walked(first)
    const restored = new ZoneMap()
    expect(restored.restore(map.save())).toBe(true)
    let priceThen = mark
    let priceRestored = mark
    for (const taken of second) {
      priceThen = take(map, priceThen, taken)
      priceRestored = take(restored, priceRestored, taken)
    }
    expect(restored.save()).toEqual(map.save())
  })

  property.prop([steps, fc.double({ min: 0.1, max: 1, noNaN: true })])(
    'shrinking and sweeping give the same in either order',
    (taken, share) => {
      const one = walked(taken)
      const other = walked(taken)
      one.map.shrink(share)
      one.map.sweep(one.mark * 0.97, one.mark * 1.02)
      other.map.sweep(one.mark * 0.97, one.mark * 1.02)
      other.map.shrink(share)
      for (const side of ['long', 'short'] as const)
        expect(one.map.total(side)).toBeCloseTo(other.map.total(side), 6)
    },
  )

  test('a bucket is a quarter of a percent wide', () => {
    const map = new ZoneMap()
    map.mark(100)
    map.open(0, 'long', 90, 1)
    const bucket = map.bucketOf(90)
    expect(Math.abs(map.priceAt(bucket) / 90 - 1)).toBeLessThan(0.00126)
    expect(map.priceAt(bucket + 1) / map.priceAt(bucket)).toBeCloseTo(1.0025, 5)
  })

  test('what would be liquidated already is not opened', () => {
    const map = new ZoneMap()
    map.mark(100)
    map.open(0, 'long', 101, 1)
    map.open(0, 'short', 99, 1)
    expect(map.total('long') + map.total('short')).toBe(0)
  })

  test('sizes beyond the grid keep their price, and return to the map with the mark', () => {
    const map = new ZoneMap()
    map.mark(100)
    map.open(0, 'long', 70, 2)
    map.open(0, 'short', 14_000, 3)
    for (let price = 100; price < 1_000; price *= 1.1) map.mark(price)
    expect(sumOf(map, 'long', 0)).toBe(0)
    expect([...map.beyond('long')]).toEqual([
      { tier: 0, price: expect.closeTo(70, 0), sizeBase: 2 },
    ])
    expect([...map.beyond('short')]).toEqual([
      { tier: 0, price: expect.closeTo(14_000, -2), sizeBase: 3 },
    ])
    map.mark(100)
    expect(sumOf(map, 'long', 0)).toBe(2)
    map.mark(20_000)
    expect(map.total('short'), 'the mark has reached it').toBe(0)
  })

  test('the map reaches from 0.45 to 2.2 times the mark', () => {
    const map = new ZoneMap()
    for (const mark of [100, 107, 93, 250]) {
      map.mark(mark)
      expect(map.priceAt(map.from('long')) / mark).toBeCloseTo(0.451, 2)
      expect(map.priceAt(map.until('short') - 1) / mark).toBeCloseTo(2.198, 2)
    }
  })

  test.each([1e-6, 1e9])('a mark that jumps to %d sweeps one side whole', (price) => {
    const map = new ZoneMap()
    map.mark(100)
    map.open(0, 'long', 70, 2)
    map.open(0, 'short', 140, 2)
    map.mark(price)
    expect(map.total('long')).toBe(price > 100 ? 2 : 0)
    expect(map.total('short')).toBe(price > 100 ? 0 : 2)
    map.open(1, 'long', price * 0.9, 1)
    expect(sumOf(map, 'long', 1)).toBe(1)
  })

  test('nothing is left of a shrink to nothing, and the map takes in new positions', () => {
    const map = new ZoneMap()
    map.mark(100)
    map.open(0, 'long', 70, 2)
    map.shrink(0)
    expect(map.total('long')).toBe(0)
    map.open(0, 'long', 70, 5)
    expect(map.total('long')).toBe(5)
  })

  test('hands the positions of one tier to another', () => {
    const map = new ZoneMap()
    map.mark(100)
    map.open(4, 'long', 98, 1)
    map.open(2, 'long', 98, 1)
    map.open(4, 'short', 1e4, 7)
    map.fold(4, 2)
    expect(sumOf(map, 'long', 2)).toBe(2)
    expect(sumOf(map, 'long', 4)).toBe(0)
    expect([...map.beyond('short')]).toEqual([
      { tier: 2, price: expect.closeTo(1e4, -2), sizeBase: 7 },
    ])
  })

  test.each([
    ['nothing', []],
    ['a header alone', [2, 1, 0, 0]],
    ['half a run', [2, 1, 0, 352, 0]],
    ['a run that leaves the grid', [2, 1, 0, 352, 703, 5, 1, 1, 1, 1, 1]],
    ['an earlier layout', [1, ...Array.from({ length: 28 }, () => 0)]],
    ['half a cell off the grid', [2, 1, 0, 352, ...Array.from({ length: 20 }, () => 0), 1, 900]],
  ])('%s is nothing that was saved', (_, numbers) => {
    const map = new ZoneMap()
    expect(map.restore(Float64Array.from(numbers))).toBe(false)
    expect(map.isPlaced).toBe(false)
    expect(map.total('long')).toBe(0)
  })
})

type Lot = { readonly side: Side; readonly tier: number; readonly price: number; size: number }

/** 319 quarter percents below the first bucket above the mark, and 315 from it up. */
function isOnMap(price: number, mark: number): boolean {
  const first = Math.ceil(Math.log(mark) / 0.0025 - 0.5)
  const bucket = Math.floor(Math.log(price) / 0.0025)
  return bucket >= first - 319 && bucket < first + 315
}

/** The middle of the bucket of a price. */
function rounded(price: number): number {
  return Math.exp((Math.floor(Math.log(price) / 0.0025) + 0.5) * 0.0025)
}

/** A short is as far above the mark as a long is below it, as a ratio. */
function priceOf(mark: number, { side, away }: { readonly side: Side; readonly away: number }) {
  return side === 'long' ? mark * (1 - away) : mark / (1 - away)
}

function walked(taken: readonly Step[]) {
  const map = new ZoneMap()
  let mark = 100
  let lots: Lot[] = []
  map.mark(mark)
  for (const next of taken) {
    const before = mark
    mark = take(map, mark, next)
    if (next.kind === 'open') {
      const price = rounded(priceOf(before, next))
      lots.push({ side: next.side, tier: next.tier, price, size: 1 })
    } else if (next.kind === 'shrink') for (const lot of lots) lot.size *= next.share
    else {
      const isSweep = next.kind === 'sweep'
      const [low, high] = isSweep ? [mark * (1 - next.down), mark * (1 + next.up)] : [mark, mark]
      lots = lots.filter(({ side, price }) => (side === 'long' ? price < low : price > high))
    }
  }
  return { map, mark, lots }
}

/** Applies one step. @returns the mark after it. */
function take(map: ZoneMap, mark: number, next: Step): number {
  switch (next.kind) {
    case 'mark':
      map.mark(mark * (1 + next.move))
      return mark * (1 + next.move)
    case 'open':
      map.open(next.tier, next.side, priceOf(mark, next), 1)
      return mark
    case 'shrink':
      map.shrink(next.share)
      return mark
    case 'sweep':
      map.sweep(mark * (1 - next.down), mark * (1 + next.up))
      return mark
    default:
      return next satisfies never
  }
}

function sumOf(map: ZoneMap, side: Side, tier: number): number {
  let sum = 0
  for (let bucket = map.from(side); bucket < map.until(side); bucket += 1)
    sum += map.sizeAt(tier, bucket)
  return sum
}
