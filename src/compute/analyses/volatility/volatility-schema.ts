import { Type } from 'typebox'
import { coinMembers, metaMembers, nullable, oneOf } from '../../render/answer-schema.ts'
import { dexMembers } from '../../render/quote-unit.ts'
import { HAR_CLOSES_MAX } from './har-forecast.ts'
import type { VolatilityWindow } from './realised-volatility.ts'
import { barsMin, barsOf } from './realised-volatility.ts'
import { RANK_WINDOW_HOURS } from './volatility-rank.ts'

/** @param window the key in words; `bars` the length of the bars that it is measured on */
function realised(key: VolatilityWindow, window: string, bars: '15m' | '1h') {
  const full = barsOf(key)
  const needed = barsMin(full)
  const basis = `over the last ${window} of closed ${bars} bars`
  const pct = (description: string) => nullable(Type.Number({ minimum: 0, description }))
  return Type.Object(
    {
      close_to_close_pct: pct(
        `Standard deviation of log returns between closes, zero mean, ${basis}; percent a year (365 days). null below ${needed} bars.`,
      ),
      parkinson_pct: pct(
        `Parkinson (1980) volatility from highs and lows, ${basis}; percent a year. Excludes gaps between bars; low where bars have few trades. null below ${needed} bars.`,
      ),
      yang_zhang_pct: pct(
        `Yang-Zhang (2000) volatility from open, high, low and close, ${basis}; percent a year. Excludes drift. null below ${needed} bars.`,
      ),
      parkinson_to_close_ratio: pct(
        'Ratio parkinson_pct / close_to_close_pct. Above 1: prices moved within bars and came back. Below 1: bars closed near their extremes, prices jumped between bars, or trades were few. null where either is null or close_to_close_pct is 0.',
      ),
      bars: Type.Integer({
        minimum: 0,
        maximum: full,
        description: `Closed bars used, of ${full}: those known together with the close before them.`,
      }),
    },
    { description: `Realised volatility of the last ${window}.` },
  )
}

export const VolatilityAnswer = Type.Object({
  ...coinMembers,
  ...dexMembers,
  price: Type.Number({ exclusiveMinimum: 0, description: 'Mark price, USD.' }),
  realised: Type.Object({
    '1h': realised('1h', '1 hour', '15m'),
    '4h': realised('4h', '4 hours', '15m'),
    '24h': realised('24h', '24 hours', '15m'),
    '7d': realised('7d', '7 days', '1h'),
  }),
  percentile_30d: nullable(
    Type.Number({
      minimum: 0,
      maximum: 100,
      description:
        'Rank of the present 24-hour volatility among its readings at each hour of the last 30 days: 100 x (below + half of equal) / all. Readings are close-to-close over 24 hourly returns, so their level differs from realised.24h. null below 168 readings, or with fewer than 18 of the last 24 hours.',
    }),
  ),
  percentile_window_hours: Type.Literal(RANK_WINDOW_HOURS, {
    description: 'Hours in which the readings of percentile_30d are taken.',
  }),
  percentile_readings: Type.Integer({
    minimum: 0,
    maximum: RANK_WINDOW_HOURS,
    description: 'Number of these readings, the present one included.',
  }),
  forecast_24h: Type.Object(
    {
      volatility_pct: nullable(
        Type.Number({
          minimum: 0,
          description:
            'Forecast median of close-to-close volatility over the next 24 hourly returns, percent a year. null below 720 hours of history, and where the last 24 hours or 7 days are unknown or without a price change.',
        }),
      ),
      method: oneOf(
        ['har_log_ridge'],
        'har_log_ridge: Corsi (2009), regression of the log of the next 24 hours of realised variance on the logs of the last day, week and month, refitted every hour, slopes shrunk by a ridge penalty of 0.05.',
      ),
      fitted_on_hours: Type.Integer({
        minimum: 0,
        maximum: HAR_CLOSES_MAX,
        description: `Known hourly closes of the fit, at most ${HAR_CLOSES_MAX} (37 days).`,
      }),
      out_of_sample_error_pct: nullable(
        Type.Number({
          minimum: 0,
          description:
            'Median of |forecast - realised| / realised at past hours, each forecast fitted only on data known then, percent of realised volatility. null below 168 evaluations.',
        }),
      ),
      naive_error_pct: nullable(
        Type.Number({
          minimum: 0,
          description:
            'The same error, at the same hours, of the forecast that the next 24 hours equal the last 24. Where it is lower, prefer the present volatility. null below 168 evaluations.',
        }),
      ),
      evaluations: Type.Integer({
        minimum: 0,
        maximum: HAR_CLOSES_MAX,
        description:
          'Past hours evaluated. Their 24-hour targets overlap: one in 24 is independent.',
      }),
    },
    { description: 'Forecast of realised volatility over the next 24 hours.' },
  ),
  meta: Type.Object({ ...metaMembers, offering: Type.Literal('service_volatility') }),
})
