import { percent } from '../render/significance.ts'
import type { BeyondMap } from './beyond-map.ts'
import type { LeverageTier, Side } from './leverage-ladder.ts'
import type { LiquidationExposure } from './liquidation-exposure.ts'
import { BELOW_TIERS_ROW } from './liquidation-exposure.ts'
import { BUCKETS } from './zone-map.ts'

/** One leverage tier of one side, on the map. */
export type Zone = {
  readonly leverage: number
  readonly isPermitted: boolean
  /** Price before which half of its notional is liquidated; without notional, `openedNowPrice`. */
  readonly price: number
  /** Liquidation price of a position opened now. */
  readonly openedNowPrice: number
  readonly notionalUsd: number
  /** Part in positions of known accounts. */
  readonly observedUsd: number
  /** Notional of this tier beyond the map. */
  readonly beyondUsd: number
}

/** Positions of known accounts below the lowest tier, on the map. */
type BelowTiers = {
  /** Median by notional; null without any. */
  readonly price: number | null
  readonly notionalUsd: number
}

type BeyondUsd = {
  readonly notionalUsd: number
  readonly observedUsd: number
  /** Positions below the lowest tier; the tiers have their own figures. */
  readonly belowTiersUsd: number
  /** Number of known accounts. */
  readonly positions: number
  /** Liquidation price over mark price: nearest, and median by notional; null without any. */
  readonly nearestMultiple: number | null
  readonly medianMultiple: number | null
}

/** All positions of one side within one band of distance. */
type Cluster = {
  readonly side: Side
  /** Median liquidation price by notional: the mean of a wide band may be a price without positions. */
  readonly price: number
  readonly distancePct: number
  readonly notionalUsd: number
  readonly observedUsd: number
}

export type SideMap = {
  /** On the map: the sum of its clusters, or of its zones and `belowTiers`. */
  readonly notionalUsd: number
  readonly observedUsd: number
  readonly zones: readonly Zone[]
  readonly belowTiers: BelowTiers
  readonly beyond: BeyondUsd
  readonly withoutPriceUsd: number
  /** Nearest first. */
  readonly clusters: readonly Cluster[]
  /** Notional within each of {@link RISK_DISTANCES_PCT}. */
  readonly withinUsd: readonly number[]
}

export type Heatmap = {
  readonly long: SideMap
  readonly short: SideMap
  /** Of an empty map that of a position opened now, with a notional of 0. */
  readonly nearestCluster: Omit<Cluster, 'observedUsd'>
}

export const RISK_DISTANCES_PCT = [1, 2, 5] as const

/** Outer ends of the bands, percent from the current price; the last band ends with the map. */
const BAND_ENDS_PCT = [0.5, 1, 1.5, 2, 3, 4, 5, 7.5, 10, 15, 20, 30] as const
const BAND_COUNT = BAND_ENDS_PCT.length + 1

/** A band with a smaller share of its side's notional is not reported as the nearest cluster. */
const CLUSTER_SHARE_MIN = 0.05
/** A smaller notional is printed as 0. */
const CLUSTER_USD_MIN = 1

/** Map of a coin from its current price. Notional is size times mark price, whatever the liquidation price. */
export function heatmapOf(exposure: LiquidationExposure, currentPrice: number): Heatmap {
  const long = sideMap(exposure, 'long', currentPrice)
  const short = sideMap(exposure, 'short', currentPrice)
  return { long, short, nearestCluster: nearestCluster(long, short, currentPrice) }
}

export function distancePct(price: number, currentPrice: number): number {
  return Math.abs(price / currentPrice - 1) * 100
}

