import type { CoinMarket } from '../market/coin-market.ts'
import type { BeyondMap } from './beyond-map.ts'
import { BeyondBuilder } from './beyond-map.ts'
import type { LeverageTier, Side } from './leverage-ladder.ts'
import { leverageLadder, TIER_COUNT, tierOf } from './leverage-ladder.ts'
import type { LiquidationFlow } from './liquidation-flow.ts'
import { liquidationFlow } from './liquidation-flow.ts'
import type { ObservedPosition } from './observed-positions.ts'
import type { ZoneMap } from './zone-map.ts'
import { BUCKETS } from './zone-map.ts'

/** Row after the five tiers: positions below the lowest one, of known accounts only. */
export const BELOW_TIERS_ROW = TIER_COUNT
const ROW_COUNT = TIER_COUNT + 1
/** A smaller share of the open interest is a rounding error. */
const DUST_SHARE = 1e-9

/**
 * Open interest of a side, in the coin's unit. The parts add up to the open interest, unless the coin permits no tier:
 * then nothing is estimated.
 */
type SideTotals = {
  /** On the map: positions of known accounts. */
  readonly observedBase: number
  /** On the map: positions whose opening was recorded, without the known accounts' share. */
  readonly flowBase: number
  /** On the map: the rest, distributed by traded volume. */
  readonly priorBase: number
  /** From all three sources. */
  readonly beyond: BeyondMap
  /** Positions of known accounts without a liquidation price. */
  readonly withoutPriceBase: number
}

type ObservedTotals = {
  readonly onMapBase: number
  readonly withoutPriceBase: number
  /** All positions of known accounts, on and beyond the map. */
  readonly allBase: number
}

/**
 * Open interest of a coin by liquidation price, at one instant. Each side has three parts: positions of known accounts
 * at their reported prices; recorded openings, reduced by the known accounts' share; and the rest, distributed like the
 * traded volume.
 */
export class LiquidationExposure {
  readonly openInterestBase: number
  readonly markPrice: number
  readonly ladder: readonly LeverageTier[]
  readonly totals: Readonly<Record<Side, SideTotals>>
  /** On the map, in the coin's unit: by tier and {@link BELOW_TIERS_ROW}, then by bucket. */
  readonly sizesBase = new Float64Array(ROW_COUNT * BUCKETS)
  /** Part of it in positions of known accounts; sparse. */
  readonly observedBase: ReadonlyMap<number, number>
  readonly #observedBase = new Map<number, number>()
  readonly #tracker: LiquidationFlow

  /** @returns null before open interest and mark price are known */
  static of(coin: CoinMarket): LiquidationExposure | null {
    const { listing } = coin
    const liquidations = coin.of(liquidationFlow)
    const { openInterestBase, markPrice, ladder } = liquidations
    const isKnown = openInterestBase >= 0 && markPrice > 0 && liquidations.flow.isPlaced
    if (!isKnown) return null
    // A restored tracker has no ladder before its first event.
    return new LiquidationExposure(
      liquidations,
      ladder.length > 0 ? ladder : leverageLadder(listing),
    )
  }

  private constructor(tracker: LiquidationFlow, ladder: readonly LeverageTier[]) {
    this.#tracker = tracker
    this.openInterestBase = tracker.openInterestBase
    this.markPrice = tracker.markPrice
    this.ladder = ladder
    this.observedBase = this.#observedBase
    this.totals = { long: this.#side('long'), short: this.#side('short') }
  }

  /** First bucket of a side on the map. */
  from(side: Side): number {
    return this.#tracker.flow.from(side)
  }

  /** After the last bucket of a side on the map. */
  until(side: Side): number {
    return this.#tracker.flow.until(side)
  }

  /** USD. */
  priceAt(bucket: number): number {
    return this.#tracker.flow.priceAt(bucket)
  }

  /** Size at the mark price, USD. */
  usd(sizeBase: number): number {
    return sizeBase * this.markPrice
  }

  #side(side: Side): SideTotals {
    const { flow, profile } = this.#tracker
    const open = this.openInterestBase
    const beyond = new BeyondBuilder(ROW_COUNT)
    const observed = this.#observe(side, beyond)
    const unobservedBase = open - observed.allBase
    const restBase = unobservedBase > DUST_SHARE * open ? unobservedBase : 0
    const seenBase = flow.total(side)
    const flowBase = open > 0 ? (Math.min(seenBase, open) / open) * restBase : 0
    const isEstimated = this.ladder.some(({ isPermitted }) => isPermitted)
    const priorBase = isEstimated ? restBase - flowBase : 0
    // Both maps received the same marks, so their buckets are the same.
    const flowBeyondBase = this.#lay(flow, side, seenBase > 0 ? flowBase / seenBase : 0, beyond)
    return {
      observedBase: observed.onMapBase,
      flowBase: flowBase - flowBeyondBase,
      priorBase: priorBase - this.#layPrior(profile, side, priorBase, beyond),
      beyond: beyond.build(side),
      withoutPriceBase: observed.withoutPriceBase,
    }
  }

