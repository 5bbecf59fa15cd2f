import type { CoinMarket } from '../market/coin-market.ts'
import type { LeverageTier, Side } from './leverage-ladder.ts'
import { leverageLadder, TIER_COUNT, tierOf } from './leverage-ladder.ts'
import type { LiquidationFlow } from './liquidation-flow.ts'
import { BUCKETS } from './zone-map.ts'

/** In the coin's unit. Together never more than the open interest. */
type SideTotals = {
  /** Positions of known accounts, with or without a liquidation price. */
  readonly observedBase: number
  /** Of which the opening was seen, as far as it is not observed as a position. */
  readonly flowBase: number
  /** The rest, which the traded volume stands for. */
  readonly priorBase: number
}

/**
 * All open interest of a coin by the price that liquidates it, as known at one instant. On either side it
 * is made of three: positions of known accounts at their true prices; what was seen opening, less the same
 * share that the known accounts have of everything; and for the rest of the open interest the profile of
 * the traded volume.
 */
export class Exposure {
  readonly openInterestBase: number
  readonly markPrice: number
  readonly ladder: readonly LeverageTier[]
  readonly totals: Readonly<Record<Side, SideTotals>>
  /** In the coin's unit, tier after tier, each by bucket. */
  readonly sizesBase = new Float64Array(TIER_COUNT * BUCKETS)
  /** Of these, the sizes of known accounts; sparse. */
  readonly observedBase: ReadonlyMap<number, number>
  readonly #observedBase = new Map<number, number>()
  readonly #tracker: LiquidationFlow

  /** @returns null before open interest and mark are known */
  static of({ listing, trackers: { liquidations } }: CoinMarket): Exposure | null {
    const { openInterestBase, markPrice, ladder } = liquidations
    const isKnown = openInterestBase >= 0 && markPrice > 0 && liquidations.flow.isPlaced
    if (!isKnown) return null
    // One that was restored has not met its listing before its first event.
    return new Exposure(liquidations, ladder.length > 0 ? ladder : leverageLadder(listing))
  }

  private constructor(tracker: LiquidationFlow, ladder: readonly LeverageTier[]) {
    this.#tracker = tracker
    this.openInterestBase = tracker.openInterestBase
    this.markPrice = tracker.markPrice
    this.ladder = ladder
    this.observedBase = this.#observedBase
    this.totals = { long: this.#side('long'), short: this.#side('short') }
  }

  /** First bucket of a side. */
  from(side: Side): number {
    return this.#tracker.flow.from(side)
  }

  /** Behind the last bucket of a side. */
  until(side: Side): number {
    return this.#tracker.flow.until(side)
  }

  /** USD. */
  priceAt(bucket: number): number {
    return this.#tracker.flow.priceAt(bucket)
  }

  #side(side: Side): SideTotals {
    const { flow, profile } = this.#tracker
    const open = this.openInterestBase
    const observedBase = this.#observe(side)
    const restShare = open > 0 ? Math.max(0, 1 - observedBase / open) : 0
    const flowBase = Math.min(flow.total(side), open) * restShare
    const isEstimated = this.ladder.some(({ isPermitted }) => isPermitted)
    const priorBase = isEstimated ? Math.max(0, open * restShare - flowBase) : 0
    const profileBase = profile.total(side)
    // Both maps have seen the same marks, and so have the same buckets.
    flow.addTo(this.sizesBase, side, restShare)
    if (profileBase > 0) profile.addTo(this.sizesBase, side, priorBase / profileBase)
    else this.#place(side, priorBase)
    return { observedBase, flowBase, priorBase }
  }

  /** Places the known positions of a side, scaled down where they are more than there can be. */
  #observe(side: Side): number {
    const { flow, observed } = this.#tracker
    const positions = [...observed.values()].filter((position) => position.side === side)
    const sumBase = positions.reduce((sum, { sizeBase }) => sum + sizeBase, 0)
    const scale = sumBase > this.openInterestBase ? this.openInterestBase / sumBase : 1
    for (const { sizeBase, leverage, liquidationPrice } of positions) {
      if (liquidationPrice === null || !(liquidationPrice > 0)) continue
      const tier = Math.max(0, tierOf(leverage, this.ladder))
      const bucket = flow.bucketOf(side, liquidationPrice)
      if (bucket < 0) continue
      const key = tier * BUCKETS + bucket
      this.#add(key, sizeBase * scale)
      this.#observedBase.set(key, (this.#observedBase.get(key) ?? 0) + sizeBase * scale)
    }
    return sumBase * scale
  }

  /** Nothing is known of where it was opened: at the mark. */
  #place(side: Side, sizeBase: number): void {
    for (let tier = 0; tier < TIER_COUNT; tier += 1) {
      const terms = this.ladder[tier] as LeverageTier
      if (terms.share === 0) continue
      const factor = side === 'long' ? terms.longFactor : terms.shortFactor
      const bucket = this.#tracker.flow.bucketOf(side, this.markPrice * factor)
      if (bucket >= 0) this.#add(tier * BUCKETS + bucket, sizeBase * terms.share)
    }
  }

  #add(key: number, sizeBase: number): void {
    this.sizesBase[key] = (this.sizesBase[key] as number) + sizeBase
  }
}
