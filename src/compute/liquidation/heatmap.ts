import type { Exposure } from './exposure.ts'
import type { LeverageTier, Side } from './leverage-ladder.ts'
import { TIER_COUNT } from './leverage-ladder.ts'
import { BUCKETS } from './zone-map.ts'

/** One leverage tier of one side. */
export type Zone = {
  readonly leverage: number
  readonly isPermitted: boolean
  /** Half of its notional is liquidated before this price is reached. */
  readonly price: number
  readonly notionalUsd: number
  /** Of which positions of known accounts. */
  readonly observedUsd: number
}

/** Everything of one side within one band of distance. */
export type Cluster = {
  readonly side: Side
  /** Mean of its liquidation prices by notional. */
  readonly price: number
  readonly distancePct: number
  readonly notionalUsd: number
  readonly observedUsd: number
}

export type SideMap = {
  readonly notionalUsd: number
  readonly observedUsd: number
  readonly zones: readonly Zone[]
  /** Nearest first. */
  readonly clusters: readonly Cluster[]
  /** Notional that {@link RISK_DISTANCES_PCT} reach. */
  readonly withinUsd: readonly number[]
}

export type Heatmap = {
  readonly long: SideMap
  readonly short: SideMap
  readonly nearestCluster: {
    readonly side: Side
    readonly price: number
    readonly distancePct: number
  }
}

export const RISK_DISTANCES_PCT = [1, 2, 5] as const

/** Outer ends of the bands, percent from the current price; the last band has none. */
const BAND_ENDS_PCT = [0.5, 1, 1.5, 2, 3, 4, 5, 7.5, 10, 15, 20, 30] as const
const BAND_COUNT = BAND_ENDS_PCT.length + 1

/** A band with less of its side's notional is no cluster that one would look out for. */
const CLUSTER_SHARE_MIN = 0.05

/** The map of a coin as seen from its current price, USD. */
export function heatmapOf(exposure: Exposure, currentPrice: number): Heatmap {
  const long = sideMap(exposure, 'long', currentPrice)
  const short = sideMap(exposure, 'short', currentPrice)
  return { long, short, nearestCluster: nearestCluster(long, short, currentPrice) }
}

export function distancePct(price: number, currentPrice: number): number {
  return Math.abs(price / currentPrice - 1) * 100
}

function sideMap(exposure: Exposure, side: Side, currentPrice: number): SideMap {
  const sums = sumsOf(exposure, side, currentPrice)
  const zones = exposure.ladder.map((terms, tier) => zoneOf(exposure, side, terms, tier, sums))
  const clusters: Cluster[] = []
  for (const [band, notionalUsd] of sums.bandUsd.entries()) {
    if (notionalUsd === 0) continue
    const price = (sums.bandWeighted[band] as number) / notionalUsd
    const away = distancePct(price, currentPrice)
    const observedUsd = sums.bandObservedUsd[band] as number
    clusters.push({ side, price, distancePct: away, notionalUsd, observedUsd })
  }
  return {
    notionalUsd: zones.reduce((sum, zone) => sum + zone.notionalUsd, 0),
    observedUsd: zones.reduce((sum, zone) => sum + zone.observedUsd, 0),
    zones,
    clusters,
    withinUsd: sums.withinUsd,
  }
}

type Sums = ReturnType<typeof emptySums>

function emptySums() {
  return {
    /** Of the buckets that hold something. */
    prices: new Float64Array(BUCKETS),
    tierUsd: new Float64Array(TIER_COUNT),
    tierObservedUsd: new Float64Array(TIER_COUNT),
    bandUsd: new Float64Array(BAND_COUNT),
    bandObservedUsd: new Float64Array(BAND_COUNT),
    /** Prices by notional. */
    bandWeighted: new Float64Array(BAND_COUNT),
    withinUsd: RISK_DISTANCES_PCT.map(() => 0),
  }
}

