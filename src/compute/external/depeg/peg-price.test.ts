import { fc, test as property } from '@fast-check/vitest'
import { describe, expect, test } from 'vitest'
import { bracketOf } from './peg-level.ts'
import type { ClassPrice, PegClass, PegVote } from './peg-price.ts'
import { classPriceOf, deviationBpsOf, pegClasses, pegPriceOf } from './peg-price.ts'

const vote = (priceUsd: number, weight = 1, over: Partial<PegVote> = {}): PegVote => ({
  priceUsd,
  confidenceBps: 1,
  resolutionBps: 0,
  unseenBps: 0,
  expectedErrorBps: null,
  weight,
  provider: '',
  ...over,
})

const classAt = (name: PegClass, offBps: number, over: Partial<ClassPrice> = {}): ClassPrice => ({
  class: name,
  priceUsd: 1 + offBps / 10_000,
  confidenceBps: 1,
  resolutionBps: 0,
  leansOn: null,
  providers: 1,
  ...over,
})

/** Oracle, exchange and cross at these bps from one dollar, the earlier ones with more providers. */
const pegAt = (...offBps: readonly number[]) =>
  priceBy(offBps, [3, 2, 1]) ?? expect.fail('one of two has more providers')

const priceBy = (offBps: readonly number[], providers: readonly number[]) =>
  pegPriceOf(
    offBps.map((off, at) =>
      classAt(pegClasses[at] ?? 'cross', off, { providers: providers[at] ?? 1 }),
    ),
  )

const off = fc.integer({ min: -1_500, max: 1_500 })
const offs = fc.array(off, { minLength: 1, maxLength: 3 })
const threeCounts = fc.array(fc.integer({ min: 0, max: 3 }), { minLength: 3, maxLength: 3 })

describe('the vote of a class', () => {
  property.prop([fc.array(off, { minLength: 3, maxLength: 9 }), off])(
    'stays within the correct votes when one is wrong',
    (honestBps, lieBps) => {
      const honest = honestBps.map((bps) => vote(1 + bps / 10_000))
      const price = classPriceOf('oracle', [...honest, vote(1 + lieBps / 10_000)])?.priceUsd
      expect(price).toBeGreaterThanOrEqual(Math.min(...honest.map(({ priceUsd }) => priceUsd)))
      expect(price).toBeLessThanOrEqual(Math.max(...honest.map(({ priceUsd }) => priceUsd)))
    },
  )

  test('takes confidence from those that give one', () => {
    const votes = [vote(1, 1, { confidenceBps: null }), vote(1, 0.1, { confidenceBps: 3 })]
    expect(classPriceOf('oracle', votes)?.confidenceBps).toBe(3)
    expect(classPriceOf('oracle', votes.slice(0, 1))?.confidenceBps).toBe(0)
  })

  test('has those behind it who are within 20 bps, each once, less those who contradict it', () => {
    const by = (provider: string, offBps: number, resolutionBps = 0) =>
      vote(1 + offBps / 1e4, 1, { provider, resolutionBps })
    const providersOf = (...votes: PegVote[]) => classPriceOf('oracle', votes)?.providers
    expect(providersOf(by('pyth', 0), by('pyth', 1), by('redstone', -2), by('other', 40))).toBe(1)
    expect(
      providersOf(by('pyth', 0), by('redstone', 0), by('chainlink', 40, 25)),
      'which it need not have seen',
    ).toBe(2)
    expect(providersOf(by('kraken', 0), by('other', 20), by('third', -20))).toBe(3)
    expect(providersOf(by('kraken', 0), by('other', 500)), 'no provider is near the median').toBe(0)
  })

  test('is none without votes', () => {
    expect(classPriceOf('oracle', [])).toBeNull()
    expect(pegPriceOf([])).toBeNull()
  })
})

