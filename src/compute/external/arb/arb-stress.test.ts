import { fc, test as property } from '@fast-check/vitest'
import { describe, expect, test } from 'vitest'
import type { StressName } from './arb-stress.ts'
import {
  historyShare,
  ScoreCorrelation,
  stressIndex,
  stressNames,
  stressRules,
  stressScore,
} from './arb-stress.ts'

const NONE = new Float64Array(0)
const MINUTE_MS = 60_000
const unit = fc.double({ min: 0, max: 1, noNaN: true })
const fiveScores = fc.array(unit, { minLength: 5, maxLength: 5 })
/** Symmetric, ones on the diagonal, nothing negative. */
const correlations = fc
  .array(unit, { minLength: 10, maxLength: 10 })
  .map((entries) =>
    stressNames.map((_, row) =>
      stressNames.map((__, column) =>
        row === column ? 1 : (entries[pairAt(row, column)] as number),
      ),
    ),
  )

describe('the score of a component', () => {
  test.each([
    { name: 'dispersion', raw: 2, score: 0 },
    { name: 'dispersion', raw: 21, score: 0.5 },
    { name: 'dispersion', raw: 40, score: 1 },
    { name: 'dispersion', raw: 400, score: 1 },
    { name: 'band_excess', raw: 0, score: 0 },
    { name: 'band_excess', raw: 15, score: 0.25 },
    { name: 'breadth', raw: 0.3, score: 0.5 },
    { name: 'persistence', raw: 60, score: 0 },
    { name: 'persistence', raw: 930, score: 0.5 },
    { name: 'plumbing', raw: 0.125, score: 0.25 },
  ] as const)('$name of $raw is $score without a history', ({ name, raw, score }) => {
    expect(stressScore(name, raw, NONE)).toBeCloseTo(score, 12)
  })

  test('is 0.35 of it rank once a day is known, those equal counting half', () => {
    const day = Float64Array.from({ length: 1_440 }, (_, at) => (at < 720 ? 5 : 21))
    expect(stressScore('dispersion', 21, day)).toBeCloseTo(0.65 * 0.5 + 0.35 * 0.75, 12)
  })

  test.each([
    { minutes: 0, share: 0 },
    { minutes: 59, share: 0 },
    { minutes: 60, share: 0.35 / 24 },
    { minutes: 720, share: 0.175 },
    { minutes: 1_440, share: 0.35 },
    { minutes: 5_000, share: 0.35 },
  ])('rank counts $share after $minutes minutes', ({ minutes, share }) => {
    expect(historyShare(minutes)).toBeCloseTo(share, 12)
  })

  property.prop([
    fc.constantFrom(...stressNames),
    fc.double({ min: 0, max: 3_000, noNaN: true }),
    fc.double({ min: 0, max: 3_000, noNaN: true }),
    fc.float64Array({ min: 0, max: 3_000, noNaN: true, maxLength: 200 }),
  ])('rises with the measure and stays between 0 and 1', (name, one, other, past) => {
    const ascending = past.toSorted()
    const low = stressScore(name, Math.min(one, other), ascending)
    const high = stressScore(name, Math.max(one, other), ascending)
    expect(high).toBeGreaterThanOrEqual(low - 1e-12)
    expect(low).toBeGreaterThanOrEqual(0)
    expect(high).toBeLessThanOrEqual(1 + 1e-12)
  })
})