/** In one go over the map of a side. */
function sumsOf(exposure: Exposure, side: Side, currentPrice: number): Sums {
  const sums = emptySums()
  const { sizesBase, observedBase } = exposure
  const [from, until] = [exposure.from(side), exposure.until(side)]
  for (let bucket = from; bucket < until; bucket += 1) {
    let sizeBase = 0
    for (let at = bucket; at < sizesBase.length; at += BUCKETS) sizeBase += sizesBase[at] as number
    if (sizeBase === 0) continue
    const price = exposure.priceAt(bucket)
    sums.prices[bucket] = price
    for (let tier = 0; tier < TIER_COUNT; tier += 1)
      add(sums.tierUsd, tier, (sizesBase[tier * BUCKETS + bucket] as number) * price)
    const away = distancePct(price, currentPrice)
    const band = bandOf(away)
    add(sums.bandUsd, band, sizeBase * price)
    add(sums.bandWeighted, band, sizeBase * price * price)
    for (let at = 0; at < RISK_DISTANCES_PCT.length; at += 1)
      if (away <= (RISK_DISTANCES_PCT[at] as number)) add(sums.withinUsd, at, sizeBase * price)
  }
  for (const [key, sizeBase] of observedBase) {
    const bucket = key % BUCKETS
    if (bucket < from || bucket >= until) continue
    const price = exposure.priceAt(bucket)
    add(sums.tierObservedUsd, Math.floor(key / BUCKETS), sizeBase * price)
    add(sums.bandObservedUsd, bandOf(distancePct(price, currentPrice)), sizeBase * price)
  }
  return sums
}

function zoneOf(
  exposure: Exposure,
  side: Side,
  { leverage, isPermitted, longFactor, shortFactor }: LeverageTier,
  tier: number,
  sums: Sums,
): Zone {
  const notionalUsd = sums.tierUsd[tier] as number
  const observedUsd = sums.tierObservedUsd[tier] as number
  // Without a position: where one would be liquidated that is opened now.
  const freshPrice = exposure.markPrice * (side === 'long' ? longFactor : shortFactor)
  const price = notionalUsd > 0 ? medianPrice(exposure, side, tier, sums) : freshPrice
  return { leverage, isPermitted, price, notionalUsd, observedUsd }
}

/** By notional. */
function medianPrice(exposure: Exposure, side: Side, tier: number, sums: Sums): number {
  const halfUsd = (sums.tierUsd[tier] as number) / 2
  let belowUsd = 0
  let price = Number.NaN
  for (let bucket = exposure.from(side); bucket < exposure.until(side); bucket += 1) {
    const sizeBase = exposure.sizesBase[tier * BUCKETS + bucket] as number
    if (sizeBase === 0) continue
    price = sums.prices[bucket] as number
    belowUsd += sizeBase * price
    if (belowUsd >= halfUsd) break
  }
  return price
}

function bandOf(awayPct: number): number {
  let band = 0
  while (band < BAND_ENDS_PCT.length && awayPct > (BAND_ENDS_PCT[band] as number)) band += 1
  return band
}

function add(sums: Float64Array | number[], at: number, value: number): void {
  sums[at] = (sums[at] as number) + value
}

/** Of what is worth the name, else of what there is, else of where it would be. */
function nearestCluster(long: SideMap, short: SideMap, currentPrice: number) {
  const all = [...long.clusters, ...short.clusters]
  const large = all.filter(({ side, notionalUsd }) => {
    const sideUsd = side === 'long' ? long.notionalUsd : short.notionalUsd
    return notionalUsd >= CLUSTER_SHARE_MIN * sideUsd
  })
  const places = (side: Side, { zones }: SideMap) =>
    zones
      .filter(({ isPermitted }) => isPermitted || zones.every((zone) => !zone.isPermitted))
      .map(({ price }) => ({ side, price, distancePct: distancePct(price, currentPrice) }))
  const candidates = large.length > 0 ? large : [...places('long', long), ...places('short', short)]
  return candidates.reduce((nearest, candidate) =>
    candidate.distancePct < nearest.distancePct ? candidate : nearest,
  )
}
