import { fc, test as property } from '@fast-check/vitest'
import { sampleRankCorrelation } from 'simple-statistics'
import { describe, expect, test } from 'vitest'
import { compacted, fieldOf, newBlock, sumOf } from './blocks.ts'
import { pinballLoss, scoreOf } from './claim-score.ts'
import { Evidence } from './evidence.ts'
import { figuresOf } from './figures.ts'
import { rankCorrelation } from './rank-correlation.ts'
import { seededRandom } from './seeded-random.ts'
import { event, plantedClaim } from './testing/planted-claims.ts'
import { wilsonInterval } from './wilson.ts'

describe('Wilson interval', () => {
  // R. G. Newcombe, Two-sided confidence intervals for the single proportion, 1998, table I.
  test.each([
    { hits: 81, count: 263, low: 0.2553, high: 0.3662 },
    { hits: 15, count: 148, low: 0.0624, high: 0.1605 },
    { hits: 0, count: 20, low: 0, high: 0.1611 },
    { hits: 1, count: 29, low: 0.0061, high: 0.1718 },
  ])('of $hits of $count is $low to $high', ({ hits, count, low, high }) => {
    const found = wilsonInterval(hits / count, count)
    expect(found[0]).toBeCloseTo(low, 4)
    expect(found[1]).toBeCloseTo(high, 4)
  })
})

describe('rank correlation', () => {
  property.prop([
    fc.uniqueArray(fc.double({ min: -1e6, max: 1e6, noNaN: true }), {
      minLength: 3,
      maxLength: 40,
    }),
    fc.nat(),
  ])('of distinct values equals that of simple-statistics', (xs, seed) => {
    const random = seededRandom(seed)
    const ys = xs.map(() => random())
    expect(rankCorrelation(xs, ys)).toBeCloseTo(sampleRankCorrelation(xs, ys), 9)
  })

  test('gives equal values their mean rank', () => {
    // By hand: ranks 1.5, 1.5, 3, 4 against 1, 2, 3, 4.
    expect(rankCorrelation([5, 5, 6, 7], [1, 2, 3, 4])).toBeCloseTo(4.5 / Math.sqrt(4.5 * 5), 12)
  })

  test('of a constant is NaN', () => {
    expect(rankCorrelation([1, 1, 1], [1, 2, 3])).toBeNaN()
  })
})

describe('score', () => {
  test('pinball loss by hand', () => {
    // Value 10, every quantile 9: 1 x the mean level. Every quantile 11: 1 x (1 - the mean level).
    expect(pinballLoss(Array(7).fill(9), 10)).toBeCloseTo(0.5, 12)
    expect(pinballLoss([9, 9, 9, 10, 11, 11, 11], 10)).toBeCloseTo(
      (2 * (0.025 + 0.1 + 0.25)) / 7,
      12,
    )
  })

  property.prop([fc.integer({ min: -20, max: 20 })])(
    'pinball loss is least for the true quantiles of a uniform value',
    (shift) => {
      const values = Array.from({ length: 1_001 }, (_, at) => at / 1_000)
      const truth = [0.025, 0.1, 0.25, 0.5, 0.75, 0.9, 0.975]
      const lossOf = (quantiles: readonly number[]) =>
        values.reduce((sum, value) => sum + pinballLoss(quantiles, value), 0)
      expect(lossOf(truth.map((one) => one + shift / 100))).toBeGreaterThanOrEqual(
        lossOf(truth) - 1e-9,
      )
    },
  )

  test('of an event is its Brier loss beside that of the control', () => {
    expect(scoreOf(plantedClaim(1, ...event(0.8, true, 0.6)))).toEqual({
      own: 1,
      control: 0.6,
      loss: expect.closeTo(0.04, 12),
      controlLoss: expect.closeTo(0.16, 12),
      inside: [],
    })
  })

  test('of a void claim is none', () => {
    const [statement] = event(0.5, true)
    expect(scoreOf(plantedClaim(1, statement, { kind: 'void', reason: 'gap' }))).toBeNull()
  })
})

/** Blocks of events: hits of ten claims each, with a control of 0.5. */
const blocksOf = (hits: readonly number[]) =>
  hits.map((own, day) => {
    const block = newBlock(day)
    block.set([day, 1, 10, 0, 0, 10, own, 5, 2.5, 2.5])
    return block
  })

