import { Type } from 'typebox'
import { chains, exchanges, oracleNetworks } from '../../../domain/external.ts'
import { divergenceDirections } from '../../external/divergence-direction.ts'
import { DAY_MINUTES_MIN } from '../../external/measures/minute-statistics.ts'
import { SWAP_USD } from '../../external/pool-prices.ts'
import { coinMembers, metaMembers, nullable, oneOf } from '../../render/answer-schema.ts'
import { LAG_SECONDS_MAX } from './lead-lag.ts'
import { takerFees } from './taker-fees.ts'

const Bps = (what: string) => Type.Number({ description: `${what}, in basis points.` })
const Spread = (what: string) =>
  Type.Number({ minimum: 0, description: `${what}, in basis points.` })
const Price = (what: string) => Type.Number({ description: `${what}, USD.` })
const Usd = (what: string) => Type.Number({ minimum: 0, description: `${what}, USD.` })
const Age = (what: string) => Type.Number({ minimum: 0, description: `Seconds since ${what}.` })

/** The same words for every answer, and a name of its own for what it is about. */
const { coin, requested_coin, ...others } = coinMembers

const ExchangeVenue = Type.Object({
  exchange: oneOf(exchanges),
  quote: oneOf(['USD', 'USDT', 'USDC']),
  bid: nullable(Price('Best bid; null where the quote currency has no known price')),
  ask: nullable(Price('Best ask; null as bid is')),
  mid: nullable(Price('(bid + ask) / 2; null as bid is')),
  spread_bps: Bps('(ask - bid) / mid'),
  age_seconds: Age('it was received'),
  is_used: Type.Boolean(),
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
      "too_old: 5 s. wide_spread: above 200 bps. wrong_scale: more than 0.25 in logarithms from the venue's oracle. outlier: more than 3 % from the median of the others and nobody within 1 %. same_exchange: another quote of it is used.",
    ),
  ),
})

const Pool = Type.Object({
  chain: oneOf(chains),
  dex: Type.String(),
  pool: Type.String({ description: 'Address.' }),
  representation: Type.String({ description: 'The token that stands for the asset there.' }),
  price: nullable(Price('At the margin; null where the quote currency has no known price')),
  fee_bps: Spread('What the pool takes'),
  expected_error_bps: Spread(
    'One deviation of the error of price at the time of rendering: fee_bps, and what the price moved since its block',
  ),
  swap_cost_bps: nullable(Spread(`Fee and mean impact of ${SWAP_USD} USD, without gas`)),
  age_seconds: Age('its block'),
  is_used: Type.Boolean(),
  why_not: nullable(
    oneOf(
      ['too_old', 'no_usd_rate', 'wrong_scale', 'thin'],
      'too_old: 60 s. thin: swap_cost_bps above 50.',
    ),
  ),
})

const EdgeAnswer = Type.Object({
  buy: Type.String({ description: 'Exchange, venue_perp, or chain and dex.' }),
  sell: Type.String({ description: 'The same.' }),
  gross_bps: Bps('10,000 ln(price sold at / price bought at), best quotes, before any cost'),
  fee_bps: Spread(`Taker fees of both sides; of a pool what it takes of ${SWAP_USD} USD`),
  gas_bps: nullable(Spread(`Gas over ${SWAP_USD} USD; null where it is unknown`)),
  net_bps: nullable(Bps('gross_bps - fee_bps - gas_bps; null where gas is unknown')),
})

const OracleSource = Type.Object({
  network: oneOf(oracleNetworks),
  place: Type.String({ description: "Chain that it was read from; '' where there is one only." }),
  price: Price('For one coin of the venue'),
  expected_error_bps: Spread('One deviation of its error at the time of rendering'),
  is_used: Type.Boolean({ description: 'It is the leg that dex_source names.' }),
  why_not: nullable(
    Type.String({
      description:
        'late, too_old, wide_confidence, outvoted, wrong_scale, probation or larger_error, as in /basis; null for oracle_network.',
    }),
  ),
})

