import { quantileLevels } from '../../../domain/track-record.ts'
import type { CoinAnalysis } from '../../analysis.ts'
import { candlesInput, contextInput } from '../../market/inputs.ts'
import { completenessWarnings, coveragePct } from '../../render/completeness.ts'
import { percentOf } from '../../render/count-digits.ts'
import { belowFloor } from '../../render/coverage-floor.ts'
import { oneAnswer } from '../../render/one-answer.ts'
import { coinMembers, unitWarnings } from '../../render/quote-unit.ts'
import { orNull, percent, price, score } from '../../render/significance.ts'
import { logNormalQuantiles } from '../../statistics/log-normal-quantiles.ts'
import {
  compactRecordOmits,
  recordOfCoin,
  shownRules,
} from '../../track-record-statistics/record-member.ts'
import type { HarForecast } from '../../volatility/har-forecast.ts'
import { HAR_CLOSES_MAX } from '../../volatility/har-forecast.ts'
import { hourlyCloses } from '../../volatility/hourly-closes.ts'
import { hourlyForecasts } from '../../volatility/hourly-forecasts.ts'
import type { SpreadForecast } from '../../volatility/spread-forecast.ts'
import type { RealisedVolatility } from './realised-volatility.ts'
import { barsMin, barsOf } from './realised-volatility.ts'
import { volatilityBars } from './volatility-bars.ts'
import { VolatilityAnswer } from './volatility-schema.ts'

/** Measures change with closed bars; the price needs a fresher rendering. */
const PERIOD_MS = 5_000
const BARS_24H = barsOf('24h')
const BARS_7D = barsOf('7d')

/** Realised volatility of one coin over four windows by three estimators, its 30-day rank, and a 24-hour forecast. */
export const volatility: CoinAnalysis = {
  contract: {
    id: 'volatility',
    offering: 'service_volatility',
    scope: 'coin',
    summary: 'Realised volatility by three estimators, its 30-day rank and a 24-hour forecast',
    guide: {
      title: 'Realised and forecast volatility of one coin',
      useWhen:
        'you size a position or set a stop and need the volatility of one coin now and over the next 24 h.',
      notWhen: 'you need the direction of the price (pulse) or the cost of a trade (spread).',
      returns:
        'realised volatility over 1 h, 4 h, 24 h and 7 d by three estimators, its 30-day percentile, and a 24-hour forecast with its out-of-sample error.',
    },
    priceUsdcAtomic: 15_000n,
    document: VolatilityAnswer,
    defaultView: '',
    viewParameters: [],
    compactOmits: [
      ...compactRecordOmits('forecast_24h.track_record'),
      ...compactRecordOmits('forecast_24h.blend_track_record'),
    ],
    inputAgeMsMax: 300_000,
    coverageFloor: {
      counts: '15m candles',
      least: `${barsMin(BARS_24H)} of the last ${BARS_24H} candles of 15m`,
    },
  },
  inputs: ['candle', 'history', 'hourly-history', 'context'],
  periodMs: PERIOD_MS,
  trackers: [volatilityBars],

  render: (coin, rendering, market) =>
    oneAnswer(volatility.contract, rendering, (builder) => {
      const { context } = coin
      if (context === null) return { kind: 'missing-input', input: 'mark' }
      const bars = coin.of(volatilityBars)
      const realised = bars.realised()
      const below = belowFloor(volatility.contract, {
        // Bars from a checkpoint do not count before the feed has confirmed candles.
        have: Number.isNaN(coin.candlesConfirmedAtMs) ? 0 : realised['24h'].bars,
        need: barsMin(BARS_24H),
      })
      if (below !== null) return below
      const { rank, forecast, blend } = coin.of(hourlyForecasts).of(coin.of(hourlyCloses))
      const completeness = {
        records: { have: realised['24h'].bars + realised['7d'].bars, need: BARS_24H + BARS_7D },
        history: { have: forecast.fittedOnHours, need: HAR_CLOSES_MAX },
      }
      const inputs = [
        candlesInput(coin, '15m'),
        candlesInput(coin, '1h'),
        contextInput('mark', context),
      ]
      const members = {
        ...coinMembers(builder, coin, rendering.renderedAtMs),
        price: price(context.markPrice),
        realised: {
          '1h': shownRealised(realised['1h']),
          '4h': shownRealised(realised['4h']),
          '24h': shownRealised(realised['24h']),
          '7d': shownRealised(realised['7d']),
        },
        volatility_24h_pct: orNull(rank.volatilityPct, percent),
        percentile_30d: orNull(rank.percentile, (value) => percentOf(value, rank.readings)),
        percentile_window_hours: rank.spanHours,
        percentile_readings: rank.readings,
        forecast_24h: {
          ...shownForecast(forecast, blend),
          track_record: recordOfCoin(coin, market, shownRules.volatility),
          blend_track_record: recordOfCoin(coin, market, shownRules.blend),
        },
      }
      return {
        members,
        sources: ['venue'],
        inputs,
        coveragePct: coveragePct(completeness.records),
        warnings: [...completenessWarnings(completeness), ...unitWarnings(coin)],
      }
    }),
}

function shownRealised(of: RealisedVolatility) {
  return {
    close_to_close_pct: orNull(of.closeToClosePct, percent),
    parkinson_pct: orNull(of.parkinsonPct, percent),
    yang_zhang_pct: orNull(of.yangZhangPct, percent),
    parkinson_to_close_ratio: orNull(of.parkinsonToCloseRatio, score),
    bars: of.bars,
  }
}

function shownForecast(forecast: HarForecast, blend: SpreadForecast | null) {
  const quantiles =
    blend === null ? [] : logNormalQuantiles(blend.volatilityPct, blend.logDeviation)
  const quantile = (level: (typeof quantileLevels)[number]) =>
    orNull(quantiles[quantileLevels.indexOf(level)] ?? null, percent)
  return {
    volatility_pct: orNull(forecast.volatilityPct, percent),
    method: 'har_log_ridge',
    fitted_on_hours: forecast.fittedOnHours,
    out_of_sample_error_pct: orNull(forecast.outOfSampleErrorPct, percent),
    naive_error_pct: orNull(forecast.naiveErrorPct, percent),
    evaluations: forecast.evaluations,
    blend_pct: quantile(0.5),
    blend_low_pct: quantile(0.1),
    blend_high_pct: quantile(0.9),
  }
}