describe('lift', () => {
  test('interval of independent days agrees with the normal approximation', () => {
    const random = seededRandom(3)
    const hits = Array.from(
      { length: 400 },
      () => Array.from({ length: 10 }, () => random()).filter((one) => one < 0.6).length,
    )
    const { lift, liftLow, liftHigh, rate } = figuresOf('event', blocksOf(hits))
    const deviation = Math.sqrt((rate * (1 - rate)) / 4_000) / 0.5
    expect(lift).toBeCloseTo(rate / 0.5, 12)
    expect(liftLow).toBeCloseTo(lift - 1.96 * deviation, 1)
    expect((liftHigh - liftLow) / (2 * 1.96 * deviation)).toBeGreaterThan(0.85)
    expect((liftHigh - liftLow) / (2 * 1.96 * deviation)).toBeLessThan(1.15)
  })

  property.prop([fc.array(fc.integer({ min: 0, max: 10 }), { minLength: 2, maxLength: 60 })], {
    numRuns: 30,
  })('has an interval, and is the same twice', (hits) => {
    const found = figuresOf('event', blocksOf(hits))
    expect(figuresOf('event', blocksOf(hits))).toEqual(found)
    expect(found.liftLow).toBeLessThanOrEqual(found.liftHigh)
    expect(found.effective).toBeLessThanOrEqual(found.observed)
    expect(found.rateLow).toBeLessThanOrEqual(found.rate + 1e-12)
    expect(found.rateHigh).toBeGreaterThanOrEqual(found.rate - 1e-12)
  })

  test('with fewer than ten days the days count', () => {
    expect(figuresOf('event', blocksOf([5, 5, 5, 5])).effective).toBe(4)
  })

  test.each([0, 10])(
    'while %i of every ten claims are hits the days count: nothing shows how claims of a day depend',
    (hits) => {
      expect(figuresOf('event', blocksOf(Array(30).fill(hits))).effective).toBe(30)
    },
  )

  test('interval covers the truth where each day shares a half with the next', () => {
    // MA(1) with equal weights: the variance of the sum is twice that of independent days.
    const covered = Array.from({ length: 300 }, (_, seed) => {
      const random = seededRandom(9_000 + seed)
      const shocks = Array.from({ length: 61 }, () => random() - 0.5)
      const hits = shocks.slice(1).map((shock, at) => 5 + 4 * (shock + (shocks[at] as number)))
      const { liftLow, liftHigh } = figuresOf('event', blocksOf(hits))
      return liftLow <= 1 && 1 <= liftHigh
    }).filter(Boolean).length
    // 250 of 300 without the dependence.
    expect(covered / 300).toBeGreaterThan(0.91)
  })
})

describe('blocks', () => {
  property.prop([fc.integer({ min: 1, max: 1_500 })], { numRuns: 20 })(
    'keep every claim and stay few when old days are merged',
    (days) => {
      let blocks: readonly Float64Array[] = []
      for (let day = 0; day < days; day += 1) {
        const block = newBlock(20_000 + day)
        block[2] = day % 7
        block[5] = 1
        blocks = compacted([...blocks, block], 20_000 + day)
      }
      const expected = Array.from({ length: days }, (_, day) => day % 7)
      expect(sumOf(blocks, 'observed')).toBe(expected.reduce((sum, one) => sum + one, 0))
      expect(sumOf(blocks, 'days')).toBe(days)
      expect(blocks.length).toBeLessThanOrEqual(36 + 14 + 1 + days / 28)
      expect(fieldOf(blocks[0] as Float64Array, 'day')).toBe(20_000)
    },
  )

  test('count only days with outcomes when they are merged', () => {
    let blocks: readonly Float64Array[] = []
    // Outcomes on every third day, void claims on the next, nothing on the one after.
    for (let day = 0; day < 300; day += 1) {
      if (day % 3 === 2) continue
      const block = newBlock(20_000 + day)
      if (day % 3 === 0) block.set([day, 1, 10, 0, 0, 10, 10, 5, 0, 2.5])
      else block[3] = 10
      block[0] = 20_000 + day
      blocks = compacted([...blocks, block], 20_000 + day)
    }
    const { days, effective, observed, voids } = figuresOf('event', blocks)
    expect({ days, effective, observed, voids }).toEqual({
      ...{ days: 100, effective: 100, observed: 1_000, voids: 1_000 },
    })
  })
})

describe('evidence', () => {
  test('without an advantage exceeds 20 in fewer than one of twenty seeds, looked at every day', () => {
    const exceeded = Array.from({ length: 400 }, (_, seed) => {
      const random = seededRandom(seed)
      const evidence = new Evidence()
      let most = 0
      for (let day = 0; day < 500; day += 1) {
        evidence.add((random() + random() + random() - 1.5) / 5, 0)
        most = Math.max(most, evidence.above, evidence.below)
      }
      return most
    }).filter((most) => most >= 20).length
    // Two sides, each at most one in twenty.
    expect(exceeded).toBeLessThanOrEqual(40)
    expect(exceeded).toBeGreaterThan(0)
  })

  test('of a steady advantage grows without bound', () => {
    const evidence = new Evidence()
    for (let day = 0; day < 60; day += 1) evidence.add(0.3, 0)
    expect(evidence.above).toBeGreaterThan(1e5)
    expect(evidence.below).toBe(1)
  })
})
