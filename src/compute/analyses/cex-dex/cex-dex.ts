import type { Input, NoAnswer, Warning } from '../../../domain/document.ts'
import { assetOf } from '../../../domain/external.ts'
import { isoInstant } from '../../../domain/instant.ts'
import type { CoinAnalysis } from '../../analysis.ts'
import { quotedPrice } from '../../book/best-quote.ts'
import { aboveBps } from '../../external/basis-reading.ts'
import type { CexDexLack, CexDexReading } from '../../external/cex-dex-reading.ts'
import {
  actionableSide,
  dexName,
  isActionable,
  readCexDex,
} from '../../external/cex-dex-reading.ts'
import { divergenceDirection } from '../../external/divergence-direction.ts'
import type { ExchangeLeg } from '../../external/exchange-reference.ts'
import { EXCHANGES_MIN, venueUsd } from '../../external/exchange-reference.ts'
import type { SortedWindow, WindowStatistics } from '../../external/measures/minute-statistics.ts'
import { rankOf, robustZ } from '../../external/measures/minute-statistics.ts'
import { uncovered } from '../../external/oracle-coverage.ts'
import { oracleTrust } from '../../external/oracle-trust.ts'
import type { PoolLeg } from '../../external/pool-prices.ts'
import { POOL_MS_MAX, SWAP_USD } from '../../external/pool-prices.ts'
import { stableUsd } from '../../external/stable-usd.ts'
import type { CoinMarket } from '../../market/coin-market.ts'
import { contextInput, optional } from '../../market/inputs.ts'
import type { MarketState } from '../../market/market-state.ts'
import { completenessWarnings, coveragePct } from '../../render/completeness.ts'
import { deviationsOf, percentOf } from '../../render/count-digits.ts'
import { lowCoverage } from '../../render/coverage-floor.ts'
import type { DocumentBuilder } from '../../render/document-builder.ts'
import { oneAnswer } from '../../render/one-answer.ts'
import { bps, orNull, percent, price, rate, score, usd } from '../../render/significance.ts'
import {
  compactRecordOmits,
  recordOfCoin,
  shownRules,
} from '../../track-record-statistics/record-member.ts'
import type { Edge } from './cex-dex-edges.ts'
import { edgesOf, perpSide, poolSide } from './cex-dex-edges.ts'
import { cexDexInterpretation, severityOf } from './cex-dex-labels.ts'
import { cexDexMeasure } from './cex-dex-measure.ts'
import { CexDexAnswer } from './cex-dex-schema.ts'
import { unquoted } from './exchange-coverage.ts'
import { takerFees } from './taker-fees.ts'

const EXCHANGE_CADENCE_MS = 4_000
const EXCHANGE_AGE_MS_MAX = 10_000
/** Of the perpetual's prices and its edges; its quote is at most two cadences older. */
const VENUE_AGE_MS_MAX = 60_000
const POOL_CADENCE_MS = 30_000
const ORACLE_CADENCE_MS_MIN = 5_000
const SKEW_MS_MAX = 5_000
const POOLS_SHOWN = 8
const DEPTH_BPS = 10
const FAR_BPS = 30
const MINUTES_PER_HOUR = 60
const BPS = 10_000

