import { test as property } from '@fast-check/vitest'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Timeframe } from '../../../domain/timeframe.ts'
import { timeframes } from '../../../domain/timeframe.ts'
import type { TrendDirection } from '../../indicators/trend.ts'
import type { SignalName, Votes } from './confluence.ts'
import { confluenceOf, signalRules, votesOf } from './confluence.ts'

const vote = fc.constantFrom<TrendDirection>(-1, 0, 1)
const anyVotes: fc.Arbitrary<Votes> = fc.record(
  { rsi: vote, trend: vote, bollinger: vote, zscore: vote, vwap: vote },
  { requiredKeys: ['rsi', 'trend', 'bollinger', 'zscore'] },
)
const requested: fc.Arbitrary<ReadonlyMap<Timeframe, Votes>> = fc
  .uniqueArray(fc.tuple(fc.constantFrom(...timeframes), anyVotes), {
    minLength: 1,
    selector: ([timeframe]) => timeframe,
  })
  .map((entries) => new Map(entries))

const signOf = { bullish: 1, neutral: 0, bearish: -1 } as const

describe('confluence', () => {
  property.prop([requested])('can be recomputed from the labels that it shows', (votes) => {
    const { signals, net, score, bias, bullishCount, bearishCount } = confluenceOf(votes)
    const shown = Object.entries(signals) as [SignalName, keyof typeof signOf][]
    const weights = shown.reduce((sum, [name]) => sum + signalRules[name].weight, 0)
    const sum = shown.reduce(
      (total, [name, label]) => total + signalRules[name].weight * signOf[label],
      0,
    )
    expect(net).toBeCloseTo(sum / weights, 12)
    expect(score).toBe(Math.abs(net))
    expect(bias).toBe(net >= 0.25 ? 'bullish' : net <= -0.25 ? 'bearish' : 'neutral')
    expect(bullishCount).toBe(shown.filter(([, label]) => label === 'bullish').length)
    expect(bearishCount).toBe(shown.filter(([, label]) => label === 'bearish').length)
  })

  property.prop([requested])('mirrors when every vote is reversed', (votes) => {
    const mirrored = new Map(
      [...votes].map(([timeframe, cast]) => [
        timeframe,
        Object.fromEntries(
          Object.entries(cast).map(([name, value]) => [name, -value as TrendDirection]),
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
    const only = (trend: TrendDirection): Votes => ({ rsi: 0, trend, bollinger: 0, zscore: 0 })
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
    const withVwap: Votes = { rsi: 0, trend: 0, bollinger: 0, zscore: 0, vwap: 1 }
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

  test('trend followers that agree carry the score while the others abstain', () => {
    const votes: Votes = { rsi: 1, trend: 1, bollinger: 0, zscore: 0, vwap: 1 }
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
    expect(votesOf({ ...neutral, rsi_zone: zone }, 100).rsi).toBe(expected)
  })

  test.each([
    [0.19, 1],
    [0.2, 0],
    [0.8, 0],
    [0.81, -1],
    [null, 0],
  ] as const)('a band position of %s votes %i', (position_pct, expected) => {
    const bollinger = { ...neutral.bollinger, position_pct }
    expect(votesOf({ ...neutral, bollinger }, 100).bollinger).toBe(expected)
  })

  test.each([
    [-1.5, 1],
    [-1.49, 0],
    [1.5, -1],
    [null, 0],
  ] as const)('a z-score of %s votes %i', (zscore_100, expected) => {
    expect(votesOf({ ...neutral, zscore_100 }, 100).zscore).toBe(expected)
  })

  test('price against VWAP counts beyond a quarter of the ATR', () => {
    expect(votesOf(neutral, 101).vwap).toBe(0)
    expect(votesOf(neutral, 101.01).vwap).toBe(1)
    expect(votesOf(neutral, 98.99).vwap).toBe(-1)
  })

  test('there is no VWAP vote without volume', () => {
    expect(votesOf({ ...neutral, vwap_20: null }, 100)).not.toHaveProperty('vwap')
  })
})
