import { Type } from 'typebox'
import { chains } from '../../../domain/external.ts'
import { stressBands, stressLevels } from '../../external/arb/arb-levels.ts'
import { arbAssets } from '../../external/arb/arb-model.ts'
import { opportunityClasses } from '../../external/arb/arb-opportunities.ts'
import type { StressName } from '../../external/arb/arb-stress.ts'
import { stressNames } from '../../external/arb/arb-stress.ts'
import { metaMembers, nullable, oneOf } from '../../render/answer-schema.ts'

/** What an asset on a chain is worth to the measure. */
export const cellStatuses = ['OK', 'LATE', 'THIN', 'UNPRICED', 'ABSENT'] as const

const ChainName = oneOf(chains)
const AssetName = oneOf(arbAssets)
const Usd = (description: string) => Type.Number({ description: `${description}, USD.` })
const Bps = (description: string) => Type.Number({ description: `${description}, basis points.` })
const Count = (description: string) =>
  Type.Integer({ minimum: 0, description: `Number of ${description}.` })
const Share = (description: string) =>
  Type.Number({ minimum: 0, maximum: 1, description: `${description}, 0 to 1.` })
const Rank = Type.Number({ minimum: 0, maximum: 100, description: 'Rank among own values.' })
const Age = nullable(
  Type.Number({ minimum: 0, description: 'Seconds since the block; null for none.' }),
)

const ComponentDetail = Type.Object({
  raw: Type.Number({
    minimum: 0,
    description: 'The measure itself: basis points, seconds, or a share of 0 to 1, as unit says.',
  }),
  unit: oneOf(['bps', 'share', 'seconds']),
  score: Share('As in components'),
  weight: Share('In the index'),
  contribution: Type.Number({
    description: 'To the index, 0 to 100; they add up to it before any override.',
  }),
})

function ofEach<const Member>(member: Member): Readonly<Record<StressName, Member>> {
  return Object.fromEntries(stressNames.map((name) => [name, member])) as Record<StressName, Member>
}

const Chain = Type.Object({
  chain: ChainName,
  status: oneOf(
    ['ok', 'stale', 'down'],
    'stale: newest block older than 120 s; down: nothing known, or old while its source is down.',
  ),
  data_age_seconds: Age,
  is_fresh: Type.Boolean({
    description:
      'It has a price that is used: of a block of the last 30 s, or 3 blocks if that is longer.',
  }),
  gas_usd: nullable(Usd('Gas of one swap')),
})

const Dislocation = Type.Object({
  token: AssetName,
  buy_chain: ChainName,
  sell_chain: ChainName,
  gross_bps: Bps('(sell - buy) / buy, less what is structural'),
  est_cost_bps: Bps('Fees, impact and gas of both swaps, and 2 for bringing inventory back'),
  net_bps: Bps('gross_bps less est_cost_bps'),
  persistence_seconds: Type.Number({
    minimum: 0,
    description: 'Seconds for which gross_bps was at the threshold, as of the scan.',
  }),
})

const AssetChain = Type.Object({
  chain: ChainName,
  status: oneOf(
    cellStatuses,
    'LATE: block too old; THIN: pool under 250,000 USD; UNPRICED: no USD rate of its quote.',
  ),
  venue: nullable(Type.String({ description: 'The exchange on the chain.' })),
  pool: nullable(Type.String({ description: 'Its address.' })),
  representation: nullable(Type.String({ description: 'The token that stands for the asset.' })),
  quote: nullable(oneOf(['USDC', 'USDT'])),
  price_usd: nullable(Usd('At the margin; null for one that is not used')),
  gap_bps: nullable(Bps('10,000 ln(price / reference)')),
  structural_bps: nullable(
    Bps('Own median gap of 24 h, which is left out of all judgement; null under 6 h of history'),
  ),
  band_bps: nullable(Bps('No trade pays within: fee, gas, impact and 2')),
  fee_bps: nullable(Bps('What the pool takes')),
  gas_usd: nullable(Usd('Gas of one swap')),
  liquidity_usd: nullable(Usd('Quote that the pool holds')),
  block: nullable(Type.Integer({ minimum: 0, description: 'Number of the block.' })),
  age_seconds: Age,
})

const Extreme = nullable(Type.Object({ chain: ChainName, price_usd: Usd('Price there') }))

const Asset = Type.Object({
  asset: AssetName,
  reference_usd: nullable(
    Usd('Median of the pools by what they hold and of the exchanges; null under 3 chains'),
  ),
  exchanges_usd: nullable(Usd('What exchanges agree on')),
  dispersion_bps: nullable(Bps('1.4826 x median distance from the median gap')),
  arbitrage_index: nullable(Type.Number({ description: 'Highest over lowest price, a ratio.' })),
  min: Extreme,
  max: Extreme,
  chains: Type.Array(AssetChain),
})

