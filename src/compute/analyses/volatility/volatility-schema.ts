import { Type } from 'typebox'
import {
  coinMembers,
  metaMembers,
  nonNegative,
  nullable,
  oneOf,
  percentage,
  positive,
} from '../../render/answer-schema.ts'
import { dexMembers } from '../../render/quote-unit.ts'
import { recordMember } from '../../track-record-statistics/record-member.ts'
import { HAR_CLOSES_MAX } from '../../volatility/har-forecast.ts'
import { RANK_WINDOW_HOURS } from '../../volatility/volatility-rank.ts'
import type { VolatilityWindow } from './realised-volatility.ts'
import { barsMin, barsOf } from './realised-volatility.ts'

/** @param window the key in words; `bars` the bar length */
function realised(key: VolatilityWindow, window: string, bars: '15m' | '1h') {
  const full = barsOf(key)
  const needed = barsMin(full)
  const inputs = `over the last ${window} of closed ${bars} bars`
  const pct = (description: string) => nullable(nonNegative(description))
  return Type.Object(
    {
      close_to_close_pct: pct(
        `Close-to-close volatility with zero mean ${inputs}, percent per year (365 days). null below ${needed} bars.`,
      ),
      parkinson_pct: pct(
        `Parkinson (1980) volatility from highs and lows ${inputs}, percent per year. Ignores gaps between bars; too low if bars have few trades. null below ${needed} bars.`,
      ),
      yang_zhang_pct: pct(
        `Yang-Zhang (2000) volatility from open, high, low and close ${inputs}, percent per year. Excludes drift. null below ${needed} bars.`,
      ),
      parkinson_to_close_ratio: pct(
        'Ratio parkinson_pct / close_to_close_pct. Above 1: prices reverted within bars. Below 1: bars closed near their extremes, prices jumped between bars, or trades were few. null if either is null or close_to_close_pct is 0.',
      ),
      bars: Type.Integer({
        minimum: 0,
        maximum: full,
        description: `Number of closed bars used, of ${full}: bars with data and a previous close.`,
      }),
    },
    { description: `Realised volatility of the last ${window}.` },
  )
}

export const VolatilityAnswer = Type.Object({
  ...coinMembers,
  ...dexMembers,
  price: positive('Mark price, USD.'),
  realised: Type.Object({
    '1h': realised('1h', '1 hour', '15m'),
    '4h': realised('4h', '4 hours', '15m'),
    '24h': realised('24h', '24 hours', '15m'),
    '7d': realised('7d', '7 days', '1h'),
  }),
  volatility_24h_pct: nullable(
    nonNegative(
      'Close-to-close volatility of the last 24 hourly returns, percent per year. Differs from realised.24h, which uses 15m bars. null with fewer than 18 of these returns.',
    ),
  ),
  percentile_30d: nullable(
    percentage(
      'Percentile rank of volatility_24h_pct among its hourly readings of the last 30 days, 0 to 100, equal values counted half. null below 168 readings, or if volatility_24h_pct is null.',
    ),
  ),
  percentile_window_hours: Type.Integer({
    minimum: 0,
    maximum: RANK_WINDOW_HOURS,
    description: 'Hours since the first of these readings.',
  }),
  percentile_readings: Type.Integer({
    minimum: 0,
    maximum: RANK_WINDOW_HOURS,
    description: 'Number of hourly readings behind percentile_30d, the present one included.',
  }),
  forecast_24h: Type.Object(
    {
      volatility_pct: nullable(
        nonNegative(
          'Forecast of close-to-close volatility over the next 24 hourly returns (median), percent per year. null below 720 hours of history, or if the last 24 h or 7 days lack data or price changes.',
        ),
      ),
      method: oneOf(
        ['har_log_ridge'],
        'har_log_ridge: HAR model (Corsi 2009) in logs: realised variance of the next 24 h on that of the last day, week and month, refitted every hour, ridge penalty 0.05 on the slopes.',
      ),
      fitted_on_hours: Type.Integer({
        minimum: 0,
        maximum: HAR_CLOSES_MAX,
        description: `Hourly closes with data used for the fit, at most ${HAR_CLOSES_MAX} (37 days).`,
      }),
      out_of_sample_error_pct: nullable(
        nonNegative(
          'Median of |forecast - realised| / realised over past hours, each forecast fitted only on earlier data, percent. null below 168 evaluations.',
        ),
      ),
      naive_error_pct: nullable(
        nonNegative(
          'The same error for the naive forecast volatility_24h_pct. If it is lower, prefer volatility_24h_pct. null below 168 evaluations.',
        ),
      ),
      evaluations: Type.Integer({
        minimum: 0,
        maximum: HAR_CLOSES_MAX,
        description:
          'Number of past hours evaluated. Their 24-hour targets overlap, so 1 in 24 is independent.',
      }),
      track_record: recordMember,
      blend_pct: nullable(
        nonNegative(
          'Median forecast, percent per year: geometric mean of volatility_pct and an EWMA volatility (hourly returns, decay 0.97, scaled to past outcomes). null if either, or its past error, is unknown.',
        ),
      ),
      blend_low_pct: nullable(
        nonNegative(
          'Lower end of the central 80 % interval of blend_pct, from the errors of past forecasts, percent per year. null if blend_pct is null.',
        ),
      ),
      blend_high_pct: nullable(
        nonNegative('Upper end of that interval, percent per year. null if blend_pct is null.'),
      ),
      blend_track_record: recordMember,
    },
    { description: 'Forecast of realised volatility over the next 24 hours.' },
  ),
  meta: Type.Object({ ...metaMembers, offering: Type.Literal('service_volatility') }),
})
