import assert from 'node:assert/strict'
import { describe, expect, test } from 'vitest'
import { significantBasis } from '../src/compute/analyses/basis/basis-labels.ts'
import { basisMeasure } from '../src/compute/analyses/basis/basis-measure.ts'
import { aboveBps, readBasis } from '../src/compute/external/basis-reading.ts'
import { readCexDex } from '../src/compute/external/cex-dex-reading.ts'
import { DepegMeasure } from '../src/compute/external/depeg/depeg-measure.ts'
import { chooseOracle } from '../src/compute/external/oracle-choice.ts'
import { oracleTrust } from '../src/compute/external/oracle-trust.ts'
import { PulsePool } from '../src/compute/indicators/pulse-series.ts'
import { ExternalState } from '../src/compute/market/external-state.ts'
import { MarketState } from '../src/compute/market/market-state.ts'
import { MeasureLog } from '../src/compute/market/measure-log.ts'
import { exchangeQuote, poolOf } from '../src/compute/testing/external-events.ts'
import { context, universe } from '../src/compute/testing/tape.ts'
import { hourlyCloses } from '../src/compute/volatility/hourly-closes.ts'
import type { ExternalEvent, OraclePriceEvent, PoolEvent } from '../src/domain/external.ts'
import { gaussian, noiseKey, uniform } from '../src/simulator/market/noise.ts'
import { feedRules, readingsOf } from './support/pushed-feed.ts'

/**
 * Known prices and their measurement: mean and p95 error of the chosen source and of each single source. The choice
 * may be 10 % worse than the best single source.
 */

const START_MS = Date.UTC(2026, 0, 1)
const SECOND_MS = 1_000
const BPS = 1e-4
const SECONDS = 7_200
/** Time until the first round of every feed. */
const WARM_SECONDS = 300
const STEP_SECONDS = 2
const WORSE_TIMES_MAX = 1.1
/** Errors smaller than a tick of the answer count as equal. */
const EQUAL_BPS = 0.01

type Errors = Map<string, number[]>

function noteError(errors: Errors, source: string, bps: number): void {
  const known = errors.get(source)
  if (known === undefined) errors.set(source, [Math.abs(bps)])
  else known.push(Math.abs(bps))
}

type Row = { readonly source: string; readonly mean: number; readonly p95: number }

function rowsOf(errors: Errors): readonly Row[] {
  return [...errors].map(([source, all]) => {
    const ascending = all.toSorted((a, b) => a - b)
    const p95 = ascending[Math.ceil(0.95 * ascending.length) - 1] ?? Number.NaN
    return { source, mean: all.reduce((sum, one) => sum + one, 0) / all.length, p95 }
  })
}

/** Tracks only what the choices are read from, because hours of seconds are applied to it. */
function newMarket(): MarketState {
  return new MarketState(new PulsePool(3), [hourlyCloses, oracleTrust, basisMeasure])
}

function isDefined<Value>(value: Value | undefined): Value {
  assert(value !== undefined)
  return value
}

function expectNoWorse(
  errors: Errors,
  what: string,
  {
    timesMax = WORSE_TIMES_MAX,
    figures = ['mean', 'p95'],
  }: {
    readonly timesMax?: number
    readonly figures?: readonly ('mean' | 'p95')[]
  } = {},
): void {
  const rows = rowsOf(errors)
  const table = rows
    .map(({ source, mean, p95 }) => `  ${source}: mean ${mean.toFixed(2)}, p95 ${p95.toFixed(2)}`)
    .join('\n')
  const choice = rows.find(({ source }) => source === 'choice')
  const singles = rows.filter(({ source }) => source !== 'choice')
  assert(choice !== undefined && singles.length > 0)
  for (const of of figures) {
    const best = Math.min(...singles.map((row) => row[of]))
    expect(choice[of], `${of} of ${what}\n${table}`).toBeLessThanOrEqual(
      timesMax * best + EQUAL_BPS,
    )
  }
}

const walks = new Map<string, readonly number[]>()

