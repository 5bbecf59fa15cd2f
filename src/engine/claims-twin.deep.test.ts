import { describe, expect, test } from 'vitest'
import type { NaiveCoin } from '../../test/golden/naive-claims.ts'
import {
  naiveAtrPct,
  naiveBaseRate,
  naiveBlend,
  naiveCascadeScore,
  naiveClose,
  naiveDayDeviation,
  naiveDayMovePct,
  naiveDraw,
  naiveEwmaQuantiles,
  naiveFundingQuantiles,
  naiveFundingVote,
  naiveHarQuantiles,
  naiveNet,
  naiveRegimeScore,
  naiveSignals,
  naiveTouchProbability,
  naiveWindow,
} from '../../test/golden/naive-claims.ts'
import { naiveLiquidations } from '../../test/golden/naive-liquidations.ts'
import { collected } from '../../test/support/collected.ts'
import { signalNames } from '../compute/confluence/confluence.ts'
import { hasSharedCandles, SHARED_CANDLES } from '../compute/testing/bars.ts'
import { HAR_CLOSES_MAX } from '../compute/volatility/har-forecast.ts'
import type { MarketEvent } from '../domain/event.ts'
import type { ResolvedClaim } from '../domain/track-record.ts'
import { readCandleFolder } from '../store/candle-folder.ts'
import { candleBacktest, candleSteps } from './candle-backtest.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const QUARTER_MS = HOUR_MS / 4
/** Of every coin of the backtest. */
const MAX_LEVERAGE = 20
const OPEN_INTEREST_BASE = 1e6
/** The published score has three decimals. */
const SCORE_ROUNDING = 0.000_51
/** A day and a half of claims, and the day after, by which the last of them are resolved. */
const CLAIMED_MS = 36 * HOUR_MS
const END_MS = Date.UTC(2025, 6, 25)
const FROM_MS = END_MS - DAY_MS - HOUR_MS - CLAIMED_MS
const COINS = ['BTC', 'SOL', 'kPEPE', 'WIF']

