import { describe, expect, test } from 'vitest'
import type { NaiveCoin } from '../../../test/golden/naive-regime.ts'
import { naiveComposite, naiveDrivers } from '../../../test/golden/naive-regime.ts'
import { naiveHours } from '../../../test/golden/naive-volatility.ts'
import type { Bar } from '../../domain/bar.ts'
import { chains } from '../../domain/external.ts'
import type { Timeframe } from '../../domain/timeframe.ts'
import { PulsePool } from '../indicators/pulse-series.ts'
import type { MarketState } from '../market/market-state.ts'
import { poolEvents, rateEvents } from '../testing/chain-tape.ts'
import { newMarket } from '../testing/new-market.ts'
import { pegTape } from '../testing/peg-tape.ts'
import { BOUNDARY_MS, context, history, NOW_MS, universe, wave } from '../testing/tape.ts'
import { regimeTracker } from './regime.ts'
import { compositeOf, driverNames } from './regime-rule.ts'

const MINUTE_MS = 60_000
const STEP_MS = 5 * MINUTE_MS
const COINS = ['BTC', 'ETH', 'SOL', 'kPEPE', 'HYPE']

describe('regime of the market', () => {
  test.each([1, -1])('evaluates the bars of all coins (drift %i)', (sign) => {
    const market = marketOf(COINS, sign)
    pass(market, NOW_MS, BOUNDARY_MS + STEP_MS + 1_000)
    const regime = market.of(regimeTracker).current(BOUNDARY_MS + STEP_MS)
    const drivers = naiveDrivers(
      new Map(COINS.map((coin, at) => [coin, naiveCoin(at, sign)])),
      BOUNDARY_MS + STEP_MS,
    )
    expect(regime).toMatchObject({ label: 'NEUTRAL', asOfMs: BOUNDARY_MS + STEP_MS })
    for (const name of driverNames)
      expect(regime?.drivers?.[name], name).toBeCloseTo(drivers[name] ?? Number.NaN, 9)
    const composite = compositeOf(regime?.drivers ?? expect.fail('there are drivers'))
    expect(composite).toBeCloseTo(naiveComposite(drivers), 9)
    expect(Math.abs(composite)).toBeGreaterThan(0.25)
    pass(market, BOUNDARY_MS + STEP_MS + 1_000, BOUNDARY_MS + 2 * STEP_MS + 1_000)
    expect(market.of(regimeTracker).current(BOUNDARY_MS)?.label, 'twice in a row').toBe(
      sign > 0 ? 'RISK_ON' : 'RISK_OFF',
    )
  })

  test('is that of the main dex, whatever builder-deployed perpetuals do', () => {
    const builders = COINS.map((coin) => `xyz:${coin}`)
    const [own, mixed, unknown] = [
      marketOf(COINS),
      marketOf([...COINS, ...builders]),
      marketOf(COINS, 1, [...builders, ...builders.map((coin) => `${coin}2`)]),
    ].map((market) => {
      pass(market, NOW_MS, BOUNDARY_MS + STEP_MS + 1_000)
      return market.of(regimeTracker).current(BOUNDARY_MS + STEP_MS)
    })
    expect(mixed).toEqual(own)
    expect(unknown).toEqual(own)
  })

  test('is evaluated at whole five minutes of the venue, and not between them', () => {
    const market = marketOf(COINS)
    pass(market, NOW_MS, BOUNDARY_MS + STEP_MS - 1)
    expect(market.of(regimeTracker).current(NOW_MS)).toBeNull()
    pass(market, BOUNDARY_MS + STEP_MS, BOUNDARY_MS + STEP_MS + 1)
    const first = market.of(regimeTracker).current(NOW_MS)
    expect(first?.asOfMs).toBe(BOUNDARY_MS + STEP_MS)
    pass(market, BOUNDARY_MS + STEP_MS + 2, BOUNDARY_MS + 2 * STEP_MS - 1)
    expect(market.of(regimeTracker).current(NOW_MS)).toBe(first)
  })

  test.each([
    { known: 6, of: 10, label: 'NEUTRAL' },
    { known: 5, of: 9, label: 'UNKNOWN' },
  ])('with $known of $of coins known is $label', ({ known, of, label }) => {
    const names = Array.from({ length: of }, (_, at) => COINS[at] ?? `C${at}`)
    const market = marketOf(names.slice(0, known), 1, names.slice(known))
    pass(market, NOW_MS, BOUNDARY_MS + STEP_MS)
    expect(market.of(regimeTracker).current(NOW_MS)?.label).toBe(label)
  })

  test.each([
    { offBps: 300, agoMs: 30_000, label: 'STRESS' },
    { offBps: 3, agoMs: 30_000, label: 'NEUTRAL' },
    { offBps: 300, agoMs: 70_000, label: 'NEUTRAL' },
  ])('with chains $offBps bps apart, $agoMs ms before, is $label', ({ offBps, agoMs, label }) => {
    const market = marketOf(COINS)
    const evaluatedMs = BOUNDARY_MS + STEP_MS
    pass(market, NOW_MS, NOW_MS)
    const toldMs = evaluatedMs - agoMs
    const five = chains.slice(0, 5)
    const apart = poolEvents(toldMs, (_, chain) => offBps * chains.indexOf(chain))
    const told = apart.filter((event) => 'chain' in event && five.includes(event.chain))
    for (const event of [...rateEvents(toldMs), ...told]) market.apply(event)
    market.advance(toldMs)
    pass(market, evaluatedMs, evaluatedMs)
    expect(market.of(regimeTracker).current(evaluatedMs)?.label).toBe(label)
  })

  test.each([
    { usd: 0.99, agoMs: 30_000, label: 'STRESS' },
    { usd: 0.999, agoMs: 30_000, label: 'NEUTRAL' },
    { usd: 0.99, agoMs: 61_000, label: 'NEUTRAL' },
  ])('with USDC at $usd, $agoMs ms before, is $label', ({ usd, agoMs, label }) => {
    const market = marketOf(COINS)
    const evaluatedMs = BOUNDARY_MS + STEP_MS
    pass(market, NOW_MS, NOW_MS)
    const told = pegTape(evaluatedMs - agoMs, (_, asset) => (asset === 'USDC' ? usd : 1))
    for (const event of told) market.apply(event)
    market.advance(evaluatedMs - agoMs)
    pass(market, evaluatedMs, evaluatedMs)
    expect(market.of(regimeTracker).current(evaluatedMs)?.label).toBe(label)
  })

  test('is UNKNOWN without BTC', () => {
    const market = marketOf(COINS.slice(1))
    pass(market, NOW_MS, BOUNDARY_MS + STEP_MS)
    expect(market.of(regimeTracker).current(NOW_MS)).toMatchObject({
      label: 'UNKNOWN',
      drivers: null,
    })
  })

  test('a delisted coin is none that has to be known', () => {
    const market = marketOf(COINS.slice(0, 3), 1, COINS.slice(3))
    market.apply(universe(COINS.slice(0, 3), COINS.slice(3)))
    pass(market, NOW_MS, BOUNDARY_MS + STEP_MS)
    expect(market.of(regimeTracker).current(NOW_MS)?.label).toBe('NEUTRAL')
  })

  test('is UNKNOWN once the candles of the coins are older than two hours', () => {
    const market = marketOf(COINS)
    pass(market, NOW_MS, BOUNDARY_MS + STEP_MS)
    const lateMs = NOW_MS + 120 * MINUTE_MS
    const stamp = (timeMs: number) => ({ timeExchangeMs: timeMs, timeReceivedMs: timeMs })
    // The feed is lost, and only a coin that was listed since sends events.
    for (const timeMs of [lateMs - 1, lateMs + STEP_MS + 1]) {
      market.apply({ ...universe([...COINS, 'NEW']), ...stamp(timeMs) })
      market.apply(context('NEW', stamp(timeMs)))
      market.advance(timeMs)
    }
    expect(market.of(regimeTracker).current(lateMs)).toMatchObject({
      label: 'UNKNOWN',
      previous: 'NEUTRAL',
    })
  })

  test('without an evaluation for two hours is UNKNOWN', () => {
    const market = marketOf(COINS)
    pass(market, NOW_MS, BOUNDARY_MS + STEP_MS)
    const asOfMs = BOUNDARY_MS + STEP_MS
    const at = (ms: number) => market.of(regimeTracker).current(ms)
    expect(at(asOfMs + 120 * MINUTE_MS)?.label).toBe('NEUTRAL')
    expect(at(asOfMs + 120 * MINUTE_MS + 1)).toMatchObject({
      label: 'UNKNOWN',
      previous: 'NEUTRAL',
      sinceMs: asOfMs + 120 * MINUTE_MS,
      asOfMs,
      drivers: null,
    })
  })

  test('is the same after a restart, and continues', () => {
    const market = marketOf(COINS)
    pass(market, NOW_MS, BOUNDARY_MS + STEP_MS)
    const restarted = marketOf(COINS)
    restarted.restore(market.save())
    const midMs = BOUNDARY_MS + STEP_MS
    expect(restarted.of(regimeTracker).current(midMs)).toEqual(
      market.of(regimeTracker).current(midMs),
    )
    for (const either of [market, restarted]) pass(either, midMs, midMs + STEP_MS)
    const [one, other] = [market, restarted].map((of) => of.of(regimeTracker).current(midMs))
    expect(one?.label).toBe('RISK_ON')
    expect(other).toEqual(one)
  })
})