export const CexDexAnswer = Type.Object({
  token: coin,
  requested_token: requested_coin,
  ...others,
  cex_price: Price('Median mid of the exchanges that are used, for one coin of the venue'),
  dex_price: Price('Of the leg that dex_source names, for one coin of the venue'),
  cex_source: oneOf(exchanges, 'The exchange whose mid is nearest to that median.'),
  dex_source: oneOf(
    ['dex_pool', 'oracle_network'],
    'dex_pool: the pool that is cheapest to trade with, what the price moved since its block included. oracle_network: there is no pool that can be used.',
  ),
  dex_name: Type.String({ description: 'Chain and dex of the pool, or name of the network.' }),
  dex_reason: oneOf(
    ['cheapest_pool', 'no_pool', 'no_usable_pool'],
    'no_usable_pool: each is too old, too thin, or of another scale; see onchain.',
  ),
  divergence_bps: Bps('(cex_price - dex_price) / dex_price; positive: exchanges are dearer'),
  divergence_pct: Type.Number({ description: 'divergence_bps / 100, percent.' }),
  direction: oneOf(divergenceDirections, 'aligned while abs(divergence_bps) is at most noise_bps.'),
  severity: oneOf(
    ['NORMAL', 'MILD', 'SIGNIFICANT', 'EXTREME'],
    'By abs(divergence_bps): below 10, below 30, up to 100, above; NORMAL while aligned.',
  ),
  noise_bps: Spread(
    'Half the exchanges’ median spread + pool fee or network confidence + two deviations of what the price moved in leg_skew_seconds, for a feed that publishes on a move at most resolution_bps and what it moves until an update is on the chain',
  ),
  dex_expected_error_bps: Spread(
    'One deviation of the error of dex_price at the time of rendering: pool fee or network confidence, and what the price moved since it was confirmed',
  ),
  actionable: Type.Boolean({ description: 'abs(divergence_bps) is above noise_bps + 2.' }),
  leg_skew_seconds: Type.Number({
    minimum: 0,
    description: 'Seconds between the two legs.',
  }),
  data_age_seconds: Age('the older of the two legs was confirmed'),
  persistence_seconds: nullable(
    Type.Number({
      minimum: 0,
      description: 'Seconds since it has been actionable on this side; null while it is not.',
    }),
  ),
  depth_usd: Type.Object(
    {
      cex_10bps: Usd(
        'Best levels of the exchanges that are used within 10 bps of cex_price, the smaller side; a lower bound',
      ),
      dex_10bps: nullable(
        Usd('What moves the pool by 10 bps; null for a network, which trades nothing'),
      ),
    },
    { description: 'What is there within 10 bps.' },
  ),
  exchanges: Type.Object({
    method: Type.Literal('median_of_exchanges'),
    used_n: Type.Integer({ minimum: 2, description: 'Number of exchanges that are used.' }),
    dispersion_bps: Spread('(highest - lowest mid) / median of those that are used'),
    venues: Type.Array(ExchangeVenue),
  }),
  perp: Type.Object(
    {
      mid: nullable(Price("Of the venue's perpetual; null without a two-sided quote")),
      mark: Price('Mark'),
      oracle: Price("The venue's oracle, which follows USDT prices"),
      funding_next_hour_bps: Bps('What longs pay at the next hour, as it stands'),
    },
    { description: "The venue's perpetual, for one coin of the venue." },
  ),
  oracle_network: nullable(
    Type.Object({
      source: oneOf(oracleNetworks),
      price: Price('For one coin of the venue'),
      confidence_bps: nullable(Spread('null where it gives none')),
      resolution_bps: Spread('How far it may be away before it publishes again; 0 for a stream'),
      age_seconds: Age('it was published'),
    }),
  ),
  oracle_networks: Type.Array(OracleSource, {
    description: 'Every network that knows the token. oracle_network is the best of them.',
  }),
  onchain: Type.Array(Pool, { description: 'Pools, best first, eight at most.' }),
  onchain_total: Type.Integer({ minimum: 0, description: 'Number of pools that are known.' }),
  cex_vs_perp_bps: nullable(Bps('(cex_price - perp.mid) / perp.mid; null without a mid')),
  cex_vs_venue_oracle_bps: Bps('(cex_price - perp.oracle) / perp.oracle'),
  cex_vs_oracle_network_bps: nullable(Bps('The same against oracle_network; null without one')),
  cex_vs_pool_bps: nullable(Bps('The same against the best pool; null where none can be used')),
  executable: Type.Object(
    {
      edges: Type.Array(EdgeAnswer),
      best_net_bps: nullable(Bps('Largest net_bps; null where none is known')),
      notional_usd: Type.Literal(SWAP_USD, { description: 'Size that pools are asked for, USD.' }),
      fee_model: Type.Object(
        {
          version: Type.Literal(takerFees.version),
          taker_bps: Type.Record(Type.String(), Spread('What a taker without any discount pays')),
        },
        { description: 'Base tier as published by each exchange; yours may be lower.' },
      ),
    },
    {
      description:
        'Of each direction the exchange that leaves most. Best quotes alone: size, transfer and funding are left out.',
    },
  ),
  stats_24h: Type.Object(
    {
      mean_bps: nullable(Bps('Mean; null without a value')),
      abs_p95_bps: nullable(
        Spread('Nineteen of twenty are not farther from zero; null without a value'),
      ),
      time_above_30bps_pct: nullable(
        Type.Number({
          minimum: 0,
          maximum: 100,
          description: 'Share of minutes farther from zero than 30 bps, percent; null as mean is.',
        }),
      ),
      n: Type.Integer({ minimum: 0, description: 'Number of minutes with a value.' }),
      zscore: nullable(
        Type.Number({
          description: `In robust deviations from the median; null below ${DAY_MINUTES_MIN} minutes or where nothing moves.`,
        }),
      ),
      percentile: nullable(
        Type.Number({
          minimum: 0,
          maximum: 100,
          description: `Rank among these minutes, 0 to 100; null below ${DAY_MINUTES_MIN} minutes.`,
        }),
      ),
      window_hours: Type.Number({
        minimum: 0,
        maximum: 24,
        description: 'n / 60: hours of the 24 that are known.',
      }),
    },
    { description: 'divergence_bps of the last 24 hours against the same kind of leg.' },
  ),
  lead_lag: nullable(
    Type.Object(
      {
        lag_seconds: Type.Integer({
          minimum: -LAG_SECONDS_MAX,
          maximum: LAG_SECONDS_MAX,
          description: 'Seconds by which the perpetual follows the exchanges; negative: it leads.',
        }),
        correlation: Type.Number({
          minimum: -1,
          maximum: 1,
          description: 'Of returns of one second at that lag, -1 to 1.',
        }),
        pairs_n: Type.Integer({ minimum: 0, description: 'Number of seconds that were compared.' }),
      },
      {
        description:
          'Over the last ten minutes, once a minute; null below 300 seconds, or where no correlation is beyond four standard errors.',
      },
    ),
  ),
  interpretation: Type.String(),
  meta: Type.Object({ ...metaMembers, offering: Type.Literal('service_cex_dex') }),
})
