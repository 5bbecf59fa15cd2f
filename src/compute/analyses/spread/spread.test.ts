import type { Static } from 'typebox'
import { describe, expect, test } from 'vitest'
import type { Document } from '../../../domain/document.ts'
import type { BookEvent, MarketEvent } from '../../../domain/event.ts'
import type { MarketSample } from '../../../domain/history.ts'
import { Processor, PUBLISH_PHASES } from '../../processor.ts'
import { score } from '../../render/significance.ts'
import { book, context, NOW_MS, universe } from '../../testing/tape.ts'
import { spread } from './spread.ts'
import type { SpreadAnswer } from './spread-schema.ts'

const MINUTE_MS = 60_000

describe('spread', () => {
  test('a worked example by hand', () => {
    const { mid_price, spread: measured } = read({
      bids: [level(99, 200), level(98, 1_000)],
      asks: [level(101, 100), level(103, 1_000)],
    })
    expect(mid_price).toBe(100)
    expect(measured.bid_ask_bps).toBe(200)
    // Buying 10,000: all of it at 101. Selling 10,000: all of it at 99.
    expect(measured.slippage_10k_bps).toBe(100)
    // Buying 50,000: 10,100 at 101, 39,900 at 103: 50,000 / (100 + 387.378...) = 102.59.
    expect(measured.slippage[1]?.buy_bps).toBeCloseTo(258.95, 1)
    // Selling 50,000: 19,800 at 99 and 30,200 at 98.
    expect(measured.slippage[1]?.sell_bps).toBeCloseTo(
      (100 - 50_000 / (200 + 30_200 / 98)) * 100,
      1,
    )
    expect(measured.depth.bid_50bps_usd, 'nothing lies within half a percent').toBe(0)
    expect(measured.depth.ask_visible_bps).toBe(300)
    expect(measured.imbalance, 'nothing lies within 10 bps on either side').toBeNull()
    expect(measured.imbalance_reach_bps).toBe(10)
  })

  test('imbalance is bid against ask depth within 10 bps, or within the shorter reach', () => {
    const { spread: measured } = read({
      bids: [level(99.95, 300)],
      asks: [level(100.05, 100)],
    })
    expect(measured.imbalance).toBeCloseTo((29_985 - 10_005) / (29_985 + 10_005), 3)
    const { spread: short } = read({
      bids: [level(99.99, 300), level(99.954, 100)],
      asks: [level(100.01, 100), level(100.05, 5_000)],
    })
    // Bids are visible to 4.6 bps: what the asks have at 5 bps counts for nothing.
    const [bidUsd, askUsd] = [99.99 * 300 + 99.954 * 100, 100.01 * 100]
    expect(short.imbalance).toBeCloseTo((bidUsd - askUsd) / (bidUsd + askUsd), 3)
    expect(short.imbalance_reach_bps).toBe(4.6)
  })

  test.each([
    { perSide: 2_000, bps: 1.5, score: 9, label: 'DEEP' },
    { perSide: 2_000, bps: 3, score: 8, label: 'DEEP' },
    { perSide: 2_000, bps: 7, score: 6, label: 'GOOD' },
    { perSide: 2_000, bps: 20, score: 4, label: 'FAIR' },
    { perSide: 2_000, bps: 99, score: 2, label: 'THIN' },
    { perSide: 2_000, bps: 101, score: 1, label: 'THIN' },
    { perSide: 1, bps: 0.5, score: 1, label: 'THIN' },
  ])(
    '100,000 USD at $bps bps over $perSide units score $score',
    ({ perSide, bps, score, label }) => {
      const { spread: measured } = read({
        bids: [level(100 - bps / 100, perSide)],
        asks: [level(100 + bps / 100, perSide)],
      })
      expect(measured.liquidity_score).toBe(score)
      expect(measured.liquidity_label).toBe(label)
    },
  )

  test('the score is that of the printed slippage', () => {
    const { spread: measured } = body(
      render({ bids: [level(100 - 0.01996, 1e6)], asks: [level(100 + 0.01996, 1e6)] }),
    )
    expect(measured).toMatchObject({ slippage_100k_bps: 2, liquidity_score: 8 })
  })

  test('an order beyond the visible book is null and estimated by the model', () => {
    const document = render({ bids: [level(99.9, 600)], asks: [level(100.1, 600)] })
    const { spread: measured } = body(document)
    expect(measured.slippage_50k_bps).toBe(10)
    expect(measured.slippage_100k_bps).toBeNull()
    expect(measured.slippage[2]).toMatchObject({ notional_usd: 100_000, method: 'model' })
    const answer = document.views['']
    expect(answer?.kind === 'answer' && answer.warnings).toEqual(
      expect.arrayContaining(['model_estimate', 'thin_book']),
    )
  })

  test('shows taker costs and the calibration of estimates', () => {
    const tape = Array.from({ length: 20 }, (_, at) => {
      const timeMs = NOW_MS - (20 - at) * 20_000
      return [bookAt(timeMs), trade(timeMs + 500, 101, 20), bookAt(timeMs + 10_500)]
    })
    const { spread: measured } = body(renderOf([...tape.flat(), bookAt(NOW_MS)]))
    // Twice the distance of 101 from 100; what the maker kept after ten seconds at the same mid is as much.
    expect(measured.trade_costs).toEqual({
      effective_spread_bps: 200,
      n: 20,
      notional_usd: 20 * 2_020,
      realized_spread_10s_bps: 200,
      realized_n: 20,
      window_seconds: 425,
      is_partial: false,
    })
    expect(measured.calibration).toEqual({
      n: 20,
      median_abs_error_bps: 0,
      p90_abs_error_bps: 0,
      median_error_bps: 0,
      as_of: new Date(NOW_MS - 19_500).toISOString(),
      notional_usd_min: 1_000,
      model_n: 0,
      model_scale: 1,
    })
  })

  test('marks an hour with missing trades', () => {
    const lost = { kind: 'trade-gap', coin: 'BTC', fromMs: NOW_MS - 5_000, toMs: NOW_MS } as const
    const times = { timeExchangeMs: NOW_MS, timeReceivedMs: NOW_MS }
    const document = renderOf([bookAt(NOW_MS), { ...lost, ...times }])
    expect(body(document).spread.trade_costs.is_partial).toBe(true)
    const answer = document.views['']
    expect(answer?.kind === 'answer' && answer.warnings).toContain('partial_data')
  })

  test('before any trade the costs are null and counts 0', () => {
    const { spread: measured } = read({ bids: [level(99, 200)], asks: [level(101, 100)] })
    expect(measured.trade_costs).toMatchObject({ effective_spread_bps: null, n: 0 })
    expect(measured.calibration).toMatchObject({ median_abs_error_bps: null, n: 0, as_of: null })
    expect(measured.vs_24h).toEqual({
      median_bid_ask_bps: null,
      percentile: null,
      n: 0,
      window_hours: 0,
    })
  })

  test('ranks the quoted spread among the recorded minutes of the last day', () => {
    const spreadsBps = Array.from({ length: 120 }, (_, at) => 150 + at)
    const samples = spreadsBps.map((spreadBps, at) => sample(minuteBefore(120 - at), spreadBps))
    // 50 minutes below the 200 of now, one equal.
    expect(body(renderOf([remembered(samples), bookAt(NOW_MS)])).spread.vs_24h).toEqual({
      median_bid_ask_bps: 209.5,
      percentile: 42,
      n: 120,
      window_hours: score(121 / 60),
    })
  })

  test("gives the venue's impact prices and their distance", () => {
    const { spread: measured } = read({
      bids: [level(109.95, 10)],
      asks: [level(110.15, 10)],
    })
    expect(measured.impact_bid).toBe(109.9)
    expect(measured.impact_ask).toBe(110.2)
    expect(measured.impact_spread_bps).toBeCloseTo((0.3 / 110.05) * 10_000, 2)
  })

  // The book is of another instant than the figures: the price went on in between.
  test.each([
    { what: 'impact_bid above the best ask', bids: [level(99, 10)], asks: [level(101, 10)] },
    { what: 'impact_bid above the best bid', bids: [level(109.8, 10)], asks: [level(110, 10)] },
    { what: 'impact_ask below the best ask', bids: [level(110, 10)], asks: [level(110.3, 10)] },
  ])('gives none, and warns, instead of an $what', ({ bids, asks }) => {
    const document = render({ bids, asks })
    expect(body(document).spread).toMatchObject({
      impact_bid: null,
      impact_ask: null,
      impact_spread_bps: null,
    })
    const answer = document.views['']
    expect(answer?.kind === 'answer' && answer.warnings).toContain('leg_skew')
  })

  test.each([
    { lagMs: 60_000, impact: { impact_bid: 109.9, impact_ask: 110.2 } },
    { lagMs: 60_001, impact: { impact_bid: null, impact_ask: null, impact_spread_bps: null } },
  ])('the impact prices of figures $lagMs ms before the book', ({ lagMs, impact }) => {
    const old = { timeExchangeMs: NOW_MS - lagMs, timeReceivedMs: NOW_MS - lagMs }
    const levels = { bids: [level(109.95, 10)], asks: [level(110.15, 10)] }
    expect(body(renderOf([context('BTC', old), book('BTC', levels)])).spread).toMatchObject(impact)
  })

  test.each([
    { what: 'one side', bids: [], asks: [level(101, 1)], reason: { have: 1, need: 2 } },
    { what: 'no side', bids: [], asks: [], reason: { have: 0, need: 2 } },
    {
      what: 'crossed prices',
      bids: [level(102, 1)],
      asks: [level(101, 1)],
      reason: { kind: 'missing-input', input: 'book' },
    },
  ])('a book with $what has no spread to sell', ({ bids, asks, reason }) => {
    expect(render({ bids, asks }).views['']).toMatchObject(reason)
  })
})