/** Prices of a coin on centralised exchanges against on-chain pools or oracle networks, and the edge after fees. */
export const cexDex: CoinAnalysis = {
  contract: {
    id: 'cex-dex',
    pathParameter: 'token',
    offering: 'service_cex_dex',
    scope: 'coin',
    summary:
      'Price on centralised exchanges against on-chain pools or an oracle network: divergence, noise, edges net of fees',
    guide: {
      title: 'Price of one token on exchanges against pools and oracle networks',
      useWhen:
        'you look for a price gap between centralised exchanges and decentralised pools, before and after costs.',
      notWhen: 'you want venue oracle and mark price against spot (basis).',
      returns:
        'both prices, signed divergence with noise band and severity, depth, 24-hour statistics, edges net of fees.',
    },
    priceUsdcAtomic: 20_000n,
    document: CexDexAnswer,
    defaultView: '',
    viewParameters: [],
    compactOmits: [
      ...['exchanges', 'oracle_networks', 'onchain'],
      ...compactRecordOmits('track_record'),
    ],
    // Each input has its own age limit; that of an oracle feed follows from its heartbeat.
    inputAgeMsMax: Number.POSITIVE_INFINITY,
    coverageFloor: {
      counts: 'prices (venue oracle, exchanges, pool or oracle network)',
      least: `the venue oracle price, ${EXCHANGES_MIN} exchanges with a fresh price, and a usable pool or oracle network`,
    },
  },
  inputs: ['context', 'exchange-quote', 'oracle-price', 'pool'],
  trackers: [cexDexMeasure],

  render: (coin, rendering, market) =>
    oneAnswer(cexDex.contract, rendering, (builder) => {
      const nowMs = rendering.renderedAtMs
      const name = coin.listing.coin
      const reading = readCexDex(coin, market, nowMs)
      if (typeof reading === 'string') return whyNone(reading, coin, market, nowMs)
      const day = market.of(cexDexMeasure).day(name, dexName(reading.dex), market, nowMs)
      const inputs = inputsOf(reading)
      const usdtUsd = stableUsd('USDT', market.external, nowMs)?.priceUsd ?? null
      const members = {
        token: name,
        ...builder.memberSlot({ kind: 'requested-coin', member: 'requested_token' }),
        timestamp_iso: isoInstant(nowMs),
        ...verdict(builder, reading),
        ...watched(builder, reading, name, market),
        depth_usd: depth(reading),
        ...legs(builder, reading, coin, usdtUsd),
        ...versus(reading, coin),
        executable: executable(
          edges(reading, perpSide(coin.quote, reading.scale, usdtUsd), market, nowMs),
        ),
        stats_24h: stats(day, reading.divergenceBps),
        interpretation: cexDexInterpretation(name, reading),
        track_record: recordOfCoin(coin, market, shownRules.cexDex),
      }
      return {
        members,
        sources: sourcesOf(reading),
        inputs,
        coveragePct: coveragePct({
          have: reading.cex.used.length,
          need: reading.legs.filter(({ fault }) => fault !== 'same_exchange').length,
        }),
        warnings: warningsOf(reading, day),
      }
    }),
}

/** readCexDex checks the prices in this order. */
const pricesNeeded = ['venue', 'exchange', 'dex'] as const satisfies CexDexLack[]

function whyNone(
  lacking: CexDexLack,
  coin: CoinMarket,
  market: MarketState,
  nowMs: number,
): NoAnswer {
  const reading = { have: pricesNeeded.indexOf(lacking), need: pricesNeeded.length }
  if (lacking === 'venue') return lowCoverage(cexDex.contract, reading)
  const why = (lacking === 'exchange' ? unquoted : uncovered)(coin, market, nowMs)
  return typeof why === 'string' ? lowCoverage(cexDex.contract, { ...reading, detail: why }) : why
}

function verdict(builder: DocumentBuilder, reading: CexDexReading) {
  const { cex, dex, scale, pools, skewMs } = reading
  const divergenceBps = bps(reading.divergenceBps)
  const noPool = pools.length === 0 ? ('no_pool' as const) : ('no_usable_pool' as const)
  return {
    cex_price: price(cex.midUsd * scale),
    dex_price: price(dex.priceUsd * scale),
    cex_source: nearest(cex.used, cex.midUsd)?.exchange,
    dex_source: dex.source,
    dex_name:
      dex.source === 'dex_pool' ? `${dex.leg.pool.chain}/${dex.leg.pool.dex}` : dex.oracle.network,
    dex_reason: dex.source === 'dex_pool' ? ('cheapest_pool' as const) : noPool,
    divergence_bps: divergenceBps,
    divergence_pct: percent(divergenceBps / 100),
    direction: divergenceDirection(reading),
    severity: severityOf(reading),
    noise_bps: bps(reading.noiseBps),
    dex_expected_error_bps: bps(dex.expectedErrorBps),
    actionable: isActionable(reading),
    leg_skew_seconds: score(skewMs / 1_000),
    data_age_seconds: builder.slot({
      kind: 'age',
      confirmedAtMs: Math.min(cex.asOfMs, dex.asOfMs),
    }),
  }
}

function nearest(used: readonly ExchangeLeg[], midUsd: number): ExchangeLeg | undefined {
  const off = (leg: ExchangeLeg) => Math.abs(leg.midUsd - midUsd)
  return used.toSorted((a, b) => off(a) - off(b))[0]
}

function watched(
  builder: DocumentBuilder,
  reading: CexDexReading,
  coin: string,
  market: MarketState,
) {
  const measure = market.of(cexDexMeasure)
  // The measure may be up to a second older than this reading.
  const sinceMs = measure.openSinceMs(coin, actionableSide(reading))
  const leadLag = measure.leadLag(coin)
  return {
    persistence_seconds:
      sinceMs === null ? null : builder.slot({ kind: 'age', confirmedAtMs: sinceMs }),
    lead_lag: leadLag && {
      lag_seconds: leadLag.lagSeconds,
      correlation: score(leadLag.correlation),
      pairs_n: leadLag.pairs,
    },
  }
}

