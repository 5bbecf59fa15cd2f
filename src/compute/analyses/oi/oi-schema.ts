import { Type } from 'typebox'
import { divergences, interestTrends, positionings } from '../../open-interest/positioning.ts'
import { coinMembers, metaMembers, nullable, oneOf } from '../../render/answer-schema.ts'
import { dexMembers } from '../../render/quote-unit.ts'

const Iso = Type.String({ format: 'date-time', description: 'UTC, ISO 8601.' })

function change(of: string, window: string) {
  return nullable(
    Type.Number({
      description: `Change of ${of} over ${window}, percent. null where no reading of then is known.`,
    }),
  )
}

function seconds(window: string) {
  return nullable(
    Type.Number({
      description: `Real distance in seconds of the reading that stands for ${window} ago; at most a tenth of it or an hour off.`,
    }),
  )
}

export const OpenInterestAnswer = Type.Object({
  ...coinMembers,
  ...dexMembers,
  price: Type.Number({ exclusiveMinimum: 0, description: 'Mark price, USD.' }),
  oi: Type.Object({
    current: Type.Number({
      minimum: 0,
      description: "Contracts in the coin's unit, one side of each.",
    }),
    notional_usd: nullable(
      Type.Number({
        minimum: 0,
        description:
          'current x price, x dex.usd_per_quote_unit where there is a dex. null where that is unknown.',
      }),
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
      Type.Number({
        minimum: 0,
        maximum: 100,
        description:
          'Rank of current among its readings at whole hours of the last 30 days: 100 x (below + half of equal) / all, in whole percent. null for fewer than 20.',
      }),
    ),
    percentile_window_hours: Type.Integer({
      minimum: 0,
      maximum: 720,
      description: 'From the first of these readings until now; 0 for none.',
    }),
    percentile_readings: Type.Integer({
      minimum: 0,
      maximum: 720,
      description: 'Number of these readings.',
    }),
    zscore: nullable(
      Type.Number({
        description:
          'Distance of current from the mean of the same readings, in their population deviations. null for fewer than 20, and where all are equal.',
      }),
    ),
    window_high: nullable(
      Type.Number({
        minimum: 0,
        description: 'Highest of the same readings and current, contracts.',
      }),
    ),
    window_low: nullable(
      Type.Number({
        minimum: 0,
        description: 'Lowest of the same readings and current, contracts.',
      }),
    ),
    trend: oneOf(
      interestTrends,
      'RISING: delta_4h above trend_threshold_pct; FALLING: below its negative. UNKNOWN where it is null.',
    ),
    trend_threshold_pct: Type.Number({
      exclusiveMinimum: 0,
      description: 'Beyond which a change of 4 hours is a trend, percent.',
    }),
    trend_threshold_basis: oneOf(
      ['own_moves', 'fixed'],
      "own_moves: twice the deviation of the coin's own 4-hour changes in the last 30 days, within 0.5 and 20. fixed: 3, for fewer than 168 of them.",
    ),
    price_oi_divergence: oneOf(
      divergences,
      'delta_4h of -2 or less with price_change_4h of -1 or less: BULLISH_DIV (selling exhausts); of 1 or more: BEARISH_DIV (a rally on covering). UNKNOWN where they are null.',
    ),
    positioning: oneOf(
      positionings,
      'Signs of price_change_4h (beyond 0.5) and delta_4h (beyond 1): up up, down up, down down, up down. NEUTRAL within. UNKNOWN where they are null.',
    ),
    oi_to_volume_24h: nullable(
      Type.Number({
        minimum: 0,
        description:
          'Ratio of the open notional to the volume of 24 h. null where nothing was traded.',
      }),
    ),
    share_pct: nullable(
      Type.Number({
        minimum: 0,
        maximum: 100,
        description:
          'Of the notional open in all coins that are served, in USD. null while a tenth of them, or this one, is unknown.',
      }),
    ),
    history: Type.Array(
      Type.Object({
        timestamp_iso: Iso,
        current: Type.Number({ minimum: 0, description: 'Contracts.' }),
      }),
      { maxItems: 24, description: 'At whole hours, oldest first; missing ones are left out.' },
    ),
  }),
  meta: Type.Object({ ...metaMembers, offering: Type.Literal('service_oi') }),
})
