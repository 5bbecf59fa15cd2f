import { Type } from 'typebox'
import { chains } from '../../../domain/external.ts'
import { stressBands, stressLevels } from '../../external/arb/arb-levels.ts'
import { arbAssets } from '../../external/arb/arb-model.ts'
import { opportunityClasses } from '../../external/arb/arb-opportunities.ts'
import type { StressName } from '../../external/arb/arb-stress.ts'
import { stressNames } from '../../external/arb/arb-stress.ts'
import {
  count,
  flag,
  fraction,
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

/** Whether the price of an asset on one chain is used, and why not. */
export const cellStatuses = ['OK', 'LATE', 'THIN', 'UNPRICED', 'ABSENT'] as const

const ChainName = oneOf(chains)
const AssetName = oneOf(arbAssets)
const Usd = (description: string) => number(`${description}, USD.`)
const Bps = (description: string) => number(`${description}, basis points.`)
const Count = (description: string) => count(`Number of ${description}.`)
const Share = (description: string) => fraction(`${description}, 0 to 1.`)
const Rank = percentage(
  'Percentile rank of the present index, 0 to 100, equal values counted half.',
)
const Age = nullable(nonNegative('Seconds since the time of the newest block; null without one.'))

const ComponentDetail = Type.Object({
  raw: nonNegative('Raw measure in `unit`: basis points, seconds, or a share of 0 to 1.'),
  unit: oneOf(['bps', 'share', 'seconds']),
  score: Share('Score, as in components'),
  weight: Share('Weight in the index'),
  contribution: number(
    'Points of the index, 0 to 100. Unrounded, they sum to the index before an override.',
  ),
})

function ofEach<const Member>(member: Member): Readonly<Record<StressName, Member>> {
  return Object.fromEntries(stressNames.map((name) => [name, member])) as Record<StressName, Member>
}

const Chain = Type.Object({
  chain: ChainName,
  status: oneOf(
    ['ok', 'stale', 'down'],
    'ok: newest block at most 120 s old. stale: older. down: no block received, or the source is down and the block is not fresh (see is_fresh).',
  ),
  data_age_seconds: Age,
  is_fresh: flag(
    'At least one price of this chain is used: block at most 30 s old (ethereum: 36 s), pool deep enough, USD rate known.',
  ),
  gas_usd: nullable(Usd('Gas cost of one swap; null when unknown')),
})

const Dislocation = Type.Object({
  token: AssetName,
  buy_chain: ChainName,
  sell_chain: ChainName,
  gross_bps: Bps('(sell - buy) / buy, structural gaps removed'),
  est_cost_bps: Bps(
    'Pool fees, price impact and gas of both swaps, plus 2 for rebalancing inventory',
  ),
  net_bps: Bps('gross_bps less est_cost_bps'),
  persistence_seconds: nonNegative(
    'Seconds that gross_bps has been at or above threshold_bps, at the scan.',
  ),
})

const AssetChain = Type.Object({
  chain: ChainName,
  status: oneOf(
    cellStatuses,
    'OK: used. LATE: block too old. THIN: pool holds less than 250,000 USD. UNPRICED: no USD rate for the quote token. ABSENT: no pool.',
  ),
  venue: nullable(text('Decentralised exchange; null without a pool.')),
  pool: nullable(text('Pool address.')),
  representation: nullable(text('Token that represents the asset on this chain.')),
  quote: nullable(oneOf(['USDC', 'USDT'])),
  price_usd: nullable(Usd('Marginal pool price; null unless status is OK')),
  gap_bps: nullable(Bps('10,000 ln(price_usd / reference_usd); null without either')),
  structural_bps: nullable(
    Bps(
      'Median of gap_bps over the last 24 h, subtracted before any comparison; null below 6 h of history',
    ),
  ),
  band_bps: nullable(
    Bps('No-arbitrage band: pool fee, gas, price impact and 2; null when unknown'),
  ),
  fee_bps: nullable(Bps('Pool fee')),
  impact_bps: nullable(Bps('Price impact of notional_usd; null unless status is OK')),
  gas_usd: nullable(Usd('Gas cost of one swap; null when unknown')),
  liquidity_usd: nullable(Usd('Quote-token balance of the pool')),
  block: nullable(count('Number of the block.')),
  age_seconds: Age,
})

const Extreme = nullable(Type.Object({ chain: ChainName, price_usd: Usd('Price') }))

const Asset = Type.Object({
  asset: AssetName,
  reference_usd: nullable(
    Usd(
      'Median of pool prices weighted by liquidity, with the exchange price as one vote; null below 3 usable chains',
    ),
  ),
  exchanges_usd: nullable(Usd('Reference price of centralised exchanges; null when unknown')),
  dispersion_bps: nullable(
    Bps('1.4826 x median absolute deviation of gap_bps - structural_bps across chains'),
  ),
  arbitrage_index: nullable(number('Ratio of the highest to the lowest price.')),
  min: Extreme,
  max: Extreme,
  chains: Type.Array(AssetChain),
})

const Opportunity = Type.Object({
  asset: AssetName,
  buy_chain: ChainName,
  sell_chain: ChainName,
  gross_bps: Bps('(sell - buy) / buy, structural gaps removed'),
  net_inventory_bps: Bps('gross_bps less cost, with inventory on both chains'),
  net_bridge_bps: nullable(
    Bps(
      'net_inventory_bps less bridge fee and the one-sided 95 % price risk of 242 s of bridging; null when volatility is unknown',
    ),
  ),
  notional_usd: Usd('Notional of each side'),
  net_usd: Usd('net_inventory_bps of notional_usd'),
  age_seconds: nonNegative('Seconds since the pair became profitable, at the scan.'),
  class: oneOf(
    opportunityClasses,
    'By age_seconds: TRANSIENT below 60, PERSISTENT up to 242, STRUCTURAL above.',
  ),
  confidence: Share(
    '0.4 x age_seconds / 60 (at most 1) + 0.3 x freshness of the older block + 0.3 if it is also profitable at 60 s average prices (0.15 when unknown)',
  ),
})

export const ArbAnswer = Type.Object({
  timestamp_iso: instant('Time of the scan, UTC.'),
  stress_level: oneOf(
    stressLevels,
    'By stress_score: below 0.25 LOW, 0.5 MODERATE, 0.75 HIGH, else EXTREME.',
  ),
  stress_score: Share('index / 100'),
  components: Type.Object(ofEach(Share('Score')), {
    description:
      'Scores of the five components: linear between fixed anchors, blended with the rank in the own last 24 h (weight up to 0.35, from 1 h of history on).',
  }),
  dislocations_count: Count(
    '(asset, buy chain, sell chain) pairs, of chains whose gas cost is known, with gross_bps at or above threshold_bps',
  ),
  threshold_bps: Bps('Smallest gross_bps that counts as a dislocation'),
  avg_dislocation_bps: nullable(Bps('Mean gross_bps of all dislocations; null without any')),
  max_dislocation_bps: nullable(Bps('Largest gross_bps; null without any')),
  chains_scanned: Count('chains with a price in use'),
  chains_total: Count('supported chains'),
  tokens_scanned: Count('assets with a price in use on at least 3 chains'),
  chains: Type.Array(Chain),
  dislocations: Type.Array(Dislocation, { maxItems: 10, description: 'Largest net_bps first.' }),
  baseline: Type.Object(
    {
      score_percentile_7d: nullable(Rank),
      median_score_7d: nullable(Share('Median of stress_score over the last 7 days')),
      window_hours: nonNegative('Hours with data.'),
    },
    { description: 'stress_score against its own last 7 days; null below 2 days of history.' },
  ),
  interpretation: text('Summary in one sentence.'),
  index: percentage(
    'Stress index: 100 sqrt(x C x), x = weight x score of each component, C = correlation matrix of the scores; at least 55 with an override.',
  ),
  regime: oneOf(
    stressBands,
    'By index, finer than stress_level: below 25 CALM, 40 NORMAL, 55 ELEVATED, 75 STRESSED, else CRITICAL.',
  ),
  override: nullable(
    oneOf(
      ['MAJOR_ASSET_OFF'],
      'Present when ETH or BTC has been at least 100 bps from its reference on two chains for 5 minutes; null otherwise.',
    ),
  ),
  component_details: Type.Object(ofEach(ComponentDetail)),
  diversification: percentage(
    'Points of the index removed because the components are not fully correlated, 0 to 100.',
  ),
  trend: Type.Object(
    {
      change_1h: nullable(number('Change of index over 1 h, -100 to 100.')),
      change_24h: nullable(number('Change of index over 24 h, -100 to 100.')),
      percentile_24h: nullable(Rank),
      window_hours: nonNegative('Hours with data among the last 24, behind percentile_24h.'),
    },
    { description: 'The index against its own history; null where history is too short.' },
  ),
  assets: Type.Array(Asset),
  opportunities: Type.Array(Opportunity, {
    maxItems: 10,
    description:
      'Pairs with net_inventory_bps above 0 in two consecutive scans, largest first. Estimates, not executable quotes.',
  }),
  counts: Type.Object(
    {
      transient: Count('TRANSIENT opportunities'),
      persistent: Count('PERSISTENT opportunities'),
      structural: Count('STRUCTURAL opportunities'),
    },
    { description: 'All opportunities by class, listed or not.' },
  ),
  coverage: Type.Object({
    chains_fresh: Count('chains with a price in use'),
    chains_total: Count('supported chains'),
    assets: Count('assets with a reference price'),
    structural_known: Count('prices with a known structural gap'),
    prices: Count('prices in use'),
  }),
  cost_model: Type.Object({
    version: Type.String(),
    notional_usd: Usd('Assumed notional of each side of a trade'),
    band_margin_bps: Bps('Fixed margin in every band_bps'),
    rebalance_bps: Bps('Assumed cost of rebalancing inventory'),
    bridge_bps: Bps('Assumed bridge fee'),
    bridge_seconds: number('Seconds that a bridge is assumed to take.'),
    gas_usd_by_chain: Type.Record(
      Type.String(),
      nullable(Usd('Gas cost of one swap; null when unknown')),
    ),
  }),
  track_record: recordMember,
  meta: Type.Object({ ...metaMembers, offering: Type.Literal('service_arb') }),
})
