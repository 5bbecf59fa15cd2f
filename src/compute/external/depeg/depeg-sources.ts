import type {
  Chain,
  Exchange,
  ExchangeQuoteEvent,
  OraclePriceEvent,
} from '../../../domain/external.ts'
import { chains } from '../../../domain/external.ts'
import type { ExternalState } from '../../market/external-state.ts'
import { STABLE_DRIFT_BPS } from '../../volatility/drift.ts'
import { oracleAgeMsMax, publishedAtMs } from '../oracle-age.ts'
import { oracleErrorBps } from '../oracle-choice.ts'
import { movedBandBps, triggerOf } from '../source-error.ts'
import type { ClassPrice, PegClass } from './peg-price.ts'
import {
  classPriceOf,
  deviationBpsOf,
  dispersionBpsOf,
  EQUAL_ERROR_TIMES,
  middleOf,
  pegClasses,
} from './peg-price.ts'

/** Why a source is shown but not used. */
export const pegSourceFaults = [
  'too_old',
  'implausible_price',
  'crossed_book',
  'wide_spread',
  'thin_pool',
  'no_usdt_rate',
  'finer_feed_used',
] as const
type PegSourceFault = (typeof pegSourceFaults)[number]

/** One source's price of USDC in USD, judged. */
export type PegSource = {
  /** Such as `pyth-hermes`, `chainlink:base`, `kraken:USDC/USD`, `arbitrum:uniswap-v3`. */
  readonly id: string
  readonly class: PegClass
  /** Whoever stands behind it: has one vote in its class, however many sources speak for it. */
  readonly provider: string
  readonly priceUsd: number
  readonly confidenceBps: number | null
  readonly resolutionBps: number
  /** How much of that can be, by its age. */
  readonly unseenBps: number
  /** One deviation of its error now, of an oracle's feed; null for a market, which is compared by its middle. */
  readonly expectedErrorBps: number | null
  readonly confirmedAtMs: number
  readonly receivedAtMs: number
  readonly cadenceMs: number
  readonly ageMsMax: number
  /** Within its class; 0 for one that is not used. */
  readonly weight: number
  readonly fault: PegSourceFault | null
}

/** All that is known of the price of USDC at one instant. */
export type PegEvidence = {
  readonly sources: readonly PegSource[]
  readonly classes: readonly ClassPrice[]
  /** What the oracles' own averages of about an hour make of it; NaN where none gives one. */
  readonly emaUsd: number
}

/** What a chain's deepest pool makes of USDC in USDT. */
export type ChainParity = { readonly chain: Chain; readonly usdcUsdtBps: number }

/** When an exchange said anything at all; NaN for not since it was connected. */
export type HeardAt = (exchange: Exchange) => number

const QUOTE_MS_MAX = 5_000
/** A book that does not change is not sent again; of a connection that lives it is good for so long. */
const STANDING_MS_MAX = 60_000
const POOL_MS_MAX = 60_000
const POOL_CADENCE_MS = 15_000
const POOL_QUOTE_MIN = 250_000
const SPREAD_BPS_MAX = 200
/** Beyond this it is another asset, or a wrong scale. */
const PRICE_USD_MAX = 10
/**
 * What two classes may make of USDT: 20 bps of agreement and the 25 of a feed that publishes on moves. A class
 * that lies about both stablecoins thus moves the cross by less than the 25 bps of a confirmed level.
 */
const USDT_APART_BPS_MAX = 45

/** Before it is known how many share a vote. */
type Source = Omit<PegSource, 'weight'>

/** Judges everything that has to do with the price of USDC. */
export function pegEvidenceOf(
  external: ExternalState,
  heardAt: HeardAt,
  nowMs: number,
): PegEvidence {
  const directOf = (asset: string) => [
    ...nearestOf(
      external.oraclesOf(asset).map((feed, _, feeds) => oracleSource(feed, feeds, nowMs)),
    ),
    ...external
      .quotesOf(asset)
      .filter(({ quote }) => quote === 'USD')
      .map((quote) => quoteSource(quote, 'exchange', heardAt(quote.exchange), nowMs)),
  ]
  const usdt = usdtRateOf(directOf('USDT'))
  const crosses = [
    ...external
      .quotesOf('USDC')
      .filter(({ quote }) => quote === 'USDT')
      .map((quote) => quoteSource(quote, 'cross', heardAt(quote.exchange), nowMs)),
    ...chains.flatMap((chain) => poolsOf(chain, external, nowMs).map(({ source }) => source)),
  ].map((source) => inUsd(source, usdt))
  const sources = weighed([...directOf('USDC'), ...crosses]).sort(byClassAndId)
  return {
    sources,
    classes: classesOf(sources, usdt),
    emaUsd: emaOf(external, sources),
  }
}

