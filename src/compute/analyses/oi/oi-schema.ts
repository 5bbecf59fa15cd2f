import { Type } from 'typebox'
import { divergences, interestTrends, positionings } from '../../open-interest/positioning.ts'
import {
  coinMembers,
  Iso,
  metaMembers,
  nonNegative,
  nullable,
  number,
  oneOf,
  percentage,
  positive,
} from '../../render/answer-schema.ts'
import { dexMembers } from '../../render/quote-unit.ts'

function change(of: string, window: string) {
  return nullable(
    number(`Change of ${of} over ${window}, percent; null without a reading above 0 then.`),
  )
}

function seconds(window: string) {
  return nullable(
    number(
      `Actual age in seconds of the reading used for ${window} ago, within 10 % and 1 h of nominal; null without one.`,
    ),
  )
}

export const OpenInterestAnswer = Type.Object({
  ...coinMembers,
  ...dexMembers,
  price: positive('Mark price, USD.'),
  oi: Type.Object({
    current: nonNegative("Open contracts in the coin's unit, one-sided."),
    notional_usd: nullable(
      nonNegative(
        'current x price (x dex.usd_per_quote_unit if dex is present), USD; null if that factor is.',
      ),
    ),
    delta_5m_pct: change('contracts', '5 minutes'),
    delta_1h: change('contracts', '1 hour'),
    delta_4h: change('contracts', '4 hours'),
    delta_24h: change('contracts', '24 hours'),
    delta_7d_pct: change('contracts', '7 days'),
    notional_delta_5m_pct: change('the notional', '5 minutes'),
    notional_delta_1h_pct: change('the notional', '1 hour'),
    notional_delta_4h_pct: change('the notional', '4 hours'),
    notional_delta_24h_pct: change('the notional', '24 hours'),
    notional_delta_7d_pct: change('the notional', '7 days'),
    price_change_5m_pct: change('the mark price', '5 minutes'),
    price_change_1h: change('the mark price', '1 hour'),
    price_change_4h: change('the mark price', '4 hours'),
    price_change_24h: change('the mark price', '24 hours'),
    price_change_7d_pct: change('the mark price', '7 days'),
    delta_windows_seconds: Type.Object({
      delta_5m: seconds('5 minutes'),
      delta_1h: seconds('1 hour'),
      delta_4h: seconds('4 hours'),
      delta_24h: seconds('24 hours'),
      delta_7d: seconds('7 days'),
    }),
    percentile: nullable(
      percentage(
        'Percentile rank of current among its hourly readings of the last 30 days, 0 to 100, equal values counted half. null below 20 readings.',
      ),
    ),
    percentile_window_hours: Type.Integer({
      minimum: 0,
      maximum: 720,
      description:
        'Hours from the first of these readings to the last whole hour, both counted; 0 without readings.',
    }),
    percentile_readings: Type.Integer({
      minimum: 0,
      maximum: 720,
      description: 'Number of these readings.',
    }),
    zscore: nullable(
      number(
        'Distance of current from the mean of the same readings, in population standard deviations. null below 20 readings, or if all are equal.',
      ),
    ),
    window_high: nullable(
      nonNegative('Maximum of these readings and current, contracts; null below 20 readings.'),
    ),
    window_low: nullable(
      nonNegative('Minimum of these readings and current, contracts; null below 20 readings.'),
    ),
    trend: oneOf(
      interestTrends,
      'RISING: delta_4h above trend_threshold_pct. FALLING: below its negative. Else FLAT. UNKNOWN if delta_4h is null.',
    ),
    trend_threshold_pct: positive('Absolute 4-hour change that counts as a trend, percent.'),
    trend_threshold_basis: oneOf(
      ['own_moves', 'fixed'],
      "own_moves: twice the standard deviation of the coin's 4-hour changes over the last 30 days, between 0.5 and 20. fixed: 3, below 168 such changes.",
    ),
    price_oi_divergence: oneOf(
      divergences,
      'BULLISH_DIV: delta_4h at most -2 and price_change_4h at most -1 (longs closing). BEARISH_DIV: delta_4h at most -2 and price_change_4h at least 1 (shorts covering). Else NONE. UNKNOWN if delta_4h is null.',
    ),
    positioning: oneOf(
      positionings,
      'Signs of price_change_4h (at least 0.5) and delta_4h (at least 1): up/up LONG_BUILDUP, down/up SHORT_BUILDUP, down/down LONG_UNWIND, up/down SHORT_COVERING. Else NEUTRAL. UNKNOWN if delta_4h is null.',
    ),
    oi_to_volume_24h: nullable(
      nonNegative('Ratio of open interest to 24 h volume, both notional; null without volume.'),
    ),
    share_pct: nullable(
      percentage(
        'Share of the open interest of all served coins, in USD, percent; null if this coin or more than 10 % of the coins lack data of the last 5 min.',
      ),
    ),
    history: Type.Array(
      Type.Object({
        timestamp_iso: Iso,
        current: nonNegative('Open contracts.'),
      }),
      {
        maxItems: 24,
        description: 'Hourly readings of the last 24 h, oldest first; missing ones are left out.',
      },
    ),
  }),
  meta: Type.Object({ ...metaMembers, offering: Type.Literal('service_oi') }),
})