type Body = Pick<Static<typeof SpreadAnswer>, 'mid_price' | 'spread'>

function render(levels: Pick<BookEvent, 'bids' | 'asks'>): Document {
  return renderOf([book('BTC', levels)])
}

function renderOf(events: readonly MarketEvent[]): Document {
  const processor = new Processor({ coin: [spread], market: [] }, '0.0.0')
  processor.process([universe(['BTC']), context('BTC'), ...events])
  for (let phase = 0; phase < PUBLISH_PHASES; phase += 1)
    for (const document of processor.publish(NOW_MS)) return document
  throw new Error('nothing was rendered')
}

function read(levels: Pick<BookEvent, 'bids' | 'asks'>): Body {
  return body(render(levels))
}

/** The rendered text up to `meta`, whose slots a gateway fills. */
function body(document: Document): Body {
  const text = new TextDecoder().decode(document.bytes)
  return JSON.parse(`${text.slice(0, text.indexOf(',"meta"'))}}`) as Body
}

function bookAt(timeMs: number): BookEvent {
  return book('BTC', {
    bids: [level(99, 1_000)],
    asks: [level(101, 1_000)],
    timeExchangeMs: timeMs,
    timeReceivedMs: timeMs,
  })
}

function trade(timeMs: number, price: number, sizeBase: number): MarketEvent {
  const stamp = { timeExchangeMs: timeMs, timeReceivedMs: timeMs }
  return { kind: 'trade', coin: 'BTC', tradeId: 1, takerSide: 'buy', price, sizeBase, ...stamp }
}

function minuteBefore(minutes: number): number {
  return (Math.floor(NOW_MS / MINUTE_MS) - minutes) * MINUTE_MS
}

function sample(timeMs: number, spreadBps: number): MarketSample {
  return {
    coin: 'BTC',
    timeMs,
    markPrice: 100,
    oraclePrice: 100,
    openInterestBase: 1,
    dayNotional: 1,
    fundingRateHourly: 0,
    premium: null,
    spreadBps,
    impactSpreadBps: null,
  }
}

function remembered(samples: readonly MarketSample[]): MarketEvent {
  const stamp = { timeExchangeMs: NOW_MS, timeReceivedMs: NOW_MS }
  return { kind: 'sample-history', coin: 'BTC', samples, ...stamp }
}

function level(price: number, sizeBase: number) {
  return { price, sizeBase }
}
