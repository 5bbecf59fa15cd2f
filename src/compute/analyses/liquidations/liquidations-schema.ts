import { Type } from 'typebox'
import { cascadeLevels, cascadeWeights } from '../../liquidation/cascade.ts'
import { HALF_LIFE_MS } from '../../liquidation/liquidation-flow.ts'
import { MAP_MULTIPLES } from '../../liquidation/zone-map.ts'
import { coinMembers, metaMembers, nullable, oneOf } from '../../render/answer-schema.ts'
import { dexMembers } from '../../render/quote-unit.ts'

const MAP = `${MAP_MULTIPLES.long} to ${MAP_MULTIPLES.short} times mark_price`

/** Half-lives after which a ten-thousandth is left. */
const START_FORGOTTEN_HOURS = Math.ceil((HALF_LIFE_MS / 3_600_000) * Math.log2(10_000))

const zoneHoldings = ['on_map', 'beyond', 'nothing'] as const

export type ZoneHolding = (typeof zoneHoldings)[number]

/** A notional; every one of a coin is null while its unit has no price in USD. */
const usdAtMark = (description: string) =>
  nullable(
    Type.Number({
      minimum: 0,
      description: `${description}, USD at mark_price. null where dex.usd_per_quote_unit is.`,
    }),
  )

const Usd = usdAtMark('Notional on the map')
const Score = Type.Number({ minimum: 0, maximum: 1 })
const Away = Type.Number({ minimum: 0, description: 'Distance from `price`, percent.' })
const Price = Type.Number({ exclusiveMinimum: 0, description: 'USD.' })
const Observed = usdAtMark(
  'Of estimated_notional: positions of known accounts at their true liquidation prices',
)

const Zone = Type.Object({
  price: Type.Number({
    exclusiveMinimum: 0,
    description:
      'USD. Notional-weighted median of the liquidation prices of this tier on the map; unless holds is on_map, that of a position opened now, which nobody has.',
  }),
  leverage: oneOf(
    ['3x', '5x', '10x', '25x', '50x'],
    'Leverage tier: positions whose leverage is nearest to it, as a ratio, among the permitted tiers; less than 3x is in below_3x.',
  ),
  estimated_notional: usdAtMark(
    'All that is held at this leverage on the map, known accounts included',
  ),
  observed_notional: Observed,
  distance_pct: Away,
  share_pct: Type.Number({
    minimum: 0,
    maximum: 100,
    description: "Of the side's five tiers on the map, percent.",
  }),
  permitted: Type.Boolean({
    description:
      'False: the coin allows less leverage. Then the notional is 0, outside all totals, and the price that of a coin which allows it.',
  }),
  holds: oneOf(
    zoneHoldings,
    'on_map: price is of positions. beyond: all that this tier holds lies beyond the map. nothing: it holds nothing.',
  ),
})

const BelowTiers = Type.Object({
  price: nullable(
    Type.Number({
      exclusiveMinimum: 0,
      description: 'USD. Notional-weighted median of their liquidation prices; null without any.',
    }),
  ),
  distance_pct: nullable(Away),
  notional_usd: usdAtMark('All of them on the map'),
})

const Beyond = Type.Object({
  notional_usd: usdAtMark('All leverages'),
  observed_usd: usdAtMark('Of which positions of known accounts'),
  positions: Type.Integer({ minimum: 0, description: 'Number of these positions.' }),
  by_leverage: Type.Record(Type.String(), nullable(Type.Number({ minimum: 0 })), {
    description:
      'notional_usd by leverage tier, and below_3x, USD at mark_price; what is 0 is left out.',
  }),
  nearest_multiple: Multiple('Nearest'),
  median_multiple: Multiple('Notional-weighted median'),
})

const Cluster = Type.Object({
  price: Type.Number({
    exclusiveMinimum: 0,
    description:
      'USD. Notional-weighted median of the liquidation prices within one band of distance.',
  }),
  distance_pct: Away,
  estimated_notional: Usd,
  observed_notional: Observed,
})