/** A random walk in bps per root second, one price per second; made once. */
function walk(seed: number, driftBps: number, startUsd = 100): readonly number[] {
  const name = `${seed} ${driftBps} ${startUsd}`
  const known = walks.get(name)
  if (known !== undefined) return known
  const key = noiseKey(seed, 'walk')
  let log = Math.log(startUsd)
  const pricesUsd = Array.from({ length: SECONDS }, (_, second) => {
    log += driftBps * BPS * gaussian(key, second)
    return Math.exp(log)
  })
  walks.set(name, pricesUsd)
  return pricesUsd
}

type Name = keyof typeof feedRules

const sets: readonly (readonly Name[])[] = [
  ['hermes', 'solana', 'monad10', 'redstone', 'chainlink'],
  ['hermes', 'redstone'],
  ['hermes', 'chainlink'],
  ['solana', 'monad10', 'redstone', 'chainlink'],
  ['solana', 'monad20', 'redstone', 'chainlink'],
  ['solana', 'redstone'],
  ['solana', 'monad10'],
  ['solana', 'monad20'],
  ['solana', 'chainlink'],
  ['monad10', 'redstone'],
  ['monad20', 'redstone'],
  ['monad20', 'chainlink'],
  ['redstone', 'chainlink'],
]

type Readings = ReturnType<typeof readingsOf>

/** Of one price of Bitcoin by each feed. */
const readings = new WeakMap<readonly number[], Map<Name, Readings>>()

function tapesOf(names: readonly Name[], pricesUsd: readonly number[]) {
  const known = readings.get(pricesUsd) ?? new Map<Name, Readings>()
  readings.set(pricesUsd, known)
  return names.map((name) => {
    const events = known.get(name) ?? readingsOf(feedRules[name], 'BTC', pricesUsd, START_MS)
    known.set(name, events)
    return { name, events }
  })
}

describe.each([0.5, 1.5, 5])('with a price that moves %d bps a root second', (driftBps) => {
  const pricesUsd = walk(11, driftBps)

  describe.each(sets.map((names) => ({ names })))('of $names', ({ names }) => {
    test.each([
      { what: 'its drift is known', times: 1, worseTimes: WORSE_TIMES_MAX },
      { what: 'its drift is taken for half as much', times: 0.5, worseTimes: 1.25 },
      { what: 'its drift is taken for twice as much', times: 2, worseTimes: 1.25 },
    ])('the choice is as near as the best one where $what', ({ what, times, worseTimes }) => {
      const tapes = tapesOf(names, pricesUsd)
      const newest = new Map<Name, OraclePriceEvent>()
      const errors: Errors = new Map()
      for (const [second, truthUsd] of pricesUsd.entries()) {
        for (const { name, events } of tapes) {
          const event = events.get(second)
          if (event !== undefined) newest.set(name, event)
        }
        if (second < WARM_SECONDS || second % STEP_SECONDS !== 0) continue
        const { best } = chooseOracle([...newest.values()], {
          nowMs: START_MS + second * SECOND_MS,
          expectedUsd: truthUsd,
          exchangeMidsUsd: [],
          driftBps: times * driftBps,
          unfitAtMs: () => Number.NaN,
        })
        assert(best !== null)
        noteError(errors, 'choice', aboveBps(best.priceUsd, truthUsd))
        for (const [name, { priceUsd }] of newest)
          noteError(errors, name, aboveBps(priceUsd, truthUsd))
      }
      expectNoWorse(errors, `${names.join(', ')} at ${driftBps} bps, ${what}`, {
        timesMax: worseTimes,
      })
    })
  })
})

/** Default drift in bps per root second of a coin without hourly bars. */
const USUAL_BPS = 1.5

