import { Type } from 'typebox'
import { sectors } from '../../../domain/sectors.ts'
import { metaMembers, nullable, oneOf } from '../../render/answer-schema.ts'
import { regimes } from './regime.ts'

const R = Type.Number({ minimum: -1, maximum: 1, description: "Pearson's r, -1 to 1." })
const Iso = Type.String({ format: 'date-time', description: 'UTC, ISO 8601.' })
const Count = Type.Integer({ minimum: 0, description: 'Number of pairs.' })
const Extremes = Type.Array(Type.Object({ coin: Type.String(), r: R }), { maxItems: 3 })

export const CorrelationAnswer = Type.Object({
  timestamp_iso: Iso,
  coins_analyzed: Type.Integer({
    minimum: 1,
    description:
      'Number of coins beside BTC with at least 24 hourly returns in common with it; one that does not move is left out.',
  }),
  window: Type.Object(
    {
      hours: Type.Integer({ minimum: 1, description: 'From the first close to the last, hours.' }),
      candles: Type.Integer({ minimum: 2, description: 'Number of candles.' }),
      interval: Type.Literal('1h'),
      first_iso: Type.String({ format: 'date-time', description: 'Open of the first candle.' }),
      last_iso: Type.String({ format: 'date-time', description: 'Open of the last candle.' }),
    },
    { description: 'Closed candles that were really used; 721 of them, 720 returns, once known.' },
  ),
  method: Type.Literal('pearson_log_returns', {
    description: "Pearson's r of ln(close / close before), over the common hours of each pair.",
  }),
  avg_correlation: Type.Number({
    minimum: -1,
    maximum: 1,
    description: 'Mean of the correlations to BTC.',
  }),
  regime: oneOf(
    regimes,
    'By avg_correlation: above 0.7 CORRELATED, 0.3 to 0.7 MIXED, below 0.3 DECORRELATED; UNKNOWN under 8 coins or 100 candles.',
  ),
  correlations: Type.Record(Type.String(), R, { description: 'Coin to r with BTC.' }),
  stats: Type.Record(
    Type.String(),
    Type.Object({
      n: Type.Integer({ minimum: 2, description: 'Hourly returns in common with BTC.' }),
      stderr: nullable(
        Type.Number({
          minimum: 0,
          description: 'Standard error of r, 0 to 1, by the same variance as the interval.',
        }),
      ),
      ci_low: nullable(
        Type.Number({ minimum: -1, maximum: 1, description: 'Lower end of the 95 % interval.' }),
      ),
      ci_high: nullable(
        Type.Number({ minimum: -1, maximum: 1, description: 'Upper end of the 95 % interval.' }),
      ),
      beta: Type.Number({ description: 'Covariance with BTC / variance of BTC, a ratio.' }),
    }),
    {
      description:
        "Of each correlation to BTC. The interval is around Fisher's z, as wide as volatility clusters, heavy tails and a correlation that moves within the window make it. It is of this window; the correlation of the next one may differ by more.",
    },
  ),
  matrix: Type.Object(
    {
      coins: Type.Array(Type.String(), { maxItems: 16 }),
      values: Type.Array(Type.Array(nullable(R)), {
        description: 'null for a pair with fewer than 24 returns in common.',
      }),
    },
    { description: 'BTC and the 15 coins with the largest open interest, all pairs.' },
  ),
  sector_averages: Type.Object(
    Object.fromEntries(sectors.map((sector) => [sector, nullable(R)])) as Record<
      (typeof sectors)[number],
      ReturnType<typeof nullable<typeof R>>
    >,
    { description: 'Mean correlation to BTC; null for fewer than two coins.' },
  ),
  change: Type.Object(
    {
      avg_24h_ago: nullable(R),
      avg_7d_ago: nullable(R),
      delta_24h: nullable(Type.Number({ description: 'Of r in 24 hours, -2 to 2.' })),
    },
    {
      description:
        'avg_correlation over the same length of time, 24 hours and 7 days earlier, of the coins known then; null where there was none.',
    },
  ),
  short_window: Type.Object(
    {
      hours: Type.Literal(24, { description: 'Its length, hours.' }),
      avg_correlation: nullable(R),
      regime: oneOf(regimes),
    },
    {
      description:
        'The last 24 returns, of coins with at least 12; the rule of candles does not hold.',
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
          'All pairs of the running sums against a computation from scratch, to 1e-9; if any is off, the latter is served.',
      },
    ),
  }),
})
