import { Type } from 'typebox'
import { cascadeLevels, cascadeWeights } from '../../liquidation/cascade.ts'
import { HALF_LIFE_MS } from '../../liquidation/liquidation-flow.ts'
import { MAP_MULTIPLES } from '../../liquidation/zone-map.ts'
import {
  coinMembers,
  count,
  flag,
  fraction,
  instant,
  metaMembers,
  nonNegative,
  nullable,
  number,
  oneOf,
  partialMap,
  percentage,
  positive,
} from '../../render/answer-schema.ts'
import { dexMembers } from '../../render/quote-unit.ts'
import { rankedRecordMember, recordMember } from '../../track-record-statistics/record-member.ts'

const MAP = `${MAP_MULTIPLES.long} to ${MAP_MULTIPLES.short} times mark_price`

/** Time after which less than 0.01 % of the exposure at the start is left. */
const START_FORGOTTEN_HOURS = Math.ceil((HALF_LIFE_MS / 3_600_000) * Math.log2(10_000))

const zoneHoldings = ['on_map', 'beyond', 'nothing'] as const

export type ZoneHolding = (typeof zoneHoldings)[number]

/** A notional; null while the quote unit of the coin has no USD price. */
const usdAtMark = (description: string) =>
  nullable(nonNegative(`${description}, USD at mark_price; null if dex.usd_per_quote_unit is.`))

const Usd = usdAtMark('Notional on the map')
const Score = Type.Number({ minimum: 0, maximum: 1 })
const Away = nonNegative('Distance from `price`, percent.')
const Price = positive('USD.')
const Observed = usdAtMark(
  'Part of estimated_notional from positions of known accounts at their actual liquidation prices',
)

const tiers = ['3x', '5x', '10x', '25x', '50x'] as const

const Zone = Type.Object({
  price: positive(
    'Notional-weighted median liquidation price of this tier on the map, USD; unless holds is on_map, the liquidation price of a hypothetical position opened now.',
  ),
  leverage: oneOf(
    tiers,
    'Leverage tier. A position counts in the nearest permitted tier (by ratio); below 3x in below_3x.',
  ),
  estimated_notional: usdAtMark('Notional of this tier on the map, known accounts included'),
  observed_notional: Observed,
  distance_pct: Away,
  share_pct: percentage('Share of the notional of the five tiers of this side, percent.'),
  permitted: flag(
    'false: the coin does not allow this leverage; the notional is 0 and price is hypothetical.',
  ),
  holds: oneOf(
    zoneHoldings,
    'on_map: the tier has notional on the map. beyond: all of it lies beyond the map. nothing: no notional.',
  ),
})

const BelowTiers = Type.Object({
  price: nullable(
    positive('Notional-weighted median liquidation price, USD; null if notional_usd is 0.'),
  ),
  distance_pct: nullable(Away),
  notional_usd: usdAtMark('Notional on the map'),
})

const Beyond = Type.Object({
  notional_usd: usdAtMark('Notional beyond the map, all leverages'),
  observed_usd: usdAtMark('Part of notional_usd from positions of known accounts'),
  positions: count('Number of positions of known accounts.'),
  by_leverage: partialMap(
    ['below_3x', ...tiers],
    nullable(Type.Number({ minimum: 0 })),
    'notional_usd by leverage tier and below_3x, USD at mark_price; zeros are left out.',
  ),
  nearest_multiple: Multiple('Nearest'),
  median_multiple: Multiple('Notional-weighted median'),
})

const Cluster = Type.Object({
  price: positive('Notional-weighted median liquidation price within one distance band, USD.'),
  distance_pct: Away,
  estimated_notional: Usd,
  observed_notional: Observed,
})

const { proximity, size, leverageSkew, volatility } = cascadeWeights

const realisedUsd = (description: string) => nullable(nonNegative(`${description}, USD.`))

const Realised = Type.Object({
  notional_usd: realisedUsd('Notional'),
  count: count('Number of closings of one account at one time.'),
  largest_usd: realisedUsd('Largest'),
  by_method: Type.Object({
    market: realisedUsd('On the order book'),
    backstop: realisedUsd('By a liquidator vault'),
  }),
})

