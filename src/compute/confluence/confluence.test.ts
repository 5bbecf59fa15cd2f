import { test as property } from '@fast-check/vitest'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Timeframe } from '../../domain/timeframe.ts'
import { timeframes } from '../../domain/timeframe.ts'
import type { TrendDirection } from '../indicators/trend.ts'
import type { Family, SignalName } from './confluence.ts'
import { confluenceOf, families, signalNames, signalRules } from './confluence.ts'
import type { CandleVotes, DerivativeVotes } from './votes.ts'
import { candleVotes, fundingVote, interestVote } from './votes.ts'

const vote = fc.constantFrom<TrendDirection>(-1, 0, 1)
const anyVotes: fc.Arbitrary<CandleVotes> = fc.record(
  { rsi: vote, trend: vote, bollinger: vote, zscore: vote, vwap: vote },
  { requiredKeys: ['rsi', 'trend', 'bollinger', 'zscore'] },
)
const requested: fc.Arbitrary<ReadonlyMap<Timeframe, CandleVotes>> = fc
  .uniqueArray(fc.tuple(fc.constantFrom(...timeframes), anyVotes), {
    minLength: 1,
    selector: ([timeframe]) => timeframe,
  })
  .map((entries) => new Map(entries))

const anyDerivatives: fc.Arbitrary<DerivativeVotes> = fc.record(
  { funding: vote, oi: vote },
  { requiredKeys: [] },
)

const signOf = { bullish: 1, neutral: 0, bearish: -1 } as const

describe('confluence', () => {
  property.prop([requested, anyDerivatives])(
    'can be recomputed from the labels that it shows',
    (votes, derivatives) => {
      const result = confluenceOf(votes, derivatives)
      const shown = Object.entries(result.signals) as [SignalName, keyof typeof signOf][]
      const netOf = (entries: typeof shown) => {
        const weights = entries.reduce((sum, [name]) => sum + signalRules[name].weight, 0)
        const sum = entries.reduce(
          (total, [name, label]) => total + signalRules[name].weight * signOf[label],
          0,
        )
        return sum / weights
      }
      const { net } = result
      expect(net).toBeCloseTo(netOf(shown), 12)
      expect(result.score).toBe(Math.abs(net))
      expect(result.bias).toBe(net >= 0.25 ? 'bullish' : net <= -0.25 ? 'bearish' : 'neutral')
      expect(result.bullishCount).toBe(shown.filter(([, label]) => label === 'bullish').length)
      expect(result.bearishCount).toBe(shown.filter(([, label]) => label === 'bearish').length)
      const votesCast = shown.map(([, label]) => (signOf[label] + 1) / 2)
      expect(result.voteShare).toBeCloseTo(
        votesCast.reduce((sum, cast) => sum + cast, 0) / votesCast.length,
        12,
      )
      for (const family of families) {
        const members = shown.filter(([name]) => signalRules[name].family === family)
        if (members.length === 0) expect(result.families[family]).toBeNull()
        else expect(result.families[family]).toBeCloseTo(netOf(members), 12)
      }
    },
  )

  property.prop([requested, anyDerivatives])(
    'names every two families that disagree, once',
    (votes, derivatives) => {
      const { families: nets, conflicts } = confluenceOf(votes, derivatives)
      const disagree = (one: Family, other: Family) =>
        Math.sign(nets[one] ?? 0) * Math.sign(nets[other] ?? 0) === -1
      for (const one of families) {
        for (const other of families) {
          if (one === other) continue
          const named = conflicts.filter((pair) => pair.includes(one) && pair.includes(other))
          expect(named).toHaveLength(disagree(one, other) ? 1 : 0)
        }
      }
    },
  )

  property.prop([requested, anyDerivatives])(
    'holds funding and open interest exactly where they are known',
    (votes, derivatives) => {
      const { signals } = confluenceOf(votes, derivatives)
      for (const name of ['funding', 'oi'] as const)
        expect(signals[name]).toBe(
          derivatives[name] === undefined
            ? undefined
            : (['bearish', 'neutral', 'bullish'] as const)[derivatives[name] + 1],
        )
      expect(signalNames).toEqual(expect.arrayContaining(Object.keys(signals)))
    },
  )

  property.prop([requested])('mirrors when every vote is reversed', (votes) => {
    const mirrored = new Map(
      [...votes].map(([timeframe, cast]) => [
        timeframe,
        Object.fromEntries(
          Object.entries(cast).map(([name, value]) => [name, -(value ?? 0) as TrendDirection]),
        ),
      ]),
    )
    expect(confluenceOf(mirrored).net).toBeCloseTo(-confluenceOf(votes).net, 12)
  })

  property.prop([anyVotes, fc.constantFrom(...timeframes)])(
    'of a single timeframe is that timeframe',
    (votes, timeframe) => {
      const { net, perTimeframe, isAligned } = confluenceOf(new Map([[timeframe, votes]]))
      expect(perTimeframe[timeframe]?.net).toBe(net)
      expect(isAligned).toBe(true)
    },
  )

  test('weighs 4h above 1h above 15m, and labels at half', () => {
    const only = (trend: TrendDirection): CandleVotes => ({
      rsi: 0,
      trend,
      bollinger: 0,
      zscore: 0,
    })
    const trendOf = (quarter: TrendDirection, hour: TrendDirection, four: TrendDirection) =>
      confluenceOf(
        new Map([
          ['15m', only(quarter)],
          ['1h', only(hour)],
          ['4h', only(four)],
        ]),
      ).signals.trend
    expect(trendOf(0, 0, 1), '3 of 6').toBe('bullish')
    expect(trendOf(1, 1, 0), '3 of 6').toBe('bullish')
    expect(trendOf(0, 1, 0), '2 of 6').toBe('neutral')
    expect(trendOf(1, -1, -1), '-4 of 6').toBe('bearish')
  })

  test('leaves a signal out when one requested timeframe cannot cast it', () => {
    const withVwap: CandleVotes = { rsi: 0, trend: 0, bollinger: 0, zscore: 0, vwap: 1 }
    const { vwap: _, ...without } = withVwap
    expect(
      confluenceOf(
        new Map([
          ['1h', withVwap],
          ['4h', without],
        ]),
      ).signals,
    ).not.toHaveProperty('vwap')
    expect(confluenceOf(new Map([['1h', withVwap]])).signals.vwap).toBe('bullish')
  })

  test('of the worked example: four of seven are bullish', () => {
    const votes: CandleVotes = { rsi: 1, trend: 1, bollinger: 0, zscore: 0, vwap: 1 }
    const result = confluenceOf(new Map([['1h', votes]]), { funding: 0, oi: 1 })
    expect(result.net).toBeCloseTo(4.25 / 6.5, 12)
    expect(result.net.toFixed(3)).toBe('0.654')
    expect(result).toMatchObject({ bias: 'bullish', bullishCount: 4, bearishCount: 0 })
    expect(result.families).toMatchObject({ trend_following: 1, flow: 1, contrarian: 0 })
    expect(result.perTimeframe['1h']?.net, 'without funding and oi').toBeCloseTo(3.25 / 4.75, 12)
  })

  test('trend followers that agree carry the score while the others abstain', () => {
    const votes: CandleVotes = { rsi: 1, trend: 1, bollinger: 0, zscore: 0, vwap: 1 }
    const { net, bias } = confluenceOf(new Map([['1h', votes]]))
    expect(net).toBeCloseTo((1 + 1.5 + 0.75) / 4.75, 12)
    expect(bias).toBe('bullish')
  })
})

