import { Type } from 'typebox'
import { oracleNetworks } from '../../../domain/external.ts'
import { DAY_MINUTES_MIN, HOUR_MINUTES_MIN } from '../../external/measures/minute-statistics.ts'
import {
  coinMembers,
  count,
  flag,
  metaMembers,
  nonNegative,
  nullable,
  number,
  oneOf,
  percentage,
  text,
} from '../../render/answer-schema.ts'
import { recordMember } from '../../track-record-statistics/record-member.ts'

export const HORIZON_HOURS = 8

const Bps = (what: string) => number(`${what}, in basis points.`)
const Price = (what: string) => number(`${what}, USD.`)
const Spread = (what: string) => nonNegative(`${what}, in basis points.`)

const Window = (span: string, nMin: number) =>
  Type.Object(
    {
      n: count('Number of minutes with data.'),
      mean_bps: nullable(Bps('Mean; null without data')),
      median_bps: nullable(Bps('Median; null without data')),
      stdev_bps: nullable(Spread('Population standard deviation; null without data')),
      mad_bps: nullable(Spread('Median absolute deviation; null without data')),
      min_bps: nullable(Bps('Minimum; null without data')),
      max_bps: nullable(Bps('Maximum; null without data')),
      zscore: nullable(
        number(
          `(basis_bps - median_bps) / (1.4826 mad_bps), in robust standard deviations; null below ${nMin} minutes or if mad_bps is 0.`,
        ),
      ),
      percentile: nullable(
        percentage(
          `Percentile rank of basis_bps among these minutes, 0 to 100, equal values counted half; null below ${nMin} minutes.`,
        ),
      ),
      window_hours: nonNegative('Hours with data: n / 60.'),
    },
    {
      description: `basis_bps against this oracle network over the last ${span}, one value per minute.`,
    },
  )

const OracleSource = Type.Object({
  network: oneOf(oracleNetworks),
  place: text("Chain the feed was read from; '' if the network has a single place."),
  price: Price('Price of one venue unit by this network'),
  confidence_bps: nullable(
    Spread('Published confidence interval; null if the network publishes none'),
  ),
  resolution_bps: Spread('As resolution_bps above'),
  expected_error_bps: Spread('As expected_error_bps above'),
  age_seconds: nonNegative('Seconds since publication.'),
  basis_bps: Bps('(venue_oracle_price - price) / price'),
  is_used: flag('This network is `source`.'),
  why_not: nullable(
    text(
      'late, too_old, wide_confidence, outvoted (two other sources agree on a different price, or more exchanges agree on one than networks agree with this one), wrong_scale, probation (one of these within the last 30 s) or larger_error (valid, but another network has a smaller expected_error_bps); null if used.',
    ),
  ),
})

