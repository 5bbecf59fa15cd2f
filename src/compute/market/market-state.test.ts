import { describe, expect, test } from 'vitest'
import type { Bar } from '../../domain/bar.ts'
import type { MarketSample } from '../../domain/history.ts'
import { fundingSeries } from '../funding/funding-series.ts'
import { PulsePool } from '../indicators/pulse-series.ts'
import { interestSeries } from '../open-interest/interest-series.ts'
import { newMarket } from '../testing/new-market.ts'
import { BOUNDARY_MS, context, history, NOW_MS, reading, universe, wave } from '../testing/tape.ts'
import { hourlyCloses } from '../volatility/hourly-closes.ts'
import type { MarketState } from './market-state.ts'

describe('market state', () => {
  test('changing listings need no more memory than simultaneous ones', () => {
    const market = newMarket(new PulsePool(6))
    for (let round = 0; round < 50; round += 1) {
      market.apply(universe([`A${round}`, `B${round}`]))
      market.apply(history(`A${round}`, '15m', wave('15m', 20)))
    }
    expect(market.coin('A49')?.ladder.barCount('15m')).toBe(20)
    market.apply(universe(['NEW']))
    expect(market.coin('NEW')?.ladder.barCount('15m'), 'and start empty').toBe(0)
  })

  test('a lost connection interrupts the coins that came over it, and no other', () => {
    const market = newMarket(new PulsePool(6))
    market.apply(universe(['BTC', 'ETH']))
    for (const coin of ['BTC', 'ETH']) market.apply(history(coin, '15m', wave('15m', 20)))
    market.apply({
      kind: 'feed-status',
      feed: 'venue',
      state: 'down',
      reason: 'closed',
      coins: ['ETH'],
      timeExchangeMs: NOW_MS,
      timeReceivedMs: NOW_MS,
    })
    expect(market.coin('BTC')?.ladder.isContinuous).toBe(true)
    expect(market.coin('ETH')?.ladder.isContinuous).toBe(false)
  })

  test('a bar that begins for one coin has ended the one before for all of them', () => {
    const market = newMarket(new PulsePool(6))
    market.apply(universe(['BTC', 'ETH']))
    for (const coin of ['BTC', 'ETH']) market.apply(history(coin, '15m', wave('15m', 20)))
    const endMs = BOUNDARY_MS + 900_000
    for (let timeMs = NOW_MS; timeMs < endMs; timeMs += 5_000)
      for (const coin of ['BTC', 'ETH']) market.apply(context(coin, at(timeMs)))
    const bar = { ...(wave('15m', 1)[0] as Bar), openTimeMs: endMs }
    market.apply({ kind: 'candle', coin: 'ETH', timeframe: '15m', bar, ...at(endMs + 500) })
    market.apply(context('BTC', at(endMs + 2_000)))
    expect(market.coin('BTC')?.candlesConfirmedAtMs).toBe(endMs)
  })

  describe('own history of a coin that was listed again', () => {
    const HOUR_MS = 3_600_000
    const RELISTED_MS = NOW_MS
    /** A reading, a settled hour, an hourly close and a measure, an hour before and after the new listing. */
    const remembered = ([-HOUR_MS, HOUR_MS] as const).map(
      (offMs) => Math.floor((RELISTED_MS + offMs) / HOUR_MS) * HOUR_MS,
    )
    const stamp = at(RELISTED_MS + 3 * HOUR_MS)

    function load(market: MarketState, series: string): void {
      const coin = 'SOL'
      const sample = { ...readingOf(coin), openInterestBase: 7 }
      const samples = remembered.map((timeMs) => ({ ...sample, timeMs }))
      const rows = remembered.map((timeMs) => ({
        ...{ coin, timeMs, rateHourly: 1e-5, premium: null, isSettled: true },
      }))
      const bars = remembered.map((openTimeMs) => ({ ...(wave('1h', 1)[0] as Bar), openTimeMs }))
      market.apply({ kind: 'sample-history', coin, samples, ...stamp })
      market.apply({ kind: 'funding-history', coin, rows, isRemembered: true, ...stamp })
      // The venue may name its records by the coin alone.
      market.apply({ kind: 'funding-history', coin, rows, ...stamp })
      market.apply({ kind: 'hourly-history', coin, bars, isRemembered: true, ...stamp })
      const measured = remembered.map((timeMs) => ({ timeMs, value: 1 }))
      market.apply({ kind: 'measure-history', series, rows: measured, ...stamp })
    }

    /** Of each kind, how much of the two is known. */
    function known(market: MarketState, series: string): readonly number[] {
      const coin = market.coin('SOL')
      const hours = remembered.map((ms) => Math.floor(ms / HOUR_MS))
      return [
        coin?.of(interestSeries).window(stamp.timeExchangeMs).contracts.count ?? Number.NaN,
        coin?.of(fundingSeries).windows(stamp.timeExchangeMs).over(24).count ?? Number.NaN,
        hours.filter((hour) => (coin?.of(hourlyCloses).close(hour) ?? 0) > 0).length,
        market.log.values(series, 0, stamp.timeExchangeMs).length,
      ]
    }

    function relisted(): MarketState {
      const market = newMarket(new PulsePool(6))
      market.apply(universe(['BTC'], ['SOL']))
      market.log.record('basis/SOL/pyth-hermes', remembered[0] ?? 0, 1)
      market.apply(universe(['BTC', 'SOL']))
      return market
    }

    test('begins with the listing, also that of its measures', () => {
      const market = relisted()
      load(market, 'basis/SOL/pyth-hermes')
      expect(known(market, 'basis/SOL/pyth-hermes')).toEqual([1, 1, 1, 1])
    })

    test('begins with the listing after a restart, too', () => {
      const saved = relisted().coin('SOL')?.save(RELISTED_MS)
      const market = newMarket(new PulsePool(6))
      market.apply(universe(['BTC', 'SOL']))
      market.coin('SOL')?.restore(saved ?? new Float64Array(), RELISTED_MS)
      load(market, 'cex-dex/SOL/pool')
      expect(known(market, 'cex-dex/SOL/pool')).toEqual([1, 1, 1, 1])
    })

    test('is whole for a coin that trades since the first list', () => {
      const market = newMarket(new PulsePool(6))
      market.apply(universe(['BTC', 'SOL']))
      load(market, 'basis/SOL/pyth-hermes')
      expect(known(market, 'basis/SOL/pyth-hermes')).toEqual([2, 2, 2, 2])
    })

    test('of another measure with its name is that of the market', () => {
      const market = relisted()
      load(market, 'arb/SOL/base')
      expect(known(market, 'arb/SOL/base').at(-1)).toBe(2)
    })
  })

  test('news about a coin that is not listed changes nothing', () => {
    const market = newMarket(new PulsePool(3))
    expect(market.apply(history('NOPE', '15m', wave('15m', 20)))).toBeNull()
  })
})

function readingOf(coin: string): MarketSample {
  const event = reading(coin)
  const sample = event.kind === 'sample-history' ? event.samples[0] : undefined
  if (sample === undefined) throw new Error('a reading has a sample')
  return sample
}

function at(timeMs: number) {
  return { timeExchangeMs: timeMs, timeReceivedMs: timeMs }
}
