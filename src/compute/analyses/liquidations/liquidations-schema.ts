import { Type } from 'typebox'
import { cascadeLevels, cascadeWeights } from '../../liquidation/cascade.ts'
import { coinMembers, metaMembers, nullable, oneOf } from '../../render/answer-schema.ts'

const Usd = Type.Number({ minimum: 0, description: 'USD at the liquidation price.' })
const Score = Type.Number({ minimum: 0, maximum: 1 })
const Away = Type.Number({ minimum: 0, description: 'Distance from `price`, percent.' })
const Price = Type.Number({ exclusiveMinimum: 0, description: 'USD.' })
const Observed = Type.Number({
  minimum: 0,
  description: 'Of estimated_notional: positions of known accounts at their true prices, USD.',
})

const Zone = Type.Object({
  price: Type.Number({
    exclusiveMinimum: 0,
    description:
      'USD. Notional-weighted median of the liquidation prices of this tier; where it holds nothing, the price of a position opened now.',
  }),
  leverage: oneOf(['3x', '5x', '10x', '25x', '50x'], 'Leverage tier.'),
  estimated_notional: Type.Number({
    minimum: 0,
    description: 'All that is held at this leverage, known accounts included, USD.',
  }),
  observed_notional: Observed,
  distance_pct: Away,
  share_pct: Type.Number({
    minimum: 0,
    maximum: 100,
    description: "Of the side's notional, percent.",
  }),
  permitted: Type.Boolean({
    description:
      'False: the coin allows less leverage. Then the notional is 0, outside all totals, and the price that of a coin which allows it.',
  }),
})

const Cluster = Type.Object({
  price: Type.Number({
    exclusiveMinimum: 0,
    description: 'USD. Mean liquidation price by notional within one band of distance.',
  }),
  distance_pct: Away,
  estimated_notional: Usd,
  observed_notional: Observed,
})

const { proximity, size, leverageSkew, volatility } = cascadeWeights

export const LiquidationsAnswer = Type.Object({
  ...coinMembers,
  price: Type.Number({ exclusiveMinimum: 0, description: 'Current mid price, USD.' }),
  mark_price: Type.Number({ exclusiveMinimum: 0, description: 'What liquidations go by, USD.' }),
  zones: Type.Object({
    longs: Type.Array(Zone, { description: 'One a tier, the largest first.' }),
    shorts: Type.Array(Zone, { description: 'One a tier, the smallest first.' }),
  }),
  clusters: Type.Object(
    { longs: Type.Array(Cluster), shorts: Type.Array(Cluster) },
    { description: 'The whole map in bands of distance, nearest first; empty bands are left out.' },
  ),
  cascade_risk: Type.Object({
    score: Type.Number({
      minimum: 0,
      maximum: 1,
      description: `${proximity} proximity + ${size} size + ${leverageSkew} leverage_skew + ${volatility} volatility. A ranking, not a probability.`,
    }),
    level: oneOf(
      cascadeLevels,
      'By score: LOW < 0.35, MODERATE < 0.65, HIGH < 0.85, else EXTREME.',
    ),
    components: Type.Object({
      proximity: Type.Number({
        minimum: 0,
        maximum: 1,
        description: 'exp(-distance_pct of nearest_cluster / 5).',
      }),
      size: Type.Number({
        minimum: 0,
        maximum: 1,
        description:
          '1 - exp(-x / 0.2), x = notional within 5 % on the larger side / open interest at mark.',
      }),
      leverage_skew: Type.Number({
        minimum: 0,
        maximum: 1,
        description: '|longs - shorts| / (longs + shorts) of the notional within 5 %.',
      }),
      volatility: Type.Number({
        minimum: 0,
        maximum: 1,
        description: '1 - exp(-x / 1.5), x = ATR of 14 hourly bars in percent of price.',
      }),
    }),
    nearest_cluster: Type.Object(
      { side: oneOf(['long', 'short'], 'Whose liquidations.'), price: Price, distance_pct: Away },
      { description: "Nearest cluster with at least 5 % of its side's notional." },
    ),
  }),
  total_at_risk_usd: Type.Object(
    { within_1pct: Usd, within_2pct: Usd, within_5pct: Usd },
    { description: 'Both sides, by distance of the liquidation price from `price`.' },
  ),
  long_short_ratio: nullable(
    Type.Number({
      exclusiveMinimum: 0,
      description:
        'Transform of the funding rate, not a count of positions: exp(0.5 tanh((hourly rate - 0.0000125) / 0.00005)), 0.61 to 1.65; exactly 1 at the baseline rate, which most hours have. null for builder-deployed perpetuals, whose baseline is their own.',
    }),
  ),
  summary: Type.Object({
    open_interest_usd: Type.Number({ minimum: 0, description: 'One-sided, at mark.' }),
    longs_usd: Usd,
    shorts_usd: Usd,
    observed_usd: Usd,
  }),
  coverage: Type.Object(
    {
      observed_pct: percent('Positions of known accounts.'),
      flow_pct: percent(
        'Openings that were seen; with observed_pct it is meta.quality.coverage_pct.',
      ),
      prior_pct: percent('Not seen: laid out as the traded volume of the past days.'),
      flow_since_iso: Type.String({
        format: 'date-time',
        description: 'Since when openings are seen.',
      }),
      is_approximate: Type.Boolean({
        description:
          'Some zones were cleared by candles, because the mark was not seen for a while.',
      }),
    },
    {
      description:
        'What the open interest on the map rests on, mean of both sides: positions of known accounts, openings seen in open interest and trades, and for the rest the volume profile of the past days.',
    },
  ),
  assumptions: Type.Object({
    entry_model: Type.Literal('open_interest_flow', {
      description:
        'What open interest grows by was opened at the average price of the trades in between; what it falls by is closed pro rata.',
    }),
    leverage_shares: Type.Record(Type.String(), Score, {
      description: 'Of new exposure, before the aggressor is given more of the high tiers.',
    }),
    maintenance_margin: Type.Number({
      description: 'Of the first margin tier, as a fraction of notional.',
    }),
    max_leverage: Type.Number({
      description: 'That the coin allows, as a ratio of notional to margin.',
    }),
    half_life_hours: Type.Number({
      description: 'After which half of what was seen is forgotten.',
    }),
  }),
  meta: Type.Object({ ...metaMembers, offering: Type.Literal('service_liquidations') }),
})

function percent(description: string) {
  return Type.Number({ minimum: 0, maximum: 100, description })
}
