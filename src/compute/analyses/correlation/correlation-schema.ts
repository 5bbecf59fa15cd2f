import { Type } from 'typebox'
import { sectors } from '../../../domain/sectors.ts'
import {
  count,
  Iso,
  instant,
  metaMembers,
  nonNegative,
  nullable,
  number,
  oneOf,
  signedFraction,
} from '../../render/answer-schema.ts'
import { regimes } from './correlation-regime.ts'

const R = signedFraction("Pearson's r, -1 to 1.")
const Count = count('Number of pairs.')
const Extremes = Type.Array(Type.Object({ coin: Type.String(), r: R }), { maxItems: 3 })

export const CorrelationAnswer = Type.Object({
  timestamp_iso: Iso,
  coins_analyzed: Type.Integer({
    minimum: 1,
    description:
      'Number of coins with a correlation to BTC: at least 24 common hourly returns, and not constant.',
  }),
  window: Type.Object(
    {
      hours: Type.Integer({ minimum: 1, description: 'From the first to the last close, hours.' }),
      candles: Type.Integer({ minimum: 2, description: 'Number of candles.' }),
      interval: Type.Literal('1h'),
      first_iso: instant('Open time of the first candle, UTC.'),
      last_iso: instant('Open time of the last candle, UTC.'),
    },
    { description: 'Closed candles used; at full length 721 candles, 720 returns.' },
  ),
  method: Type.Literal('pearson_log_returns', {
    description: "Pearson's r of hourly log returns over the common hours of each pair.",
  }),
  avg_correlation: signedFraction('Mean of `correlations` of the main dex.'),
  regime: oneOf(
    regimes,
    'By avg_correlation: above 0.7 CORRELATED, 0.3 to 0.7 MIXED, below 0.3 DECORRELATED; UNKNOWN below 8 coins of the main dex or 100 candles.',
  ),
  correlations: Type.Record(Type.String(), R, { description: 'r with BTC, by coin.' }),
  stats: Type.Record(
    Type.String(),
    Type.Object({
      n: Type.Integer({ minimum: 2, description: 'Number of hourly returns in common with BTC.' }),
      stderr: nullable(
        nonNegative('Standard error of r, 0 to 1, from the same variance as the interval.'),
      ),
      ci_low: nullable(signedFraction('Lower end of the 95 % interval.')),
      ci_high: nullable(signedFraction('Upper end of the 95 % interval.')),
      beta: number('Ratio of the covariance with BTC to the variance of BTC.'),
    }),
    {
      description:
        "By coin. The 95 % interval uses Fisher's z with a variance that is robust to volatility clustering, heavy tails and a drifting correlation. It describes this window and does not predict the next one.",
    },
  ),
  matrix: Type.Object(
    {
      coins: Type.Array(Type.String(), { maxItems: 16 }),
      values: Type.Array(Type.Array(nullable(R)), {
        description:
          'Rows and columns in the order of `coins`; null for a pair with fewer than 24 common returns.',
      }),
    },
    { description: 'All pairs of BTC and the 15 analyzed coins with the largest open interest.' },
  ),
  sector_averages: Type.Object(
    Object.fromEntries(sectors.map((sector) => [sector, nullable(R)])) as Record<
      (typeof sectors)[number],
      ReturnType<typeof nullable<typeof R>>
    >,
    { description: 'Mean correlation to BTC by sector; null below two coins.' },
  ),
  change: Type.Object(
    {
      avg_24h_ago: nullable(R),
      avg_7d_ago: nullable(R),
      delta_24h: nullable(number('avg_correlation - avg_24h_ago, -2 to 2.')),
    },
    {
      description:
        'avg_correlation of the 720-hour windows that ended 24 h and 7 d earlier, over the coins known then; null without one.',
    },
  ),
  short_window: Type.Object(
    {
      hours: Type.Literal(24, { description: 'Window length, hours.' }),
      avg_correlation: nullable(R),
      regime: oneOf(regimes),
    },
    {
      description:
        'The last 24 hourly returns, over coins of the main dex with at least 12 in common with BTC; regime without the limit of 100 candles.',
    },
  ),
  most_correlated: Extremes,
  least_correlated: Extremes,
  meta: Type.Object({
    ...metaMembers,
    offering: Type.Literal('service_correlation'),
    cross_check: Type.Object(
      {
        served: oneOf(['rolling_sums', 'from_scratch']),
        pairs: Count,
        disagreeing: Count,
        disagreements_since_start: Count,
      },
      {
        description:
          'How the pairs were computed: `from_scratch`, directly from the returns. No rolling sums are kept that could disagree, so every count is 0.',
      },
    ),
  }),
})