const { proximity, size, leverageSkew, volatility } = cascadeWeights

export const LiquidationsAnswer = Type.Object({
  ...coinMembers,
  ...dexMembers,
  price: Type.Number({ exclusiveMinimum: 0, description: 'Current mid price, USD.' }),
  mark_price: Type.Number({ exclusiveMinimum: 0, description: 'What liquidations go by, USD.' }),
  zones: Type.Object({
    longs: Type.Array(Zone, { description: 'One a tier, the largest first.' }),
    shorts: Type.Array(Zone, { description: 'One a tier, the smallest first.' }),
  }),
  below_3x: Type.Object(
    { longs: BelowTiers, shorts: BelowTiers },
    {
      description:
        'Positions of known accounts at less than 3x, on the map and in no zone; none are estimated.',
    },
  ),
  beyond: Type.Object(
    { longs: Beyond, shorts: Beyond },
    {
      description: `Liquidation prices beyond the map, which is ${MAP}: in no zone, cluster, total, median or score.`,
    },
  ),
  without_liquidation_price_usd: Type.Object(
    {
      longs: usdAtMark('Of this side'),
      shorts: usdAtMark('Of this side'),
    },
    {
      description:
        'Positions of known accounts that no price of this coin liquidates. Zones, below_3x, beyond and this together are at most open_interest_usd on each side.',
    },
  ),
  clusters: Type.Object(
    { longs: Type.Array(Cluster), shorts: Type.Array(Cluster) },
    {
      description: `The whole map (${MAP}, all leverages) in bands of distance, nearest first; empty bands are left out.`,
    },
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
        description: 'exp(-distance_pct of nearest_cluster / 5); 0 where the map is empty.',
      }),
      size: Type.Number({
        minimum: 0,
        maximum: 1,
        description:
          '1 - exp(-x / 0.2), x = notional within 5 % on the larger side / open interest, both at mark.',
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
      {
        side: oneOf(['long', 'short'], 'Whose liquidations.'),
        price: Price,
        distance_pct: Away,
        estimated_notional: usdAtMark(
          'Its notional; 0: the map is empty, and this is of a position opened now',
        ),
      },
      { description: "Nearest cluster with at least 5 % of its side's notional on the map." },
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
    open_interest_usd: nullable(
      Type.Number({
        minimum: 0,
        description: 'One-sided, at mark, USD. null where dex.usd_per_quote_unit is.',
      }),
    ),
    longs_usd: Usd,
    shorts_usd: Usd,
    observed_usd: usdAtMark('Of longs_usd and shorts_usd: positions of known accounts'),
  }),
  coverage: Type.Object(
    {
      observed_pct: percent('On the map: positions of known accounts.'),
      flow_pct: percent(
        'On the map: openings that were seen; with observed_pct it is meta.quality.coverage_pct.',
      ),
      prior_pct: percent('On the map, not seen: laid out as the traded volume of the past days.'),
      beyond_pct: percent('Beyond the map, observed or estimated.'),
      without_liquidation_price_pct: percent('Known to have no liquidation price.'),
      longs_on_map_pct: percent('Of the longs: on the map.'),
      shorts_on_map_pct: percent('Of the shorts: on the map.'),
      flow_since_iso: Type.String({
        format: 'date-time',
        description: `Since when openings are seen. ${START_FORGOTTEN_HOURS} hours later less than 0.01 % is left of what was held then, and the map no longer depends on when this service started.`,
      }),
      is_approximate: Type.Boolean({
        description:
          'Some zones were cleared by candles, because the mark was not seen for a while.',
      }),
    },
    {
      description:
        'Where open interest is, percent of it, mean of both sides unless named after one. The first five add up to 100; to less only where nothing is open, or where the coin permits less than 3x and nothing is estimated.',
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

function Multiple(which: string) {
  return nullable(
    Type.Number({
      minimum: 0,
      description: `${which} liquidation price in times mark_price; null without any.`,
    }),
  )
}

function percent(description: string) {
  return Type.Number({ minimum: 0, maximum: 100, description })
}
