import { Type } from 'typebox'
import { chains, exchanges, oracleNetworks } from '../../../domain/external.ts'
import { divergenceDirections } from '../../external/divergence-direction.ts'
import { DAY_MINUTES_MIN } from '../../external/measures/minute-statistics.ts'
import { SWAP_USD } from '../../external/pool-prices.ts'
import {
  coinMembers,
  count,
  flag,
  metaMembers,
  nonNegative,
  nullable,
  number,
  oneOf,
  percentage,
  signedFraction,
  text,
} from '../../render/answer-schema.ts'
import { recordMember } from '../../track-record-statistics/record-member.ts'
import { LAG_SECONDS_MAX } from './lead-lag.ts'
import { takerFees } from './taker-fees.ts'

const Bps = (what: string) => number(`${what}, in basis points.`)
const Spread = (what: string) => nonNegative(`${what}, in basis points.`)
const Price = (what: string) => number(`${what}, USD.`)
const Usd = (what: string) => nonNegative(`${what}, USD.`)
const Age = (what: string) => nonNegative(`Seconds since ${what}.`)

/** This path calls the coin `token`. */
const { coin, requested_coin, ...others } = coinMembers

const ExchangeVenue = Type.Object({
  exchange: oneOf(exchanges),
  quote: oneOf(['USD', 'USDT', 'USDC']),
  bid: nullable(Price('Best bid; null if the quote currency has no known USD rate')),
  ask: nullable(Price('Best ask; null if bid is')),
  mid: nullable(Price('(bid + ask) / 2; null if bid is')),
  spread_bps: Bps('(ask - bid) / mid'),
  age_seconds: Age('receipt'),
  is_used: flag('The mid is part of cex_price.'),
  why_not: nullable(
    oneOf(
      [
        'too_old',
        'crossed',
        'wide_spread',
        'no_usd_rate',
        'wrong_scale',
        'outlier',
        'same_exchange',
      ],
      "too_old: received more than 5 s or quoted more than 10 s ago. wide_spread: above 200 bps. wrong_scale: log distance to the venue's oracle price above 0.25. outlier: more than 3 % from the median of the others, and none within 1 %. same_exchange: another quote of this exchange is used. null if used.",
    ),
  ),
})

const Pool = Type.Object({
  chain: oneOf(chains),
  dex: text('Decentralised exchange.'),
  pool: text('Pool address.'),
  representation: text('Token that represents the asset on this chain.'),
  price: nullable(Price('Marginal price; null if the quote currency has no known USD rate')),
  fee_bps: Spread('Pool fee'),
  expected_error_bps: Spread(
    'Expected error of price at timestamp_iso, one standard deviation: fee_bps, and the price move since the block',
  ),
  swap_cost_bps: nullable(
    Spread(`Fee and mean price impact of a swap of ${SWAP_USD} USD, without gas; null if price is`),
  ),
  age_seconds: Age('the block'),
  is_used: flag('This pool is dex_price.'),
  why_not: nullable(
    oneOf(
      ['too_old', 'no_usd_rate', 'wrong_scale', 'thin'],
      'too_old: block more than 60 s old. thin: swap_cost_bps above 50. no_usd_rate, wrong_scale: as for exchanges. null if usable.',
    ),
  ),
})

const EdgeAnswer = Type.Object({
  buy: text('Where to buy: exchange, venue_perp, or chain/dex.'),
  sell: text('Where to sell, likewise.'),
  gross_bps: Bps('10,000 ln(bid at sell / ask at buy), before costs'),
  fee_bps: Spread(
    `Taker fees of both sides, entry and exit with venue_perp; for a pool its fee and price impact of ${SWAP_USD} USD`,
  ),
  gas_bps: nullable(Spread(`Gas cost relative to ${SWAP_USD} USD; null if unknown`)),
  net_bps: nullable(Bps('gross_bps - fee_bps - gas_bps; null if gas_bps is')),
})

