import { fc, test as property } from '@fast-check/vitest'
import { describe, expect, test } from 'vitest'
import type { CoinSentiment } from './coin-sentiment.ts'
import { interestFlowOf } from './coin-sentiment.ts'
import type { SentimentScore, SentimentSource } from './sentiment-score.ts'
import {
  combined,
  indexDecay,
  noSurroundings,
  sentimentOf,
  sentimentSources,
  sentimentWeights,
} from './sentiment-score.ts'

const NOW_MS = Date.UTC(2026, 5, 1, 12)
const HOUR_MS = 3_600_000

const unknown = Number.NaN

/** Everything of it is known, and in the middle. */
const calm: CoinSentiment = {
  coin: 'BTC',
  bucket: 'Majors',
  openInterestUsd: 1e6,
  dayNotionalUsd: 1e7,
  fundingRateHourly: 0.2 / (24 * 365),
  fundingPercentile: 50,
  premiumBps: 0,
  return24h: 0,
  return7d: 0,
  isAboveDay: 0.5,
  isAboveWeek: 0.5,
  interestFlow: 0,
  volatilityPercentile: 50,
  downsideShare: 0.5,
  buyUsd: 1e5,
  sellUsd: 1e5,
  takerSteps: 48,
  lacksTrades: false,
  contextAtMs: NOW_MS - 3_000,
  candlesAtMs: NOW_MS - 2_000,
}

const within = (min: number, max: number) => fc.double({ min, max, noNaN: true })
const maybe = (figure: fc.Arbitrary<number>) =>
  fc.oneof({ weight: 4, arbitrary: figure }, fc.constant(unknown))

const coin: fc.Arbitrary<CoinSentiment> = fc
  .record({
    openInterestUsd: within(0, 1e9),
    dayNotionalUsd: within(0, 1e9),
    fundingRateHourly: maybe(within(-0.001, 0.001)),
    fundingPercentile: maybe(within(0, 100)),
    premiumBps: maybe(within(-50, 50)),
    return24h: maybe(within(-0.5, 0.5)),
    isAboveDay: maybe(fc.constantFrom(0, 0.5, 1)),
    isAboveWeek: maybe(fc.constantFrom(0, 0.5, 1)),
    interestFlow: maybe(fc.constantFrom(-1, -0.75, -0.5, 0, 0.5, 0.75, 1)),
    volatilityPercentile: maybe(within(0, 100)),
    downsideShare: maybe(within(0, 1)),
    buyUsd: within(0, 1e7),
    sellUsd: within(0, 1e7),
    takerSteps: fc.nat(48),
  })
  .map((figures) => ({ ...calm, ...figures }))

const coins = fc.array(coin, { minLength: 1, maxLength: 30 })

describe('a sentiment', () => {
  property.prop([coins])('lies between fear and greed, as do all its components', (given) => {
    const { score, components, liveShare } = sentimentOf(given, noSurroundings)
    for (const one of [score, ...components.map((each) => each.score)])
      if (!Number.isNaN(one)) expect(one >= 0 && one <= 100, String(one)).toBe(true)
    expect(Number.isNaN(score)).toBe(liveShare < 0.5 - 1e-9)
  })

  property.prop([coins])(
    'is the mean of its live components, whose weights make up one',
    (given) => {
      const { score, liveShare, components } = sentimentOf(given, noSurroundings)
      if (Number.isNaN(score)) return
      const live = components.filter(({ status }) => status === 'live')
      const total = live.reduce((sum, { name }) => sum + sentimentWeights[name], 0)
      expect(live.reduce((sum, { name }) => sum + sentimentWeights[name] / total, 0)).toBeCloseTo(
        1,
        12,
      )
      expect(liveShare).toBeCloseTo(total / 0.9, 12)
      const mean = live.reduce(
        (sum, one) => sum + (sentimentWeights[one.name] / total) * one.score,
        0,
      )
      expect(score).toBeCloseTo(mean, 9)
    },
  )

  property.prop([coins, fc.infiniteStream(fc.nat())])(
    'does not depend on the order of its coins',
    (given, keys) => {
      const shuffled = given
        .map((one) => ({ one, key: keys.next().value as number }))
        .sort((left, right) => left.key - right.key)
        .map(({ one }) => one)
      const [before, after] = [
        sentimentOf(given, noSurroundings),
        sentimentOf(shuffled, noSurroundings),
      ]
      if (Number.isNaN(before.score)) expect(after.score).toBeNaN()
      else expect(after.score).toBeCloseTo(before.score, 8)
      expect(after.components.map(({ status }) => status)).toEqual(
        before.components.map(({ status }) => status),
      )
    },
  )

  property.prop([coins])('a coin in which nothing is open moves no weighted figure', (given) => {
    const silent = { ...calm, openInterestUsd: 0, premiumBps: 50, interestFlow: 1 }
    if (!given.some(({ openInterestUsd, premiumBps }) => openInterestUsd > 0 && premiumBps < 50))
      return
    const [before, after] = [rawOf(given, 'premium'), rawOf([...given, silent], 'premium')]
    if (!Number.isNaN(before) && !Number.isNaN(after)) expect(after).toBeCloseTo(before, 6)
  })
})

