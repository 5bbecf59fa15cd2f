import { describe, expect, test } from 'vitest'
import { PulsePool } from '../indicators/pulse-series.ts'
import { newMarket } from '../testing/new-market.ts'
import { BOUNDARY_MS, context, NOW_MS, universe } from '../testing/tape.ts'
import { positioningOf } from './positioning.ts'

const HOUR_MS = 3_600_000

describe('positioning', () => {
  test('is unknown before a context was received', () => {
    const market = newMarket(new PulsePool(3))
    market.apply(universe(['BTC']))
    const coin = market.coin('BTC')
    expect(coin && positioningOf(coin)).toBeNull()
  })

  test.each([
    // Price and open interest over 4 h, percent.
    { price: 0.6, interest: 1.1, positioning: 'LONG_BUILDUP' },
    { price: -0.6, interest: 1.1, positioning: 'SHORT_BUILDUP' },
    { price: -0.6, interest: -1.1, positioning: 'LONG_UNWIND' },
    { price: 0.6, interest: -1.1, positioning: 'SHORT_COVERING' },
    { price: 0.4, interest: 9, positioning: 'NEUTRAL' },
    { price: 9, interest: -0.9, positioning: 'NEUTRAL' },
    { price: 0, interest: 0, positioning: 'NEUTRAL' },
  ])('price $price and open interest $interest is $positioning', (moves) => {
    expect(read(moves)).toMatchObject({ positioning: moves.positioning })
  })

  test.each([
    { price: -1.1, interest: -2.1, divergence: 'BULLISH_DIV' },
    { price: 1.1, interest: -2.1, divergence: 'BEARISH_DIV' },
    { price: -0.9, interest: -2.1, divergence: 'NONE' },
    { price: 1.1, interest: -1.9, divergence: 'NONE' },
    { price: -5, interest: 5, divergence: 'NONE' },
    { price: 5, interest: 5, divergence: 'NONE' },
  ])('price $price and open interest $interest diverge: $divergence', (moves) => {
    expect(read(moves)).toMatchObject({ divergence: moves.divergence })
  })

  test.each([
    [3.1, 'RISING'],
    [2.9, 'FLAT'],
    [-2.9, 'FLAT'],
    [-3.1, 'FALLING'],
  ])(
    'open interest by %d percent is %s where nothing is known of its habits',
    (interest, trend) => {
      expect(read({ price: 0, interest })).toMatchObject({
        trend,
        trendThresholdPct: 3,
        isOwnThreshold: false,
      })
    },
  )

  test('labels agree with the printed changes, which have four decimals', () => {
    expect(read({ price: 0, interest: 3.000_04 })).toMatchObject({ trend: 'FLAT' })
    expect(read({ price: -1.5, interest: -1.999_96 })).toMatchObject({ divergence: 'BULLISH_DIV' })
  })

  test('a coin that moves much has to move more for a trend', () => {
    // Up and down by a tenth every fourth hour: changes of 10 % and -9.09 %, deviation 9.545 %.
    const habit = (hour: number) => (Math.floor(hour / 4) % 2 === 0 ? 1_000 : 1_100)
    const found = read({ price: 0, interest: 15, habit })
    expect(found.isOwnThreshold).toBe(true)
    expect(found.trendThresholdPct).toBeCloseTo(2 * ((10 + 100 / 11) / 2), 1)
    expect(found.trend).toBe('FLAT')
  })

  test.each([
    { what: 'never moves', habit: () => 1_000, threshold: 0.5 },
    {
      what: 'halves and doubles',
      habit: (hour: number) => (Math.floor(hour / 4) % 2 === 0 ? 1_000 : 2_000),
      threshold: 20,
    },
  ])('the threshold of a coin that $what is $threshold percent', ({ habit, threshold }) => {
    expect(read({ price: 0, interest: 1, habit }).trendThresholdPct).toBe(threshold)
  })

  test('gives the changes that its words are of', () => {
    const { delta4hPct, priceChange4hPct } = read({ price: 2, interest: -3 })
    expect(delta4hPct).toBeCloseTo(-3, 9)
    expect(priceChange4hPct).toBeCloseTo(2, 9)
  })

  test('without a reading of four hours ago everything is unknown', () => {
    const market = newMarket(new PulsePool(3))
    market.apply(universe(['BTC']))
    const coin = market.apply(context('BTC'))
    expect(coin && positioningOf(coin)).toEqual({
      positioning: 'UNKNOWN',
      divergence: 'UNKNOWN',
      trend: 'UNKNOWN',
      trendThresholdPct: 3,
      isOwnThreshold: false,
      delta4hPct: null,
      priceChange4hPct: null,
    })
  })
})

/** Of a coin that moved so, in percent, since 4 h ago; `habit`: its contracts in the hours before. */
function read(moves: {
  readonly price: number
  readonly interest: number
  readonly habit?: (hour: number) => number
}) {
  const market = newMarket(new PulsePool(3))
  market.apply(universe(['BTC']))
  const hours = moves.habit === undefined ? 5 : 400
  const samples = Array.from({ length: hours }, (_, index) => hours - 1 - index).map((hour) => ({
    coin: 'BTC',
    timeMs: BOUNDARY_MS - hour * HOUR_MS,
    markPrice: 100,
    oraclePrice: 100,
    openInterestBase: hour === 4 ? 1_000 : (moves.habit?.(hour) ?? 1_000),
    dayNotional: 1,
    fundingRateHourly: 0,
    premium: null,
    spreadBps: null,
    impactSpreadBps: null,
  }))
  const stamp = { timeExchangeMs: NOW_MS, timeReceivedMs: NOW_MS }
  market.apply({ kind: 'sample-history', coin: 'BTC', samples, ...stamp })
  const coin = market.apply(
    context('BTC', {
      markPrice: 100 * (1 + moves.price / 100),
      openInterestBase: 1_000 * (1 + moves.interest / 100),
    }),
  )
  const positioning = coin && positioningOf(coin)
  if (positioning === null) throw new Error('a coin with figures has a positioning')
  return positioning
}
