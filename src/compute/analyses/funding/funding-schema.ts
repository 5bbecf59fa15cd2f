import { Type } from 'typebox'
import { fundingSigns } from '../../funding/funding-series.ts'
import { crowdings, fundingBiases } from '../../funding/funding-tilt.ts'
import { coinMembers, metaMembers, nullable, oneOf } from '../../render/answer-schema.ts'
import { dexMembers } from '../../render/quote-unit.ts'
import { fundingTrends } from './funding-trend.ts'
import { lookbackHoursMax } from './lookback-parameter.ts'

const Iso = Type.String({ format: 'date-time', description: 'UTC, ISO 8601.' })
const Rate = Type.Number({ description: 'Fraction of the position, an hour.' })
const AnnualizedPct = Type.Number({
  description: 'The rate x (24 / interval_hours) x 365 x 100: simple, not compounded.',
})

/** Over the hours of one window. */
const statistics = {
  records: Type.Integer({
    minimum: 1,
    description: 'Hours that are known. What is missing is in no statistic.',
  }),
  average_rate: Rate,
  median_rate: Rate,
  max_rate: Rate,
  min_rate: Rate,
  stdev_rate: Type.Number({
    minimum: 0,
    description: 'Population standard deviation of the hourly rates, a fraction.',
  }),
  average_annualized_pct: AnnualizedPct,
  cumulative_pct: Type.Number({
    description: 'Sum of the hourly rates x 100: what holding a long over them cost, percent.',
  }),
  positive_pct: Type.Number({
    minimum: 0,
    maximum: 100,
    description: 'Share of records above zero.',
  }),
  flips: Type.Integer({
    minimum: 0,
    description: 'Number of changes of sign between successive records; zeros are passed over.',
  }),
}

export const FundingAnswer = Type.Object({
  ...coinMembers,
  ...dexMembers,
  funding: Type.Object({
    current_rate: Type.Number({
      description:
        "The venue's running estimate of what the next interval charges, a fraction; positive: longs pay shorts.",
    }),
    interval_hours: Type.Literal(1, { description: 'Hours between two settlements.' }),
    annualized_pct: AnnualizedPct,
    predicted_rate: Type.Number({
      description:
        'What the venue predicts for the next settlement, a fraction; on this venue the same figure as current_rate.',
    }),
    implied_rate: nullable(
      Type.Number({
        description:
          "Where the rate is heading, a fraction: the venue's formula for an hour of the present premium. null without impact prices and for builder-deployed perpetuals, whose multiplier is not told.",
      }),
    ),
    premium_bps: nullable(
      Type.Number({
        description:
          "Premium over the oracle by the venue's impact prices, in basis points. null where it has none.",
      }),
    ),
    next_funding_iso: Iso,
    lookback_hours: Type.Integer({
      minimum: 1,
      maximum: lookbackHoursMax,
      description:
        'Hours that the statistics and the history cover, up to the last complete one: as requested, or 24.',
    }),
    ...statistics,
    percentile: nullable(
      Type.Number({
        minimum: 0,
        maximum: 100,
        description:
          'Rank of current_rate among the hours of the last 30 days: 100 x (below + half of equal) / all, in whole percent. null for fewer than 168 hours.',
      }),
    ),
    percentile_window_hours: Type.Integer({
      minimum: 1,
      maximum: 720,
      description: 'From the first known hour of the last 30 days until now.',
    }),
    zscore: nullable(
      Type.Number({
        description:
          'Distance of current_rate from the mean of the same hours, in their population deviations. Large for any rate where most hours have the same one: no label rests on it. null for fewer than 168, and where all are equal.',
      }),
    ),
    trend: oneOf(
      fundingTrends,
      'Mean of the last 4 hours less that of the 20 before, beyond half the deviation of these 24. UNKNOWN where either has no record.',
    ),
    bias: oneOf(
      fundingBiases,
      'LONG_PAYING above 1.5 x 0.0000125 (the interest part of the formula), SHORT_PAYING below 0. UNKNOWN for builder-deployed perpetuals, whose interest part is their own. Who pays is the sign of current_rate.',
    ),
    crowding: oneOf(
      crowdings,
      'How unusual the rate is on the side that pays. With bias LONG_PAYING by percentile: MODERATE from 85, HIGH from 98, EXTREME at 100; with SHORT_PAYING by 100 - percentile likewise; else LOW, and with NEUTRAL too. UNKNOWN without percentile or bias.',
    ),
    streak_sign: oneOf(fundingSigns, 'Of the newest record.'),
    streak_hours: Type.Integer({
      minimum: 1,
      maximum: 720,
      description: 'Consecutive hours of that sign, up to the newest record.',
    }),
    windows: Type.Object({
      '7d': Type.Object({
        hours: Type.Literal(168, { description: 'Hours of the window.' }),
        ...statistics,
      }),
      '30d': Type.Object({
        hours: Type.Literal(720, { description: 'Hours of the window.' }),
        ...statistics,
      }),
    }),
    history: Type.Array(
      Type.Object({
        timestamp_iso: Iso,
        rate: Rate,
        premium: nullable(
          Type.Number({ description: 'Average of the hour, a fraction. null where not told.' }),
        ),
        settled: Type.Boolean({
          description: "True: the venue's record. False: its last estimate that we saw.",
        }),
      }),
      {
        maxItems: 168,
        description: 'The last lookback_hours, oldest first; missing ones are left out.',
      },
    ),
  }),
  venues: Type.Array(
    Type.Object({
      venue: Type.String({ description: "The venue's word for the exchange." }),
      rate: Type.Number({ description: 'Fraction, for one interval of that exchange.' }),
      interval_hours: Type.Number({
        exclusiveMinimum: 0,
        description: 'Hours between two settlements there.',
      }),
      hourly_rate: Type.Number({ description: 'rate / interval_hours, a fraction.' }),
      annualized_pct: AnnualizedPct,
      next_funding_iso: Iso,
      as_of: Iso,
    }),
    { description: 'What other exchanges charge next, by this venue. Empty where it tells none.' },
  ),
  venue_spread: nullable(
    Type.Object(
      {
        long_on: Type.String(),
        short_on: Type.String(),
        gross_annualized_pct: Type.Number({
          minimum: 0,
          description: 'Highest less lowest annualised rate, before fees, slippage and borrowing.',
        }),
      },
      { description: 'Between this venue and the others. null without others.' },
    ),
  ),
  meta: Type.Object({ ...metaMembers, offering: Type.Literal('service_funding') }),
})