describe.each([0, 8, 35, -80])('a planted basis of %d bps', (plantedBps) => {
  test.each(sets.map((names) => ({ names })))(
    'is measured as the best of $names does',
    ({ names }) => {
      const pricesUsd = walk(23, USUAL_BPS)
      const tapes = tapesOf(names, pricesUsd)
      const market = newMarket()
      market.apply(universe(['BTC']))
      const errors: Errors = new Map()
      for (const [second, truthUsd] of pricesUsd.entries()) {
        const nowMs = START_MS + second * SECOND_MS
        for (const { events } of tapes) {
          const event = events.get(second)
          if (event !== undefined) market.apply(event)
        }
        const oraclePrice = truthUsd * (1 + plantedBps * BPS)
        const at = { timeReceivedMs: nowMs, timeExchangeMs: nowMs }
        market.apply(context('BTC', { oraclePrice, markPrice: oraclePrice, ...at }))
        if (second < WARM_SECONDS || second % STEP_SECONDS !== 0) continue
        const coin = market.coin('BTC')
        assert(coin !== undefined)
        const reading = readBasis(coin, market, nowMs)
        assert(reading !== null)
        noteError(errors, 'choice', reading.basisBps - plantedBps)
        for (const { network, priceUsd } of reading.choice.readings)
          noteError(errors, network, aboveBps(oraclePrice, priceUsd) - plantedBps)
      }
      expectNoWorse(errors, `a basis of ${plantedBps} by ${names.join(', ')}`)
    },
  )
})

describe('whether a basis is significant', () => {
  const HOUR_SECONDS = 3_600

  /** Share of significant renderings in the second hour, by one reading and with the hourly mean. */
  const sharesOf = (names: readonly Name[], plantedBps: (second: number) => number) => {
    const seeds = [41, 42]
    const seen = seeds.flatMap((seed) => {
      const pricesUsd = walk(seed, USUAL_BPS)
      const tapes = tapesOf(names, pricesUsd)
      const market = newMarket()
      market.apply(universe(['BTC']))
      const rendered: { second: number; now: boolean; known: number | null }[] = []
      for (const [second, truthUsd] of pricesUsd.entries()) {
        const nowMs = START_MS + second * SECOND_MS
        for (const { events } of tapes) {
          const event = events.get(second)
          if (event !== undefined) market.apply(event)
        }
        const oraclePrice = truthUsd * (1 + plantedBps(second) * BPS)
        const at = { timeReceivedMs: nowMs, timeExchangeMs: nowMs }
        market.apply(context('BTC', { oraclePrice, markPrice: oraclePrice, ...at }))
        if (second % 5 === 0) market.advance(nowMs)
        if (second < HOUR_SECONDS || second % 10 !== 0) continue
        const coin = market.coin('BTC')
        assert(coin !== undefined)
        const reading = readBasis(coin, market, nowMs)
        assert(reading !== null)
        const hour = market
          .of(basisMeasure)
          .windowMean('BTC', reading.oracle.network, market, nowMs)
        const isNow = Math.abs(reading.basisBps) > Math.max(1, reading.band.totalBps)
        rendered.push({ second, now: isNow, known: significantBasis(reading, hour) })
      }
      return rendered
    })
    const share = (is: (one: (typeof seen)[number]) => boolean) =>
      seen.filter(is).length / seen.length
    return {
      now: share(({ now }) => now),
      known: share(({ known }) => known !== null),
      means: seen.flatMap(({ now, known }) => (now || known === null ? [] : [known])),
      seen,
    }
  }

  test.each([...sets, ['solana'] as const].map((names) => ({ names })))(
    '35 bps by $names are, with the mean of the hour',
    ({ names }) => {
      const { known, now } = sharesOf(names, () => 35)
      expect(known).toBeGreaterThanOrEqual(now)
      expect(known).toBeGreaterThan(0.95)
    },
  )

  test.each(sets.map((names) => ({ names })))('nothing by $names is not', ({ names }) => {
    expect(sharesOf(names, () => 0).known).toBeLessThan(0.05)
  })

  test('the mean is that of the truth within its own band', () => {
    const { means } = sharesOf(['solana'], () => 12)
    expect(means.length).toBeGreaterThan(0)
    for (const mean of means) expect(Math.abs(mean - 12)).toBeLessThan(4)
  })

  test('a basis that was planted for half an hour and ended is not reported, whatever the mean', () => {
    const untilSecond = HOUR_SECONDS + 1_800
    const { seen } = sharesOf(['hermes', 'redstone'], (second) => (second < untilSecond ? 35 : 0))
    const after = seen.filter(({ second }) => second > untilSecond + 10)
    expect(after.filter(({ known }) => known !== null).length / after.length).toBeLessThan(0.05)
  })
})

