import { Type } from 'typebox'
import { stressLevels } from '../../external/arb/arb-levels.ts'
import { divergenceDirections } from '../../external/divergence-direction.ts'
import { fundingBiases } from '../../funding/funding-tilt.ts'
import { cascadeLevels } from '../../liquidation/cascade.ts'
import { interestTrends } from '../../open-interest/positioning.ts'
import { regimeLabels } from '../../regime/regime-rule.ts'
import {
  count,
  fraction,
  Iso,
  metaMembers,
  nonNegative,
  nullable,
  number,
  oneOf,
  percentage,
  signedFraction,
  text,
} from '../../render/answer-schema.ts'
import { volatilityRegimes } from '../../volatility/volatility-regime.ts'
import { skipReasons } from './screener-columns.ts'

const Direction = oneOf(['bullish', 'bearish', 'neutral'])
const StressLevel = nullable(oneOf(stressLevels, 'stress_level of /arb; null while /arb has none.'))
const Score = fraction('As in /pulse with timeframes=1h, 0 to 1.')
const Tickers = Type.Array(Type.String())

/** Members of a row in every view. */
const compactMembers = {
  coin: text("The venue's spelling."),
  price: number(
    'Mid price, or the mark price while the book is one-sided or over 5 % wide, USD; in quote_unit if that is present.',
  ),
  quote_unit: Type.Optional(
    nullable(
      text(
        'Collateral token, for a coin of a builder-deployed dex; null until its name is received.',
      ),
    ),
  ),
  change_24h_pct: nullable(
    number('Change of price over 24 h, percent; null without a price from then.'),
  ),
  signal_strength: fraction(
    '0.6 x abs(confluence net on 1h) + 0.15 x min(abs(rsi_14 - 50) / 50, 1) + 0.15 x min(abs(zscore_100) / 3, 1) + 0.1 if the candle signals of 1h and 4h have the same bias, not neutral. The RSI term is 0 while the last 20 closes are equal.',
  ),
  confluence_bias: Direction,
  trend: oneOf(['bullish', 'bearish', 'neutral'], 'trend.label of /pulse on 4h.'),
  vol_regime: oneOf(
    volatilityRegimes,
    'Percentile of the 1h ATR % in its own last 30 days: LOW below 20, HIGH from 80, EXTREME from 95, else NORMAL.',
  ),
  funding_bias: oneOf(
    fundingBiases,
    'As in /funding: LONG_PAYING above 1.5 x 0.0000125, SHORT_PAYING below 0, else NEUTRAL; UNKNOWN for builder-deployed perpetuals.',
  ),
}

const CompactRow = Type.Object(compactMembers, { additionalProperties: false })

const FullRow = Type.Object({
  ...compactMembers,
  signal_strength_supported: Type.Optional(
    fraction(
      'Sum of the terms of signal_strength whose records (confluence.bias, vote.rsi, vote.zscore over 4 h, /track-record) are supported; absent without any.',
    ),
  ),
  confluence_score: Score,
  rsi_14: percentage('Wilder RSI over 14 bars of 1h, 0 to 100.'),
  rsi_zone: oneOf(['overbought', 'bullish', 'neutral', 'bearish', 'oversold']),
  funding_annualized_pct: number('As in /funding, percent.'),
  oi_trend: oneOf(interestTrends, 'trend of /oi, over 4 h; UNKNOWN below four hours of data.'),
  oi_notional_usd: nullable(
    nonNegative('Open interest at the mark price, USD; null if quote_unit has no USD price.'),
  ),
  volume_24h_usd: nullable(
    nonNegative('Volume of the last 24 h by the venue, USD; null if quote_unit has no USD price.'),
  ),
  cascade_level: nullable(
    oneOf(cascadeLevels, 'cascade_risk.level of /liquidations; null while that has no answer.'),
  ),
  liquidated_usd: nullable(
    nonNegative(
      'Liquidated notional of the last 24 h, realised longs + shorts of /liquidations, USD: a lower bound unless a source of all liquidations covers them. null while the trade feed is stale or less than 24 h is observed without such a source, or if quote_unit has no USD price.',
    ),
  ),
  cex_dex_spread_bps: nullable(
    number('divergence_bps of /cex-dex; null if /cex-dex has no answer for the coin.'),
  ),
  cex_dex_direction: nullable(oneOf(divergenceDirections, 'direction of /cex-dex; null likewise.')),
  data_age_seconds: nonNegative(
    'Age of the least recently confirmed of its candles, price and funding, seconds.',
  ),
})

/** Members that the short rows do not have. */
export const fullRowMembers = Object.keys(FullRow.properties).filter(
  (name) => !Object.hasOwn(compactMembers, name),
)

export const ScreenerAnswer = Type.Object({
  timestamp_iso: Iso,
  coins_scanned: count('Number of ranked coins.'),
  coins_total: count('Number of coins listed on the venue.'),
  market: Type.Object({
    regime: oneOf(regimeLabels, 'regime.current of /pulse.'),
    regime_score: nullable(signedFraction('1 risk on to -1 risk off; null if regime is UNKNOWN.')),
    breadth_pct: percentage(
      'Share of scanned coins of the main dex with the 4h close above EMA 50, percent.',
    ),
    bullish_count: count('Number by confluence_bias.'),
    bearish_count: count('Number by confluence_bias.'),
    neutral_count: count('Number by confluence_bias.'),
    strength_supported_count: count('Number of coins with signal_strength_supported.'),
    median_funding_annualized_pct: number('Median funding rate of these coins, percent per year.'),
    vol_regime: oneOf(volatilityRegimes, 'By the median ATR % percentile of these coins.'),
    vol_window_hours: count(
      'Hours of history behind vol_regime, of the median coin; complete at 720.',
    ),
    stress_level: StressLevel,
  }),
  coins: Type.Array(Type.Union([FullRow, CompactRow]), {
    description:
      'Scanned coins by signal_strength, largest first; ties by name. Short rows with view=compact.',
  }),
  top: Type.Object(
    {
      bullish: Tickers,
      bearish: Tickers,
      crowded_long: Tickers,
      crowded_short: Tickers,
      volatile: Tickers,
    },
    {
      description:
        'Among all scanned coins: strongest bullish and bearish (5 each), most crowded by funding and most volatile (3 each).',
    },
  ),
  skipped: Type.Array(Type.Object({ coin: Type.String(), reason: oneOf(skipReasons) }), {
    description: 'Coins that were not ranked, at most 40, listed coins before delisted ones.',
  }),
  skipped_count: count('Number of all skipped coins.'),
  meta: Type.Object({ ...metaMembers, offering: Type.Literal('service_screener') }),
})
