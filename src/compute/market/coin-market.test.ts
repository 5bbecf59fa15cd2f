import { beforeEach, describe, expect, test } from 'vitest'
import type { Bar } from '../../domain/bar.ts'
import type { CandleEvent } from '../../domain/event.ts'
import { CandleLadder } from '../candles/candle-ladder.ts'
import { NewestBar } from '../candles/newest-bar.ts'
import { PulsePool } from '../indicators/pulse-series.ts'
import { liquidationFlow } from '../liquidation/liquidation-flow.ts'
import { BOUNDARY_MS, book, context, NOW_MS, wave } from '../testing/tape.ts'
import { CoinMarket, undated } from './coin-market.ts'

const listing = {
  coin: 'BTC',
  sizeDecimals: 2,
  maxLeverage: 3,
  marginTiers: [{ lowerBoundUsd: 0, maxLeverage: 3 }],
  isDelisted: false,
}
const QUARTER_MS = 900_000

describe('coin market', () => {
  let coin: CoinMarket

  beforeEach(() => {
    coin = newCoin()
    coin.apply({
      kind: 'history',
      coin: 'BTC',
      timeframe: '15m',
      bars: wave('15m', 300),
      ...at(NOW_MS),
    })
  })

  test('takes its price from the quote while that is young', () => {
    coin.apply(context('BTC', { midPrice: 500, ...at(NOW_MS + 10_000) }))
    coin.apply(book('BTC', at(NOW_MS + 5_000)))
    expect(coin.midPrice).toBe(110)
  })

  test('a quote that lags behind the other figures is no price any more', () => {
    coin.apply(book('BTC', at(NOW_MS)))
    coin.apply(context('BTC', { midPrice: 500, ...at(NOW_MS + 60_000) }))
    expect(coin.quote).toBeNull()
    expect(coin.midPrice).toBe(500)
  })

  test('takes the mark price without a mid', () => {
    coin.apply(context('BTC', { midPrice: null, markPrice: 77 }))
    expect(coin.midPrice).toBe(77)
  })

  test.each([
    { ask: 104.99, price: 102.495, isKnown: true },
    { ask: 106, price: 101, isKnown: false },
    { ask: 130, price: 101, isKnown: false },
  ])(
    'takes the mark price if asks begin only at $ask over a bid of 100: $price',
    ({ ask, price, isKnown }) => {
      const midPrice = (100 + ask) / 2
      coin.apply(context('BTC', { midPrice, markPrice: 101 }))
      const [bids, asks] = [100, ask].map((best) => [{ price: best, sizeBase: 1 }])
      coin.apply(book('BTC', { bids: bids ?? [], asks: asks ?? [] }))
      expect(coin.midPrice).toBeCloseTo(price, 9)
      expect(coin.isMidKnown).toBe(isKnown)
    },
  )

  test('a price that did not change is that of the last mark, whatever a context had in between', () => {
    const mark = { kind: 'mark', coin: 'BTC' } as const
    coin.apply({ ...mark, markPrice: 100, midPrice: 101, ...at(NOW_MS + 1_000) })
    coin.apply(context('BTC', { markPrice: 102, midPrice: 103, ...at(NOW_MS + 1_400) }))
    coin.apply({ ...mark, midPrice: 104, ...at(NOW_MS + 2_000) })
    expect(coin.of(liquidationFlow).markPrice).toBe(100)
    coin.apply({ ...mark, markPrice: 105, ...at(NOW_MS + 3_000) })
    expect(coin.midPrice).toBe(104)
  })

  test('a price that was overtaken on the way does not replace a newer one', () => {
    coin.apply(context('BTC', { midPrice: 500, markPrice: 501, ...at(NOW_MS + 20_000) }))
    coin.apply(context('BTC', { midPrice: 400, markPrice: 401, ...at(NOW_MS + 18_000) }))
    expect(coin.midPrice).toBe(500)
    expect(coin.priceConfirmedAtMs).toBe(NOW_MS + 20_000)
  })

  test('a price that was held up for longer does, and is as old: the one before was as late', () => {
    coin.apply({ kind: 'mark', coin: 'BTC', midPrice: 400, ...at(NOW_MS + 20_000) })
    coin.apply({ kind: 'mark', coin: 'BTC', midPrice: 500, ...at(NOW_MS + 6_000) })
    expect(coin.midPrice).toBe(500)
    expect(coin.priceConfirmedAtMs).toBe(NOW_MS + 6_000)
  })

  test('figures that were overtaken on the way do not replace newer ones', () => {
    coin.apply(context('BTC', { openInterestBase: 7, ...at(NOW_MS + 6_000) }))
    coin.apply(context('BTC', { openInterestBase: 6, ...at(NOW_MS + 5_400) }))
    expect(coin.context).toMatchObject({ openInterestBase: 7, timeReceivedMs: NOW_MS + 6_000 })
  })

  test('figures that were held up for longer do: what came before them over the same connection was as late', () => {
    coin.apply(context('BTC', { openInterestBase: 6, ...at(NOW_MS + 6_000) }))
    coin.apply(context('BTC', { openInterestBase: 7, ...at(NOW_MS + 1_000) }))
    expect(coin.context).toMatchObject({ openInterestBase: 7, timeReceivedMs: NOW_MS + 1_000 })
  })

  test("figures confirm candles only until the last event of the candles' connection", () => {
    coin.apply(book('BTC', at(NOW_MS + 5_000)))
    coin.apply(context('BTC', at(NOW_MS + 15_000)))
    expect(coin.candlesConfirmedAtMs).toBe(NOW_MS + 5_000)
    coin.apply(book('BTC', at(NOW_MS + 10_400)))
    expect(coin.candlesConfirmedAtMs).toBe(NOW_MS + 10_400)
    coin.apply(book('BTC', at(NOW_MS + 15_800)))
    expect(coin.candlesConfirmedAtMs, 'and not without figures').toBe(NOW_MS + 15_000)
  })

  test('takes back a bar that was closed shortly before a silence, however late that is noticed', () => {
    hearUntil(BOUNDARY_MS + QUARTER_MS + 5_000)
    coin.advance()
    expect(coin.ladder.barCount('15m')).toBe(301)
    const silentMs = BOUNDARY_MS + QUARTER_MS + 120_000
    coin.apply({
      kind: 'silence',
      coin: 'BTC',
      channel: 'candle',
      state: 'silent',
      ...at(silentMs),
    })
    expect(coin.ladder.barCount('15m')).toBe(300)
  })

  test('closes bars by the last observation of the coin, not by elapsed time', () => {
    coin.apply(context('BTC', at(NOW_MS)))
    coin.advance()
    expect(coin.ladder.barCount('15m')).toBe(300)
    hearUntil(BOUNDARY_MS + QUARTER_MS + 5_000)
    coin.advance()
    expect(coin.ladder.barCount('15m')).toBe(301)
  })

  test('does not fold what it slept through', () => {
    coin.apply(context('BTC', at(NOW_MS)))
    coin.apply(context('BTC', at(NOW_MS + 10 * 3_600_000)))
    coin.advance()
    expect(coin.ladder.barCount('15m')).toBe(300)
    expect(coin.ladder.isContinuous).toBe(false)
    expect(coin.candlesConfirmedAtMs, 'and the candles keep their age').toBe(NOW_MS)
  })

  test('does not close a bar after an undetected stall', () => {
    coin.apply(context('BTC', at(BOUNDARY_MS + QUARTER_MS - 12_000)))
    hearUntil(BOUNDARY_MS + QUARTER_MS - 12_000)
    coin.apply(context('BTC', at(BOUNDARY_MS + QUARTER_MS + 13_000)))
    coin.advance()
    expect(coin.ladder.barCount('15m')).toBe(300)
    expect(coin.ladder.needs(BOUNDARY_MS + QUARTER_MS + 13_000)).toEqual([
      { timeframe: '15m', fromMs: BOUNDARY_MS },
    ])
  })

  test('is not restored from the numbers of another layout', () => {
    const saved = coin.save(NOW_MS)
    const other = newCoin()
    expect(other.restore(saved.with(0, 99), NOW_MS)).toBe(false)
    expect(other.restore(saved.subarray(0, saved.length - 1), NOW_MS)).toBe(false)
    expect(other.ladder.barCount('15m')).toBe(0)
    expect(other.restore(saved, NOW_MS)).toBe(true)
    expect(other.ladder.barCount('15m')).toBe(300)
  })

  test('is restored with its last figures, as old as they are', () => {
    coin.apply(context('BTC', at(NOW_MS + 1_000)))
    coin.apply(book('BTC', at(NOW_MS + 2_000)))
    const other = newCoin()
    expect(other.restore(coin.save(NOW_MS), NOW_MS)).toBe(true)
    expect(other.context).toEqual(coin.context)
    expect(other.book).toEqual(coin.book)
    expect(other.quote).toEqual(coin.quote)
    expect(other.midPrice).toBe(coin.midPrice)
    expect(other.priceConfirmedAtMs).toBe(NOW_MS + 1_000)
  })

  test('restores no figures whose age is unknown', () => {
    coin.apply(context('BTC', at(NOW_MS + 1_000)))
    const other = newCoin()
    expect(other.restore(coin.save(NOW_MS), NOW_MS - 60_000)).toBe(true)
    expect(other.context).toBeNull()
    expect(other.candlesConfirmedAtMs, 'too old to be answered').toBe(0)
    expect(other.ladder.barCount('15m'), 'bars are as old as they are').toBe(300)
  })

  test('events after a request are newer than its reply', () => {
    coin.apply(context('BTC', at(NOW_MS + 2_000)))
    const bars = wave('15m', 300)
    coin.apply({ kind: 'history', coin: 'BTC', timeframe: '15m', bars, ...at(NOW_MS + 1_000) })
    expect(coin.candlesConfirmedAtMs).toBe(NOW_MS + 2_000)
  })

  test('is undated where its age is unknown', () => {
    const other = newCoin()
    expect(other.restore(undated(coin.save(NOW_MS)), NOW_MS + 60_000)).toBe(true)
    expect(other.candlesConfirmedAtMs).toBe(0)
    expect(other.ladder.barCount('15m')).toBe(300)
  })

  test.each([-135_000, 135_000])(
    'a bar that is taken back is no younger by a clock that is %i ms ahead of the venue',
    (aheadMs) => {
      const ours = (venueMs: number) => ({
        timeExchangeMs: venueMs,
        timeReceivedMs: venueMs + aheadMs,
      })
      const { coin, endMs } = heardForming(ours(NOW_MS))
      for (let venueMs = NOW_MS; venueMs <= endMs + 70_000; venueMs += 10_000)
        coin.apply(context('BTC', ours(venueMs)))
      coin.advance()
      coin.interrupt(endMs + 20_000)
      expect(coin.candlesConfirmedAtMs).toBe(endMs + Math.min(0, aheadMs))
    },
  )

  test('a reopened bar had ended when the next one was received, by any clock', () => {
    const endMs = BOUNDARY_MS + QUARTER_MS
    // The bars go by another clock than the frames, which are stamped half a minute late; ours is as late.
    const late = (ms: number) => ({ timeExchangeMs: ms - 30_000, timeReceivedMs: ms - 27_000 })
    const candle = (openTimeMs: number, heardMs: number) => {
      const bar = { ...(wave('15m', 300).at(-1) as Bar), openTimeMs }
      coin.apply({ kind: 'candle', coin: 'BTC', timeframe: '15m', bar, ...late(heardMs) })
    }
    coin = newCoin()
    coin.apply({
      ...{ kind: 'history', coin: 'BTC', timeframe: '15m', bars: wave('15m', 300) },
      ...late(NOW_MS),
    })
    for (let heardMs = NOW_MS; heardMs < endMs; heardMs += 10_000) candle(BOUNDARY_MS, heardMs)
    candle(endMs, endMs + 1_000)
    candle(endMs, endMs + 9_000)
    expect(coin.candlesConfirmedAtMs).toBe(late(endMs + 9_000).timeReceivedMs)
    coin.interrupt(late(endMs + 12_000).timeExchangeMs)
    expect(coin.candlesConfirmedAtMs).toBe(late(endMs + 1_000).timeReceivedMs)
  })

  test('a clock that runs ahead ends no bar, and confirms none beyond its end, before some coin has the next one', () => {
    const { newestBar, coin, bars, endMs, forming } = heardForming()
    const AHEAD_MS = 30_000
    for (let nowMs = NOW_MS; nowMs <= endMs; nowMs += 10_000) {
      const times = { timeReceivedMs: nowMs, timeExchangeMs: nowMs + AHEAD_MS }
      coin.apply(context('BTC', times))
      coin.advance()
    }
    expect(coin.ladder.closedUntilMs).toBe(endMs - QUARTER_MS)
    expect(coin.candlesConfirmedAtMs).toBeLessThanOrEqual(endMs - AHEAD_MS)
    const asked = { timeReceivedMs: endMs - 1_000, timeExchangeMs: endMs - 1_000 + AHEAD_MS }
    coin.apply({ kind: 'history', coin: 'BTC', timeframe: '15m', bars, ...asked })
    expect(coin.ladder.closedUntilMs, 'nor does a reply').toBe(endMs - QUARTER_MS)
    newestBar.candle({
      kind: 'candle',
      coin: 'ETH',
      timeframe: '15m',
      bar: { ...forming, openTimeMs: endMs },
      ...at(endMs + 500),
    })
    coin.advance()
    expect(coin.ladder.closedUntilMs).toBe(endMs)
  })

  test('a reply confirms a bar only until its end while no coin has the next one', () => {
    const { coin, bars, endMs, forming } = heardForming()
    coin.interrupt(endMs - 5_000)
    const reply = [...bars.slice(0, -1), forming]
    coin.apply({
      kind: 'history',
      coin: 'BTC',
      timeframe: '15m',
      bars: reply,
      ...at(endMs + 18_000),
    })
    expect(coin.ladder.isContinuous).toBe(true)
    expect(coin.candlesConfirmedAtMs).toBeLessThanOrEqual(endMs)
  })

  test.each([-60_000, 60_000])(
    'a reply confirms no forming bar, by clocks %i ms apart, before any candle',
    (apartMs) => {
      const newestBar = new NewestBar()
      const coin = newCoin(newestBar)
      const bars = wave('15m', 300)
      const apart = (ms: number) => ({ timeReceivedMs: ms, timeExchangeMs: ms + apartMs })
      const askedMs = BOUNDARY_MS + 300_000
      coin.apply({ kind: 'history', coin: 'BTC', timeframe: '15m', bars, ...apart(askedMs) })
      coin.apply(context('BTC', apart(askedMs + 1_000)))
      expect(coin.ladder.isContinuous).toBe(true)
      expect(coin.candlesConfirmedAtMs).toBeLessThanOrEqual(BOUNDARY_MS)
      const forming = { ...(bars.at(-1) as Bar), openTimeMs: BOUNDARY_MS }
      const candle = { kind: 'candle', coin: 'ETH', timeframe: '15m', bar: forming } as const
      newestBar.candle({ ...candle, ...apart(askedMs + 1_500) })
      coin.apply(context('BTC', apart(askedMs + 2_000)))
      expect(coin.candlesConfirmedAtMs, 'and then for all').toBe(askedMs + 2_000)
    },
  )

  test.each([
    { clocks: 'a clock that is ahead of ours', oursAheadMs: 0 },
    { clocks: 'two clocks that are ahead and disagree', oursAheadMs: 48_000 },
  ])('a reply ends no bar, by $clocks, before any coin told of a bar', ({ oursAheadMs }) => {
    const coin = newCoin()
    const askedMs = BOUNDARY_MS - 20_000
    const times = { timeReceivedMs: askedMs + oursAheadMs, timeExchangeMs: askedMs + 30_000 }
    coin.apply({
      ...{ kind: 'history', coin: 'BTC', timeframe: '15m', bars: wave('15m', 300) },
      ...times,
    })
    expect(coin.ladder.closedUntilMs).toBe(BOUNDARY_MS - QUARTER_MS)
  })

  test('a reply does not confirm an ended bar further, by a late clock, once another coin has the next one', () => {
    const { newestBar, coin, bars, endMs, forming } = heardForming()
    coin.interrupt(endMs - 35_000)
    const next = { ...forming, openTimeMs: endMs }
    newestBar.candle({
      kind: 'candle',
      coin: 'ETH',
      timeframe: '15m',
      bar: next,
      ...at(endMs + 500),
    })
    coin.apply({
      ...{ kind: 'history', coin: 'BTC', timeframe: '15m', bars: [...bars.slice(0, -1), forming] },
      ...{ timeReceivedMs: endMs + 10_000, timeExchangeMs: endMs - 15_000 },
    })
    expect(coin.ladder.isContinuous).toBe(true)
    expect(coin.candlesConfirmedAtMs).toBe(endMs)
  })

  test('does not confirm an ended bar further once another coin has the next one', () => {
    const newestBar = new NewestBar()
    coin = newCoin(newestBar)
    coin.apply({
      ...{ kind: 'history', coin: 'BTC', timeframe: '15m', bars: wave('15m', 300) },
      ...at(NOW_MS),
    })
    const endMs = BOUNDARY_MS + QUARTER_MS
    hearUntil(endMs - 10_000)
    const bar = { ...(wave('15m', 300).at(-1) as Bar), openTimeMs: endMs }
    newestBar.candle({ kind: 'candle', coin: 'ETH', timeframe: '15m', bar, ...at(endMs + 500) })
    coin.apply(context('BTC', at(endMs + 2_000)))
    coin.advance()
    expect(coin.candlesConfirmedAtMs).toBe(endMs)
    coin.apply(context('BTC', at(endMs + 4_000)))
    coin.advance()
    coin.apply(context('BTC', at(endMs + 4_500)))
    expect(coin.candlesConfirmedAtMs, 'its own is closed').toBe(endMs + 4_500)
  })

  test('closes no bar by figures alone while a channel is silent', () => {
    const silence = { kind: 'silence', coin: 'BTC', channel: 'candle' } as const
    coin.apply({ ...silence, state: 'silent', ...at(NOW_MS + 5_000) })
    hearUntil(BOUNDARY_MS + QUARTER_MS + 30_000)
    coin.advance()
    expect(coin.ladder.barCount('15m')).toBe(300)
    expect(coin.candlesConfirmedAtMs, 'and the candles keep their age').toBe(NOW_MS)
    coin.apply({ ...silence, state: 'heard', ...at(BOUNDARY_MS + QUARTER_MS + 31_000) })
    expect(coin.ladder.needs(BOUNDARY_MS + QUARTER_MS + 31_000)).not.toEqual([])
  })

  describe('figures with a higher day volume', () => {
    const figures = (dayNotional: number, timeMs: number) =>
      context('BTC', { dayNotional, ...at(timeMs) })

    test('do not confirm candles that lack the volume', () => {
      coin.apply(figures(1_000, NOW_MS + 10_000))
      coin.apply(figures(1_001, NOW_MS + 24_000))
      coin.apply({ kind: 'mark', coin: 'BTC', markPrice: 100, ...at(NOW_MS + 27_000) })
      coin.apply(figures(1_001, NOW_MS + 38_000))
      expect(coin.candlesConfirmedAtMs).toBe(NOW_MS + 10_000)
    })

    test('confirm a candle that came shortly before', () => {
      coin.apply(figures(1_000, NOW_MS + 10_000))
      coin.apply(candleAt(NOW_MS + 7_000))
      coin.apply(figures(1_001, NOW_MS + 24_000))
      expect(coin.candlesConfirmedAtMs).toBe(NOW_MS + 24_000)
    })

    test('confirm again after a candle', () => {
      coin.apply(figures(1_000, NOW_MS + 10_000))
      coin.apply(figures(1_001, NOW_MS + 24_000))
      coin.apply(candleAt(NOW_MS + 25_000))
      coin.apply(figures(1_001, NOW_MS + 38_000))
      expect(coin.candlesConfirmedAtMs).toBe(NOW_MS + 38_000)
    })

    test('confirm again after history was requested', () => {
      coin.apply(figures(1_000, NOW_MS + 10_000))
      coin.apply(figures(1_001, NOW_MS + 24_000))
      const bars = wave('15m', 300)
      coin.apply({ kind: 'history', coin: 'BTC', timeframe: '15m', bars, ...at(NOW_MS + 25_000) })
      coin.apply(figures(1_001, NOW_MS + 38_000))
      expect(coin.candlesConfirmedAtMs).toBe(NOW_MS + 38_000)
    })

    function candleAt(timeMs: number): CandleEvent {
      const bar = { openTimeMs: BOUNDARY_MS, open: 1, high: 1, low: 1, close: 1, volumeBase: 1 }
      return { kind: 'candle', coin: 'BTC', timeframe: '15m', bar, ...at(timeMs) }
    }
  })

  /** Figures every ten seconds, as the venue sends them. */
  function hearUntil(untilMs: number): void {
    for (let timeMs = NOW_MS; timeMs <= untilMs; timeMs += 10_000)
      coin.apply(context('BTC', at(timeMs)))
    coin.apply(context('BTC', at(untilMs)))
  }
})

function newCoin(newestBar = new NewestBar()): CoinMarket {
  const ladder = new CandleLadder(new PulsePool(3))
  return new CoinMarket(listing, ladder, [liquidationFlow], newestBar)
}

/** A coin with its history, and the newest bar of all coins, which is forming. */
function heardForming(now = at(NOW_MS)) {
  const newestBar = new NewestBar()
  const coin = newCoin(newestBar)
  const bars = wave('15m', 300)
  coin.apply({ kind: 'history', coin: 'BTC', timeframe: '15m', bars, ...now })
  const endMs = coin.ladder.closedUntilMs + QUARTER_MS
  const forming = { ...(bars.at(-1) as Bar), openTimeMs: endMs - QUARTER_MS }
  newestBar.candle({ kind: 'candle', coin: 'ETH', timeframe: '15m', bar: forming, ...now })
  return { newestBar, coin, bars, endMs, forming }
}

function at(timeMs: number) {
  return { timeExchangeMs: timeMs, timeReceivedMs: timeMs }
}