/** What makes a source greedier, everything else as it is. */
const rises: readonly {
  source: SentimentSource
  figure: keyof CoinSentiment
  min: number
  max: number
}[] = [
  { source: 'funding', figure: 'fundingRateHourly', min: -0.0005, max: 0.0005 },
  { source: 'funding', figure: 'fundingPercentile', min: 0, max: 100 },
  { source: 'premium', figure: 'premiumBps', min: -50, max: 50 },
  { source: 'breadth', figure: 'return24h', min: -0.3, max: 0.3 },
  { source: 'breadth', figure: 'isAboveDay', min: 0, max: 1 },
  { source: 'breadth', figure: 'isAboveWeek', min: 0, max: 1 },
  { source: 'oi_flow', figure: 'interestFlow', min: -1, max: 1 },
  { source: 'taker_flow', figure: 'buyUsd', min: 0, max: 1e6 },
]
const falls: typeof rises = [
  { source: 'volatility', figure: 'volatilityPercentile', min: 0, max: 100 },
  { source: 'volatility', figure: 'downsideShare', min: 0, max: 1 },
  { source: 'taker_flow', figure: 'sellUsd', min: 0, max: 1e6 },
]

describe('a source', () => {
  describe.each([
    ...rises.map((one) => ({ ...one, sign: 1 })),
    ...falls.map((one) => ({ ...one, sign: -1 })),
  ])('$source', ({ source, figure, min, max, sign }) => {
    property.prop([within(min, max), within(min, max), within(1, 1e9)])(
      `never turns with ${figure}`,
      (one, other, openInterestUsd) => {
        const [low, high] = [Math.min(one, other), Math.max(one, other)]
        const scoreAt = (value: number) =>
          scoreOf(
            sentimentOf([{ ...calm, openInterestUsd, [figure]: value }, calm], noSurroundings),
            source,
          )
        expect(sign * (scoreAt(high) - scoreAt(low))).toBeGreaterThanOrEqual(-1e-9)
      },
    )
  })

  test.each([
    {
      source: 'funding',
      changes: { fundingRateHourly: -0.2 / 8_760, fundingPercentile: 0 },
      expected: 0,
    },
    {
      source: 'funding',
      changes: { fundingRateHourly: 0.6 / 8_760, fundingPercentile: 100 },
      expected: 100,
    },
    // Half by the rate, 20 % a year; a quarter each by its rank and by who pays.
    { source: 'funding', changes: {}, expected: 0.5 * 50 + 0.25 * 50 + 0.25 * 100 },
    { source: 'funding', changes: { fundingPercentile: unknown }, expected: (2 * 50 + 100) / 3 },
    { source: 'premium', changes: { premiumBps: 5 }, expected: 75 },
    { source: 'premium', changes: { premiumBps: -10 }, expected: 0 },
    {
      source: 'breadth',
      changes: { isAboveDay: 1, isAboveWeek: 0, return24h: 0.01 },
      expected: 200 / 3,
    },
    { source: 'oi_flow', changes: { interestFlow: 0.5 }, expected: 75 },
    { source: 'volatility', changes: { volatilityPercentile: 100, downsideShare: 1 }, expected: 0 },
    {
      source: 'volatility',
      changes: { volatilityPercentile: 80, downsideShare: 0.25 },
      expected: 0.7 * 20 + 0.3 * 75,
    },
    { source: 'taker_flow', changes: { buyUsd: 54, sellUsd: 46 }, expected: 75 },
    { source: 'taker_flow', changes: { buyUsd: 1, sellUsd: 99 }, expected: 0 },
  ] as const)('$source of $changes is $expected', ({ source, changes, expected }) => {
    expect(scoreOf(sentimentOf([{ ...calm, ...changes }], noSurroundings), source)).toBeCloseTo(
      expected,
      9,
    )
  })

  test.each([
    { source: 'funding', missing: { fundingRateHourly: unknown } },
    { source: 'premium', missing: { premiumBps: unknown } },
    { source: 'breadth', missing: { isAboveDay: unknown } },
    { source: 'oi_flow', missing: { interestFlow: unknown } },
    { source: 'volatility', missing: { volatilityPercentile: unknown } },
    { source: 'taker_flow', missing: { takerSteps: 11 } },
  ] as const)('$source is missing where more than half of the coins are unknown', (given) => {
    const without = { ...calm, ...given.missing }
    const statusOf = (members: readonly CoinSentiment[]) =>
      sentimentOf(members, noSurroundings).components.find(({ name }) => name === given.source)
        ?.status
    expect(statusOf([without, without])).toBe('missing')
    if (given.source === 'taker_flow') return
    expect(statusOf([calm, without])).toBe('live')
    expect(statusOf([calm, without, without])).toBe('missing')
  })

  // After a start the venue repeats the last trades of each coin: seconds of a busy one, hours of a thin one.
  test.each([
    { busySteps: 1, thinSteps: 48, status: 'missing' },
    { busySteps: 11, thinSteps: 48, status: 'missing' },
    { busySteps: 12, thinSteps: 0, status: 'live' },
  ])(
    'with $busySteps steps of a busy coin and $thinSteps of thin ones takers are $status',
    (given) => {
      const busy = { ...calm, dayNotionalUsd: 1e9, takerSteps: given.busySteps }
      const thin = { ...calm, dayNotionalUsd: 1e6, takerSteps: given.thinSteps }
      const { components } = sentimentOf([busy, thin, thin, thin], noSurroundings)
      expect(components[5]).toMatchObject({ name: 'taker_flow', status: given.status })
    },
  )

  test('is as old as all but a tenth of its coins', () => {
    const members = Array.from({ length: 10 }, (_, at) => ({ ...calm, contextAtMs: at }))
    const { components } = sentimentOf(members, noSurroundings)
    expect(components[0]?.confirmedAtMs).toBe(1)
  })
})