function depth({ cex, dex }: CexDexReading) {
  // As printed: of two levels exactly that far on both sides rounding would keep one.
  const near = (priceUsd: number) => bps(Math.abs(aboveBps(priceUsd, cex.midUsd))) <= DEPTH_BPS
  const [bidUsd, askUsd] = cex.used.reduce(
    ([bids, asks], leg) => [
      bids + (near(leg.bidUsd) ? leg.bidUsd * leg.bidSizeBase : 0),
      asks + (near(leg.askUsd) ? leg.askUsd * leg.askSizeBase : 0),
    ],
    [0, 0] as readonly [number, number],
  )
  return {
    cex_10bps: usd(Math.min(bidUsd, askUsd)),
    // On a constant-product reserve a swap of dy moves the price by 2 dy / reserve.
    dex_10bps: dex.source === 'dex_pool' ? usd((dex.leg.reserveUsd * DEPTH_BPS) / BPS / 2) : null,
  }
}

function legs(
  builder: DocumentBuilder,
  reading: CexDexReading,
  coin: CoinMarket,
  usdtUsd: number | null,
) {
  const { cex, scale, context, pools, choice } = reading
  const used = choice.best
  return {
    exchanges: {
      method: 'median_of_exchanges' as const,
      used_n: cex.used.length,
      dispersion_bps: bps(cex.dispersionBps),
      venues: reading.legs.map((leg) => exchange(builder, leg, scale)),
    },
    perp: {
      mid: orNull(quotedPrice(coin.quote), price),
      mark: price(context.markPrice),
      oracle: price(context.oraclePrice),
      usdt_price: orNull(usdtUsd, price),
      // The digits of a rate: the baseline is 0.125.
      funding_next_hour_bps: percent(rate(context.fundingRateHourly) * BPS),
    },
    oracle_network: used && {
      source: used.network,
      price: price(used.priceUsd * scale),
      confidence_bps: orNull(used.confidenceBps, bps),
      resolution_bps: bps(used.resolutionBps),
      age_seconds: builder.slot({ kind: 'age', confirmedAtMs: used.publishedAtMs }),
    },
    oracle_networks: choice.readings.map((one) => ({
      network: one.network,
      place: one.place,
      price: price(one.priceUsd * scale),
      expected_error_bps: bps(one.expectedErrorBps),
      is_used: one === used && reading.dex.source === 'oracle_network',
      why_not: choice.demoted.find(({ network }) => network === one.network)?.reason ?? null,
    })),
    onchain: pools.slice(0, POOLS_SHOWN).map((leg) => onchain(builder, leg, reading)),
    onchain_total: pools.length,
  }
}

function exchange(builder: DocumentBuilder, leg: ExchangeLeg, scale: number) {
  return {
    exchange: leg.exchange,
    quote: leg.quote,
    bid: orNull(leg.bidUsd * scale, price),
    ask: orNull(leg.askUsd * scale, price),
    mid: orNull(leg.midUsd * scale, price),
    spread_bps: bps(leg.spreadBps),
    age_seconds: builder.slot({ kind: 'age', confirmedAtMs: leg.receivedAtMs }),
    is_used: leg.fault === null,
    why_not: leg.fault,
  }
}

function onchain(builder: DocumentBuilder, leg: PoolLeg, { dex, scale }: CexDexReading) {
  const { chain, dex: name, pool, representation, feeBps } = leg.pool
  return {
    chain,
    dex: name,
    pool,
    representation,
    price: orNull(leg.priceUsd * scale, price),
    fee_bps: bps(feeBps),
    expected_error_bps: bps(leg.expectedErrorBps),
    swap_cost_bps: orNull(leg.swapCostBps, bps),
    age_seconds: builder.slot({ kind: 'age', confirmedAtMs: leg.asOfMs }),
    is_used: dex.source === 'dex_pool' && dex.leg === leg,
    why_not: leg.fault,
  }
}

function versus({ cex, scale, context, choice, dex }: CexDexReading, coin: CoinMarket) {
  const cexPrice = cex.midUsd * scale
  const against = (other: number | null | undefined) =>
    orNull(aboveBps(cexPrice, other ?? Number.NaN), bps)
  return {
    cex_vs_perp_bps: against(quotedPrice(coin.quote)),
    cex_vs_venue_oracle_bps: bps(aboveBps(cexPrice, context.oraclePrice)),
    cex_vs_oracle_network_bps: against(choice.best && choice.best.priceUsd * scale),
    cex_vs_pool_bps: against(dex.source === 'dex_pool' ? dex.priceUsd * scale : null),
  }
}