export function sideMap(exposure: LiquidationExposure, side: Side, currentPrice: number): SideMap {
  const sums = sumsOf(exposure, side, currentPrice)
  const zones = exposure.ladder.map((terms, tier) => zoneOf(exposure, side, terms, tier, sums))
  const clusters: Cluster[] = []
  const prices = bandPrices(exposure, side, sums)
  for (const [band, sizeBase] of sums.bandBase.entries()) {
    if (sizeBase === 0) continue
    const price = prices[band] as number
    const away = distancePct(price, currentPrice)
    const observedUsd = exposure.usd(sums.bandObservedBase[band] as number)
    const notionalUsd = exposure.usd(sizeBase)
    clusters.push({ side, price, distancePct: away, notionalUsd, observedUsd })
  }
  const { beyond, withoutPriceBase, observedBase } = exposure.totals[side]
  return {
    notionalUsd: clusters.reduce((sum, cluster) => sum + cluster.notionalUsd, 0),
    observedUsd: exposure.usd(observedBase),
    zones,
    belowTiers: belowTiersOf(exposure, side, sums),
    beyond: beyondOf(exposure, beyond),
    withoutPriceUsd: exposure.usd(withoutPriceBase),
    clusters,
    withinUsd: Array.from(sums.withinBase, (sizeBase) => exposure.usd(sizeBase)),
  }
}

type Sums = ReturnType<typeof emptySums>

/** In the coin's unit. */
function emptySums() {
  return {
    /** Price, size and band of each bucket that is not empty. */
    prices: new Float64Array(BUCKETS),
    sizesBase: new Float64Array(BUCKETS),
    bands: new Uint8Array(BUCKETS),
    rowBase: new Float64Array(BELOW_TIERS_ROW + 1),
    rowObservedBase: new Float64Array(BELOW_TIERS_ROW + 1),
    bandBase: new Float64Array(BAND_COUNT),
    bandObservedBase: new Float64Array(BAND_COUNT),
    withinBase: new Float64Array(RISK_DISTANCES_PCT.length),
  }
}

/** Sums one side of the map in one pass. */
function sumsOf(exposure: LiquidationExposure, side: Side, currentPrice: number): Sums {
  const sums = emptySums()
  const { sizesBase, observedBase } = exposure
  const [from, until] = [exposure.from(side), exposure.until(side)]
  for (let bucket = from; bucket < until; bucket += 1) {
    let sizeBase = 0
    for (let at = bucket; at < sizesBase.length; at += BUCKETS) sizeBase += sizesBase[at] as number
    if (sizeBase === 0) continue
    const price = exposure.priceAt(bucket)
    sums.prices[bucket] = price
    for (let row = 0; row <= BELOW_TIERS_ROW; row += 1) {
      const rowBase = sizesBase[row * BUCKETS + bucket] as number
      if (rowBase > 0) add(sums.rowBase, row, rowBase)
    }
    // As printed, so that the totals are those of the printed clusters.
    const away = percent(distancePct(price, currentPrice))
    const band = bandOf(away)
    sums.sizesBase[bucket] = sizeBase
    sums.bands[bucket] = band
    add(sums.bandBase, band, sizeBase)
    for (let at = 0; at < RISK_DISTANCES_PCT.length; at += 1)
      if (away <= (RISK_DISTANCES_PCT[at] as number)) add(sums.withinBase, at, sizeBase)
  }
  for (const [key, sizeBase] of observedBase) {
    const bucket = key % BUCKETS
    if (bucket < from || bucket >= until) continue
    add(sums.rowObservedBase, Math.floor(key / BUCKETS), sizeBase)
    const away = percent(distancePct(exposure.priceAt(bucket), currentPrice))
    add(sums.bandObservedBase, bandOf(away), sizeBase)
  }
  return sums
}

function zoneOf(
  exposure: LiquidationExposure,
  side: Side,
  { leverage, isPermitted, longFactor, shortFactor }: LeverageTier,
  tier: number,
  sums: Sums,
): Zone {
  const openedNowPrice = exposure.markPrice * (side === 'long' ? longFactor : shortFactor)
  return {
    leverage,
    isPermitted,
    price: medianPrice(exposure, side, tier, sums) ?? openedNowPrice,
    openedNowPrice,
    notionalUsd: exposure.usd(sums.rowBase[tier] as number),
    observedUsd: exposure.usd(sums.rowObservedBase[tier] as number),
    beyondUsd: exposure.usd(exposure.totals[side].beyond.rowsBase[tier] as number),
  }
}

