import { Type } from 'typebox'
import { chains } from '../../../domain/external.ts'
import { pegSourceFaults } from '../../external/depeg/depeg-sources.ts'
import { pegLevelNames } from '../../external/depeg/peg-level.ts'
import { pegClasses } from '../../external/depeg/peg-price.ts'
import { pegStatuses } from '../../external/depeg/peg-status.ts'
import { metaMembers, nullable, oneOf } from '../../render/answer-schema.ts'

export const riskLevels = ['low', 'medium', 'high', 'critical'] as const
const oracleStatuses = ['up', 'degraded', 'down', 'unknown'] as const
const directions = ['discount', 'premium', 'none'] as const

const Iso = (description: string) => Type.String({ format: 'date-time', description })
const Bps = (description: string) => Type.Number({ description: `${description}, basis points.` })
const AtLeast0Bps = (description: string) =>
  Type.Number({ minimum: 0, description: `${description}, basis points.` })
const Usd = (description: string) =>
  Type.Number({ minimum: 0, description: `${description}, USD.` })
const Seconds = (description: string) => Type.Number({ minimum: 0, description })
const WindowHours = Type.Integer({
  minimum: 0,
  description: 'From the first hour that our own record has to now, hours.',
})

export const DepegAnswer = Type.Object({
  asset: Type.Literal('USDC'),
  timestamp_iso: Iso('UTC, ISO 8601.'),
  usdc: Type.Object({
    price_usd: Usd(
      'Median of the classes of sources, each a weighted median: oracle networks, exchanges for USD, markets against USDT times USDT in USD. Of two classes, the one with more independent providers',
    ),
    confidence_usd: Usd('Half width of what the sources are sure of'),
    deviation_bps: AtLeast0Bps('Distance of price_usd from 1'),
    signed_deviation_bps: Bps('The same, negative below 1'),
    deviation_pct: Type.Number({ description: 'The same, signed, percent.' }),
    peg_status: oneOf(
      pegStatuses,
      'By deviation_bps: below 10, 10 to 50, 50 to 200, above. Rises only when the deviation less the confidence passes the bound, or three observations in a row pass it; falls at once.',
    ),
    risk_level: oneOf(riskLevels, 'One to one with peg_status.'),
    since_iso: Iso('When peg_status began, UTC.'),
    interpretation: Type.String({ description: 'The above in a sentence.' }),
  }),
  level: Type.Integer({
    minimum: 0,
    maximum: 5,
    description:
      'From 10, 25, 100, 200, 500 basis points of deviation_adjusted_bps on; reached after 5 minutes, 4 and 5 after 1; from 2 on borne out by two classes; left after 15 minutes below half of the threshold.',
  }),
  level_name: oneOf(pegLevelNames),
  level_since_iso: Iso('When the level began, UTC.'),
  direction: oneOf(directions, 'Of deviation_adjusted_bps; none where it is 0.'),
  deviation_adjusted_bps: Bps(
    'Signed deviation less confidence and resolution, 0 where they explain it',
  ),
  deviation_adjusted_95_bps: Bps('The same with 2.12 times the confidence'),
  health_score: Type.Number({
    minimum: 0,
    maximum: 100,
    description:
      '100 less up to 45 for deviation, 20 for the time beyond 25 basis points, 15 for dispersion, 10 for confidence, 10 for a falling supply.',
  }),
  duration: Type.Object(
    {
      below_10_bps_seconds: Seconds('Seconds since it was 10 basis points away.'),
      below_25_bps_seconds: Seconds('Seconds since it was 25 basis points away.'),
      below_50_bps_seconds: Seconds('Seconds since it was 50 basis points away.'),
      below_100_bps_seconds: Seconds('Seconds since it was 100 basis points away.'),
    },
    {
      description:
        'Since deviation_adjusted_bps went beyond each, on either side; ends after 15 minutes below half of it; 0 when not beyond.',
    },
  ),
  ema: nullable(
    Type.Object(
      {
        price_usd: Usd("Of the oracle networks' own averages of about an hour"),
        deviation_bps: Bps('Signed distance of it from 1'),
        momentum_bps: Bps('signed_deviation_bps less that'),
      },
      { description: 'null where no network in use gives an average.' },
    ),
  ),
  confidence: Type.Object({
    bps: AtLeast0Bps('Median of the classes'),
    resolution_bps: AtLeast0Bps(
      'How far the price may be off without a source having published, by the age of its last price: two deviations of what a stablecoin moves, at most the resolution of the feed',
    ),
    k: Type.Literal(1, { description: 'Times the confidence that is taken off the deviation.' }),
  }),
  agreement: Type.Object({
    classes: Type.Integer({ minimum: 1, maximum: 3, description: 'Number of classes in use.' }),
    agreeing: Type.Integer({
      minimum: 0,
      maximum: 3,
      description: 'Number of classes within 20 basis points of price_usd.',
    }),
    disagreeing: Type.Array(oneOf(pegClasses), { description: 'The other classes in use.' }),
    dispersion_bps: AtLeast0Bps('Highest less lowest class'),
    confirmed: Type.Boolean({
      description:
        'Two classes that do not rest on each other bear out what deviation_adjusted_bps says; if not, it calls for no level above 1.',
    }),
  }),
  infrastructure: Type.Object({
    oracle_status: oneOf(
      oracleStatuses,
      'By the age of the newest publication of any network: below 60 s, below 300 s, older.',
    ),
    feeds_active: Type.Integer({
      minimum: 0,
      description: 'Number of oracle feeds younger than 300 s; some publish on moves only.',
    }),
    feeds_total: Type.Integer({ minimum: 0, description: 'Number of oracle feeds heard of.' }),
  }),
  cross_check: Type.Array(
    Type.Object({
      source: Type.String(),
      price_usd: Usd('Price of USDC there'),
      age_seconds: Seconds('Seconds since it was last confirmed.'),
    }),
    { description: 'Exchanges and pools in use.' },
  ),
  sources: Type.Array(
    Type.Object({
      id: Type.String({ description: 'Network and chain, exchange and pair, or chain and pool.' }),
      class: oneOf(pegClasses),
      price_usd: nullable(Usd('null where it has none')),
      confidence_bps: nullable(AtLeast0Bps('null where the source gives none')),
      resolution_bps: AtLeast0Bps('A move of this size is published; 0 for markets and streams'),
      expected_error_bps: nullable(
        AtLeast0Bps(
          'One deviation of its error at the time of rendering, of an oracle feed; null for markets, of which the middle is taken',
        ),
      ),
      age_seconds: Seconds('Seconds since it was last confirmed.'),
      weight: Type.Number({ minimum: 0, maximum: 1, description: 'In the median of its class.' }),
      used: Type.Boolean(),
      reason: nullable(oneOf(pegSourceFaults)),
    }),
    { description: 'All that were heard of, used or not.' },
  ),
  trend: Type.Object({
    max_abs_deviation_bps_1h: AtLeast0Bps('In the last hour'),
    max_abs_deviation_bps_24h: AtLeast0Bps('In the last 24 h'),
    slope_bps_per_hour: nullable(
      Type.Number({
        description:
          'Least squares over the minutes of the last hour, basis points; null for fewer than 30.',
      }),
    ),
  }),
  range_24h: Type.Object({
    low_usd: Usd('Lowest price_usd'),
    high_usd: Usd('Highest price_usd'),
    max_deviation_bps: Bps('The farther one from 1, signed'),
    window_hours: WindowHours,
  }),
  history: Type.Object(
    {
      zscore: nullable(Type.Number({ description: 'Of price_usd, in deviations.' })),
      percentile: nullable(
        Type.Number({ minimum: 0, maximum: 100, description: 'Rank of price_usd.' }),
      ),
      n: Type.Integer({ minimum: 0, description: 'Number of minutes known.' }),
      window_hours: WindowHours,
    },
    {
      description: 'Among the minutes of the last 7 days that we saw; null below 1,440 of them.',
    },
  ),
  flow: nullable(
    Type.Object(
      {
        supply_usd: Usd('In circulation on all chains'),
        change_24h_pct: nullable(Type.Number({ description: 'In a day, percent.' })),
        change_7d_pct: nullable(Type.Number({ description: 'In seven days, percent.' })),
        as_of_iso: Iso('Of the supply, UTC.'),
      },
      { description: 'null where the supply is not known.' },
    ),
  ),
  cross_chain: Type.Array(
    Type.Object({
      chain: oneOf(chains),
      usdc_usdt_bps: Bps('USDC above USDT in the deepest pool'),
    }),
  ),
  venue_impact: Type.Object(
    {
      collateral_haircut_bps: AtLeast0Bps('What USDC margin is worth less than its face'),
      perp_price_inflation_bps: Bps(
        'How far a fair price in USDC stands above the same price in USD',
      ),
    },
    { description: 'For perpetuals that are margined and settled in USDC.' },
  ),
  precedent: Type.Object({
    event: Type.Literal('2023-03'),
    max_deviation_bps: Type.Literal(-1_260, {
      description: 'Lowest trade on Kraken, basis points.',
    }),
  }),
  meta: Type.Object({ ...metaMembers, offering: Type.Literal('service_depeg') }),
})
