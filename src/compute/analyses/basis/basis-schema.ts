import { Type } from 'typebox'
import { oracleNetworks } from '../../../domain/external.ts'
import { DAY_MINUTES_MIN, HOUR_MINUTES_MIN } from '../../external/measures/minute-statistics.ts'
import { coinMembers, metaMembers, nullable, oneOf } from '../../render/answer-schema.ts'

export const HORIZON_HOURS = 8

const Bps = (what: string) => Type.Number({ description: `${what}, in basis points.` })
const Price = (what: string) => Type.Number({ description: `${what}, USD.` })
const Spread = (what: string) =>
  Type.Number({ minimum: 0, description: `${what}, in basis points.` })

const Window = (span: string, nMin: number) =>
  Type.Object(
    {
      n: Type.Integer({ minimum: 0, description: 'Number of minutes with a value.' }),
      mean_bps: nullable(Bps('Mean; null without a value')),
      median_bps: nullable(Bps('Median; null without a value')),
      stdev_bps: nullable(Spread('Standard deviation of the population; null without a value')),
      mad_bps: nullable(Spread('Median absolute deviation from the median; null without a value')),
      min_bps: nullable(Bps('Smallest value; null without one')),
      max_bps: nullable(Bps('Largest value; null without one')),
      zscore: nullable(
        Type.Number({
          description: `(basis_bps - median_bps) / (1.4826 mad_bps), in robust deviations; null below ${nMin} minutes or where mad_bps is 0.`,
        }),
      ),
      percentile: nullable(
        Type.Number({
          minimum: 0,
          maximum: 100,
          description: `Rank of basis_bps among these minutes, 0 to 100, equal ones counted half; null below ${nMin} minutes.`,
        }),
      ),
      window_hours: Type.Number({ minimum: 0, description: 'n / 60: hours that are known of it.' }),
    },
    { description: `Last ${span} of basis_bps by this source alone, one value a minute.` },
  )

const OracleSource = Type.Object({
  network: oneOf(oracleNetworks),
  place: Type.String({ description: "Chain that it was read from; '' where there is one only." }),
  price: Price('What it says of one coin of the venue'),
  confidence_bps: nullable(Spread('Its confidence; null where it gives none')),
  resolution_bps: Spread('How far the price may be away before it publishes again; 0 for a stream'),
  expected_error_bps: Spread(
    'One deviation of its error at the time of rendering, as expected_error_bps above',
  ),
  age_seconds: Type.Number({ minimum: 0, description: 'Seconds since it was published.' }),
  basis_bps: Bps("The venue's oracle against it"),
  is_used: Type.Boolean(),
  why_not: nullable(
    Type.String({
      description:
        'late, too_old, wide_confidence, outvoted (two others, or more exchanges than networks, agree on another price), wrong_scale, probation (was one of these less than 30 s ago), larger_error (nothing is wrong with it; another has a smaller expected_error_bps); null where it is used.',
    }),
  ),
})

