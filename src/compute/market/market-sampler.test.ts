import { beforeEach, describe, expect, test } from 'vitest'
import type { MarketEvent } from '../../domain/event.ts'
import { fundingSeries, WEEK_HOURS } from '../funding/funding-series.ts'
import { PulsePool } from '../indicators/pulse-series.ts'
import { newMarket } from '../testing/new-market.ts'
import { BOUNDARY_MS, book, context, universe } from '../testing/tape.ts'
import type { CoinMarket } from './coin-market.ts'
import { MarketSampler } from './market-sampler.ts'
import type { MarketState } from './market-state.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 3_600_000
const at = (timeMs: number) => ({ timeExchangeMs: timeMs, timeReceivedMs: timeMs })

describe('market sampler', () => {
  let market: MarketState
  let sampler: MarketSampler

  beforeEach(() => {
    market = newMarket(new PulsePool(3 * 1_100))
    sampler = new MarketSampler()
    hear({ ...universe(['BTC', 'ETH'], ['GONE']), ...at(BOUNDARY_MS - 30_000) })
  })

  test('reads the figures of a coin as they were at the whole minute', () => {
    hear(context('BTC', at(BOUNDARY_MS - 5_000)))
    hear(book('BTC', at(BOUNDARY_MS - 4_000)))
    const later = { markPrice: 999, ...at(BOUNDARY_MS + 1) }
    hear(context('BTC', later))
    expect(sampler.take()).toEqual({
      samples: [
        {
          coin: 'BTC',
          timeMs: BOUNDARY_MS,
          markPrice: 110,
          oraclePrice: 110.1,
          openInterestBase: 1234.5,
          dayNotional: 5e6,
          fundingRateHourly: 0.0000214,
          premium: 0,
          // 0.02 on a mid of 110.
          spreadBps: expect.closeTo(1.81818, 5),
          // 109.9 to 110.2 on a mid of 110.05.
          impactSpreadBps: expect.closeTo(27.26034, 5),
        },
      ],
      fundings: [],
      dropped: 0,
    })
    expect(sampler.take().samples, 'each once').toEqual([])
  })

  test('reads every coin that trades, once a minute', () => {
    for (let second = -20; second < 200; second += 5) {
      const timeMs = BOUNDARY_MS + second * 1_000
      hear(context('BTC', at(timeMs)))
      hear(context('ETH', at(timeMs)))
    }
    expect(sampler.take().samples.map(({ coin, timeMs }) => [coin, timeMs])).toEqual(
      [0, 1, 2, 3].flatMap((minute) => [
        ['BTC', BOUNDARY_MS + minute * MINUTE_MS],
        ['ETH', BOUNDARY_MS + minute * MINUTE_MS],
      ]),
    )
  })

  test.each([
    [15_000, 1],
    [15_001, 0],
  ])('of figures that are %i ms old makes %i samples', (ageMs, count) => {
    hear(context('BTC', at(BOUNDARY_MS - ageMs)))
    hear(context('ETH', at(BOUNDARY_MS)))
    expect(sampler.take().samples).toHaveLength(count)
  })

  test.each([
    [6_000, expect.any(Number)],
    [6_001, null],
  ])('of a quote that is %i ms old makes the spread %o', (ageMs, spreadBps) => {
    hear(book('BTC', at(BOUNDARY_MS - ageMs)))
    hear(context('BTC', at(BOUNDARY_MS - 1_000)))
    hear(context('ETH', at(BOUNDARY_MS)))
    expect(sampler.take().samples).toEqual([expect.objectContaining({ spreadBps })])
  })

  test('does not invent figures that the venue does not send', () => {
    const nothing = { midPrice: null, premium: null, impactBid: null, impactAsk: null }
    hear(context('BTC', { ...nothing, ...at(BOUNDARY_MS - 1_000) }))
    hear(book('BTC', { bids: [], ...at(BOUNDARY_MS - 1_000) }))
    hear(context('ETH', at(BOUNDARY_MS)))
    expect(sampler.take().samples).toEqual([
      expect.objectContaining({ premium: null, spreadBps: null, impactSpreadBps: null }),
    ])
  })

  test('goes by the clock of the venue, wherever ours is', () => {
    const ahead = (timeMs: number) => ({
      timeExchangeMs: timeMs,
      timeReceivedMs: timeMs + 4_000_000,
    })
    hear(context('BTC', ahead(BOUNDARY_MS - 14_000)))
    hear(book('BTC', ahead(BOUNDARY_MS - 5_000)))
    hear(context('ETH', ahead(BOUNDARY_MS)))
    expect(sampler.take().samples).toEqual([
      expect.objectContaining({
        coin: 'BTC',
        timeMs: BOUNDARY_MS,
        spreadBps: expect.closeTo(1.81818, 5),
      }),
    ])
  })

  test.each([
    { kind: 'trade', tradeId: 1, takerSide: 'buy', price: 110, sizeBase: 1 } as const,
    { kind: 'trade-gap', fromMs: 0, toMs: BOUNDARY_MS - 10 * HOUR_MS } as const,
  ])('takes a $kind of long ago, which the venue repeats, for no step of the clock', (told) => {
    hear(context('BTC', at(BOUNDARY_MS - 1_000)))
    hear(context('ETH', at(BOUNDARY_MS)))
    hear({
      ...told,
      coin: 'BTC',
      timeExchangeMs: BOUNDARY_MS - 10 * HOUR_MS,
      timeReceivedMs: BOUNDARY_MS + 10,
    })
    hear(context('ETH', at(BOUNDARY_MS + 20)))
    expect(sampler.take().samples).toHaveLength(1)
  })

  test('leaves out the minutes of an outage', () => {
    hear(context('BTC', at(BOUNDARY_MS - 1_000)))
    hear(context('BTC', at(BOUNDARY_MS + 5 * MINUTE_MS + 1)))
    expect(sampler.take().samples).toEqual([])
  })

  test('takes nothing of the future for the past when the clock was put back', () => {
    hear(context('BTC', at(BOUNDARY_MS + HOUR_MS)))
    hear(context('ETH', at(BOUNDARY_MS - 1_000)))
    hear(context('ETH', at(BOUNDARY_MS)))
    expect(sampler.take().samples.map(({ coin, timeMs }) => [coin, timeMs])).toEqual([
      ['ETH', BOUNDARY_MS],
    ])
  })

  test('reads the last estimate of funding ten seconds before the hour', () => {
    hear(context('BTC', { fundingRateHourly: 5e-5, ...at(BOUNDARY_MS - 12_000) }))
    hear(context('BTC', { fundingRateHourly: 9e-5, ...at(BOUNDARY_MS - 9_000) }))
    hear(context('BTC', { fundingRateHourly: 1e-9, ...at(BOUNDARY_MS + 1_000) }))
    expect(sampler.take().fundings).toEqual([
      { coin: 'BTC', timeMs: BOUNDARY_MS, rateHourly: 5e-5, premium: null, isSettled: false },
    ])
    const windows = (market.coin('BTC') as CoinMarket).of(fundingSeries).windows(BOUNDARY_MS)
    expect(windows.records(WEEK_HOURS), 'the answers have the one that history stores').toEqual([
      { timeMs: BOUNDARY_MS, rateHourly: 5e-5, premium: null, isSettled: false },
    ])
  })

  test('makes no funding of an estimate that was not renewed', () => {
    hear(context('BTC', at(BOUNDARY_MS - 25_001)))
    hear(context('ETH', at(BOUNDARY_MS)))
    expect(sampler.take().fundings).toEqual([])
  })

  test('keeps a few minutes of samples and counts the dropped ones', () => {
    const names = Array.from({ length: 1_000 }, (_, index) => `C${index}`)
    hear({ ...universe(names), ...at(BOUNDARY_MS - 2_000) })
    for (let minute = 0; minute < 10; minute += 1) {
      const timeMs = BOUNDARY_MS + minute * MINUTE_MS
      for (const name of names) market.apply(context(name, at(timeMs - 1_000)))
      sampler.observe(context('C0', at(timeMs)), market)
    }
    const { samples, dropped } = sampler.take()
    expect(samples).toHaveLength(8 * 1_024)
    expect(samples.length + dropped).toBe(10_000)
    expect(samples.at(-1)).toMatchObject({ coin: 'C999', timeMs: BOUNDARY_MS + 9 * MINUTE_MS })
  })

  /** As the processor does it. */
  function hear(event: MarketEvent): void {
    sampler.observe(event, market)
    market.apply(event)
  }
})
