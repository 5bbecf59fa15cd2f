import { test as property } from '@fast-check/vitest'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { naivePercentile } from '../../../test/golden/naive-statistics.ts'
import { naiveAtrPercents, naiveHours } from '../../../test/golden/naive-volatility.ts'
import type { Bar } from '../../domain/bar.ts'
import type { CoinEvent } from '../../domain/event.ts'
import { PulsePool } from '../indicators/pulse-series.ts'
import type { CoinMarket } from '../market/coin-market.ts'
import { hasSharedCandles, quarters, START_MS, sharedBars } from '../testing/bars.ts'
import { newMarket } from '../testing/new-market.ts'
import { context, universe } from '../testing/tape.ts'
import type { VolatilitySeries } from './volatility-series.ts'
import {
  VOLATILITY_HOURS_MIN,
  VOLATILITY_WINDOW_HOURS,
  volatilitySeries,
} from './volatility-series.ts'

const QUARTER_MS = 900_000
const HOUR_MS = 3_600_000
/** Of a year's length: what two summations of it may differ by. */
const ROUNDING = 1e-9

describe('volatility of a coin', () => {
  property.prop([quarters({ minLength: 740, maxLength: 900 })], { numRuns: 6 })(
    'ranks among the hours of its history as a count from scratch does',
    (bars) => {
      const coin = btc()
      tell(coin, historyOf(bars, endOf(bars)))
      expectAsNaive(coin.of(volatilitySeries), naiveHours(closedOf(bars)))
    },
  )

  property.prop([quarters({ minLength: 760, maxLength: 900 }), fc.integer({ min: 1, max: 200 })], {
    numRuns: 6,
  })('is the same, however much of it was received live', (bars, live) => {
    const whole = btc()
    tell(whole, historyOf(bars, endOf(bars)))
    const followed = btc()
    const [past, heard] = [bars.slice(0, -live), bars.slice(-live)]
    tell(followed, historyOf(past, endOf(past)))
    for (const bar of heard) listen(followed, bar)
    passBy(followed, endOf(bars))
    expect(figures(followed)).toEqual(figures(whole))
  })

  property.prop([quarters({ minLength: 760, maxLength: 800 }), fc.infiniteStream(fc.boolean())], {
    numRuns: 6,
  })('is the same, whoever asks for what while a quarter forms', (bars, asks) => {
    const [asked, left] = [btc(), btc()]
    const [past, heard] = [bars.slice(0, -12), bars.slice(-12)]
    for (const coin of [asked, left]) tell(coin, historyOf(past, endOf(past)))
    for (const bar of heard) {
      const begun = { ...bar, high: bar.open, low: bar.open, close: bar.open, volumeBase: 0.5 }
      for (const word of [begun, bar]) {
        listen(asked, word)
        listen(left, word)
        if (asks.next().value === true) asked.of(volatilitySeries).save()
        if (asks.next().value === true) asked.of(volatilitySeries).priceAt(bar.openTimeMs)
      }
    }
    for (const coin of [asked, left]) passBy(coin, endOf(bars))
    expect(asked.of(volatilitySeries).save()).toEqual(left.of(volatilitySeries).save())
    expect(figures(asked)).toEqual(figures(left))
  })

  test('a forming hour counts once its range raises the average', () => {
    const bars = wavy(760).map((bar) => ({ ...bar, open: 100, high: 101, low: 99, close: 100 }))
    const coin = btc()
    tell(coin, historyOf(bars, endOf(bars)))
    const volatility = coin.of(volatilitySeries)
    // Every hour has a range of 2 %, as the average; an hour that has just begun has none.
    expect(volatility.presentPercentile((13 / 14) * 2)).toBe(50)
    expect(volatility.presentPercentile(2 * (1 + 1e-12)), 'another order of summation').toBe(50)
    expect(volatility.presentPercentile(2.1)).toBe(100)
  })

  test('an hour without trades is flat, not missing', () => {
    const bars = wavy(760)
    const coin = btc()
    tell(coin, historyOf(bars, endOf(bars)))
    const { hours } = coin.of(volatilitySeries)
    for (let hour = 1; hour <= 3; hour += 1) passBy(coin, endOf(bars) + hour * HOUR_MS)
    expect(coin.of(volatilitySeries).hours).toBe(hours + 3)
    const close = bars.at(-1)?.close ?? Number.NaN
    const flat = Array.from({ length: 12 }, (_, at) => ({
      openTimeMs: endOf(bars) + at * QUARTER_MS,
      open: close,
      high: close,
      low: close,
      close,
      volumeBase: 0,
    }))
    expectAsNaive(coin.of(volatilitySeries), naiveHours(closedOf([...bars, ...flat])))
  })

  test('hours that an interruption cost come from the history that mends it', () => {
    const bars = wavy(800)
    const [past, missed, live] = [bars.slice(0, 740), bars.slice(740, 790), bars.slice(790)]
    const coin = btc()
    tell(coin, historyOf(past, endOf(past)))
    coin.interrupt(endOf(past))
    const [first, second, ...rest] = live
    if (first === undefined || second === undefined) throw new Error('there are ten')
    listen(coin, first)
    listen(coin, second)
    // Asked for after the first of them had ended, and answered after the second.
    tell(coin, historyOf([...past.slice(-1), ...missed, first], second.openTimeMs))
    for (const bar of rest) listen(coin, bar)
    passBy(coin, endOf(bars))
    expectAsNaive(coin.of(volatilitySeries), naiveHours(closedOf(bars)))
  })

  test('a month is restored from hourly history, whenever it arrives', () => {
    const bars = wavy(4 * 820)
    const recent = bars.slice(-1_000)
    const hours = naiveHours(bars)
    const [before, after] = [btc(), btc()]
    tell(before, hourly(hours))
    tell(before, historyOf(recent, endOf(recent)))
    tell(after, historyOf(recent, endOf(recent)))
    expect(after.of(volatilitySeries).hours).toBeLessThan(VOLATILITY_WINDOW_HOURS)
    tell(after, hourly(hours))
    expect(after.of(volatilitySeries).hours).toBe(VOLATILITY_WINDOW_HOURS)
    expect(figures(after)).toEqual(figures(before))
    expectAsNaive(after.of(volatilitySeries), naiveHours(closedOf(bars)))
  })

  test('an hour that a restart interrupted is complete after it', () => {
    const bars = wavy(750)
    const [past, rest] = [bars.slice(0, 746), bars.slice(746)]
    const first = btc()
    tell(first, historyOf(past, endOf(past)))
    const restarted = btc()
    restarted.restore(first.save(endOf(past)), endOf(past))
    tell(restarted, hourly(naiveHours(past)))
    tell(restarted, historyOf(rest, endOf(rest)))
    for (const bar of rest) listen(first, bar)
    passBy(first, endOf(bars))
    expect(figures(restarted)).toEqual(figures(first))
  })

  test('the last state of a 15m bar is the price before its end, also while its hour is open', () => {
    const bars = wavy(764)
    const coin = btc()
    tell(coin, historyOf(bars.slice(0, 760), endOf(bars.slice(0, 760))))
    for (const bar of bars.slice(760)) {
      listen(coin, { ...bar, close: bar.open })
      listen(coin, bar)
    }
    expect(coin.of(volatilitySeries).priceAt(endOf(bars))).toBe(bars.at(-1)?.close)
  })

  test('a revision of the last 15m bar of a closed hour counts immediately', () => {
    const bars = wavy(760)
    const coin = btc()
    tell(coin, historyOf(bars, endOf(bars)))
    const last = bars.at(-1)
    if (last === undefined) throw new Error('there are bars')
    const revised = { ...last, high: last.high * 1.2, volumeBase: last.volumeBase + 1 }
    listen(coin, revised)
    expectAsNaive(coin.of(volatilitySeries), naiveHours(closedOf([...bars.slice(0, -1), revised])))
  })

  test('a revision of a closed hour counts', () => {
    const bars = wavy(760)
    const coin = btc()
    tell(coin, historyOf(bars, endOf(bars)))
    const before = figures(coin)
    const hours = naiveHours(closedOf(bars))
    const last = hours.at(-1)
    if (last === undefined) throw new Error('there are hours')
    const revised = { ...last, high: last.high * 1.2 }
    tell(coin, hourly([revised]))
    expect(figures(coin)).not.toEqual(before)
    expectAsNaive(coin.of(volatilitySeries), [...hours.slice(0, -1), revised])
  })

  test.each([
    [VOLATILITY_HOURS_MIN + 13, null],
    [VOLATILITY_HOURS_MIN + 14, expect.any(Number)],
  ])('after %i hours the rank is %s: fourteen go to the first average', (hours, rank) => {
    const bars = wavy(4 * hours + 1)
    const coin = btc()
    tell(coin, historyOf(bars, endOf(bars)))
    expect(coin.of(volatilitySeries).percentile(1)).toEqual(rank)
  })

  test('of a market that never moved is in the middle of itself', () => {
    const bars = wavy(760).map((bar) => ({ ...bar, open: 5, high: 5, low: 5, close: 5 }))
    const coin = btc()
    tell(coin, historyOf(bars, endOf(bars)))
    expect(coin.of(volatilitySeries).percentile(0)).toBe(50)
  })

  test('without any bar is unknown', () => {
    expect(btc().of(volatilitySeries).percentile(1)).toBeNull()
    expect(btc().of(volatilitySeries).percentile(Number.NaN)).toBeNull()
    expect(btc().of(volatilitySeries).priceAt(START_MS)).toBeNaN()
  })

  test('the price of an instant is the last close before it', () => {
    const bars = wavy(760)
    const coin = btc()
    tell(coin, historyOf(bars, endOf(bars)))
    const hours = naiveHours(bars)
    const hour = hours[100]
    if (hour === undefined) throw new Error('there are hours')
    const { priceAt } = { priceAt: (ms: number) => coin.of(volatilitySeries).priceAt(ms) }
    expect(priceAt(hour.openTimeMs + HOUR_MS)).toBe(hour.close)
    expect(priceAt(hour.openTimeMs + 2 * HOUR_MS - 1)).toBe(hour.close)
    expect(priceAt(START_MS - 8 * HOUR_MS), 'nothing within six hours').toBeNaN()
  })

  test.skipIf(!hasSharedCandles)(
    'on real candles of BTC ranks as a count from scratch does (needs ../shared/data)',
    () => {
      const hours = sharedBars('BTC', '1h')
      const fifteens = sharedBars('BTC', '15m')
      const recent = fifteens.slice(-1_008 - (fifteens.length % 4), -4)
      const coin = btc()
      tell(coin, hourly(hours.filter(({ openTimeMs }) => openTimeMs < startOf(recent))))
      tell(coin, historyOf(recent, endOf(recent)))
      const known = hours.filter(({ openTimeMs }) => openTimeMs + HOUR_MS <= endOf(recent))
      const volatility = coin.of(volatilitySeries)
      expect(volatility.hours).toBe(VOLATILITY_WINDOW_HOURS)
      const values = naiveAtrPercents(known.slice(-2_000))
      for (const atrPct of [0.1, 0.3, 0.5, 0.7, 1, 2])
        expect(volatility.percentile(atrPct), `${atrPct} %`).toBeCloseTo(
          naivePercentile(values, atrPct),
          0,
        )
    },
  )
})

