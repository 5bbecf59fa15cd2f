import { Type } from 'typebox'
import { stressLevels } from '../../external/arb/arb-levels.ts'
import { divergenceDirections } from '../../external/divergence-direction.ts'
import { fundingBiases } from '../../funding/funding-tilt.ts'
import { cascadeLevels } from '../../liquidation/cascade.ts'
import { interestTrends } from '../../open-interest/positioning.ts'
import { regimeLabels } from '../../regime/regime-rule.ts'
import { metaMembers, nullable, oneOf } from '../../render/answer-schema.ts'
import { volatilityRegimes } from '../../volatility/volatility-regime.ts'
import { skipReasons } from './screener-columns.ts'

const Direction = oneOf(['bullish', 'bearish', 'neutral'])
const StressLevel = nullable(oneOf(stressLevels, 'Of /arb; null while that is not measured.'))
const Score = Type.Number({ minimum: 0, maximum: 1, description: 'As in /pulse on 1h, 0 to 1.' })
const Tickers = Type.Array(Type.String())

/** What a row has in every view. */
const compactMembers = {
  coin: Type.String({ description: "The venue's spelling." }),
  price: Type.Number({
    description: 'Mid price, USD; of a builder-deployed dex in quote_unit.',
  }),
  quote_unit: Type.Optional(
    nullable(
      Type.String({
        description:
          'Present for a coin of a builder-deployed dex: its collateral token. null before its name was received.',
      }),
    ),
  ),
  change_24h_pct: nullable(
    Type.Number({ description: 'price against 24 h ago, percent; null without such a price.' }),
  ),
  signal_strength: Type.Number({
    minimum: 0,
    maximum: 1,
    description:
      '0.6 x abs(confluence net on 1h) + 0.15 x min(abs(rsi_14 - 50) / 50, 1) + 0.15 x min(abs(zscore_100) / 3, 1) + 0.1 where the candles of 1h and 4h have the same bias, and it is not neutral. While 20 closes are equal, RSI adds nothing.',
  }),
  confluence_bias: Direction,
  trend: oneOf(['bullish', 'bearish', 'neutral'], 'On 4h.'),
  vol_regime: oneOf(
    volatilityRegimes,
    'ATR % on 1h among its own last 30 days: LOW below percentile 20, HIGH from 80, EXTREME from 95.',
  ),
  funding_bias: oneOf(
    fundingBiases,
    'As in /funding: LONG_PAYING above 1.5 x 0.0000125, SHORT_PAYING below 0, else NEUTRAL; UNKNOWN for builder-deployed perpetuals.',
  ),
}

const CompactRow = Type.Object(compactMembers, { additionalProperties: false })

const FullRow = Type.Object({
  ...compactMembers,
  confluence_score: Score,
  rsi_14: Type.Number({ minimum: 0, maximum: 100, description: 'On 1h.' }),
  rsi_zone: oneOf(['overbought', 'bullish', 'neutral', 'bearish', 'oversold']),
  funding_annualized_pct: Type.Number({ description: 'As in /funding, percent.' }),
  oi_trend: oneOf(interestTrends, 'Over 4 h; UNKNOWN until four hours of open interest are known.'),
  oi_notional_usd: nullable(
    Type.Number({
      minimum: 0,
      description: 'Open interest at the mark, USD; null where quote_unit has no price in USD.',
    }),
  ),
  volume_24h_usd: nullable(
    Type.Number({
      minimum: 0,
      description: "The venue's own of 24 hours, USD; null where quote_unit has no price in USD.",
    }),
  ),
  cascade_level: nullable(oneOf(cascadeLevels, 'As /liquidations gives it.')),
  cex_dex_spread_bps: nullable(
    Type.Number({
      description: 'divergence_bps of /cex-dex, bps; null where that does not cover the coin.',
    }),
  ),
  cex_dex_direction: nullable(oneOf(divergenceDirections, 'As in /cex-dex.')),
  data_age_seconds: Type.Number({
    minimum: 0,
    description: 'Of its candles or its price, the older one.',
  }),
})

export const ScreenerAnswer = Type.Object({
  timestamp_iso: Type.String({ format: 'date-time', description: 'UTC, ISO 8601.' }),
  coins_scanned: Type.Integer({ minimum: 0, description: 'Number of coins that were ranked.' }),
  coins_total: Type.Integer({ minimum: 0, description: 'Coins that trade on the venue.' }),
  market: Type.Object({
    regime: oneOf(regimeLabels, 'As in /pulse.'),
    regime_score: nullable(
      Type.Number({ minimum: -1, maximum: 1, description: '1 risk on, -1 risk off.' }),
    ),
    breadth_pct: Type.Number({
      minimum: 0,
      maximum: 100,
      description: 'Share of scanned coins whose 4h close is above their EMA 50.',
    }),
    bullish_count: Type.Integer({ minimum: 0, description: 'By confluence_bias.' }),
    bearish_count: Type.Integer({ minimum: 0, description: 'By confluence_bias.' }),
    neutral_count: Type.Integer({ minimum: 0, description: 'By confluence_bias.' }),
    median_funding_annualized_pct: Type.Number({ description: 'Of all scanned coins, percent.' }),
    vol_regime: oneOf(volatilityRegimes, 'Of the median percentile of all scanned coins.'),
    vol_window_hours: Type.Integer({
      minimum: 0,
      description: 'Hours that vol_regime is judged by, of the median coin; 720 are wished for.',
    }),
    stress_level: StressLevel,
  }),
  coins: Type.Array(Type.Union([FullRow, CompactRow]), {
    description:
      'The strongest signals of all scanned coins; of equal strength the name decides. The short rows come with view=compact.',
  }),
  top: Type.Object(
    {
      bullish: Tickers,
      bearish: Tickers,
      crowded_long: Tickers,
      crowded_short: Tickers,
      volatile: Tickers,
    },
    { description: 'Of all scanned coins, also of those that are not listed above.' },
  ),
  skipped: Type.Array(Type.Object({ coin: Type.String(), reason: oneOf(skipReasons) }), {
    description: 'Coins that trade first; at most 40 of them.',
  }),
  skipped_count: Type.Integer({ minimum: 0, description: 'All of them, the delisted included.' }),
  meta: Type.Object({ ...metaMembers, offering: Type.Literal('service_screener') }),
})