describe('the price of a peg', () => {
  test('is the median of the classes, less what confidence and resolution explain', () => {
    const peg = pegPriceOf([
      classAt('oracle', -40, { confidenceBps: 2, resolutionBps: 25 }),
      classAt('exchange', -60, { confidenceBps: 4 }),
    ])
    expect(peg?.deviationBps).toBeCloseTo(-50, 9)
    expect(peg?.adjustedBps).toBeCloseTo(-50 + 3 + 12.5, 9)
    expect(peg?.adjusted95Bps).toBeCloseTo(-50 + 2.12 * 3 + 12.5, 9)
    expect(peg).toMatchObject({ disagreeing: [], isConfirmed: true, calledLevel: 2 })
    expect(peg?.dispersionBps).toBeCloseTo(20, 9)
  })

  test('is as far away above a dollar as below it', () => {
    expect(deviationBpsOf(0.999)).toBe(-10)
    expect(deviationBpsOf(1.001)).toBe(10)
  })

  test('is off by nothing where the noise explains it', () => {
    const peg = pegPriceOf([classAt('oracle', -20, { resolutionBps: 25 })])
    expect(peg?.adjustedBps === 0, 'of either sign').toBe(true)
    expect(peg?.calledLevel).toBe(0)
  })

  test('of two classes is that of the one with more providers, and the other is shown', () => {
    const peg = priceBy([0, -500], [3, 1])
    expect(peg).toMatchObject({
      deviationBps: 0,
      usedClasses: ['oracle'],
      disagreeing: ['exchange'],
      isConfirmed: false,
      calledLevel: 0,
    })
    expect(peg?.dispersionBps).toBeCloseTo(500, 6)
    expect(priceBy([0, -500], [1, 2])).toMatchObject({ usedClasses: ['exchange'], calledLevel: 1 })
    expect(priceBy([0, -15], [3, 1]), 'nor where they agree').toMatchObject({
      deviationBps: 0,
      disagreeing: [],
      isConfirmed: true,
    })
  })

  test('of two classes with equally many providers is their mean within 20 bps, and unknown beyond', () => {
    expect(priceBy([0, -20], [2, 2])?.deviationBps).toBeCloseTo(-10, 6)
    expect(priceBy([0, -21], [2, 2])).toBeNull()
    expect(priceBy([0, -500], [0, 0])).toBeNull()
    expect(priceBy([300, -300], [1, 1])).toBeNull()
    expect(priceBy([25, 500], [1, 1]), 'less than 25 with its confidence').toBeNull()
  })

  test('of two that are both beyond 25 bps on one side is known, though they are far apart', () => {
    expect(priceBy([-26, -300], [1, 1])).toMatchObject({ calledLevel: 2, isConfirmed: false })
    const leaning = [classAt('oracle', -26), classAt('cross', -300, { leansOn: 'oracle' })]
    expect(pegPriceOf(leaning), 'one witness is no two').toBeNull()
  })

  test('calls without confirmation for the highest level that two classes reach', () => {
    // The price is beyond 200 bps, the second class beyond 100.
    const peg = pegPriceOf([
      classAt('exchange', -300, { providers: 3 }),
      classAt('cross', -110, { providers: 1 }),
    ])
    expect(peg).toMatchObject({ isConfirmed: false, calledLevel: 3 })
    expect(peg?.deviationBps).toBeCloseTo(-300, 9)
  })

  test('calls for no level above 1 by one class alone, however far it is off', () => {
    expect(pegAt(-800)).toMatchObject({ calledLevel: 1, isConfirmed: false })
  })

  test('counts no class together with the one that it leans on', () => {
    const classes = [classAt('oracle', -300), classAt('cross', -300, { leansOn: 'oracle' })]
    expect(pegPriceOf(classes)).toMatchObject({ calledLevel: 1, isConfirmed: false })
    expect(pegPriceOf([...classes, classAt('exchange', -300)])).toMatchObject({ calledLevel: 4 })
  })

  test('a class that is not sure bears nothing out', () => {
    const unsure = classAt('exchange', -300, { confidenceBps: 290 })
    const classes = [classAt('oracle', -300), unsure, classAt('cross', 0)]
    expect(pegPriceOf(classes)).toMatchObject({ calledLevel: 1, isConfirmed: false })
  })

  property.prop([off, fc.integer({ min: -9, max: 9 }), fc.integer({ min: -9, max: 9 })])(
    'one lying class raises no level above 1',
    (lieBps, oneBps, otherBps) => {
      for (const place of [0, 1, 2]) {
        const all = [oneBps, otherBps]
        all.splice(place, 0, lieBps)
        expect(pegAt(...all).calledLevel).toBeLessThanOrEqual(1)
        // And of two, when a third is gone.
        expect(pegAt(lieBps, oneBps).calledLevel).toBeLessThanOrEqual(1)
      }
    },
  )

  property.prop([off, off, fc.integer({ min: 1, max: 4 }), fc.integer({ min: 1, max: 4 })])(
    'a class moves no price that more providers of another contradict',
    (honestBps, lieBps, fewer, more) => {
      const peg = priceBy([lieBps, honestBps], [fewer, fewer + more])
      expect(peg?.deviationBps).toBeCloseTo(honestBps, 5)
    },
  )

  property.prop([offs])('is the same on both sides of a dollar', (all) => {
    const below = pegAt(...all)
    const above = pegAt(...all.map((bps) => -bps))
    expect(above.deviationBps).toBeCloseTo(-below.deviationBps, 5)
    expect(above.adjustedBps).toBeCloseTo(-below.adjustedBps, 5)
    expect(above.calledLevel).toBe(below.calledLevel)
    expect(above.isConfirmed).toBe(below.isConfirmed)
  })

  property.prop([
    fc.array(fc.integer({ min: -1_500, max: 0 }), { minLength: 1, maxLength: 3 }),
    fc.nat({ max: 2 }),
    fc.integer({ min: 1, max: 800 }),
    threeCounts,
  ])('a lower price of any class calls for no lower level', (all, which, lowerBps, counts) => {
    const before = priceBy(all, counts)
    const after = priceBy(
      all.map((bps, at) => (at === which % all.length ? bps - lowerBps : bps)),
      counts,
    )
    // Without a price there is nothing to compare.
    fc.pre(before !== null && after !== null)
    expect(after.priceUsd).toBeLessThanOrEqual(before.priceUsd)
    expect(after.calledLevel).toBeGreaterThanOrEqual(before.calledLevel)
  })

  property.prop([offs])('never calls for more than its own adjusted distance', (all) => {
    const { adjustedBps, calledLevel } = pegAt(...all)
    expect(calledLevel).toBeLessThanOrEqual(bracketOf(Math.abs(adjustedBps)))
  })
})
