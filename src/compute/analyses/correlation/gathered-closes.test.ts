import { test as property } from '@fast-check/vitest'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { naiveCloses, naivePair } from '../../../../test/golden/naive-correlation.ts'
import type { MarketEvent } from '../../../domain/event.ts'
import { LISTINGS_MAX } from '../../../domain/listing.ts'
import { PulsePool } from '../../indicators/pulse-series.ts'
import type { MarketState } from '../../market/market-state.ts'
import { newMarket } from '../../testing/new-market.ts'
import { context, universe } from '../../testing/tape.ts'
import {
  COMMON_RETURNS_MIN,
  CORRELATED_COINS_MAX,
  RETURN_MS,
  RETURNS_READ,
  WINDOW_HOURS,
} from './correlation-window.ts'
import type { GatheredCloses } from './gathered-closes.ts'
import { gatherCloses } from './gathered-closes.ts'
import type { PairStatistics } from './pair-statistics.ts'
import { pairStatistics } from './pair-statistics.ts'
import { returnsIn, returnTable } from './return-table.ts'
import type { CoinScript } from './testing/market-log.ts'
import { closedBy, hourlyBars, hourlyHistory, LAST_HOUR } from './testing/market-log.ts'

const BTC: CoinScript = { coin: 'BTC', follows: 0.9, hours: 900 }
const ETH: CoinScript = { coin: 'ETH', follows: 0.8, hours: 900 }
const PEPE: CoinScript = { coin: 'kPEPE', follows: 0.5, hours: 900, startPrice: 0.0071 }
const YOUNG: CoinScript = { coin: 'NEW', follows: -0.6, hours: 200 }
const all = [BTC, ETH, PEPE, YOUNG]

describe('closes of the market', () => {
  test('give every pair', () => {
    const { state } = marketWith(all)
    const { coins, endHour } = state
    expect(coins).toEqual(['BTC', 'ETH', 'kPEPE', 'NEW'])
    expect(endHour).toBe(LAST_HOUR)
    expect(differenceToNaive(marketWith(all))).toBeLessThan(1e-9)
    for (const [a] of coins.entries())
      for (let b = a; b < coins.length; b += 1) expect(pairOf(state, a, b).r).not.toBeNaN()
  })

  test('an hour enters when all coins have closed it', () => {
    const { market, log } = marketWith(all)
    const next = LAST_HOUR + 1
    for (const script of [BTC, ETH, PEPE]) addHour(market, log, script, next)
    expect(gathered(market, closedBy(next)).endHour).toBe(LAST_HOUR)
    addHour(market, log, YOUNG, next)
    expect(gathered(market, closedBy(next)).endHour).toBe(next)
    expect(
      differenceToNaive({ market, log, state: gathered(market, closedBy(next)) }),
    ).toBeLessThan(1e-9)
  })

  test('a late coin holds an hour up for a minute, and is added when it comes', () => {
    const { market, log } = marketWith(all)
    const next = LAST_HOUR + 1
    for (const script of [BTC, ETH, PEPE]) addHour(market, log, script, next)
    expect(gathered(market, closedBy(next, 59_999)).endHour).toBe(LAST_HOUR)
    const without = gathered(market, closedBy(next, 60_000))
    expect(without.endHour).toBe(next)
    addHour(market, log, YOUNG, next, 90_000)
    const state = gathered(market, closedBy(next, 90_000))
    expect(differenceToNaive({ market, log, state })).toBeLessThan(1e-9)
    expect(pairOf(state, 0, 3).n).toBe(pairOf(without, 0, 3).n + 1)
  })

  test('a coin that stopped earlier does not delay the window', () => {
    const { market, log } = marketWith([
      BTC,
      ETH,
      { ...YOUNG, isMissing: (hour) => hour >= LAST_HOUR },
    ])
    const next = LAST_HOUR + 1
    for (const script of [BTC, ETH]) addHour(market, log, script, next)
    expect(gathered(market, closedBy(next)).endHour).toBe(next)
  })

  test('a correction of an old close changes both returns that it is part of', () => {
    const { market, log, state: before } = marketWith(all)
    const [bar] = hourlyBars(ETH).slice(-300)
    if (bar === undefined) throw new Error('there are bars')
    const corrected = { ...bar, close: bar.close * 1.1, high: bar.close * 1.1 }
    take(market, log, hourlyHistory('ETH', [corrected], closedBy(LAST_HOUR)))
    const state = gathered(market, closedBy(LAST_HOUR))
    expect(pairOf(state, 0, 1).r).not.toBe(pairOf(before, 0, 1).r)
    expect(differenceToNaive({ market, log, state })).toBeLessThan(1e-9)
  })

  test('after an absence of days nothing is left of what was before it', () => {
    const { market, log } = marketWith([BTC, ETH])
    const later = LAST_HOUR + 100
    for (const { coin } of [BTC, ETH]) {
      const bars = hourlyBars({ ...BTC, coin }, later).slice(-60)
      take(market, log, hourlyHistory(coin, bars, closedBy(later)))
    }
    const state = gathered(market, closedBy(later))
    expect(state.endHour).toBe(later)
    expect(differenceToNaive({ market, log, state })).toBeLessThan(1e-9)
  })

  test('a delisted coin leaves, the others keep theirs', () => {
    const { market, log } = marketWith(all)
    market.apply(universe(['BTC', 'kPEPE', 'NEW'], ['ETH']))
    const state = gathered(market, closedBy(LAST_HOUR))
    expect(state.coins.toSorted()).toEqual(['BTC', 'NEW', 'kPEPE'])
    expect(differenceToNaive({ market, log, state })).toBeLessThan(1e-9)
  })

  test('a relisted coin starts without history', () => {
    const { market } = marketWith([BTC, ETH])
    market.apply(universe(['BTC'], ['ETH']))
    market.apply(universe(['BTC', 'ETH']))
    const state = gathered(market, closedBy(LAST_HOUR))
    expect(state.coins).toEqual(['BTC', 'ETH'])
    expect(pairOf(state, 0, 1).n).toBe(0)
  })

  test('more coins than there is room for are left out, the venue’s first stay', () => {
    const names = Array.from({ length: CORRELATED_COINS_MAX + 5 }, (_, at) => `C${at}`)
    const market = newMarket(new PulsePool(3 * names.length))
    market.apply(universe(names))
    const { coins } = gathered(market, closedBy(LAST_HOUR))
    expect(coins).toEqual(names.slice(0, CORRELATED_COINS_MAX))
  })

  test('a market without a bar has no window', () => {
    const market = newMarket(new PulsePool(6))
    market.apply(universe(['BTC', 'ETH']))
    expect(gathered(market, closedBy(LAST_HOUR)).endHour).toBeNaN()
  })

  property.prop([fc.array(happening(), { minLength: 1, maxLength: 25 })], { numRuns: 25 })(
    'equals the naive computation from the log after any sequence of events',
    (happenings) => {
      const { market, log } = marketWith(all)
      let hour = LAST_HOUR
      for (const { coin, kind, age, factor } of happenings) {
        const script = all[coin] as CoinScript
        if (kind === 'hour') {
          hour += 1
          for (const each of all)
            if (each !== script || factor > 1) addHour(market, log, each, hour)
          // Long enough for whoever did not close it.
          gathered(market, closedBy(hour, 70_000))
        } else if (kind === 'correction') {
          const bar = hourlyBars(script, hour).at(-age)
          if (bar === undefined) continue
          const corrected = { ...bar, close: bar.close * factor }
          take(market, log, hourlyHistory(script.coin, [corrected], closedBy(hour, 80_000)))
        } else if (kind === 'listing') {
          market.apply(
            universe(all.filter((each) => each !== script).map(({ coin: name }) => name)),
          )
          market.apply(universe(all.map(({ coin: name }) => name)))
          forget(log, script.coin)
          addHour(market, log, script, hour, 80_000, age)
        }
      }
      const state = gathered(market, closedBy(hour, 90_000))
      expect(state.endHour).toBe(hour)
      expect(differenceToNaive({ market, log, state })).toBeLessThan(1e-9)
    },
  )
})

