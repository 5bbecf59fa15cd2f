import { fc, test as property } from '@fast-check/vitest'
import { describe, expect, test } from 'vitest'
import { riskFlagsOf } from './risk-flags.ts'
import type { Votes } from './summary.ts'
import { summaryOf, voteOf } from './summary.ts'

const vote = fc.constantFrom(-1 as const, 0 as const, 1 as const)
const votes = fc.record({ pulse: vote, sentiment: vote, funding: vote })

describe('the summary of a bundle', () => {
  test.each([
    { votes: { pulse: 1, sentiment: 1, funding: 1 }, bias: 'bullish', confidence: 1, agree: 3 },
    { votes: { pulse: 1, sentiment: -1, funding: -1 }, bias: 'bullish', confidence: 0.2, agree: 1 },
    { votes: { pulse: 0, sentiment: 1, funding: -1 }, bias: 'neutral', confidence: 0, agree: 1 },
    { votes: { pulse: 0, sentiment: 0, funding: -1 }, bias: 'bearish', confidence: 0.2, agree: 1 },
    { votes: { pulse: 0, sentiment: 0, funding: 0 }, bias: 'neutral', confidence: 0, agree: 3 },
    { votes: { pulse: 0, sentiment: 0, funding: null }, bias: 'neutral', confidence: 0, agree: 2 },
    {
      votes: { pulse: 1, sentiment: 0, funding: null },
      bias: 'bullish',
      confidence: 0.6,
      agree: 1,
    },
  ] as const)('of $votes is $bias by $confidence', ({ votes: given, bias, confidence, agree }) => {
    const summary = summaryOf(given)
    expect(summary.bias).toBe(bias)
    expect(summary.confidence).toBeCloseTo(confidence, 12)
    expect(summary.agreeCount).toBe(agree)
  })

  test('lists conflicting components, with funding as contrarian', () => {
    expect(summaryOf({ pulse: 1, sentiment: 0, funding: -1 }).conflicts).toEqual([
      {
        between: ['pulse', 'funding'],
        detail: 'pulse is bullish, funding (contrarian) is bearish.',
      },
    ])
  })

  property.prop([votes])('turned around is its mirror', (given) => {
    const mirrored = Object.fromEntries(
      Object.entries(given).map(([name, value]) => [name, 0 - value]),
    ) as Votes
    const [one, other] = [summaryOf(given), summaryOf(mirrored)]
    expect(voteOf(other.bias) + voteOf(one.bias)).toBe(0)
    expect(other.confidence).toBe(one.confidence)
    expect(other.agreeCount).toBe(one.agreeCount)
    expect(other.conflicts.map(({ between }) => between)).toEqual(
      one.conflicts.map(({ between }) => between),
    )
  })

  property.prop([votes])(
    'has a conflict for every pair that points in opposite directions',
    (given) => {
      const pairs = [
        given.pulse * given.sentiment,
        given.pulse * given.funding,
        given.sentiment * given.funding,
      ]
      expect(summaryOf(given).conflicts).toHaveLength(pairs.filter((product) => product < 0).length)
    },
  )
})

describe('risk flags', () => {
  const calm = {
    fundingDirection: 0,
    isThin: false,
    volatilityPercentile: 50,
    inputs: [{ name: 'book', confirmedAtMs: 1_000, cadenceMs: 6_000, isLoadBearing: true }],
    isPegBroken: false,
    nowMs: 12_999,
  } as const

  test('are empty without risks', () => {
    expect(riskFlagsOf(calm)).toEqual([])
  })

  test.each([
    { changes: { fundingDirection: -1 }, flag: 'crowded_long' },
    { changes: { fundingDirection: 1 }, flag: 'crowded_short' },
    { changes: { isThin: true }, flag: 'thin_liquidity' },
    { changes: { volatilityPercentile: 80 }, flag: 'high_volatility' },
    { changes: { nowMs: 13_000 }, flag: 'stale_input' },
    { changes: { isPegBroken: true }, flag: 'weak_peg' },
  ] as const)('of $changes are $flag alone', ({ changes, flag }) => {
    expect(riskFlagsOf({ ...calm, ...changes })).toEqual([flag])
  })

  test('ignore an unknown volatility', () => {
    expect(riskFlagsOf({ ...calm, volatilityPercentile: null })).toEqual([])
  })
})