export const LiquidationsAnswer = Type.Object({
  ...coinMembers,
  ...dexMembers,
  price: positive('Current mid price, USD; with the warning thin_book the mark price.'),
  mark_price: positive('Mark price, which triggers liquidations, USD.'),
  zones: Type.Object({
    longs: Type.Array(Zone, { description: 'One zone per tier, largest notional first.' }),
    shorts: Type.Array(Zone, { description: 'One zone per tier, smallest notional first.' }),
    track_record: recordMember,
  }),
  below_3x: Type.Object(
    { longs: BelowTiers, shorts: BelowTiers },
    {
      description:
        'Positions of known accounts below 3x leverage on the map, in no zone; nothing is estimated here.',
    },
  ),
  beyond: Type.Object(
    { longs: Beyond, shorts: Beyond },
    {
      description: `Liquidation prices beyond the map (${MAP}), excluded from all zones, clusters, totals and scores.`,
    },
  ),
  without_liquidation_price_usd: Type.Object(
    {
      longs: usdAtMark('Longs'),
      shorts: usdAtMark('Shorts'),
    },
    {
      description:
        'Positions of known accounts that no price of this coin liquidates. Per side, zones, below_3x, beyond and this sum to at most open_interest_usd.',
    },
  ),
  clusters: Type.Object(
    { longs: Type.Array(Cluster), shorts: Type.Array(Cluster) },
    {
      description: `The map (${MAP}, all leverages) in distance bands, nearest first; empty bands are left out.`,
    },
  ),
  cascade_risk: Type.Object({
    score: fraction(
      `${proximity} proximity + ${size} size + ${leverageSkew} leverage_skew + ${volatility} volatility, all unrounded. A ranking, not a probability.`,
    ),
    level: oneOf(
      cascadeLevels,
      'By score: LOW < 0.35, MODERATE < 0.65, HIGH < 0.85, else EXTREME.',
    ),
    level_supported: nullable(
      oneOf(cascadeLevels, 'level, if track_record.status is supported; else null.'),
    ),
    track_record: rankedRecordMember,
    components: Type.Object({
      proximity: fraction('exp(-nearest_cluster.distance_pct / 5); 0 for an empty map.'),
      size: fraction(
        '1 - exp(-x / 0.2), x = notional within 5 % of price on the larger side / open interest.',
      ),
      leverage_skew: fraction(
        '|longs - shorts| / (longs + shorts) of the notional within 5 % of price.',
      ),
      volatility: fraction('1 - exp(-x / 1.5), x = ATR of 14 hourly bars in percent of price.'),
    }),
    nearest_cluster: Type.Object(
      {
        side: oneOf(['long', 'short'], 'Side that would be liquidated.'),
        price: Price,
        distance_pct: Away,
        estimated_notional: usdAtMark(
          'Notional of the cluster; 0 for an empty map, then price is that of a hypothetical position opened now',
        ),
      },
      { description: "Nearest cluster with at least 5 % of its side's notional on the map." },
    ),
  }),
  realised: Type.Object(
    {
      longs: Realised,
      shorts: Realised,
      newest_iso: nullable(instant('Time of the newest liquidation, UTC; null without one.')),
      coverage: Type.Object(
        {
          observed_since_iso: nullable(
            instant(
              'Start of the observation without a lost trade, UTC; null before it, and while the trade feed is stale.',
            ),
          ),
          longs_followed_pct: percentage('Share of long open interest in known accounts.'),
          shorts_followed_pct: percentage('Share of short open interest in known accounts.'),
          liquidator_vaults: count('Number of followed liquidator vaults.'),
          market_wide_pct: percentage('Share of the 24 hours with a source of all liquidations.'),
        },
        {
          description:
            'What is observed: backstops of the followed vaults, market liquidations of known accounts; everything where market_wide_pct is 100.',
        },
      ),
    },
    {
      description:
        'Liquidations of the last 24 hours by side, confirmed by the venue, at the mark price of each; USD is null if dex.usd_per_quote_unit is. A lower bound unless coverage.market_wide_pct is 100.',
    },
  ),
  total_at_risk_usd: Type.Object(
    { within_1pct: Usd, within_2pct: Usd, within_5pct: Usd },
    {
      description:
        'Notional of both sides with liquidation prices within this distance of `price`.',
    },
  ),
  long_short_ratio: nullable(
    positive(
      'Transform of the funding rate, not a count of positions: exp(0.5 tanh((hourly rate - 0.0000125) / 0.00005)), 0.61 to 1.65; 1 at the baseline rate. null for builder-deployed perpetuals, whose baseline differs.',
    ),
  ),
  summary: Type.Object({
    open_interest_usd: nullable(
      nonNegative(
        'Open interest, one-sided, USD at mark_price; null if dex.usd_per_quote_unit is.',
      ),
    ),
    longs_usd: Usd,
    shorts_usd: Usd,
    observed_usd: usdAtMark('Part of longs_usd + shorts_usd from positions of known accounts'),
  }),
  coverage: Type.Object(
    {
      observed_pct: percentage('On the map, from positions of known accounts.'),
      flow_pct: percentage(
        'On the map, from observed increases of open interest. observed_pct + flow_pct = meta.quality.coverage_pct.',
      ),
      prior_pct: percentage(
        'On the map, from the prior: distributed like the traded volume of past days.',
      ),
      beyond_pct: percentage('Beyond the map.'),
      without_liquidation_price_pct: percentage(
        'Positions of known accounts without a liquidation price.',
      ),
      longs_on_map_pct: percentage('Longs on the map.'),
      shorts_on_map_pct: percentage('Shorts on the map.'),
      flow_since_iso: instant(
        `Start of the observation of open interest, UTC. After ${START_FORGOTTEN_HOURS} hours less than 0.01 % of the open interest that existed at the start is left in the map.`,
      ),
      is_approximate: flag(
        'Mark prices were missing for a while: zones were cleared by candle ranges, or not at all.',
      ),
    },
    {
      description:
        'Shares of open interest, percent; mean of both sides except longs_… and shorts_…. The shares except these two sum to 100; to less only without open interest, or if the coin allows less than 3x.',
    },
  ),
  assumptions: Type.Object({
    entry_model: Type.Literal('open_interest_flow', {
      description:
        'Increases of open interest are positions opened at the average trade price since the last reading; decreases close positions pro rata.',
    }),
    leverage_shares: Type.Record(Type.String(), Score, {
      description:
        'Assumed share of new exposure by leverage tier, before the taker side is shifted to higher tiers.',
    }),
    maintenance_margin: number(
      'Maintenance margin of the first margin tier, as a fraction of notional.',
    ),
    max_leverage: number('Maximum leverage of the coin, as a ratio.'),
    half_life_hours: number('Half-life of observed exposure, hours.'),
  }),
  meta: Type.Object({ ...metaMembers, offering: Type.Literal('service_liquidations') }),
})

function Multiple(which: string) {
  return nullable(
    nonNegative(`${which} liquidation price as a ratio to mark_price; null without positions.`),
  )
}