describe('the index', () => {
  const indexAt = (ageMs: number) =>
    sentimentOf([calm], {
      premiumPercentile: unknown,
      index: {
        event: {
          kind: 'fear-greed',
          value: 10,
          timeExchangeMs: NOW_MS - ageMs,
          timeReceivedMs: NOW_MS,
        },
        nowMs: NOW_MS,
      },
    })

  test.each([
    { hours: 0, weight: 0.1, status: 'live' },
    { hours: 24, weight: 0.1, status: 'live' },
    { hours: 30, weight: 0.05, status: 'stale' },
    { hours: 36, weight: 0, status: 'missing' },
    { hours: 100, weight: 0, status: 'missing' },
  ])('of $hours hours ago weighs $weight', ({ hours, weight, status }) => {
    const index = indexAt(hours * HOUR_MS).components.at(-1)
    expect(index?.weight).toBeCloseTo(weight, 12)
    expect(index?.status).toBe(status)
  })

  property.prop([within(0, 100), within(0, 100)])(
    'never weighs more when it is older',
    (one, other) => {
      const [young, old] = [Math.min(one, other), Math.max(one, other)]
      expect(indexDecay(old * HOUR_MS)).toBeLessThanOrEqual(indexDecay(young * HOUR_MS))
    },
  )

  test('is optional: without it the sentiment has less weight', () => {
    const without = sentimentOf([calm], {
      premiumPercentile: unknown,
      index: { event: null, nowMs: NOW_MS },
    })
    expect(without.liveShare).toBeCloseTo(0.9, 12)
    expect(Number.isNaN(without.score)).toBe(false)
    expect(indexAt(0).score).toBeLessThan(without.score)
  })
})

describe('components together', () => {
  const component = (name: SentimentSource, score: number) => ({
    name,
    score,
    raw: score,
    weight: Number.isNaN(score) ? 0 : sentimentWeights[name],
    status: Number.isNaN(score) ? ('missing' as const) : ('live' as const),
    confirmedAtMs: NOW_MS,
  })

  test('of exactly half of the weight are a sentiment, of less none', () => {
    const only = (live: readonly SentimentSource[]) =>
      combined(sentimentSources.map((name) => component(name, live.includes(name) ? 80 : unknown)))
    expect(only(['funding', 'premium', 'oi_flow']).score).toBeCloseTo(80, 12)
    expect(only(['funding', 'breadth']).score).toBeNaN()
  })

  test('a middle of two ends is not a calm market: the deviation says so', () => {
    const torn = combined(
      (['funding', 'breadth'] as const).map((name, at) => component(name, at === 0 ? 10 : 90)),
    )
    expect(torn.score).toBeCloseTo(50, 12)
    expect(torn.deviation).toBeCloseTo(40, 12)
  })
})

test.each([
  [1, 1, 1],
  [1, -1, 0.5],
  [-1, 1, -1],
  [-1, -1, -0.5],
  [1, 0, 0.75],
  [0, 1, 0],
])(
  'a price change of %d %% with %d %% of open interest is a flow of %d',
  (pricePct, interestPct, flow) => {
    expect(interestFlowOf({ pricePct, interestPct })).toBeCloseTo(flow, 12)
  },
)

function scoreOf({ components }: SentimentScore, source: SentimentSource): number {
  return components.find(({ name }) => name === source)?.score ?? unknown
}

function rawOf(given: readonly CoinSentiment[], source: SentimentSource): number {
  return (
    sentimentOf(given, noSurroundings).components.find(({ name }) => name === source)?.raw ??
    unknown
  )
}