/** By the pool that holds most, of every chain that has one which is deep and fresh enough. */
export function chainParities(external: ExternalState, nowMs: number): ChainParity[] {
  return chains.flatMap((chain) => {
    const [deepest] = poolsOf(chain, external, nowMs)
      .filter(({ source }) => source.fault === null)
      .sort((one, other) => other.balanceQuote - one.balanceQuote)
    if (deepest === undefined) return []
    return { chain, usdcUsdtBps: deviationBpsOf(deepest.source.priceUsd) }
  })
}

function classesOf(sources: readonly PegSource[], usdt: UsdtRate | null): ClassPrice[] {
  return pegClasses.flatMap((name) => {
    const votes = sources.filter((one) => one.class === name && one.fault === null)
    if (name !== 'cross' || usdt === null) return classPriceOf(name, votes) ?? []
    const cross = classPriceOf(name, votes, usdt.leansOn)
    // As many markets as there are, nobody stands behind it who does not also know USDT.
    return cross === null ? [] : { ...cross, providers: Math.min(cross.providers, usdt.providers) }
  })
}

function oracleSource(
  feed: OraclePriceEvent,
  feeds: readonly OraclePriceEvent[],
  nowMs: number,
): Source {
  const { network, place, priceUsd, confidenceUsd, resolutionBps, heartbeatMs } = feed
  const confirmedAtMs = publishedAtMs(feed)
  const ageMsMax = oracleAgeMsMax(feed)
  const since = {
    ageMs: Math.max(0, nowMs - confirmedAtMs),
    unreadMs: Math.max(0, nowMs - feed.timeReceivedMs),
    ...triggerOf(feed),
  }
  const fault = faultOfPrice(priceUsd) ?? (nowMs - confirmedAtMs > ageMsMax ? 'too_old' : null)
  return {
    id: place === '' ? network : `${network}:${place}`,
    class: 'oracle',
    // Its places repeat one network's word.
    provider: network.startsWith('pyth') ? 'pyth' : network,
    priceUsd,
    confidenceBps: confidenceUsd === null ? null : (confidenceUsd / priceUsd) * 10_000,
    resolutionBps,
    unseenBps: Math.min(resolutionBps, movedBandBps(STABLE_DRIFT_BPS, since)),
    expectedErrorBps: oracleErrorBps(feed, feeds, { nowMs, driftBps: STABLE_DRIFT_BPS }),
    confirmedAtMs,
    receivedAtMs: feed.timeReceivedMs,
    cadenceMs: heartbeatMs,
    ageMsMax,
    fault,
  }
}

function isNearer(one: Source, other: Source): boolean {
  const [error, otherError] = [one.expectedErrorBps ?? 0, other.expectedErrorBps ?? 0]
  if (one.resolutionBps === other.resolutionBps) return false
  const isEqual = Math.max(error, otherError) <= EQUAL_ERROR_TIMES * Math.min(error, otherError)
  return isEqual ? one.resolutionBps < other.resolutionBps : error < otherError
}

/** Of one network's feeds those count that have the smallest expected error; feeds of one resolution all do. */
function nearestOf(feeds: readonly Source[]): Source[] {
  return feeds.map((feed) => {
    const isOutdone = feeds.some(
      (other) => other.provider === feed.provider && other.fault === null && isNearer(other, feed),
    )
    return isOutdone ? { ...feed, fault: feed.fault ?? 'finer_feed_used' } : feed
  })
}

function quoteSource(
  quote: ExchangeQuoteEvent,
  name: PegClass,
  heardMs: number,
  nowMs: number,
): Source {
  const { exchange, bid, ask, timeReceivedMs } = quote
  const priceUsd = (bid + ask) / 2
  const spreadBps = ((ask - bid) / priceUsd) * 10_000
  const isStanding = nowMs - heardMs <= QUOTE_MS_MAX && nowMs - timeReceivedMs <= STANDING_MS_MAX
  const confirmedAtMs = isStanding ? Math.max(heardMs, timeReceivedMs) : timeReceivedMs
  return {
    id: `${exchange}:${quote.asset}/${quote.quote}`,
    class: name,
    provider: exchange,
    priceUsd,
    confidenceBps: spreadBps / 2,
    resolutionBps: 0,
    unseenBps: 0,
    expectedErrorBps: null,
    confirmedAtMs,
    receivedAtMs: timeReceivedMs,
    cadenceMs: QUOTE_MS_MAX,
    ageMsMax: QUOTE_MS_MAX,
    fault:
      faultOfPrice(priceUsd) ??
      faultOfBook(bid, ask, spreadBps) ??
      (nowMs - confirmedAtMs > QUOTE_MS_MAX ? 'too_old' : null),
  }
}