describe.skipIf(!hasSharedCandles)('claims of a recorded day (needs ../shared/data)', async () => {
  const coins = hasSharedCandles
    ? [...readCandleFolder(SHARED_CANDLES)]
        .filter(({ coin }) => COINS.includes(coin))
        .map((coin) => ({
          ...coin,
          quarters: coin.quarters.filter(
            ({ openTimeMs }) => openTimeMs >= FROM_MS - 15 * DAY_MS && openTimeMs < END_MS,
          ),
        }))
    : []
  const claims = (await collected(candleBacktest(coins, FROM_MS))).filter(
    ({ madeAtMs }) => madeAtMs >= FROM_MS && madeAtMs < FROM_MS + CLAIMED_MS,
  )
  const of = (family: string) => claims.filter(({ rule }) => rule.startsWith(`${family}.`))
  const market = (name: string) => coins.find(({ coin }) => coin === name) as NaiveCoin

  const steps = hasSharedCandles ? [...candleSteps(coins, FROM_MS)] : []

  /** What the engine has received about a coin when it makes the claims of an instant. */
  function eventsUntil(coin: string, atMs: number): readonly MarketEvent[] {
    const found: MarketEvent[] = []
    for (const { batches, nowMs } of steps) {
      if (nowMs > atMs + QUARTER_MS / 2) break
      found.push(...batches.flat().filter((event) => 'coin' in event && event.coin === coin))
    }
    return found
  }

  test('are the directions that a second implementation claims, with its base rates and outcomes', () => {
    const expected = coins.flatMap((coin) => directionsOf(coin))
    const found = [...of('confluence'), ...of('vote')].map(
      ({ rule, coin, madeAtMs, horizonMs, reference, statement, outcome }) => [
        ...[rule, coin, madeAtMs, horizonMs, reference[0]],
        statement.form === 'event' ? statement.control : null,
        outcome.kind === 'event' ? outcome.happened : outcome.kind,
      ],
    )
    const ordered = (rows: unknown[][]) => rows.map((row) => JSON.stringify(row)).sort()
    expect(found.length).toBeGreaterThan(100)
    expect(ordered(found)).toEqual(ordered(expected))
  })

  test.each(['zone.touch@1', 'zone.reaction@2', 'cascade.score@1', 'volatility.har@1'] as const)(
    'of %s are made when the hash says so, and nowhere else',
    (rule) => {
      const found = claims.filter((claim) => claim.rule === rule)
      expect(found.length).toBeGreaterThan(10)
      for (const { coin, madeAtMs } of found)
        expect(naiveDraw(rule, coin, madeAtMs - (madeAtMs % HOUR_MS))?.madeAtMs).toBe(madeAtMs)
      if (rule === 'zone.touch@1' || rule === 'zone.reaction@2') return
      const drawn = coins.flatMap(({ coin }) => drawsOf(rule, coin))
      expect(found).toHaveLength(drawn.length)
    },
  )

  test('of zones happen when the bars reach the levels, and react', () => {
    for (const { rule, coin, madeAtMs, reference, outcome } of of('zone')) {
      const [side = 0, level = 0, control = 0, volume = 0, range = 0] = reference
      const bars = naiveWindow(market(coin), madeAtMs, madeAtMs + DAY_MS)
      const before = naiveWindow(market(coin), madeAtMs - DAY_MS, madeAtMs)
      const volumes = before.map(({ volumeBase }) => volumeBase)
      const ranges = before.map(({ high, low }) => high - low)
      expect(volume / (2 * middle(volumes))).toBeCloseTo(1, 5)
      expect(range / (1.5 * middle(ranges))).toBeCloseTo(1, 5)
      const isReached = (price: number) => {
        const first = bars.findIndex(({ high, low }) => (side > 0 ? high >= price : low <= price))
        if (first < 0) return false
        if (rule === 'zone.touch@1') return true
        return [bars[first], bars[first + 1]].some(
          (bar) => bar !== undefined && bar.volumeBase >= volume && bar.high - bar.low >= range,
        )
      }
      expect(outcome).toEqual({
        kind: 'event',
        happened: isReached(level),
        controlHappened: isReached(control),
      })
    }
  })

  test('of zones are about levels of a second map, and controls that a random walk reaches as often', () => {
    const counted = { near: 0, far: 0 }
    for (const { rule, coin, madeAtMs, reference, statement } of of('zone')) {
      if (coin !== 'BTC' && coin !== 'kPEPE') continue
      const [side = 0, level = 0, control = 0] = reference
      const item = naiveDraw(rule, coin, madeAtMs - (madeAtMs % HOUR_MS))?.item ?? Number.NaN
      const current = naiveClose(market(coin), madeAtMs)
      const deviation = naiveDayDeviation(market(coin), madeAtMs)
      const away = (price: number) => (side * Math.log(price / current)) / deviation
      const map = naiveLiquidations(eventsUntil(coin, madeAtMs), MAX_LEVERAGE, current)
      const { clusters } = item % 2 === 0 ? map.long : map.short
      const near = clusters.filter(({ price }) => away(price) >= 0.25 && away(price) <= 2)
      expect(side).toBe(item % 2 === 0 ? -1 : 1)
      const price = near[Math.floor(item / 2) % near.length]?.price ?? Number.NaN
      expect(level / price).toBeCloseTo(1, 5)
      const touched = naiveTouchProbability(away(price))
      const share = rule === 'zone.touch@1' ? 1 : 0.5
      const stated = statement.form === 'event' ? statement.probability : Number.NaN
      expect(stated / (share * touched)).toBeCloseTo(1, 4)
      const nearer = away(price) - Math.min(0.25 * away(price), 0.3)
      const isNearer = Math.floor(item / 2 ** 16) % 2 === 0
      counted[isNearer ? 'near' : 'far'] += 1
      if (isNearer) expect(away(control)).toBeCloseTo(nearer, 3)
      else
        expect(
          (naiveTouchProbability(away(control)) + naiveTouchProbability(nearer)) / 2,
        ).toBeCloseTo(touched, 3)
    }
    expect(Math.min(counted.near, counted.far)).toBeGreaterThan(3)
  })

  test('of the next funding have the quantiles of a second implementation', () => {
    const found = claims.filter(({ rule }) => rule === 'funding.reverting@1')
    expect(found.length).toBeGreaterThan(20)
    for (const { coin, madeAtMs, statement } of found) {
      if (statement.form !== 'quantiles') throw new Error('it states quantiles')
      const expected = naiveFundingQuantiles(market(coin), madeAtMs)
      const scale = 1e-5 * Math.max(...expected.control.map(Math.abs))
      for (const side of ['values', 'control'] as const)
        for (const [at, value] of expected[side].entries())
          expect(Math.abs((statement[side][at] ?? Number.NaN) - value)).toBeLessThan(scale)
    }
  })

  test('of volatility have the quantiles of a second EWMA as control', () => {
    const found = of('volatility')
    expect(found.length).toBeGreaterThan(20)
    for (const { coin, madeAtMs, statement } of found) {
      if (statement.form !== 'quantiles') throw new Error('it states quantiles')
      const expected = naiveEwmaQuantiles(market(coin), madeAtMs, HAR_CLOSES_MAX)
      for (const [at, value] of expected.entries())
        expect((statement.control[at] ?? Number.NaN) / value).toBeCloseTo(1, 4)
    }
  })

  test('of volatility have the quantiles of a second HAR, and of its mean with EWMA', () => {
    const found = of('volatility')
    expect(new Set(found.map(({ rule }) => rule)).size).toBe(2)
    for (const { rule, coin, madeAtMs, statement } of found) {
      if (statement.form !== 'quantiles') throw new Error('it states quantiles')
      const har = naiveHarQuantiles(market(coin), madeAtMs, HAR_CLOSES_MAX)
      const ewma = naiveEwmaQuantiles(market(coin), madeAtMs, HAR_CLOSES_MAX)
      const expected = rule === 'volatility.har@1' ? har : naiveBlend(har, ewma)
      for (const [at, value] of expected.entries())
        expect((statement.values[at] ?? Number.NaN) / value).toBeCloseTo(1, 4)
    }
  })

  test('of the cascade have the score of a second map, against the ATR', () => {
    const found = claims.filter(({ rule }) => rule === 'cascade.score@1')
    expect(found.length).toBeGreaterThan(20)
    for (const { coin, madeAtMs, statement } of found) {
      if (statement.form !== 'rank') throw new Error('it states a rank')
      const current = naiveClose(market(coin), madeAtMs)
      const map = naiveLiquidations(eventsUntil(coin, madeAtMs), MAX_LEVERAGE, current)
      const atrPct = naiveAtrPct(market(coin), madeAtMs)
      const expected = naiveCascadeScore(map, current, OPEN_INTEREST_BASE * current, atrPct)
      expect(Math.abs(statement.score - expected)).toBeLessThan(SCORE_ROUNDING)
      expect(statement.control / atrPct).toBeCloseTo(1, 5)
    }
  })

  test('of the regime rank by a second composite of all coins, against the ATR', () => {
    const found = claims.filter(({ rule }) => rule === 'regime.risk@2')
    expect(found.length).toBeGreaterThan(3)
    for (const { coin, madeAtMs, statement } of found) {
      if (statement.form !== 'rank') throw new Error('it states a rank')
      expect(coin).toBe('BTC')
      expect(statement.score).toBeCloseTo(naiveRegimeScore(coins, madeAtMs), 4)
      expect(statement.control / naiveAtrPct(market(coin), madeAtMs)).toBeCloseTo(1, 5)
    }
  })

  test('of the ATR rank by it, against the move of the day before', () => {
    const found = claims.filter(({ rule }) => rule === 'cascade.atr@2')
    expect(found.length).toBeGreaterThan(20)
    for (const { coin, madeAtMs, statement } of found) {
      if (statement.form !== 'rank') throw new Error('it states a rank')
      expect(statement.score / naiveAtrPct(market(coin), madeAtMs)).toBeCloseTo(1, 5)
      expect(statement.control / naiveDayMovePct(market(coin), madeAtMs)).toBeCloseTo(1, 5)
    }
  })

  test('of the cascade and of volatility have the move and the volatility of the bars', () => {
    for (const { rule, coin, madeAtMs, outcome } of [...of('cascade'), ...of('volatility')]) {
      const start = naiveClose(market(coin), madeAtMs)
      const bars = naiveWindow(market(coin), madeAtMs, madeAtMs + DAY_MS)
      const moves = bars.flatMap(({ high, low }) => [high / start - 1, 1 - low / start])
      const squares = Array.from({ length: 24 }, (_, hour) => {
        const [before, after] = [hour, hour + 1].map((at) =>
          naiveClose(market(coin), madeAtMs + at * HOUR_MS),
        )
        return Math.log((after ?? 0) / (before ?? 0)) ** 2
      })
      const yearly = 100 * Math.sqrt((squares.reduce((sum, one) => sum + one, 0) / 24) * 365 * 24)
      const value = outcome.kind === 'value' ? outcome.value : Number.NaN
      expect(value).toBeCloseTo(rule.startsWith('cascade.') ? 100 * Math.max(...moves) : yearly, 8)
    }
  })
})

