import { describe, expect, test } from 'vitest'
import { timeframeMs } from '../../../domain/timeframe.ts'
import { hasSharedCandles, sharedBars } from '../../testing/bars.ts'
import type { OriginForecast } from '../../volatility/har-forecast.ts'
import { HAR_CLOSES_MAX, harForecast, rollingForecasts } from '../../volatility/har-forecast.ts'
import { hourlyVariance } from '../../volatility/hourly-variance.ts'
import { volatilityRank } from '../../volatility/volatility-rank.ts'
import { barsMin, realisedVolatility } from './realised-volatility.ts'
import { naiveRealisedVolatility } from './testing/naive-volatility.ts'

/** Liquid coins with 7,793 hours until July 2025: eight stretches of 889, none of which shares an hour. */
const large = ['BTC', 'ETH', 'SOL'] as const
const small = ['DOGE', 'kPEPE', 'kBONK', 'SUI', 'FARTCOIN', 'LINK', 'AVAX', 'WIF', 'XRP', 'HYPE']
const coins = [...large, ...small]

describe('volatility of recorded candles (needs ../shared/data)', () => {
  test.runIf(hasSharedCandles).each([...coins, 'AI', 'RLB', 'PUMP'])(
    'of %s equals the naive twin in windows of a day',
    (coin) => {
      const bars = sharedBars(coin, '15m')
      const columns = {
        barMs: timeframeMs['15m'],
        open: bars.map(({ open }) => open),
        high: bars.map(({ high }) => high),
        low: bars.map(({ low }) => low),
        close: bars.map(({ close }) => close),
      }
      for (let end = bars.length; end > 96; end -= 1_337) {
        const part = (column: readonly number[]) => column.slice(0, end)
        const measured = realisedVolatility(
          {
            barMs: columns.barMs,
            open: part(columns.open),
            high: part(columns.high),
            low: part(columns.low),
            close: part(columns.close),
          },
          96 * columns.barMs,
        )
        const naive = naiveRealisedVolatility(bars.slice(0, end), 96, barsMin(96), columns.barMs)
        expect(measured.bars).toBe(96)
        expect(measured.closeToClosePct).toBeCloseTo(naive.closeToClosePct ?? -1, 7)
        // A bar without trades may open outside its range, which the twin does not know.
        if (coin === 'RLB' || coin === 'AI') continue
        expect(measured.parkinsonPct).toBeCloseTo(naive.parkinsonPct ?? -1, 7)
        expect(measured.yangZhangPct).toBeCloseTo(naive.yangZhangPct ?? -1, 7)
      }
    },
  )

  test.runIf(hasSharedCandles)('the three estimators agree on liquid coins over months', () => {
    for (const coin of large) {
      const bars = sharedBars(coin, '15m')
      const { closeToClosePct, yangZhangPct, parkinsonToCloseRatio } = realisedVolatility(
        {
          barMs: timeframeMs['15m'],
          open: bars.map(({ open }) => open),
          high: bars.map(({ high }) => high),
          low: bars.map(({ low }) => low),
          close: bars.map(({ close }) => close),
        },
        (bars.length - 1) * timeframeMs['15m'],
      )
      expect(parkinsonToCloseRatio, coin).toBeGreaterThan(0.85)
      expect(parkinsonToCloseRatio, coin).toBeLessThan(1.05)
      expect((yangZhangPct ?? 0) / (closeToClosePct ?? 1), coin).toBeGreaterThan(0.85)
      expect((yangZhangPct ?? 0) / (closeToClosePct ?? 1), coin).toBeLessThan(1.05)
    }
  })

  /** Median absolute percentage errors of HAR and of "tomorrow equals today", mean of the stretches. */
  test.runIf(hasSharedCandles).each(coins)(
    'HAR of %s is no further from the next day than naive by more than a tenth',
    (coin) => {
      const errors = stretches(coin).map((closes) => harForecast(closes))
      for (const { evaluations } of errors) expect(evaluations).toBe(338)
      const har = mean(errors.map(({ outOfSampleErrorPct }) => outOfSampleErrorPct ?? Number.NaN))
      const naive = mean(errors.map(({ naiveErrorPct }) => naiveErrorPct ?? Number.NaN))
      expect(har).toBeLessThan(1.1 * naive)
    },
  )

  test.runIf(hasSharedCandles)('HAR beats naive over all coins, and the penalty beats none', () => {
    const runs = coins.flatMap((coin) =>
      stretches(coin).map((closes) => {
        const series = hourlyVariance(closes)
        return {
          penalised: rollingForecasts(series).forecasts,
          ordinary: rollingForecasts(series, 0).forecasts,
        }
      }),
    )
    const penalised = runs.map((run) => run.penalised)
    const ordinary = runs.map((run) => run.ordinary)
    const figures = {
      har: mean(penalised.map((run) => medianErrorPct(run, harOf))),
      ordinary: mean(ordinary.map((run) => medianErrorPct(run, harOf))),
      naive: mean(penalised.map((run) => medianErrorPct(run, naiveOf))),
      harQlike: mean(penalised.map((run) => qlike(run, harOf))),
      ordinaryQlike: mean(ordinary.map((run) => qlike(run, harOf))),
      naiveQlike: mean(penalised.map((run) => qlike(run, naiveOf))),
    }
    expect(runs.length).toBe(99)
    // Percent of realised volatility; the penalty was chosen on these candles, the order was not.
    expect(figures.har).toBeCloseTo(25.42, 1)
    expect(figures.ordinary).toBeCloseTo(27.32, 1)
    expect(figures.naive).toBeCloseTo(27.42, 1)
    expect(figures.harQlike).toBeCloseTo(0.366, 2)
    expect(figures.ordinaryQlike).toBeCloseTo(0.406, 2)
    expect(figures.naiveQlike).toBeCloseTo(0.419, 2)
  })

  test.runIf(hasSharedCandles)('of coins that are hardly traded nothing is out of range', () => {
    for (const coin of ['AI', 'RLB', 'PUMP']) {
      const closes = closesOf(coin)
      const { volatilityPct, evaluations } = harForecast(closes)
      if (coin === 'PUMP') expect(volatilityPct).toBeNull()
      else {
        expect(volatilityPct).toBeGreaterThan(1)
        expect(volatilityPct).toBeLessThan(1_000)
        expect(evaluations).toBeGreaterThan(168)
      }
      const { percentile } = volatilityRank(closes)
      expect(percentile).toBeGreaterThanOrEqual(0)
      expect(percentile).toBeLessThanOrEqual(100)
    }
  })
})