type Fixture = { market: MarketState; log: MarketEvent[]; state: GatheredCloses }

function happening() {
  return fc.record({
    kind: fc.constantFrom('hour' as const, 'correction' as const, 'listing' as const),
    coin: fc.nat(all.length - 1),
    age: fc.integer({ min: 1, max: 800 }),
    factor: fc.constantFrom(0.5, 0.97, 1.03, 2),
  })
}

/** A market with the history of these coins. */
function marketWith(scripts: readonly CoinScript[]): Fixture {
  const market = newMarket(new PulsePool(LISTINGS_MAX))
  const log: MarketEvent[] = []
  market.apply(universe(scripts.map(({ coin }) => coin)))
  for (const script of scripts)
    take(market, log, hourlyHistory(script.coin, hourlyBars(script), closedBy(LAST_HOUR)))
  return { market, log, state: gathered(market, closedBy(LAST_HOUR)) }
}

/** The last `count` bars of a coin, up to an hour. */
function addHour(
  market: MarketState,
  log: MarketEvent[],
  script: CoinScript,
  hour: number,
  afterMs = 5_000,
  count = 1,
): void {
  const bars = hourlyBars(script, hour).slice(-count)
  take(market, log, hourlyHistory(script.coin, bars, closedBy(hour, afterMs)))
}

function take(market: MarketState, log: MarketEvent[], event: MarketEvent): void {
  market.apply(event)
  log.push(event)
}

/** What was said of a coin before it was listed anew is not known any more. */
function forget(log: MarketEvent[], coin: string): void {
  for (const [at, event] of log.entries())
    if (event.kind === 'hourly-history' && event.coin === coin) log[at] = { ...event, bars: [] }
}

function gathered(market: MarketState, venueMs: number): GatheredCloses {
  market.apply(context('BTC', { timeExchangeMs: venueMs }))
  return gatherCloses(market)
}

function pairOf({ closes, endHour }: GatheredCloses, a: number, b: number): PairStatistics {
  const table = returnTable(closes, RETURNS_READ, endHour)
  const window = { endHour, hours: WINDOW_HOURS }
  return pairStatistics(returnsIn(table, a, window), returnsIn(table, b, window))
}

function differenceToNaive({ log, state }: Fixture): number {
  const closes = naiveCloses([log])
  const window = { lastMs: state.endHour * RETURN_MS, hours: WINDOW_HOURS }
  let largest = 0
  for (const [a, coinA] of state.coins.entries()) {
    for (let b = a + 1; b < state.coins.length; b += 1) {
      const [ofA, ofB] = [closes.get(coinA), closes.get(state.coins[b] as string)]
      if (ofA === undefined || ofB === undefined) throw new Error('the log has every coin')
      const exact = naivePair(ofA, ofB, window)
      const { n, r } = pairOf(state, a, b)
      if (n !== exact.n) return Number.POSITIVE_INFINITY
      if (n >= COMMON_RETURNS_MIN) largest = Math.max(largest, Math.abs(r - exact.r))
    }
  }
  return largest
}