function btc(): CoinMarket {
  const market = newMarket(new PulsePool(3))
  market.apply(universe(['BTC']))
  const coin = market.coin('BTC')
  if (coin === undefined) throw new Error('BTC is listed')
  return coin
}

/** A price that swings ever wider and calmer again. */
function wavy(count: number): Bar[] {
  const priceAt = (at: number) => 100 * (1 + 0.02 * Math.sin(at / 9) * Math.sin(at / 173))
  return Array.from({ length: count }, (_, at) => {
    const [open, close] = [priceAt(at), priceAt(at + 1)]
    return {
      openTimeMs: START_MS + at * QUARTER_MS,
      open,
      high: Math.max(open, close) * 1.001,
      low: Math.min(open, close) * 0.999,
      close,
      volumeBase: 1,
    }
  })
}

function startOf(bars: readonly Bar[], at = 0): number {
  return bars[at]?.openTimeMs ?? Number.NaN
}

function endOf(bars: readonly Bar[]): number {
  return (bars.at(-1)?.openTimeMs ?? Number.NaN) + QUARTER_MS
}

/** Those of hours that are over. */
function closedOf(bars: readonly Bar[]): readonly Bar[] {
  return bars.slice(0, bars.length - (bars.length % 4))
}

const stamp = (timeMs: number) => ({ timeExchangeMs: timeMs, timeReceivedMs: timeMs })