const OracleSource = Type.Object({
  network: oneOf(oracleNetworks),
  place: text("Chain the feed was read from; '' if the network has a single place."),
  price: Price('Price of one venue unit'),
  expected_error_bps: Spread('Expected error at timestamp_iso, one standard deviation'),
  is_used: flag('This network is dex_price.'),
  why_not: nullable(
    text(
      'late, too_old, wide_confidence, outvoted, wrong_scale, probation or larger_error, as in /basis; null for the network in oracle_network.',
    ),
  ),
})

export const CexDexAnswer = Type.Object({
  token: coin,
  requested_token: requested_coin,
  ...others,
  cex_price: Price('Median mid price of the exchanges in use, per venue unit'),
  dex_price: Price('Price of the source in dex_source, per venue unit'),
  cex_source: oneOf(exchanges, 'Exchange in use whose mid price is nearest to cex_price.'),
  dex_source: oneOf(
    ['dex_pool', 'oracle_network'],
    'dex_pool: the usable pool with the smallest swap cost, price move since its block included. oracle_network: no pool is usable.',
  ),
  dex_name: text('Chain/dex of the pool, or name of the oracle network.'),
  dex_reason: oneOf(
    ['cheapest_pool', 'no_pool', 'no_usable_pool'],
    'Why dex_source was chosen. no_pool: no pool is known. no_usable_pool: each has a why_not in onchain.',
  ),
  divergence_bps: Bps('(cex_price - dex_price) / dex_price; positive: exchange premium'),
  divergence_pct: number('divergence_bps / 100, percent.'),
  direction: oneOf(
    divergenceDirections,
    'Sign of divergence_bps; aligned if it is within noise_bps.',
  ),
  severity: oneOf(
    ['NORMAL', 'MILD', 'SIGNIFICANT', 'EXTREME'],
    'By abs(divergence_bps): below 10 or aligned NORMAL, below 30 MILD, up to 100 SIGNIFICANT, above EXTREME.',
  ),
  noise_bps: Spread(
    'Noise: half the median exchange spread + pool fee or oracle confidence + two standard deviations of the price move in leg_skew_seconds (for a trigger-based feed at most resolution_bps plus two standard deviations of the move during its publication delay)',
  ),
  dex_expected_error_bps: Spread(
    'Expected error of dex_price at timestamp_iso, one standard deviation: pool fee or oracle confidence, and the price move since then',
  ),
  actionable: flag('abs(divergence_bps) exceeds noise_bps + 2.'),
  leg_skew_seconds: nonNegative('Seconds between the oldest exchange quote in use and dex_price.'),
  data_age_seconds: Age('the older of cex_price and dex_price was confirmed'),
  persistence_seconds: nullable(
    nonNegative(
      'Seconds that the divergence has been actionable with its present sign, checked once a second; null if `actionable` is false or the last check did not find this sign.',
    ),
  ),
  depth_usd: Type.Object(
    {
      cex_10bps: Usd(
        'Size at the best quotes of the exchanges in use within 10 bps of cex_price, the smaller side; a lower bound',
      ),
      dex_10bps: nullable(
        Usd('Swap size that moves the pool price by 10 bps; null if dex_source is oracle_network'),
      ),
    },
    { description: 'Liquidity within 10 bps.' },
  ),
  exchanges: Type.Object({
    method: Type.Literal('median_of_exchanges'),
    used_n: Type.Integer({ minimum: 2, description: 'Number of exchanges in use.' }),
    dispersion_bps: Spread('(highest - lowest mid price in use) / cex_price'),
    venues: Type.Array(ExchangeVenue, { description: 'All quotes received.' }),
  }),
  perp: Type.Object(
    {
      mid: nullable(Price('Mid price; null without a two-sided quote at most 5 % wide')),
      mark: Price('Mark price'),
      oracle: Price('Oracle price of the venue'),
      usdt_price: nullable(
        Price(
          'Price of one USDT, by which edges multiply the prices of venue_perp; null if unknown, and then no edge has venue_perp',
        ),
      ),
      funding_next_hour_bps: Bps('Estimated funding rate of the next hour; positive: longs pay'),
    },
    { description: 'The perpetual of this venue, whose prices follow USDT.' },
  ),
  oracle_network: nullable(
    Type.Object({
      source: oneOf(oracleNetworks),
      price: Price('Price of one venue unit'),
      confidence_bps: nullable(
        Spread('Published confidence interval; null if the network publishes none'),
      ),
      resolution_bps: Spread(
        'How far the price may move before the feed publishes an update; 0 for a streaming feed; for redstone, which publishes by time alone, the expected move between two publications',
      ),
      age_seconds: Age('publication'),
    }),
  ),
  oracle_networks: Type.Array(OracleSource, {
    description: 'All networks with a price of the token; oracle_network is the best of them.',
  }),
  onchain: Type.Array(Pool, { description: 'Pools, usable and cheapest first, at most eight.' }),
  onchain_total: count('Number of known pools.'),
  cex_vs_perp_bps: nullable(
    Bps('(cex_price - perp.mid) / perp.mid, at 1 USD per USDT; null if perp.mid is'),
  ),
  cex_vs_venue_oracle_bps: Bps('(cex_price - perp.oracle) / perp.oracle, at 1 USD per USDT'),
  cex_vs_oracle_network_bps: nullable(
    Bps('cex_price against oracle_network.price; null if oracle_network is'),
  ),
  cex_vs_pool_bps: nullable(
    Bps('cex_price against the pool in dex_price; null if dex_source is oracle_network'),
  ),
  executable: Type.Object(
    {
      edges: Type.Array(EdgeAnswer),
      best_net_bps: nullable(Bps('Largest net_bps; null if none is known')),
      notional_usd: Type.Literal(SWAP_USD, { description: 'Swap size assumed for pools, USD.' }),
      fee_model: Type.Object(
        {
          version: Type.Literal(takerFees.version),
          taker_bps: Type.Record(Type.String(), Spread('Taker fee')),
        },
        {
          description:
            'Base-tier spot taker fees as published by each exchange; yours may be lower.',
        },
      ),
    },
    {
      description:
        'Per direction the exchange with the best net result, at best quotes; order size, exit prices, transfers and funding are not included.',
    },
  ),
  stats_24h: Type.Object(
    {
      mean_bps: nullable(Bps('Mean; null without data')),
      abs_p95_bps: nullable(Spread('95th percentile of absolute values; null without data')),
      time_above_30bps_pct: nullable(
        percentage(
          'Share of minutes with an absolute value above 30 bps, percent; null without data.',
        ),
      ),
      n: count('Number of minutes with data.'),
      zscore: nullable(
        number(
          `Distance of divergence_bps from the median in robust standard deviations; null below ${DAY_MINUTES_MIN} minutes or without variation.`,
        ),
      ),
      percentile: nullable(
        percentage(
          `Percentile rank of divergence_bps among these minutes, 0 to 100; null below ${DAY_MINUTES_MIN} minutes.`,
        ),
      ),
      window_hours: Type.Number({
        minimum: 0,
        maximum: 24,
        description: 'Hours with data: n / 60.',
      }),
    },
    {
      description:
        'divergence_bps over the last 24 h against the same kind of dex_price (any pool, or this oracle network), one value per minute.',
    },
  ),
  lead_lag: nullable(
    Type.Object(
      {
        lag_seconds: Type.Integer({
          minimum: -LAG_SECONDS_MAX,
          maximum: LAG_SECONDS_MAX,
          description: 'Seconds by which the perpetual lags the exchanges; negative: it leads.',
        }),
        correlation: signedFraction('Correlation of 1-second returns at that lag, -1 to 1.'),
        pairs_n: count('Number of pairs of returns.'),
      },
      {
        description:
          'Over the last ten minutes, updated once a minute; null below 300 pairs, or if no correlation exceeds four standard errors.',
      },
    ),
  ),
  interpretation: text('Summary in one sentence.'),
  track_record: recordMember,
  meta: Type.Object({ ...metaMembers, offering: Type.Literal('service_cex_dex') }),
})