export const BasisAnswer = Type.Object({
  ...coinMembers,
  basis: Type.Object({
    venue_oracle_price: Price("The venue's oracle"),
    venue_mark_price: Price("The venue's mark"),
    spot_price: Price('What the oracle network says of one coin of the venue'),
    spot_confidence: nullable(
      Type.Number({
        minimum: 0,
        description: "The network's confidence in spot_price, USD; null where it gives none.",
      }),
    ),
    basis_bps: Bps('(venue_oracle_price - spot_price) / spot_price; positive: the venue is above'),
    basis_pct: Type.Number({ description: 'basis_bps / 100, percent.' }),
    perp_premium_bps: Bps('(venue_mark_price - venue_oracle_price) / venue_oracle_price'),
    total_basis_bps: Bps('(venue_mark_price - spot_price) / spot_price'),
    mid_basis_bps: nullable(Bps("(venue's mid - spot_price) / spot_price; null without a mid")),
    confidence_bps: nullable(Spread('spot_confidence / spot_price; null where there is none')),
    significant: Type.Boolean({
      description:
        'abs(basis_bps) is above band.total_bps and above 1 bps, or the mean of the last hour is above band.hour_total_bps and within band.total_bps of basis_bps.',
    }),
    direction: oneOf(
      ['venue_premium', 'venue_discount', 'aligned'],
      'aligned while nothing is significant or abs(significant_basis_bps) is at most 5 bps.',
    ),
    signal: oneOf(
      ['neutral', 'mildly_bullish', 'mildly_bearish', 'bearish_contrarian', 'bullish_contrarian'],
      'By significant_basis_bps: 10 to 50 mildly_bullish, -50 to -10 mildly_bearish, above 50 bearish_contrarian, below -50 bullish_contrarian; else neutral.',
    ),
    significant_basis_bps: nullable(
      Bps(
        'basis_bps where it is beyond band.total_bps, else band.hour_mean_bps where that makes it significant; null where nothing is',
      ),
    ),
    zscore_24h: nullable(
      Type.Number({
        description: `stats.24h.zscore, in robust deviations; null below ${DAY_MINUTES_MIN} minutes.`,
      }),
    ),
    percentile_7d: nullable(
      Type.Number({
        minimum: 0,
        maximum: 100,
        description: `stats.7d.percentile, 0 to 100; null below ${DAY_MINUTES_MIN} minutes.`,
      }),
    ),
    percentile_window_hours: Type.Number({
      minimum: 0,
      maximum: 168,
      description:
        'Hours of minutes that percentile_7d rests on, hours: stats.7d.n / 60, 168 of a full week.',
    }),
    stats_24h: Type.Object({
      mean_bps: nullable(Bps('Mean; null without a value')),
      min_bps: nullable(Bps('Smallest value; null without one')),
      max_bps: nullable(Bps('Largest value; null without one')),
      n: Type.Integer({ minimum: 0, description: 'Number of minutes with a value.' }),
    }),
    basis_usd_adjusted_bps: nullable(
      Bps(
        "basis_bps with venue_oracle_price, which follows USDT prices, times usdt_price; null where USDT's price is unknown",
      ),
    ),
    usdt_price: nullable(Price('One USDT; null where unknown')),
    basis_usd: Price('venue_oracle_price - spot_price'),
    scale: Type.Integer({
      minimum: 1,
      description: 'Number of units of the asset that one coin of the venue stands for.',
    }),
    source: oneOf(oracleNetworks, 'The oracle network that spot_price is from.'),
    source_place: Type.String({ description: "Chain that it was read from; '' for one only." }),
    resolution_bps: Spread(
      'How far the true price may move before the network publishes again; 0 for a stream',
    ),
    expected_error_bps: Spread(
      'One deviation of the error of spot_price at the time of rendering: its confidence, and what the price moved since it was published, at most what the trigger of the feed lets pass. The network with the smallest one is used',
    ),
    spot_ema_price: nullable(Price("The network's own moving average; null where it gives none")),
    spot_ema_confidence: nullable(
      Type.Number({
        minimum: 0,
        description: 'Confidence of that, USD; null where there is none.',
      }),
    ),
    band: Type.Object(
      {
        confidence_bps: Spread('confidence_bps, 0 where it is null'),
        resolution_bps: Spread('resolution_bps'),
        age_bps: Spread(
          'Two deviations of what the price moved between the two stamps; at most resolution_bps, and what it moves until an update is on the chain, for a feed that publishes on a move',
        ),
        total_bps: Spread('confidence_bps + age_bps'),
        ratio: nullable(
          Type.Number({ description: 'basis_bps / total_bps, times; null where that is 0.' }),
        ),
        hour_mean_bps: nullable(
          Bps('Mean of the last hour of basis_bps by this source; null without a value'),
        ),
        hour_effective_n: Type.Number({
          minimum: 0,
          description:
            'Number of independent readings that the minutes of the last hour are worth: at most the number of different publications, less by their autocorrelation.',
        }),
        hour_total_bps: nullable(
          Spread(
            'What hour_mean_bps has to exceed: confidence_bps and the 95 % interval of the mean by hour_effective_n; null below 30 minutes or 5 effective readings',
          ),
        ),
      },
      { description: 'What the basis has to exceed to be more than noise.' },
    ),
    stats: Type.Object({
      '1h': Window('hour', HOUR_MINUTES_MIN),
      '24h': Window('24 hours', DAY_MINUTES_MIN),
      '7d': Window('7 days', DAY_MINUTES_MIN),
    }),
    half_life_seconds: nullable(
      Type.Number({
        minimum: 0,
        description:
          'Seconds in which a deviation halves, by AR(1) over 24 hours of minutes; null where it does not revert or is not known.',
      }),
    ),
    premium_funding_hourly_pct: Type.Number({
      description: "What the venue's funding formula makes of perp_premium_bps, percent an hour.",
    }),
    premium_funding_apr_pct: Type.Number({ description: 'The same, percent a year, simple.' }),
    annualized: Type.Object(
      {
        horizon_hours: Type.Literal(HORIZON_HOURS, {
          description: 'In which the basis would have to vanish, hours.',
        }),
        yearly_pct: nullable(
          Type.Number({
            description:
              'significant_basis_bps / 100 times 8760 / horizon_hours, percent a year; null where nothing is significant.',
          }),
        ),
        reason: nullable(
          oneOf(['basis_not_significant'], 'Why yearly_pct is null; null where it is not.'),
        ),
      },
      { description: 'Hypothetical: the gap between two oracles has no maturity.' },
    ),
    regime: oneOf(
      ['normal', 'stretched', 'dislocated'],
      'By significant_basis_bps: dislocated above 50 bps or 4 robust deviations of the day, stretched above 2; else normal.',
    ),
    status: oneOf(
      ['ok', 'degraded'],
      'degraded: the stamps are more than 5 s apart, or the network is late or unsure.',
    ),
    oracle_networks: Type.Array(OracleSource, {
      description: 'All that know the coin, in a fixed order.',
    }),
    interpretation: Type.String(),
    notes: Type.Array(Type.String()),
  }),
  meta: Type.Object({
    ...metaMembers,
    offering: Type.Literal('service_basis'),
    oracle_age_seconds: Type.Number({
      minimum: 0,
      description: 'Seconds since the oracle network published spot_price.',
    }),
    leg_skew_seconds: Type.Number({
      minimum: 0,
      description: "Seconds between the venue's oracle and the oracle network.",
    }),
  }),
})