export const BasisAnswer = Type.Object({
  ...coinMembers,
  basis: Type.Object({
    venue_oracle_price: Price('Oracle price of the venue'),
    venue_mark_price: Price('Mark price of the venue'),
    spot_price: Price('Price of one venue unit by the oracle network in `source`'),
    spot_confidence: nullable(
      nonNegative('Confidence interval of spot_price, USD; null if the network publishes none.'),
    ),
    basis_bps: Bps('(venue_oracle_price - spot_price) / spot_price; positive: venue premium'),
    basis_pct: number('basis_bps / 100, percent.'),
    perp_premium_bps: Bps('(venue_mark_price - venue_oracle_price) / venue_oracle_price'),
    total_basis_bps: Bps('(venue_mark_price - spot_price) / spot_price'),
    mid_basis_bps: nullable(
      Bps(
        '(mid price of the venue - spot_price) / spot_price; null without a two-sided quote at most 5 % wide',
      ),
    ),
    confidence_bps: nullable(
      Spread('spot_confidence / spot_price; null if spot_confidence is null'),
    ),
    significant: flag(
      'abs(basis_bps) exceeds band.total_bps and 1 bps; or abs(band.hour_mean_bps) exceeds band.hour_total_bps and 1 bps, and band.hour_mean_bps is within band.total_bps of basis_bps.',
    ),
    direction: oneOf(
      ['venue_premium', 'venue_discount', 'aligned'],
      'Sign of significant_basis_bps; aligned if it is null or within 5 bps.',
    ),
    signal: oneOf(
      ['neutral', 'mildly_bullish', 'mildly_bearish', 'bearish_contrarian', 'bullish_contrarian'],
      'By significant_basis_bps: 10 to 50 mildly_bullish, -50 to -10 mildly_bearish, above 50 bearish_contrarian, below -50 bullish_contrarian; otherwise neutral.',
    ),
    significant_basis_bps: nullable(
      Bps(
        'basis_bps if it exceeds its band, else band.hour_mean_bps if that does; null if `significant` is false',
      ),
    ),
    zscore_24h: nullable(
      number(
        `stats.24h.zscore, in robust standard deviations; null below ${DAY_MINUTES_MIN} minutes.`,
      ),
    ),
    percentile_7d: nullable(
      percentage(`stats.7d.percentile, 0 to 100; null below ${DAY_MINUTES_MIN} minutes.`),
    ),
    percentile_window_hours: Type.Number({
      minimum: 0,
      maximum: 168,
      description: 'Hours with data behind percentile_7d: stats.7d.n / 60, at most 168.',
    }),
    stats_24h: Type.Object({
      mean_bps: nullable(Bps('As stats.24h.mean_bps')),
      min_bps: nullable(Bps('As stats.24h.min_bps')),
      max_bps: nullable(Bps('As stats.24h.max_bps')),
      n: count('Number of minutes with data.'),
    }),
    basis_usd_adjusted_bps: nullable(
      Bps(
        'basis_bps computed from venue_oracle_price x usdt_price, because the venue oracle follows USDT prices; null if usdt_price is',
      ),
    ),
    usdt_price: nullable(Price('Price of one USDT; null if unknown')),
    basis_usd: Price('venue_oracle_price - spot_price'),
    scale: Type.Integer({
      minimum: 1,
      description: 'Number of asset units in one venue unit (1000 for kPEPE).',
    }),
    source: oneOf(oracleNetworks, 'Oracle network of spot_price.'),
    source_place: text("Chain the feed was read from; '' if the network has a single place."),
    resolution_bps: Spread(
      'How far the price may move before the feed publishes an update; 0 for a streaming feed; for redstone, which publishes by time alone, the expected move between two publications',
    ),
    expected_error_bps: Spread(
      'Expected error of spot_price at timestamp_iso, one standard deviation: published confidence and the price move since publication, limited by the feed trigger. The valid network with the smallest value is used',
    ),
    spot_ema_price: nullable(Price('Moving average published by the network; null if none')),
    spot_ema_confidence: nullable(
      nonNegative('Confidence interval of spot_ema_price, USD; null if spot_ema_price is null.'),
    ),
    band: Type.Object(
      {
        confidence_bps: Spread('confidence_bps, or 0 if null'),
        resolution_bps: Spread('resolution_bps'),
        age_bps: Spread(
          'Two standard deviations of the price move between the timestamps of both prices; for a trigger-based feed at most resolution_bps plus two standard deviations of the move during its publication delay',
        ),
        total_bps: Spread('confidence_bps + age_bps'),
        ratio: nullable(number('Ratio basis_bps / total_bps; null if total_bps is 0.')),
        hour_mean_bps: nullable(
          Bps('Mean of basis_bps against this network over the last hour; null without data'),
        ),
        hour_effective_n: nonNegative(
          'Effective number of independent readings in the last hour: minutes corrected for autocorrelation, at most the number of distinct publications.',
        ),
        hour_total_bps: nullable(
          Spread(
            'Threshold for hour_mean_bps: confidence_bps plus the 95 % confidence half-width of the mean; null below 30 minutes or 5 effective readings',
          ),
        ),
      },
      { description: 'Noise band: thresholds that the basis must exceed to be significant.' },
    ),
    stats: Type.Object({
      '1h': Window('hour', HOUR_MINUTES_MIN),
      '24h': Window('24 hours', DAY_MINUTES_MIN),
      '7d': Window('7 days', DAY_MINUTES_MIN),
    }),
    half_life_seconds: nullable(
      nonNegative(
        'Whole seconds in which a deviation halves, from an AR(1) fit to the minutes of 24 h; null without mean reversion or below 240 pairs of minutes.',
      ),
    ),
    premium_funding_hourly_pct: number(
      'Hourly funding rate implied by perp_premium_bps under the venue formula, percent.',
    ),
    premium_funding_apr_pct: number('premium_funding_hourly_pct x 8760, percent per year.'),
    annualized: Type.Object(
      {
        horizon_hours: Type.Literal(HORIZON_HOURS, {
          description: 'Assumed convergence time, hours.',
        }),
        yearly_pct: nullable(
          number(
            'significant_basis_bps / 100 x 8760 / horizon_hours, percent per year; null if significant_basis_bps is.',
          ),
        ),
        reason: nullable(
          oneOf(['basis_not_significant'], 'Reason for a null yearly_pct; null otherwise.'),
        ),
      },
      { description: 'Hypothetical yield: a gap between two oracles has no maturity.' },
    ),
    regime: oneOf(
      ['normal', 'stretched', 'dislocated'],
      'normal if significant_basis_bps is null. dislocated: above 50 bps in absolute value, or abs(zscore_24h) above 4. stretched: abs(zscore_24h) above 2.',
    ),
    status: oneOf(
      ['ok', 'degraded'],
      'degraded: the two prices are more than 5 s apart, or the network is late or its confidence interval is unusually wide.',
    ),
    oracle_networks: Type.Array(OracleSource, {
      description: 'All networks with a price of the coin, in a fixed order.',
    }),
    interpretation: text('Summary in one sentence.'),
    notes: Type.Array(Type.String(), { description: 'Limitations of this reading.' }),
    track_record: recordMember,
  }),
  meta: Type.Object({
    ...metaMembers,
    offering: Type.Literal('service_basis'),
    oracle_age_seconds: nonNegative('Seconds since publication of spot_price.'),
    leg_skew_seconds: nonNegative(
      'Seconds between the receipt of venue_oracle_price and the publication of spot_price.',
    ),
  }),
})