describe('votes of one timeframe', () => {
  const neutral = {
    rsi_14: 50,
    rsi_zone: 'neutral',
    atr_14: 4,
    atr_pct: 4,
    ema_20: 100,
    ema_50: 100,
    ema_200: 100,
    vwap_20: 100,
    zscore_100: 0,
    bollinger: { upper: 104, middle: 100, lower: 96, width_pct: 8, position_pct: 0.5 },
    trend: { direction: 0, label: 'neutral', ema_stack: 'flat' },
  } as const

  test.each([
    ['bullish', 1],
    ['overbought', 0],
    ['bearish', -1],
    ['oversold', 0],
    ['neutral', 0],
  ] as const)('RSI in its %s zone votes %i', (zone, expected) => {
    expect(candleVotes({ ...neutral, rsi_zone: zone }, 100).rsi).toBe(expected)
  })

  test.each([
    [0.19, 1],
    [0.2, 0],
    [0.8, 0],
    [0.81, -1],
    [null, 0],
  ] as const)('a band position of %s votes %i', (position_pct, expected) => {
    const bollinger = { ...neutral.bollinger, position_pct }
    expect(candleVotes({ ...neutral, bollinger }, 100).bollinger).toBe(expected)
  })

  test.each([
    [-1.5, 1],
    [-1.49, 0],
    [1.5, -1],
    [null, 0],
  ] as const)('a z-score of %s votes %i', (zscore_100, expected) => {
    expect(candleVotes({ ...neutral, zscore_100 }, 100).zscore).toBe(expected)
  })

  test('price against VWAP counts beyond a quarter of the ATR', () => {
    expect(candleVotes(neutral, 101).vwap).toBe(0)
    expect(candleVotes(neutral, 101.01).vwap).toBe(1)
    expect(candleVotes(neutral, 98.99).vwap).toBe(-1)
  })

  test('while the last 20 closes are equal every signal abstains', () => {
    const still = {
      ...neutral,
      rsi_zone: 'bearish',
      atr_14: 0,
      vwap_20: 100 - 1e-13,
      zscore_100: -3,
      bollinger: { upper: 100, middle: 100, lower: 100, width_pct: 0, position_pct: null },
      trend: { direction: -1, label: 'bearish', ema_stack: 'bear_aligned' },
    } as const
    const abstained = { rsi: 0, trend: 0, bollinger: 0, zscore: 0 }
    expect(candleVotes(still, 100)).toEqual({ ...abstained, vwap: 0 })
    expect(candleVotes({ ...still, vwap_20: null }, 100)).toEqual(abstained)
  })

  test('there is no VWAP vote without volume', () => {
    expect(candleVotes({ ...neutral, vwap_20: null }, 100)).not.toHaveProperty('vwap')
  })
})

describe('votes of the derivative', () => {
  test.each([
    ['SHORT_PAYING', 'MODERATE', 1],
    ['SHORT_PAYING', 'EXTREME', 1],
    ['SHORT_PAYING', 'LOW', 0],
    ['LONG_PAYING', 'HIGH', -1],
    ['LONG_PAYING', 'EXTREME', -1],
    ['LONG_PAYING', 'MODERATE', 0],
    ['NEUTRAL', 'LOW', 0],
    ['LONG_PAYING', 'UNKNOWN', null],
    ['UNKNOWN', 'UNKNOWN', null],
  ] as const)('funding that is %s and crowded %s votes %s', (bias, crowding, expected) => {
    expect(fundingVote({ bias, crowding })).toBe(expected)
  })

  test.each([
    ['LONG_BUILDUP', 1],
    ['SHORT_BUILDUP', -1],
    ['LONG_UNWIND', 0],
    ['SHORT_COVERING', 0],
    ['NEUTRAL', 0],
    ['UNKNOWN', null],
  ] as const)('open interest in %s votes %s', (positioning, expected) => {
    expect(interestVote(positioning)).toBe(expected)
  })
})