/** Bars of the coin of that rank, up to 100: all drift the same way, each with a swing of its own. */
function barsOf(rank: number, sign: number) {
  return (timeframe: Timeframe, count: number): Bar[] =>
    wave(timeframe, count).map((bar, index) => {
      const priceAt = (before: number) =>
        100 - 0.04 * sign * before - 0.2 * (rank + 1) * Math.sin(before / 17)
      const [open, close] = [priceAt(count - index), priceAt(count - index - 1)]
      const high = Math.max(open, close) + 0.1
      return { ...bar, open, close, high, low: Math.min(open, close) - 0.1 }
    })
}

function marketOf(
  known: readonly string[],
  sign = 1,
  unknown: readonly string[] = [],
): MarketState {
  const market = newMarket(new PulsePool(60))
  market.apply(universe([...known, ...unknown]))
  for (const [rank, coin] of known.entries()) {
    const bars = barsOf(rank, sign)
    market.apply(context(coin))
    market.apply(history(coin, '4h', bars('4h', 1_200)))
    market.apply(history(coin, '15m', bars('15m', 1_344)))
  }
  market.advance(0)
  return market
}

/** Events at both instants, and none between them. */
function pass(market: MarketState, fromMs: number, toMs: number): void {
  for (const timeMs of [fromMs, toMs]) {
    for (const { listing } of market.coins())
      market.apply(context(listing.coin, { timeExchangeMs: timeMs, timeReceivedMs: timeMs }))
    market.advance(timeMs)
  }
}

/** Events of {@link marketOf}, with the forming bars, which have no trades. */
function naiveCoin(rank: number, sign: number): NaiveCoin {
  const bars = barsOf(rank, sign)
  const quarters = bars('15m', 1_344)
  const close = quarters.at(-1)?.close ?? Number.NaN
  const flat = { open: close, high: close, low: close, close, volumeBase: 0 }
  const forming = { openTimeMs: BOUNDARY_MS, ...flat }
  return { fours: [...bars('4h', 1_200), forming], hours: [...naiveHours(quarters), forming] }
}