function edges(
  { cex, dex }: CexDexReading,
  perp: ReturnType<typeof perpSide>,
  market: MarketState,
  nowMs: number,
): readonly Edge[] {
  if (dex.source !== 'dex_pool') return edgesOf(cex.used, perp, null)
  const chain = market.external.chain(dex.leg.pool.chain)
  const isKnown = chain !== null && nowMs - chain.timeReceivedMs <= POOL_MS_MAX
  const pool = poolSide(dex.leg, isKnown ? chain : null, nativeUsd(chain?.native, market, nowMs))
  return edgesOf(cex.used, perp, pool)
}

/** Price of the chain's native token by an oracle network, else by the venue's oracle, which is precise enough for gas. */
function nativeUsd(native: string | undefined, market: MarketState, nowMs: number): number {
  if (native === undefined) return Number.NaN
  const { best } = market.of(oracleTrust).choose(native, market, nowMs)
  if (best !== null) return best.priceUsd
  const coin = market.coinOf(native)
  const scale = coin === undefined ? 1 : (assetOf(coin.listing.coin)?.scale ?? 1)
  return venueUsd(coin?.context, scale, market.external, nowMs)
}

function executable(all: readonly Edge[]) {
  const nets = all.flatMap(({ netBps }) => (Number.isNaN(netBps) ? [] : [netBps]))
  return {
    edges: all.map(({ buy, sell, grossBps, feeBps, gasBps, netBps }) => ({
      buy,
      sell,
      gross_bps: bps(grossBps),
      fee_bps: bps(feeBps),
      gas_bps: orNull(gasBps, bps),
      net_bps: orNull(netBps, bps),
    })),
    best_net_bps: nets.length === 0 ? null : bps(Math.max(...nets)),
    notional_usd: SWAP_USD,
    fee_model: { version: takerFees.version, taker_bps: takerFees.takerBps },
  }
}

function stats(day: SortedWindow, divergenceBps: number) {
  const away = day.ascending.map(Math.abs).toSorted()
  const farFrom = away.filter((value) => value > FAR_BPS).length
  return {
    mean_bps: orNull(day.mean, bps),
    abs_p95_bps: orNull(away[Math.ceil(0.95 * day.n) - 1] ?? null, bps),
    time_above_30bps_pct: day.n === 0 ? null : percentOf((100 * farFrom) / day.n, day.n),
    n: day.n,
    zscore: orNull(robustZ(day, divergenceBps), (zscore) => deviationsOf(zscore, day.n)),
    percentile: orNull(rankOf(day, divergenceBps), (rank) => percentOf(rank, day.n)),
    window_hours: score(day.n / MINUTES_PER_HOUR),
  }
}

function inputsOf({ cex, dex, context }: CexDexReading): readonly Input[] {
  const ofDex =
    dex.source === 'dex_pool'
      ? { cadenceMs: POOL_CADENCE_MS, ageMsMax: 2 * POOL_MS_MAX }
      : {
          cadenceMs: Math.max(dex.oracle.heartbeatMs, ORACLE_CADENCE_MS_MIN),
          ageMsMax: dex.oracle.ageMsMax,
        }
  return [
    {
      name: 'exchange',
      confirmedAtMs: cex.asOfMs,
      cadenceMs: EXCHANGE_CADENCE_MS,
      isLoadBearing: true,
      ageMsMax: EXCHANGE_AGE_MS_MAX,
    },
    { name: 'dex', confirmedAtMs: dex.asOfMs, isLoadBearing: true, ...ofDex },
    { ...optional(contextInput('mark', context)), ageMsMax: VENUE_AGE_MS_MAX },
  ]
}

function sourcesOf({ cex, dex }: CexDexReading): readonly string[] {
  const of = dex.source === 'dex_pool' ? dex.leg.pool.chain : dex.oracle.network
  return [...cex.used.map((leg) => leg.exchange), of, 'venue']
}

function warningsOf({ dex, choice, skewMs }: CexDexReading, day: WindowStatistics): Warning[] {
  const warnings = completenessWarnings({ history: { have: day.n, need: day.nMin } })
  const isUnsure = dex.source === 'oracle_network' && choice.weakness === 'wide_confidence'
  if (isUnsure) warnings.push('wide_oracle_confidence')
  if (skewMs > SKEW_MS_MAX) warnings.push('leg_skew')
  return warnings
}