function drawsOf(rule: ResolvedClaim['rule'], coin: string) {
  return Array.from({ length: CLAIMED_MS / HOUR_MS + 1 }, (_, hour) =>
    naiveDraw(rule, coin, Math.floor(FROM_MS / HOUR_MS + hour) * HOUR_MS),
  ).filter(
    (draw) => draw !== null && draw.madeAtMs >= FROM_MS && draw.madeAtMs < FROM_MS + CLAIMED_MS,
  )
}

function directionsOf(market: NaiveCoin): unknown[][] {
  const { coin } = market
  const rules = ['confluence.bias', ...signalNames.map((name) => `vote.${name}`)]
  return rules.flatMap((name) =>
    drawsOf(`${name}@2` as ResolvedClaim['rule'], coin).flatMap((draw) => {
      if (draw === null) return []
      const { madeAtMs, item } = draw
      const signals = naiveSignals(market, madeAtMs)
      const funding = naiveFundingVote(market, madeAtMs)
      const net = naiveNet(signals, funding)
      const bias = net >= 0.25 ? 1 : net <= -0.25 ? -1 : 0
      const votes: Readonly<Record<string, number>> = { ...signals, funding, bias }
      const direction = votes[name.slice(name.indexOf('.') + 1)] ?? 0
      if (direction === 0) return []
      const horizonMs = ([1, 4, 24][item % 3] ?? 0) * HOUR_MS
      const change = naiveClose(market, madeAtMs + horizonMs) - naiveClose(market, madeAtMs)
      const control = naiveBaseRate(market, madeAtMs, horizonMs, direction)
      return [
        [
          ...[`${name}@2`, coin, madeAtMs, horizonMs, direction],
          Number(control.toPrecision(6)),
          Math.sign(change) === direction,
        ],
      ]
    }),
  )
}

function middle(values: readonly number[]): number {
  const ascending = values.toSorted((one, other) => one - other)
  const [below = 0, above = 0] = [ascending[values.length / 2 - 1], ascending[values.length / 2]]
  return (below + above) / 2
}