/** Asked for after the grace behind the last bar's end. */
function historyOf(bars: readonly Bar[], askedAtMs: number): CoinEvent {
  return { kind: 'history', coin: 'BTC', timeframe: '15m', bars, ...stamp(askedAtMs + 4_000) }
}

function hourly(bars: readonly Bar[]): CoinEvent {
  return { kind: 'hourly-history', coin: 'BTC', bars, ...stamp(START_MS) }
}

function tell(coin: CoinMarket, event: CoinEvent): void {
  coin.apply(event)
}

/** A 15m bar shortly before it ends; the venue sends none without a trade. */
function listen(coin: CoinMarket, bar: Bar): void {
  const closingMs = bar.openTimeMs + QUARTER_MS - 1_000
  hear(coin, closingMs)
  if (bar.volumeBase > 0)
    coin.apply({ kind: 'candle', coin: 'BTC', timeframe: '15m', bar, ...stamp(closingMs) })
}

/** Until the 15m bars before an instant are closed, which takes a minute without trades, and an event after it. */
function passBy(coin: CoinMarket, timeMs: number): void {
  hear(coin, timeMs + 65_000)
  hear(coin, timeMs + 66_000)
}

/** The venue sends figures throughout, which confirm the candles and close ended bars. */
function hear(coin: CoinMarket, untilMs: number): void {
  let atMs = coin.context?.timeExchangeMs ?? coin.candlesConfirmedAtMs
  while (atMs < untilMs) {
    atMs = Math.min(atMs + 15_000, untilMs)
    coin.apply(context('BTC', stamp(atMs)))
    coin.advance()
  }
}

/** The rank of every hundredth percent, which together show all values. */
function figures(coin: CoinMarket) {
  const volatility = coin.of(volatilitySeries)
  const ranks = Array.from({ length: 400 }, (_, at) => volatility.percentile(at / 100))
  return { hours: volatility.hours, ranks }
}

function expectAsNaive(volatility: VolatilitySeries, hours: readonly Bar[]): void {
  const values = naiveAtrPercents(hours)
  expect(volatility.hours).toBe(values.length)
  for (const value of values) {
    // Between the values, where a difference in the last digit changes no rank.
    for (const atrPct of [value * (1 - ROUNDING), value * (1 + ROUNDING)]) {
      const isTie = values.some((other) => Math.abs(other - atrPct) <= (ROUNDING / 2) * other)
      if (isTie) continue
      expect(volatility.percentile(atrPct)).toBeCloseTo(naivePercentile(values, atrPct), 9)
    }
  }
}