function closesOf(coin: string): number[] {
  return sharedBars(coin, '1h').map(({ close }) => close)
}

/** The newest 37 days, those before, and so on. */
function stretches(coin: string): readonly (readonly number[])[] {
  const closes = closesOf(coin)
  const count = Math.floor(closes.length / HAR_CLOSES_MAX)
  return Array.from({ length: count }, (_, at) => {
    const end = closes.length - at * HAR_CLOSES_MAX
    return closes.slice(end - HAR_CLOSES_MAX, end)
  })
}

const harOf = ({ forecastPct }: OriginForecast): number => forecastPct
const naiveOf = ({ naivePct }: OriginForecast): number => naivePct

function medianErrorPct(
  run: readonly OriginForecast[],
  read: (origin: OriginForecast) => number,
): number {
  const errors = run.map((origin) => Math.abs(100 * (read(origin) / origin.realisedPct - 1)))
  return errors.toSorted((one, other) => one - other)[errors.length >> 1] ?? Number.NaN
}

/** Patton, "Volatility forecast comparison using imperfect volatility proxies" (2011): 0 for a forecast that is right. */
function qlike(run: readonly OriginForecast[], read: (origin: OriginForecast) => number): number {
  return mean(
    run.map((origin) => {
      const ratio = (origin.realisedPct / read(origin)) ** 2
      return ratio - Math.log(ratio) - 1
    }),
  )
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}