const Opportunity = Type.Object({
  asset: AssetName,
  buy_chain: ChainName,
  sell_chain: ChainName,
  gross_bps: Bps('(sell - buy) / buy, less what is structural'),
  net_inventory_bps: Bps('With inventory on both chains'),
  net_bridge_bps: nullable(
    Bps('With a bridge: its fee and 95 % of the risk of 242 s; null while volatility is unknown'),
  ),
  notional_usd: Usd('Of each side'),
  net_usd: Usd('net_inventory_bps of the notional'),
  age_seconds: Type.Number({ minimum: 0, description: 'Seconds open, as of the scan.' }),
  class: oneOf(opportunityClasses, 'TRANSIENT under 60 s, PERSISTENT to 242 s, else STRUCTURAL.'),
  confidence: Share(
    '0.4 life (60 s are all) + 0.3 young blocks + 0.3 still there by 60 s averages',
  ),
})

export const ArbAnswer = Type.Object({
  timestamp_iso: Type.String({ format: 'date-time', description: 'Of the scan, UTC.' }),
  stress_level: oneOf(stressLevels, 'By stress_score: below 0.25, 0.5, 0.75, and else.'),
  stress_score: Share('index / 100'),
  components: Type.Object(ofEach(Share('Score')), {
    description:
      'Each between its anchors, 0 to 1, and with history up to 0.35 of it by rank in its own 24 h.',
  }),
  dislocations_count: Count('ordered pairs of chains, by asset, with gross_bps at the threshold'),
  threshold_bps: Bps('From which a pair counts'),
  avg_dislocation_bps: nullable(Bps('Mean gross_bps of all counted; null for none')),
  max_dislocation_bps: nullable(Bps('Largest gross_bps; null for none')),
  chains_scanned: Count('chains with a fresh price'),
  chains_total: Count('chains'),
  tokens_scanned: Count('assets with a fresh price on three chains'),
  chains: Type.Array(Chain),
  dislocations: Type.Array(Dislocation, { maxItems: 10, description: 'Largest net_bps first.' }),
  baseline: Type.Object(
    {
      score_percentile_7d: nullable(Rank),
      median_score_7d: nullable(Share('Median of stress_score')),
    },
    { description: 'Own history of 7 days; null under 2 days.' },
  ),
  interpretation: Type.String(),
  index: Type.Number({
    minimum: 0,
    maximum: 100,
    description: '100 sqrt(x C x), x = weight x score, C = correlation of the scores.',
  }),
  regime: oneOf(stressBands, 'By index: below 25, 40, 55, 75, and else.'),
  override: nullable(
    oneOf(
      ['MAJOR_ASSET_OFF'],
      'ETH or BTC at least 100 bps off on two chains for 5 minutes: index is at least 55.',
    ),
  ),
  component_details: Type.Object(ofEach(ComponentDetail)),
  diversification: Type.Number({
    minimum: 0,
    maximum: 100,
    description: 'Points of index that less than full correlation takes off, 0 to 100.',
  }),
  trend: Type.Object(
    {
      change_1h: nullable(Type.Number({ description: 'Points of index, -100 to 100.' })),
      change_24h: nullable(Type.Number({ description: 'Points of index, -100 to 100.' })),
      percentile_24h: nullable(Rank),
      window_hours: Type.Number({
        minimum: 0,
        description: 'Hours of the last 24 that percentile_24h rests on.',
      }),
    },
    { description: 'Own history; null where it does not reach.' },
  ),
  assets: Type.Array(Asset),
  opportunities: Type.Array(Opportunity, {
    maxItems: 10,
    description:
      'Net of inventory above 0 in two scans in a row; largest first. An estimate before the trade, no executable quote.',
  }),
  counts: Type.Object(
    { transient: Count('them'), persistent: Count('them'), structural: Count('them') },
    { description: 'All opportunities by class.' },
  ),
  coverage: Type.Object({
    chains_fresh: Count('chains with a fresh price'),
    chains_total: Count('chains'),
    assets: Count('assets measured'),
    structural_known: Count('prices whose structural gap is known'),
    prices: Count('prices used'),
  }),
  cost_model: Type.Object({
    version: Type.String(),
    notional_usd: Usd('Of each side of a trade'),
    band_margin_bps: Bps('Part of every band'),
    rebalance_bps: Bps('To bring inventory back'),
    bridge_bps: Bps('Fee of a bridge'),
    bridge_seconds: Type.Number({ description: 'Seconds that a bridge takes.' }),
    gas_usd_by_chain: Type.Record(Type.String(), nullable(Usd('Gas of one swap'))),
  }),
  meta: Type.Object({ ...metaMembers, offering: Type.Literal('service_arb') }),
})
