import type { Exchange } from '../../../domain/external.ts'
import type { ExternalState } from '../../market/external-state.ts'
import { feedId, feedSources } from './peg-feeds.ts'
import { poolSources, quoteSource } from './peg-markets.ts'
import type { ClassPrice } from './peg-price.ts'
import { classPriceOf, dispersionBpsOf, middleOf, pegClasses } from './peg-price.ts'
import type { PegSource, UnweightedPegSource } from './peg-source.ts'
import { faultOfPrice } from './peg-source.ts'

/** All sources of the price of USDC at one instant. */
export type PegEvidence = {
  readonly sources: readonly PegSource[]
  readonly classes: readonly ClassPrice[]
  /** Price by the oracles' own averages of about an hour; NaN where none gives one. */
  readonly emaUsd: number
}

/** Last message of an exchange; NaN for none since it was connected. */
export type LastMessageAt = (exchange: Exchange) => number

/**
 * Largest difference between two classes of USDT sources: 20 bps of agreement and the 25 of a push feed's trigger. A
 * class that is wrong about both stablecoins thus moves the cross by less than the 25 bps of a confirmed level.
 */
const USDT_APART_BPS_MAX = 45

/** Judges every source of the price of USDC. */
export function pegEvidenceOf(
  external: ExternalState,
  heardAt: LastMessageAt,
  nowMs: number,
): PegEvidence {
  const directOf = (asset: string) => [
    ...feedSources(external.oraclesOf(asset), nowMs),
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
    ...poolSources(external, nowMs),
  ].map((source) => inUsd(source, usdt))
  const sources = weighted([...directOf('USDC'), ...crosses]).sort(byClassAndId)
  return { sources, classes: classesOf(sources, usdt), emaUsd: emaOf(external, sources) }
}

function classesOf(sources: readonly PegSource[], usdt: UsdtRate | null): ClassPrice[] {
  return pegClasses.flatMap((name) => {
    const votes = sources.filter((one) => one.class === name && one.fault === null)
    if (name !== 'cross' || usdt === null) return classPriceOf(name, votes) ?? []
    const cross = classPriceOf(name, votes, usdt.leansOn)
    // The cross has no more independent providers than the price of USDT.
    return cross === null ? [] : { ...cross, providers: Math.min(cross.providers, usdt.providers) }
  })
}

type UsdtRate = Omit<ClassPrice, 'class'>

/**
 * USD price of USDT by oracles and by exchanges that trade it for USD, never through USDC.
 * @returns null without a source, or where the two classes contradict each other
 */
function usdtRateOf(sources: readonly UnweightedPegSource[]): UsdtRate | null {
  const classes = classesOf(weighted(sources), null)
  if (classes.length === 0 || dispersionBpsOf(classes) > USDT_APART_BPS_MAX) return null
  return {
    ...middleOf(classes),
    leansOn: classes.length > 1 ? null : (classes[0]?.class ?? null),
    providers: classes.reduce((sum, { providers }) => sum + providers, 0),
  }
}

function inUsd(source: UnweightedPegSource, usdt: UsdtRate | null): UnweightedPegSource {
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

/** Divides one vote of each provider among its sources that are used. */
function weighted(sources: readonly UnweightedPegSource[]): PegSource[] {
  const used = sources.filter(({ fault }) => fault === null)
  const sharing = (one: UnweightedPegSource) =>
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
  const votes = external.oraclesOf('USDC').flatMap((feed) => {
    const source = sources.find(({ id }) => id === feedId(feed))
    if (feed.ema === null || source === undefined || source.fault !== null) return []
    const { priceUsd } = feed.ema
    return faultOfPrice(priceUsd) === null ? { ...source, priceUsd } : []
  })
  return classPriceOf('oracle', votes)?.priceUsd ?? Number.NaN
}
