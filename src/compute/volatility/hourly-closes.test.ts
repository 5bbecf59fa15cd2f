import { describe, expect, test } from 'vitest'
import type { Bar } from '../../domain/bar.ts'
import type { MarketEvent } from '../../domain/event.ts'
import { PulsePool } from '../indicators/pulse-series.ts'
import { newMarket } from '../testing/new-market.ts'
import { BOUNDARY_MS, history, NOW_MS, universe, wave } from '../testing/tape.ts'
import { CLOSES_READ, HourlyCloses, hourlyCloses } from './hourly-closes.ts'

const HOUR_MS = 3_600_000
const LAST_HOUR = BOUNDARY_MS / HOUR_MS - 1

describe('hourly closes', () => {
  test('come from the candles as their hours close', () => {
    const { hourly } = coinAfter([history('BTC', '15m', wave('15m', 1008))])
    const quarters = wave('15m', 1008)
    expect(hourly.newestHour).toBe(LAST_HOUR)
    expect(hourly.close(LAST_HOUR)).toBe(quarters.at(-1)?.close)
    expect(hourly.close(LAST_HOUR - 1)).toBe(quarters.at(-5)?.close)
    expect(hourly.logReturn(LAST_HOUR)).toBe(
      Math.log((quarters.at(-1)?.close ?? 0) / (quarters.at(-5)?.close ?? 0)),
    )
  })

  test('an hour whose beginning was not seen has none', () => {
    const { hourly } = coinAfter([history('BTC', '15m', wave('15m', 6))])
    expect(hourly.close(LAST_HOUR)).not.toBeNaN()
    expect(hourly.close(LAST_HOUR - 1)).toBeNaN()
    expect(hourly.logReturn(LAST_HOUR)).toBeNaN()
  })

  test('go back as far as history does', () => {
    const { hourly } = coinAfter([hourlyHistory(wave('1h', 800))])
    expect(hourly.close(LAST_HOUR - 799)).toBe(wave('1h', 800)[0]?.close)
  })

  test('the last value of an hour counts, from either source', () => {
    const bars = wave('1h', 3)
    const [first] = bars as [Bar, Bar, Bar]
    const corrected = { ...first, close: 77 }
    const { hourly } = coinAfter([
      history('BTC', '15m', wave('15m', 1008)),
      hourlyHistory([corrected]),
    ])
    expect(hourly.close(LAST_HOUR - 2)).toBe(77)
  })

  test('a bar that may still change is not taken in', () => {
    const [bar] = wave('1h', 1) as [Bar]
    const closes = new HourlyCloses()
    closes.apply(hourlyEvent([bar], bar.openTimeMs + HOUR_MS + 2_999))
    expect(closes.close(LAST_HOUR)).toBeNaN()
    closes.apply(hourlyEvent([bar], bar.openTimeMs + HOUR_MS + 3_000))
    expect(closes.close(LAST_HOUR)).toBe(bar.close)
  })

  test.each([0, -1, Number.NaN, Number.POSITIVE_INFINITY])('a close of %f is none', (close) => {
    const [bar] = wave('1h', 1) as [Bar]
    const { hourly } = coinAfter([hourlyHistory([{ ...bar, close }])])
    expect(hourly.newestHour).toBeNaN()
    expect(hourly.close(LAST_HOUR)).toBeNaN()
  })

  test('remember a bounded number of hours', () => {
    const { hourly } = coinAfter([hourlyHistory(wave('1h', 3000))])
    expect(hourly.close(LAST_HOUR - CLOSES_READ + 1)).not.toBeNaN()
    expect(hourly.close(LAST_HOUR - 2 * CLOSES_READ)).toBeNaN()
  })

  test('a bar that was taken back and folded again has its second close', () => {
    const quarters = wave('15m', 1008)
    const [last] = quarters.slice(-1) as [Bar]
    const { market, hourly } = coinAfter(
      [history('BTC', '15m', quarters.slice(0, -1))],
      BOUNDARY_MS - 60_000,
    )
    const candle = (bar: Bar, timeMs: number) =>
      market.apply({
        kind: 'candle',
        coin: 'BTC',
        timeframe: '15m',
        bar,
        timeExchangeMs: timeMs,
        timeReceivedMs: timeMs,
      })
    candle(last, BOUNDARY_MS - 1_000)
    candle({ ...last, openTimeMs: BOUNDARY_MS }, BOUNDARY_MS + 500)
    expect(hourly.close(LAST_HOUR)).toBe(last.close)
    // The venue's final bar comes after the next one began.
    candle({ ...last, close: last.close + 1, high: last.close + 1 }, BOUNDARY_MS + 900)
    expect(hourly.close(LAST_HOUR)).toBe(last.close + 1)
  })

  describe('ask', () => {
    test('for everything that is read, before anything is known', () => {
      const need = new HourlyCloses().needFromMs(NOW_MS)
      expect(need).toBe((LAST_HOUR - CLOSES_READ + 1) * HOUR_MS)
    })

    test('for nothing once all of it is known', () => {
      const closes = new HourlyCloses()
      closes.apply(hourlyEvent(wave('1h', CLOSES_READ), NOW_MS))
      expect(closes.needFromMs(NOW_MS)).toBeNull()
    })

    test('from the first missing hour', () => {
      const closes = new HourlyCloses()
      const bars = wave('1h', CLOSES_READ)
      closes.apply(remembered([...bars.slice(0, 500), ...bars.slice(510)]))
      expect(closes.needFromMs(NOW_MS)).toBe(bars[500]?.openTimeMs)
    })

    test('not for the newest hours, which the candles bring', () => {
      const closes = new HourlyCloses()
      closes.apply(remembered(wave('1h', CLOSES_READ).slice(0, -1)))
      expect(closes.needFromMs(NOW_MS)).toBeNull()
    })

    test('the venue once: what it does not have, a young coin does not have', () => {
      const closes = new HourlyCloses()
      closes.apply(remembered(wave('1h', 50)))
      expect(closes.needFromMs(NOW_MS)).not.toBeNull()
      closes.apply(hourlyEvent(wave('1h', 60), NOW_MS))
      expect(closes.needFromMs(NOW_MS)).toBeNull()
      expect(closes.needFromMs(NOW_MS + 2 * HOUR_MS)).toBeNull()
    })

    test('again for a hole that came after it was asked', () => {
      const closes = new HourlyCloses()
      closes.apply(hourlyEvent(wave('1h', 60), NOW_MS))
      expect(closes.needFromMs(NOW_MS + 10 * HOUR_MS)).toBe(BOUNDARY_MS)
    })
  })
})

function coinAfter(events: readonly MarketEvent[], atMs = NOW_MS) {
  const market = newMarket(new PulsePool(3))
  market.apply(universe(['BTC']))
  for (const event of events) market.apply({ ...event, timeExchangeMs: atMs, timeReceivedMs: atMs })
  const hourly = market.coin('BTC')?.of(hourlyCloses)
  if (hourly === undefined) throw new Error('BTC is listed')
  return { market, hourly }
}

function hourlyHistory(bars: readonly Bar[]) {
  return hourlyEvent(bars, NOW_MS)
}

function remembered(bars: readonly Bar[]) {
  return { ...hourlyEvent(bars, NOW_MS), isRemembered: true as const }
}

function hourlyEvent(bars: readonly Bar[], askedAtMs: number) {
  return {
    kind: 'hourly-history' as const,
    coin: 'BTC',
    bars,
    timeExchangeMs: askedAtMs,
    timeReceivedMs: askedAtMs,
  }
}