describe('the index', () => {
  test('has weights that add up to one', () => {
    expect(stressNames.reduce((sum, name) => sum + stressRules[name].weight, 0)).toBeCloseTo(1, 12)
  })

  property.prop([fiveScores])('of fully correlated scores is their weighted mean', (scores) => {
    const all = stressNames.map(() => stressNames.map(() => 1))
    expect(stressIndex(scores, all).index).toBeCloseTo(100 * weightedMean(scores), 9)
  })

  property.prop([fiveScores])('of unrelated scores is the root of their squares', (scores) => {
    const none = stressNames.map((_, row) => stressNames.map((__, at) => (row === at ? 1 : 0)))
    const squares = stressNames.map((name, at) => (weightOf(name) * (scores[at] as number)) ** 2)
    expect(stressIndex(scores, none).index).toBeCloseTo(
      100 * Math.sqrt(squares.reduce((sum, square) => sum + square, 0)),
      9,
    )
  })

  property.prop([fiveScores, correlations])(
    'lies between 0 and the weighted mean, and its contributions add up to it',
    (scores, correlation) => {
      const { index, weightedAverage, contributions } = stressIndex(scores, correlation)
      expect(index).toBeGreaterThanOrEqual(0)
      expect(index).toBeLessThanOrEqual(weightedAverage + 1e-9)
      expect(weightedAverage).toBeLessThanOrEqual(100 + 1e-9)
      expect(contributions.reduce((sum, each) => sum + each, 0)).toBeCloseTo(index, 9)
    },
  )

  property.prop([fiveScores, correlations, fc.nat({ max: 4 }), unit])(
    'does not fall when a component rises',
    (scores, correlation, at, more) => {
      const raised = scores.with(at, Math.max(scores[at] as number, more))
      expect(stressIndex(raised, correlation).index).toBeGreaterThanOrEqual(
        stressIndex(scores, correlation).index - 1e-9,
      )
    },
  )

  test('of nothing is nothing', () => {
    const all = stressNames.map(() => stressNames.map(() => 1))
    expect(stressIndex([0, 0, 0, 0, 0], all)).toEqual({
      index: 0,
      weightedAverage: 0,
      contributions: [0, 0, 0, 0, 0],
    })
  })
})

describe('the correlation of scores', () => {
  test('is whole where they are on one side of 0.5, and none where they are not', () => {
    const correlation = new ScoreCorrelation()
    correlation.take([0.1, 0.2, 0.9, 0.5, 0], 0)
    const rows = correlation.rows()
    expect(rows[0]?.map((entry) => Math.round(entry * 1e9) / 1e9)).toEqual([1, 1, 0, 0, 1])
    expect(rows[2]?.map((entry) => Math.round(entry * 1e9) / 1e9)).toEqual([0, 0, 1, 0, 0])
    expect(rows[3], 'one that stands at 0.5 has none').toEqual([0, 0, 0, 1, 0])
  })

  test('of two samples a minute apart is what the decay makes of them', () => {
    const correlation = new ScoreCorrelation()
    correlation.take([0.9, 0.9, 0, 0, 0], 0)
    correlation.take([0.7, 0.4, 0, 0, 0], MINUTE_MS)
    const moment = (was: number, is: number) => 0.93 * was + 0.07 * is
    const expected = moment(0.16, 0.2 * -0.1) / Math.sqrt(moment(0.16, 0.04) * moment(0.16, 0.01))
    expect(correlation.rows()[0]?.[1]).toBeCloseTo(expected, 12)
  })

  test('takes one sample once, and forgets as fast however often it is asked', () => {
    const [seldom, often] = [new ScoreCorrelation(), new ScoreCorrelation()]
    const [before, after] = [
      [0.9, 0.1, 0, 0, 0],
      [0.7, 0.8, 0, 0, 0],
    ] as const
    for (const correlation of [seldom, often]) correlation.take(before, 0)
    seldom.take(after, MINUTE_MS)
    for (let at = 1; at <= 6; at += 1) {
      often.take(after, at * 10_000)
      often.take(after, at * 10_000)
    }
    expect(often.rows()[0]?.[1]).toBeCloseTo(seldom.rows()[0]?.[1] ?? -1, 12)
  })

  test('survives being saved, and refuses what it did not save', () => {
    const [one, other] = [new ScoreCorrelation(), new ScoreCorrelation()]
    one.take([0.9, 0.3, 0.2, 0.6, 0], 0)
    expect(other.restore(Float64Array.from(one.save()))).toBe(true)
    expect(other.rows()).toEqual(one.rows())
    expect(other.restore(new Float64Array(3))).toBe(false)
  })
})

function weightedMean(scores: readonly number[]): number {
  return stressNames.reduce((sum, name, at) => sum + weightOf(name) * (scores[at] as number), 0)
}

function weightOf(name: StressName): number {
  return stressRules[name].weight
}

/** Place of a pair of five among ten, in either order. */
function pairAt(one: number, other: number): number {
  const [low, high] = [Math.min(one, other), Math.max(one, other)]
  return low * 4 - (low * (low - 1)) / 2 + (high - low - 1)
}