type Pool = { readonly source: Source; readonly balanceQuote: number }

/** The pools of a chain between USDC and USDT, their prices in USDT. */
function poolsOf(chain: Chain, external: ExternalState, nowMs: number): Pool[] {
  return external.poolsOf(chain).flatMap((pool) => {
    const { asset, quote, dex, price, feeBps, balanceQuote, timeReceivedMs } = pool
    const isTurned = asset === 'USDT' && quote === 'USDC'
    if (!isTurned && !(asset === 'USDC' && quote === 'USDT')) return []
    const confirmedAtMs = Math.min(pool.timeExchangeMs, timeReceivedMs)
    const priceUsdt = isTurned ? 1 / price : price
    const source: Source = {
      id: `${chain}:${dex}`,
      class: 'cross',
      provider: chain,
      priceUsd: priceUsdt,
      // Nobody trades away a difference that is smaller than the fee.
      confidenceBps: feeBps,
      resolutionBps: 0,
      unseenBps: 0,
      expectedErrorBps: null,
      confirmedAtMs,
      receivedAtMs: timeReceivedMs,
      cadenceMs: POOL_CADENCE_MS,
      ageMsMax: POOL_MS_MAX,
      fault: faultOfPool(priceUsdt, balanceQuote, nowMs - confirmedAtMs),
    }
    return { source, balanceQuote }
  })
}

function faultOfPool(price: number, balanceQuote: number, ageMs: number): PegSourceFault | null {
  const fault = faultOfPrice(price)
  if (fault !== null) return fault
  if (!(balanceQuote >= POOL_QUOTE_MIN)) return 'thin_pool'
  return ageMs > POOL_MS_MAX ? 'too_old' : null
}

function faultOfPrice(price: number): PegSourceFault | null {
  return price > 0 && price <= PRICE_USD_MAX ? null : 'implausible_price'
}

function faultOfBook(bid: number, ask: number, spreadBps: number): PegSourceFault | null {
  if (!(bid > 0 && ask >= bid)) return 'crossed_book'
  return spreadBps > SPREAD_BPS_MAX ? 'wide_spread' : null
}

type UsdtRate = Omit<ClassPrice, 'class'>

/**
 * What USDT is worth by oracles and by exchanges that trade it for USD, never by way of USDC.
 * @returns null where nobody knows, or where the two contradict each other
 */
function usdtRateOf(sources: readonly Source[]): UsdtRate | null {
  const classes = classesOf(weighed(sources), null)
  if (classes.length === 0 || dispersionBpsOf(classes) > USDT_APART_BPS_MAX) return null
  return {
    ...middleOf(classes),
    leansOn: classes.length > 1 ? null : (classes[0]?.class ?? null),
    providers: classes.reduce((sum, { providers }) => sum + providers, 0),
  }
}

function inUsd(source: Source, usdt: UsdtRate | null): Source {
  if (usdt === null)
    return { ...source, priceUsd: Number.NaN, fault: source.fault ?? 'no_usdt_rate' }
  return {
    ...source,
    priceUsd: source.priceUsd * usdt.priceUsd,
    confidenceBps: (source.confidenceBps ?? 0) + usdt.confidenceBps,
    resolutionBps: source.resolutionBps + usdt.resolutionBps,
    unseenBps: source.unseenBps + usdt.resolutionBps,
  }
}

/** One vote for each provider, shared by what of it is used. */
function weighed(sources: readonly Source[]): PegSource[] {
  const used = sources.filter(({ fault }) => fault === null)
  const sharing = (one: Source) =>
    used.filter((other) => other.provider === one.provider && other.class === one.class).length
  return sources.map((source) => {
    return { ...source, weight: source.fault === null ? 1 / sharing(source) : 0 }
  })
}

function byClassAndId(one: PegSource, other: PegSource): number {
  const rank = pegClasses.indexOf(one.class) - pegClasses.indexOf(other.class)
  if (rank !== 0) return rank
  return one.id < other.id ? -1 : Number(one.id > other.id)
}

function emaOf(external: ExternalState, sources: readonly PegSource[]): number {
  const votes = external.oraclesOf('USDC').flatMap(({ network, place, ema }) => {
    const id = place === '' ? network : `${network}:${place}`
    const source = sources.find((one) => one.id === id)
    if (ema === null || source === undefined || source.fault !== null) return []
    return faultOfPrice(ema.priceUsd) === null ? { ...source, priceUsd: ema.priceUsd } : []
  })
  return classPriceOf('oracle', votes)?.priceUsd ?? Number.NaN
}