  /**
   * Places the known positions of a side. None exceeds the open interest, and their sum is scaled down to it: replies
   * are up to half an hour old, and open interest may have fallen since.
   */
  #observe(side: Side, beyond: BeyondBuilder): ObservedTotals {
    const open = this.openInterestBase
    const positions = [...this.#tracker.observed.values()].filter(
      (position) => position.side === side && !this.#isReached(position),
    )
    const sumBase = positions.reduce((sum, { sizeBase }) => sum + Math.min(sizeBase, open), 0)
    const scale = sumBase > open ? open / sumBase : 1
    let [onMapBase, withoutPriceBase] = [0, 0]
    for (const { sizeBase: reportedBase, leverage, liquidationPrice } of positions) {
      const sizeBase = Math.min(reportedBase, open) * scale
      if (sizeBase === 0) continue
      const tier = tierOf(leverage, this.ladder)
      const row = tier < 0 ? BELOW_TIERS_ROW : tier
      if (liquidationPrice === null) withoutPriceBase += sizeBase
      else if (this.#placeObserved(row, side, liquidationPrice, sizeBase)) onMapBase += sizeBase
      else beyond.addObserved(row, liquidationPrice, sizeBase)
    }
    return { onMapBase, withoutPriceBase, allBase: Math.min(sumBase, open) }
  }

  /** The mark has reached its liquidation price since the reply. */
  #isReached({ side, liquidationPrice }: ObservedPosition): boolean {
    if (liquidationPrice === null) return false
    return side === 'long' ? liquidationPrice >= this.markPrice : liquidationPrice <= this.markPrice
  }

  /** @returns false for a price beyond the map */
  #placeObserved(row: number, side: Side, price: number, sizeBase: number): boolean {
    const { flow } = this.#tracker
    const [from, until] = [flow.from(side), flow.until(side)]
    const ownBucket = flow.bucketOf(price)
    // A price within the mark's own bucket belongs to the side's nearest one.
    const bucket = side === 'long' ? Math.min(ownBucket, until - 1) : Math.max(ownBucket, from)
    if (bucket < from || bucket >= until) return false
    const key = row * BUCKETS + bucket
    this.#add(key, sizeBase)
    this.#observedBase.set(key, (this.#observedBase.get(key) ?? 0) + sizeBase)
    return true
  }

  /** Places an estimated map, each size times `factor`. @returns the part beyond the map, in the coin's unit */
  #lay(map: ZoneMap, side: Side, factor: number, beyond: BeyondBuilder): number {
    map.addTo(this.sizesBase, side, factor)
    let beyondBase = 0
    for (const { tier, price, sizeBase } of map.beyond(side)) {
      beyond.add(tier, price, sizeBase * factor)
      beyondBase += sizeBase * factor
    }
    return beyondBase
  }

  #layPrior(profile: ZoneMap, side: Side, priorBase: number, beyond: BeyondBuilder): number {
    const profileBase = profile.total(side)
    if (profileBase > 0) return this.#lay(profile, side, priorBase / profileBase, beyond)
    this.#placeAtMark(side, priorBase)
    return 0
  }

  /** Without traded volume, positions are assumed to be opened at the mark. */
  #placeAtMark(side: Side, sizeBase: number): void {
    const { flow } = this.#tracker
    for (let tier = 0; tier < TIER_COUNT; tier += 1) {
      const terms = this.ladder[tier] as LeverageTier
      if (terms.share === 0) continue
      const factor = side === 'long' ? terms.longFactor : terms.shortFactor
      const bucket = flow.bucketOf(this.markPrice * factor)
      this.#add(tier * BUCKETS + bucket, sizeBase * terms.share)
    }
  }

  #add(key: number, sizeBase: number): void {
    this.sizesBase[key] = (this.sizesBase[key] as number) + sizeBase
  }
}