describe('a planted gap between exchanges and chains', () => {
  /** Fee, seconds between blocks, and depth. */
  const pools = [
    { chain: 'base', feeBps: 5, blockSeconds: 2 },
    { chain: 'ethereum', feeBps: 5, blockSeconds: 12 },
    { chain: 'bsc', feeBps: 1, blockSeconds: 45 },
    { chain: 'polygon', feeBps: 30, blockSeconds: 2 },
  ] as const

  test.each([
    { chains: ['base', 'ethereum', 'bsc', 'polygon'] },
    { chains: ['ethereum', 'bsc'] },
    { chains: ['bsc', 'polygon'] },
    { chains: [] },
  ])('is measured as the best of the pools of $chains does', ({ chains }) => {
    const plantedBps = 40
    const pricesUsd = walk(31, USUAL_BPS)
    const tapes = tapesOf(['solana', 'redstone', 'monad20'], pricesUsd)
    const used = pools.filter(({ chain }) => (chains as readonly string[]).includes(chain))
    const market = newMarket()
    market.apply(universe(['BTC']))
    const errors: Errors = new Map()
    const newest = new Map<string, PoolEvent>()
    for (const [second, truthUsd] of pricesUsd.entries()) {
      const nowMs = START_MS + second * SECOND_MS
      for (const { events } of tapes) {
        const event = events.get(second)
        if (event !== undefined) market.apply(event)
      }
      const at = { timeReceivedMs: nowMs, timeExchangeMs: nowMs }
      market.apply(context('BTC', { oraclePrice: truthUsd, markPrice: truthUsd, ...at }))
      const cexUsd = truthUsd * (1 + plantedBps * BPS)
      for (const exchange of ['coinbase', 'kraken', 'binance'] as const) {
        const noise = 0.4 * BPS * gaussian(noiseKey(5, exchange), second)
        market.apply(exchangeQuote(exchange, 'BTC', cexUsd * (1 + noise), nowMs))
        if (exchange !== 'binance') market.apply(exchangeQuote(exchange, 'USDC', 1, nowMs))
      }
      for (const { chain, feeBps, blockSeconds } of used) {
        if (second % blockSeconds !== 0) continue
        // Gaps below the fee are not arbitraged away.
        const away = (2 * uniform(noiseKey(7, chain), second) - 1) * feeBps * BPS
        const event = poolOf('BTC', truthUsd * (1 + away), nowMs, { pool: chain, chain, feeBps })
        newest.set(chain, event)
        market.apply(event)
      }
      market.advance(nowMs)
      if (second < WARM_SECONDS || second % STEP_SECONDS !== 0) continue
      const coin = market.coin('BTC')
      assert(coin !== undefined)
      const reading = readCexDex(coin, market, nowMs)
      assert(typeof reading !== 'string', String(reading))
      const errorOf = (priceUsd: number) => aboveBps(reading.cex.midUsd, priceUsd) - plantedBps
      noteError(errors, 'choice', reading.divergenceBps - plantedBps)
      if (used.length === 0)
        for (const { network, priceUsd } of reading.choice.readings)
          noteError(errors, network, errorOf(priceUsd))
      else for (const { chain, price } of newest.values()) noteError(errors, chain, errorOf(price))
    }
    expectNoWorse(errors, `a gap of ${plantedBps} with pools of ${chains.join(', ') || 'nobody'}`)
  })
})