function belowTiersOf(exposure: LiquidationExposure, side: Side, sums: Sums): BelowTiers {
  return {
    price: medianPrice(exposure, side, BELOW_TIERS_ROW, sums),
    notionalUsd: exposure.usd(sums.rowBase[BELOW_TIERS_ROW] as number),
  }
}

function beyondOf(exposure: LiquidationExposure, beyond: BeyondMap): BeyondUsd {
  const multiple = (price: number | null) => (price === null ? null : price / exposure.markPrice)
  return {
    notionalUsd: exposure.usd(beyond.sizeBase),
    observedUsd: exposure.usd(beyond.observedBase),
    belowTiersUsd: exposure.usd(beyond.rowsBase[BELOW_TIERS_ROW] as number),
    positions: beyond.positions,
    nearestMultiple: multiple(beyond.nearestPrice),
    medianMultiple: multiple(beyond.medianPrice),
  }
}

/** Median price by notional of each band. */
function bandPrices(exposure: LiquidationExposure, side: Side, sums: Sums): Float64Array {
  const prices = new Float64Array(BAND_COUNT)
  const belowBase = new Float64Array(BAND_COUNT)
  for (let bucket = exposure.from(side); bucket < exposure.until(side); bucket += 1) {
    const sizeBase = sums.sizesBase[bucket] as number
    if (sizeBase === 0) continue
    const band = sums.bands[bucket] as number
    if ((belowBase[band] as number) < (sums.bandBase[band] as number) / 2)
      prices[band] = sums.prices[bucket] as number
    add(belowBase, band, sizeBase)
  }
  return prices
}

/** Median price of a row of the map, by notional; null for an empty row. */
function medianPrice(
  exposure: LiquidationExposure,
  side: Side,
  row: number,
  sums: Sums,
): number | null {
  const halfBase = (sums.rowBase[row] as number) / 2
  let belowBase = 0
  let price: number | null = null
  for (let bucket = exposure.from(side); bucket < exposure.until(side); bucket += 1) {
    const sizeBase = exposure.sizesBase[row * BUCKETS + bucket] as number
    if (sizeBase === 0) continue
    price = sums.prices[bucket] as number
    belowBase += sizeBase
    if (belowBase >= halfBase) break
  }
  return price
}

function bandOf(awayPct: number): number {
  let band = 0
  while (band < BAND_ENDS_PCT.length && awayPct > (BAND_ENDS_PCT[band] as number)) band += 1
  return band
}

function add(sums: Float64Array, at: number, value: number): void {
  sums[at] = (sums[at] as number) + value
}

/** Nearest cluster with enough of its side's notional; for an empty map the price of a position opened now. */
function nearestCluster(long: SideMap, short: SideMap, currentPrice: number) {
  const all = [...long.clusters, ...short.clusters]
  const large = all.filter(({ side, notionalUsd }) => {
    const sideUsd = side === 'long' ? long.notionalUsd : short.notionalUsd
    return notionalUsd >= Math.max(CLUSTER_USD_MIN, CLUSTER_SHARE_MIN * sideUsd)
  })
  const places = (side: Side, { zones }: SideMap) =>
    zones
      .filter(({ isPermitted }) => isPermitted || zones.every((zone) => !zone.isPermitted))
      .map(({ price }) => ({
        side,
        price,
        distancePct: distancePct(price, currentPrice),
        notionalUsd: 0,
      }))
  const candidates = large.length > 0 ? large : [...places('long', long), ...places('short', short)]
  return candidates.reduce((nearest, candidate) =>
    candidate.distancePct < nearest.distancePct ? candidate : nearest,
  )
}
