import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test as property } from '@fast-check/vitest'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { BookLevel } from '../../domain/event.ts'
import type { BookSide } from './book-walk.ts'
import { depthUsd, imbalanceWithin, sizeWithin, visibleBps, walk } from './book-walk.ts'

const EXAMPLES = join(
  import.meta.dirname,
  '../../../../shared/data/hl-api-fixtures/hyperliquid-math/WORKED-EXAMPLES.json',
)

const side: fc.Arbitrary<BookSide> = fc
  .record({
    direction: fc.constantFrom<1 | -1>(1, -1),
    steps: fc.array(
      fc.record({
        bps: fc.double({ min: 0.1, max: 30, noNaN: true }),
        sizeBase: fc.double({ min: 1e-3, max: 1e4, noNaN: true }),
      }),
      { minLength: 1, maxLength: 20 },
    ),
  })
  .map(({ direction, steps }) => {
    let awayBps = 0
    const levels = steps.map(({ bps, sizeBase }) => {
      awayBps += bps
      return { price: 100 * (1 + (direction * awayBps) / 10_000), sizeBase }
    })
    return { levels, mid: 100, direction }
  })
const notionalUsd = fc.double({ min: 1, max: 1e6, noNaN: true })

describe('walking a book', () => {
  test('a sale loses no more than its value', () => {
    const bids = { levels: [{ price: 95, sizeBase: 1 }], mid: 100, direction: -1 } as const
    expect(walk(bids, 500_000).slippageBps).toBe(10_000)
    const asks = { levels: [{ price: 105, sizeBase: 1 }], mid: 100, direction: 1 } as const
    expect(walk(asks, 500_000).slippageBps).toBeGreaterThan(10_000)
  })

  property.prop([side, notionalUsd])(
    'agrees with taking it in a thousand small bites',
    (book, usd) => {
      const fill = walk(book, usd)
      fc.pre(fill.method === 'book_walk')
      expect(fill.slippageBps).toBeCloseTo(naiveSlippageBps(book, usd), 6)
    },
  )

  property.prop([side, fc.double({ min: 0.01, max: 0.999999, noNaN: true })], { numRuns: 1_000 })(
    'is no model as long as the visible book fills it, down into the last level',
    (book, share) => {
      const fill = walk(book, share * depthUsd(book, Number.POSITIVE_INFINITY))
      expect(fill).toMatchObject({ method: 'book_walk', filledPct: 100 })
    },
  )

  property.prop([side, notionalUsd, fc.double({ min: 1, max: 3, noNaN: true })])(
    'never gets cheaper with size, also where the model takes over',
    (book, usd, factor) => {
      const small = walk(book, usd).slippageBps ?? 0
      const large = walk(book, usd * factor).slippageBps ?? 0
      expect(large).toBeGreaterThanOrEqual(small - 1e-9)
    },
  )

  property.prop([side, notionalUsd])(
    'the model is never better than the last visible level',
    (book, usd) => {
      const last = book.levels.at(-1)
      const fill = walk(book, usd)
      fc.pre(fill.method === 'model' && last !== undefined)
      const endless = { ...book, levels: [...book.levels, { price: last.price, sizeBase: 1e12 }] }
      expect(fill.slippageBps).toBeGreaterThanOrEqual((walk(endless, usd).slippageBps ?? 0) - 1e-9)
    },
  )

  test('a model that trades proved too cheap is scaled, one proved too dear not below the last level', () => {
    const asks: BookSide = { levels: [level(101, 10)], mid: 100, direction: 1 }
    expect(walk(asks, 4_040, 1.5).slippageBps).toBeCloseTo(300, 9)
    expect(walk(asks, 4_040, 0.1).slippageBps).toBeCloseTo(100, 9)
    expect(walk(asks, 1_010, 1.5).slippageBps, 'what is visible is no model').toBeCloseTo(100, 9)
  })

  property.prop([side, fc.double({ min: 0.1, max: 100, noNaN: true })])(
    'the largest size within a distance costs that distance, unless the book ends first',
    (book, withinBps) => {
      const { usd, isFloor } = sizeWithin(book, withinBps)
      const visibleUsd = depthUsd(book, Number.POSITIVE_INFINITY)
      expect(usd).toBeLessThanOrEqual(visibleUsd * (1 + 1e-12))
      if (isFloor) expect(walk(book, usd).slippageBps ?? 0).toBeLessThanOrEqual(withinBps + 1e-6)
      if (usd === 0) expect(walk(book, 1e-6).slippageBps ?? 0).toBeGreaterThan(withinBps - 1e-6)
      else if (usd < visibleUsd * (1 - 1e-9))
        expect(walk(book, usd).slippageBps ?? 0).toBeCloseTo(withinBps, 5)
    },
  )

  property.prop([side])('depth grows with distance up to the last visible level', (book) => {
    const visibleUsd = depthUsd(book, Number.POSITIVE_INFINITY)
    expect(depthUsd(book, visibleBps(book) + 1e-9)).toBeCloseTo(visibleUsd, 6)
    expect(depthUsd(book, 5)).toBeLessThanOrEqual(depthUsd(book, 10))
  })

  test.each([
    { mid: 1, bid: 0.999, ask: 1.001 },
    { mid: 1.5, bid: 1.4985, ask: 1.5015 },
  ])('a level exactly at a distance is within it on both sides of $mid', ({ mid, bid, ask }) => {
    const bids: BookSide = { levels: [level(bid, 1_000)], mid, direction: -1 }
    const asks: BookSide = { levels: [level(ask, 1_000)], mid, direction: 1 }
    expect([depthUsd(bids, 10), depthUsd(asks, 10)]).toEqual([bid * 1_000, ask * 1_000])
    expect(sizeWithin(bids, 10)).toEqual({ usd: bid * 1_000, isFloor: true })
    expect(sizeWithin(asks, 10)).toEqual({ usd: ask * 1_000, isFloor: true })
  })

  test('compares both sides up to the shorter reach of the two', () => {
    // Bids are visible to 4 bps, asks to 9 bps: of the asks only those within 4 bps count.
    const bids: BookSide = { levels: [level(99.99, 30), level(99.96, 10)], mid: 100, direction: -1 }
    const asks: BookSide = {
      levels: [level(100.01, 20), level(100.09, 900)],
      mid: 100,
      direction: 1,
    }
    const [bidUsd, askUsd] = [99.99 * 30 + 99.96 * 10, 100.01 * 20]
    const imbalance = imbalanceWithin(bids, asks, 10)
    expect(imbalance.reachBps).toBeCloseTo(4, 9)
    expect(imbalance.share).toBeCloseTo((bidUsd - askUsd) / (bidUsd + askUsd), 12)
  })

  property.prop([side, fc.double({ min: 0.1, max: 50, noNaN: true })])(
    'a level beyond the shorter reach changes no imbalance',
    (book, beyondBps) => {
      const asks: BookSide = { ...book, direction: 1, levels: awayFrom(book, 1) }
      const bids: BookSide = { ...book, direction: -1, levels: awayFrom(book, -1).slice(0, 3) }
      const reachBps = Math.min(visibleBps(bids), visibleBps(asks))
      const farther = level(100 * (1 + (visibleBps(asks) + beyondBps) / 10_000), 1e6)
      const found = imbalanceWithin(bids, { ...asks, levels: [...asks.levels, farther] }, 10)
      expect(found.share ?? 0).toBeCloseTo(imbalanceWithin(bids, asks, 10).share ?? 0, 9)
      expect(found.reachBps).toBeCloseTo(Math.min(10, reachBps), 9)
    },
  )

  test('the size within a distance is a floor where the side that limits it is taken whole', () => {
    const asks: BookSide = {
      levels: [level(100.05, 10), level(100.12, 10)],
      mid: 100,
      direction: 1,
    }
    // All of it costs 8.5 bps on average, though its last level is at 12.
    expect(sizeWithin(asks, 10)).toEqual({ usd: 100.05 * 10 + 100.12 * 10, isFloor: true })
    expect(sizeWithin(asks, 8).isFloor).toBe(false)
  })

  test('has the share of the order that the visible book fills, and a model beyond', () => {
    const asks: BookSide = { levels: [level(101, 10)], mid: 100, direction: 1 }
    const { slippageBps, filledPct, method } = walk(asks, 4_040)
    expect(slippageBps, 'four times the size, twice the cost').toBeCloseTo(200, 9)
    expect(filledPct).toBe(25)
    expect(method).toBe('model')
  })

  test('an empty side has no price', () => {
    expect(walk({ levels: [], mid: 100, direction: 1 }, 1_000)).toEqual({
      slippageBps: null,
      filledPct: 0,
      method: 'model',
    })
  })

  test.skipIf(!existsSync(EXAMPLES))(
    'agrees with the worked example of an external library (needs ../shared/data)',
    () => {
      const examples = JSON.parse(readFileSync(EXAMPLES, 'utf8')) as WorkedExample[]
      const example = examples.find(({ function: name }) => name === 'simulateBookFill')
      if (example === undefined) throw new Error('the file holds a book fill')
      const { levels, referencePrice } = example.input
      const { filledNotional, vwap } = example.expectedValue.data
      const asks = levels[1].map(({ px, sz }) => level(Number(px), Number(sz)))
      const mid = Number(referencePrice)
      const { slippageBps } = walk({ levels: asks, mid, direction: 1 }, Number(filledNotional))
      expect(mid * (1 + (slippageBps ?? 0) / 10_000)).toBeCloseTo(Number(vwap), 10)
    },
  )
})

type WorkedExample = {
  readonly function: string
  readonly input: {
    readonly levels: readonly [unknown, readonly { px: string; sz: string }[]]
    readonly referencePrice: string
  }
  readonly expectedValue: { readonly data: { filledNotional: string; vwap: string } }
}

function naiveSlippageBps(book: BookSide, usd: number): number {
  let left = usd
  let base = 0
  for (const { price, sizeBase } of book.levels) {
    for (let bite = 0; bite < 1_000; bite += 1) {
      const takenUsd = Math.min(left, (price * sizeBase) / 1_000)
      left -= takenUsd
      base += takenUsd / price
    }
  }
  return book.direction * (usd / base / book.mid - 1) * 10_000
}

/** The same distances from mid on the other side. */
function awayFrom({ levels, direction }: BookSide, to: 1 | -1): readonly BookLevel[] {
  return levels.map(({ price, sizeBase }) => level(100 + to * direction * (price - 100), sizeBase))
}

function level(price: number, sizeBase: number): BookLevel {
  return { price, sizeBase }
}
