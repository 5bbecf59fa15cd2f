import { Type } from 'typebox'
import { fundingSigns } from '../../funding/funding-series.ts'
import { crowdings, fundingBiases } from '../../funding/funding-tilt.ts'
import {
  coinMembers,
  count,
  flag,
  Iso,
  metaMembers,
  nonNegative,
  nullable,
  number,
  oneOf,
  percentage,
  positive,
  text,
} from '../../render/answer-schema.ts'
import { dexMembers } from '../../render/quote-unit.ts'
import { recordMember } from '../../track-record-statistics/record-member.ts'
import { fundingTrends } from './funding-trend.ts'
import { lookbackHoursMax } from './lookback-parameter.ts'

const Rate = number('Hourly rate, a fraction of the position notional.')
const AnnualizedPct = number(
  'Rate x (24 / interval_hours) x 365 x 100, percent per year, not compounded.',
)

/** Statistics of the hours of one window. */
const statistics = {
  records: Type.Integer({
    minimum: 1,
    description: 'Hours with data; missing hours are excluded.',
  }),
  average_rate: Rate,
  median_rate: Rate,
  max_rate: Rate,
  min_rate: Rate,
  stdev_rate: nonNegative('Population standard deviation of the hourly rates, a fraction.'),
  average_annualized_pct: AnnualizedPct,
  cumulative_pct: number(
    'Sum of the hourly rates x 100, percent: cost of holding a long over these hours.',
  ),
  positive_pct: percentage('Share of hours with a positive rate, percent.'),
  flips: count('Number of sign changes between successive hours; zeros are skipped.'),
}

export const FundingAnswer = Type.Object({
  ...coinMembers,
  ...dexMembers,
  funding: Type.Object({
    current_rate: number(
      "The venue's running estimate of the next hourly rate, a fraction; positive: longs pay shorts.",
    ),
    interval_hours: Type.Literal(1, { description: 'Hours between two funding payments.' }),
    annualized_pct: AnnualizedPct,
    predicted_rate: number(
      'Predicted rate of the next payment, a fraction; on this venue always equal to current_rate.',
    ),
    implied_rate: nullable(
      number(
        "Rate that the venue's formula gives if premium_bps lasts the whole hour, a fraction. null without impact prices, and for builder-deployed perpetuals, whose multiplier is not published.",
      ),
    ),
    premium_bps: nullable(
      number(
        "Premium of the venue's impact prices over the oracle price, in basis points. null without impact prices.",
      ),
    ),
    track_record: recordMember,
    reverting_rate: nullable(
      number(
        'AR(1) forecast of the next hourly rate, a fraction: it reverts from the last settled rate towards the 30-day median, as in the last 7 days. null until the last hour is settled, or below 48 pairs of hours.',
      ),
    ),
    reverting_track_record: recordMember,
    next_funding_iso: Iso,
    lookback_hours: Type.Integer({
      minimum: 1,
      maximum: lookbackHoursMax,
      description:
        'Hours covered by the statistics and the history, up to the last complete hour; as requested, default 24.',
    }),
    ...statistics,
    percentile: nullable(
      percentage(
        'Percentile rank of current_rate among the hours of the last 30 days, 0 to 100, equal values counted half. null below 168 hours.',
      ),
    ),
    percentile_window_hours: Type.Integer({
      minimum: 1,
      maximum: 720,
      description:
        'From the first hour with data in the last 30 days until the last complete hour, hours.',
    }),
    zscore: nullable(
      number(
        'Distance of current_rate from the mean of the same hours, in population standard deviations. Large when most hours have the same rate, so no label uses it. null below 168 hours, or if all rates are equal.',
      ),
    ),
    trend: oneOf(
      fundingTrends,
      'Mean of the last 4 hours less the mean of the 20 before: RISING or FALLING beyond half the standard deviation of the 24, else FLAT. UNKNOWN if either part has no data.',
    ),
    bias: oneOf(
      fundingBiases,
      'By current_rate: LONG_PAYING above 1.5 x 0.0000125 (the interest component of the formula), SHORT_PAYING below 0, else NEUTRAL. UNKNOWN for builder-deployed perpetuals, whose interest component differs. Who pays is the sign of current_rate.',
    ),
    crowding: oneOf(
      crowdings,
      'How unusual the rate is for the paying side. LONG_PAYING: by percentile, MODERATE from 85, HIGH from 98, EXTREME at 100. SHORT_PAYING: by 100 - percentile likewise. Otherwise LOW. UNKNOWN if percentile is null or bias UNKNOWN.',
    ),
    streak_sign: oneOf(fundingSigns, 'Sign of the newest hourly rate.'),
    streak_hours: Type.Integer({
      minimum: 1,
      maximum: 720,
      description: 'Consecutive hours with streak_sign up to the newest record, hours.',
    }),
    windows: Type.Object({
      '7d': Type.Object({
        hours: Type.Literal(168, { description: 'Window length, hours.' }),
        ...statistics,
      }),
      '30d': Type.Object({
        hours: Type.Literal(720, { description: 'Window length, hours.' }),
        ...statistics,
        p10_rate: number('10th percentile of the hourly rates, a fraction.'),
        p90_rate: number('90th percentile of the hourly rates, a fraction.'),
      }),
    }),
    history: Type.Array(
      Type.Object({
        timestamp_iso: Iso,
        rate: Rate,
        premium: nullable(
          number(
            'Premium of the hour as published by the venue, a fraction; null if not published.',
          ),
        ),
        settled: flag(
          "true: the venue's record of the payment. false: the venue's last estimate before the hour.",
        ),
      }),
      {
        maxItems: 168,
        description:
          'Hourly rates of the last lookback_hours, oldest first; missing hours are left out.',
      },
    ),
  }),
  venues: Type.Array(
    Type.Object({
      venue: text("Exchange, by this venue's name for it."),
      rate: number('Predicted rate for one interval of that exchange, a fraction.'),
      interval_hours: positive('Hours between two funding payments there.'),
      hourly_rate: number('rate / interval_hours, a fraction.'),
      annualized_pct: AnnualizedPct,
      next_funding_iso: Iso,
      as_of: Iso,
    }),
    {
      description:
        'Predicted funding on other exchanges, as published by this venue. Empty if unknown or over an hour old.',
    },
  ),
  venue_spread: nullable(
    Type.Object(
      {
        long_on: text('Exchange with the lowest rate.'),
        short_on: text('Exchange with the highest rate.'),
        gross_annualized_pct: nonNegative(
          'Highest less lowest annualized_pct, percent, before fees and slippage.',
        ),
      },
      {
        description:
          'Widest funding spread among this venue (HlPerp) and `venues`; null if `venues` is empty.',
      },
    ),
  ),
  meta: Type.Object({ ...metaMembers, offering: Type.Literal('service_funding') }),
})