describe('a planted depeg of USDC', () => {
  const MINUTES_30 = 1_800
  const calm = walk(51, 0.1)
  const calmBps = (second: number) => 100 * isDefined(calm[second]) - 10_000
  const JUMP = 'a jump of -150 bps'
  const feeds = {
    hermes: feedRules.hermesPeg,
    solana: feedRules.solanaPeg,
    monad: feedRules.monadPeg,
    redstone: feedRules.redstonePeg,
    chainlink: feedRules.chainlinkPeg,
  } as const
  type PegName = keyof typeof feeds

  const paths: Readonly<Record<string, (second: number) => number>> = {
    'a walk of 0.1 bps only': calmBps,
    [JUMP]: (second) => calmBps(second) - (second < 1_200 ? 0 : 150),
    'a slide to -300 bps in 20 minutes': (second) =>
      calmBps(second) - 300 * Math.min(1, Math.max(0, (second - 600) / 1_200)),
  }

  const all = ['hermes', 'solana', 'monad', 'redstone', 'chainlink'] as const
  const [, ...keyless] = all
  const combinations = [
    { names: all, hasBooks: true },
    { names: keyless, hasBooks: true },
    { names: all, hasBooks: false },
    { names: keyless, hasBooks: false },
    { names: ['redstone', 'chainlink'], hasBooks: false },
    { names: ['solana', 'monad'], hasBooks: false },
    { names: ['monad', 'chainlink'], hasBooks: false },
    { names: ['solana', 'monad', 'redstone'], hasBooks: false },
  ] as const

  describe.each(Object.keys(paths))('as %s', (what) => {
    test.each(combinations)('is measured as the best of $names does, books: $hasBooks', (of) => {
      const errors = pegErrors(of.names, of.hasBooks, isDefined(paths[what]))
      // A jump of a single network is not used until another network confirms it.
      const isHeldUp = what === JUMP && !of.hasBooks
      expectNoWorse(errors, `${what} by ${of.names.join(', ')}`, {
        figures: isHeldUp ? ['p95'] : ['mean', 'p95'],
      })
    })
  })

  function pegErrors(
    names: readonly PegName[],
    hasBooks: boolean,
    path: (second: number) => number,
  ): Errors {
    const key = noiseKey(3, 'peg')
    const truths = Array.from({ length: MINUTES_30 }, (_, second) => 1 + path(second) * BPS)
    const ones = truths.map(() => 1)
    const tapes = names.flatMap((name) => [
      { name, events: readingsOf(feeds[name], 'USDC', truths, START_MS) },
      { name: '', events: readingsOf(feeds[name], 'USDT', ones, START_MS) },
    ])
    const external = new ExternalState()
    const measure = new DepegMeasure()
    const log = new MeasureLog()
    const errors: Errors = new Map()
    const newest = new Map<string, number>()
    const apply = (event: ExternalEvent) => {
      external.apply(event)
      measure.apply(event)
    }
    for (const [second, truthUsd] of truths.entries()) {
      const nowMs = START_MS + second * SECOND_MS
      for (const { name, events } of tapes) {
        const event = events.get(second)
        if (event === undefined) continue
        apply(event)
        if (name !== '') newest.set(name, event.priceUsd)
      }
      if (hasBooks)
        for (const [at, exchange] of (['kraken', 'binance', 'okx', 'bybit'] as const).entries()) {
          const seenUsd = truthUsd * (1 + 0.4 * BPS * gaussian(key + at, second))
          const quote = exchange === 'kraken' ? 'USD' : 'USDT'
          apply(exchangeQuote(exchange, 'USDC', seenUsd, nowMs, { quote }))
          newest.set(exchange, seenUsd)
          if (exchange === 'kraken') {
            const usdt = 1 + 0.4 * BPS * gaussian(key + 9, second)
            apply(exchangeQuote('kraken', 'USDT', usdt, nowMs))
          }
        }
      measure.advance({ external, log }, nowMs)
      const { sample } = measure
      if (second < WARM_SECONDS || sample === null) continue
      // Two sources that disagree without a majority: no answer.
      if (sample.price === null) continue
      noteError(errors, 'choice', aboveBps(sample.price.priceUsd, truthUsd))
      for (const [name, usd] of newest) noteError(errors, name, aboveBps(usd, truthUsd))
    }
    return errors
  }
})
