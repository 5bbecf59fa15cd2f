import { Type } from 'typebox'
import { chains } from '../../../domain/external.ts'
import { pegLevelNames } from '../../external/depeg/peg-level.ts'
import { pegClasses } from '../../external/depeg/peg-price.ts'
import { pegSourceFaults } from '../../external/depeg/peg-source.ts'
import { pegStatuses } from '../../external/depeg/peg-status.ts'
import {
  count,
  flag,
  fraction,
  Iso,
  instant,
  metaMembers,
  nonNegative,
  nullable,
  number,
  oneOf,
  percentage,
  text,
} from '../../render/answer-schema.ts'
import { recordMember } from '../../track-record-statistics/record-member.ts'

export const riskLevels = ['low', 'medium', 'high', 'critical'] as const
const oracleStatuses = ['up', 'degraded', 'down', 'unknown'] as const
const directions = ['discount', 'premium', 'none'] as const

const Bps = (description: string) => number(`${description}, basis points.`)
const AtLeast0Bps = (description: string) => nonNegative(`${description}, basis points.`)
const Usd = (description: string) => nonNegative(`${description}, USD.`)
const N = count('Number of minutes with data.')
const WindowHours = nonNegative('Hours with data: n / 60.')

export const DepegAnswer = Type.Object({
  asset: Type.Literal('USDC'),
  timestamp_iso: Iso,
  usdc: Type.Object({
    price_usd: Usd(
      'Price of one USDC: median of three source classes: oracle networks (oracle), exchanges against USD (exchange), USDT markets x USDT price (cross), each the weighted median of its sources as in sources[].used. With two classes, the one with more independent providers',
    ),
    confidence_usd: Usd('Half-width of the confidence interval of price_usd'),
    deviation_bps: AtLeast0Bps('Absolute distance of price_usd from 1'),
    signed_deviation_bps: Bps('price_usd - 1, signed'),
    deviation_pct: number('price_usd - 1, signed, percent.'),
    peg_status: oneOf(
      pegStatuses,
      'By deviation_bps: below 10 HEALTHY, below 50 ELEVATED, up to 200 WARNING, above CRITICAL. Rises when deviation less confidence passes the bound, or after three consecutive observations; falls immediately.',
    ),
    risk_level: oneOf(riskLevels, 'One value per peg_status, in the same order.'),
    since_iso: instant('Start of the present peg_status, UTC.'),
    interpretation: text('Summary in one sentence.'),
  }),
  level: Type.Integer({
    minimum: 0,
    maximum: 5,
    description:
      'Depeg level: 1 to 5 from 10, 25, 100, 200, 500 basis points of abs(deviation_adjusted_bps). Reached after 5 minutes (4 and 5: 1 minute); from 2 on two independent classes must confirm it; left after 15 minutes below half the threshold.',
  }),
  level_name: oneOf(pegLevelNames),
  level_since_iso: instant('Start of the present level, UTC.'),
  direction: oneOf(directions, 'Sign of deviation_adjusted_bps; none if it is 0.'),
  deviation_adjusted_bps: Bps(
    'signed_deviation_bps reduced towards 0 by confidence.bps and confidence.resolution_bps',
  ),
  deviation_adjusted_95_bps: Bps(
    'deviation_adjusted_bps with 2.12 x confidence.bps, the 95 % interval',
  ),
  health_score: percentage(
    '100 less up to 45 for deviation, 20 for the time beyond 25 basis points, 15 for dispersion of classes, 10 for a wide confidence interval, 10 for a supply drop over 24 h.',
  ),
  duration: Type.Object(
    {
      below_10_bps_seconds: nonNegative('Seconds since the deviation reached 10 basis points.'),
      below_25_bps_seconds: nonNegative('Seconds since the deviation reached 25 basis points.'),
      below_50_bps_seconds: nonNegative('Seconds since the deviation reached 50 basis points.'),
      below_100_bps_seconds: nonNegative('Seconds since the deviation reached 100 basis points.'),
    },
    {
      description:
        'Time since abs(deviation_adjusted_bps) reached each threshold, above or below 1; ends after 15 minutes below half the threshold; 0 if not reached.',
    },
  ),
  ema: nullable(
    Type.Object(
      {
        price_usd: Usd(
          'Weighted median of the moving averages (about 1 h) that oracle networks publish',
        ),
        deviation_bps: Bps('ema.price_usd - 1, signed'),
        momentum_bps: Bps('signed_deviation_bps - ema.deviation_bps'),
      },
      { description: 'null if no network in use publishes an average.' },
    ),
  ),
  confidence: Type.Object({
    bps: AtLeast0Bps('Median confidence half-width of the classes in price_usd'),
    resolution_bps: AtLeast0Bps(
      'Bound on an unpublished price move: two standard deviations of a stablecoin over the age of the source, at most the resolution of the feed',
    ),
    k: Type.Literal(1, { description: 'Factor of bps in deviation_adjusted_bps.' }),
  }),
  agreement: Type.Object({
    classes: Type.Integer({ minimum: 1, maximum: 3, description: 'Number of classes in use.' }),
    agreeing: Type.Integer({
      minimum: 0,
      maximum: 3,
      description: 'Number of classes within 20 basis points of price_usd.',
    }),
    disagreeing: Type.Array(oneOf(pegClasses), { description: 'The other classes in use.' }),
    dispersion_bps: AtLeast0Bps('Highest less lowest class price'),
    confirmed: flag(
      'Two independent classes confirm the level of deviation_adjusted_bps. If false, level rises only to the highest that two confirm, or 1.',
    ),
  }),
  infrastructure: Type.Object({
    oracle_status: oneOf(
      oracleStatuses,
      'By age of the newest USDC publication of any network: below 60 s up, below 300 s degraded, older down; unknown without feeds.',
    ),
    feeds_active: count(
      'Number of USDC oracle feeds published within 300 s; some feeds publish on price moves only.',
    ),
    feeds_total: count('Number of USDC oracle feeds received.'),
  }),
  cross_check: Type.Array(
    Type.Object({
      source: text('As sources[].id.'),
      price_usd: Usd('Price of one USDC'),
      age_seconds: nonNegative('Seconds since it was last confirmed.'),
    }),
    { description: 'Exchanges and pools in use, as in `sources`.' },
  ),
  sources: Type.Array(
    Type.Object({
      id: text('Network and chain, exchange and pair, or chain and pool.'),
      class: oneOf(pegClasses),
      price_usd: nullable(Usd('Price of one USDC; null if implausible or unknown')),
      confidence_bps: nullable(
        AtLeast0Bps(
          'Confidence half-width: published by the oracle, half the spread of an exchange, or fee of a pool; null if none',
        ),
      ),
      resolution_bps: AtLeast0Bps(
        'How far the price may move before the source publishes an update; 0 if it streams; for redstone, which publishes by time alone, the expected move between two publications. USDT markets have the resolution of the USDT price',
      ),
      expected_error_bps: nullable(
        AtLeast0Bps(
          'Expected error of an oracle feed at timestamp_iso, one standard deviation; null for exchanges and pools',
        ),
      ),
      age_seconds: nonNegative('Seconds since it was last confirmed.'),
      weight: fraction(
        'Weight of its vote in its class; providers with several feeds share one vote.',
      ),
      used: flag(
        'It votes in its class. The votes decide which oracles are right; of these only those within 5 % of the smallest expected_error_bps give the price.',
      ),
      reason: nullable(
        oneOf(pegSourceFaults, 'Why it is not used; null if used. thin_pool: below 250,000 USDT.'),
      ),
    }),
    { description: 'All sources received, used or not; at most 48.' },
  ),
  trend: Type.Object({
    max_abs_deviation_bps_1h: AtLeast0Bps('Largest recorded deviation of the last hour'),
    max_abs_deviation_bps_24h: AtLeast0Bps(
      'Largest recorded deviation of the last 24 h; range_24h.n counts its minutes',
    ),
    n_1h: count('Number of minutes with data in the last hour.'),
    slope_bps_per_hour: nullable(
      number(
        'Slope of price_usd, least squares over the minutes of the last hour, basis points; null below 30 minutes.',
      ),
    ),
  }),
  range_24h: Type.Object({
    low_usd: Usd('Lowest price_usd'),
    high_usd: Usd('Highest price_usd'),
    max_deviation_bps: Bps('Signed deviation of low_usd or high_usd, the larger in absolute value'),
    n: N,
    window_hours: WindowHours,
  }),
  history: Type.Object(
    {
      zscore: nullable(
        number('Distance of price_usd from the mean, in population standard deviations.'),
      ),
      percentile: nullable(percentage('Percentile rank of price_usd, 0 to 100.')),
      n: N,
      window_hours: WindowHours,
    },
    {
      description:
        'price_usd among the recorded minutes of the last 7 days; null below 1,440 minutes.',
    },
  ),
  flow: nullable(
    Type.Object(
      {
        supply_usd: Usd('USDC in circulation on all chains'),
        change_24h_pct: nullable(number('Change over 24 h, percent; null if unknown.')),
        change_7d_pct: nullable(number('Change over 7 days, percent; null if unknown.')),
        as_of_iso: instant('Receive time of the supply figure, UTC.'),
      },
      { description: 'USDC supply; null if unknown for 6 h.' },
    ),
  ),
  cross_chain: Type.Array(
    Type.Object({
      chain: oneOf(chains),
      usdc_usdt_bps: Bps('Premium of USDC over USDT in the deepest usable pool'),
    }),
    { description: 'Chains with a usable USDC/USDT pool.' },
  ),
  venue_impact: Type.Object(
    {
      collateral_haircut_bps: AtLeast0Bps(
        'Discount of USDC margin below face value; 0 at a premium',
      ),
      perp_price_inflation_bps: Bps(
        'Excess of a fair price quoted in USDC over the same price in USD',
      ),
    },
    { description: 'Effect on perpetuals margined and settled in USDC.' },
  ),
  precedent: Type.Object({
    event: Type.Literal('2023-03'),
    max_deviation_bps: Type.Literal(-1_260, {
      description: 'Lowest trade on Kraken in March 2023, basis points.',
    }),
  }),
  track_record: recordMember,
  meta: Type.Object({ ...metaMembers, offering: Type.Literal('service_depeg') }),
})
