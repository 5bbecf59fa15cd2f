import assert from 'node:assert/strict'
import type { Side } from './leverage-ladder.ts'
import { TIER_COUNT } from './leverage-ladder.ts'

/** Width of a bucket in log price: a quarter of a percent. */
const STEP = 0.0025
/** Range of the map, in multiples of the mark, to a bucket. */
export const MAP_MULTIPLES = { long: 0.45, short: 2.2 } as const
const LONG_REACH = Math.floor(-Math.log(MAP_MULTIPLES.long) / STEP)
const SHORT_REACH = Math.floor(Math.log(MAP_MULTIPLES.short) / STEP)
/** The grid holds the whole map while the mark moves by 8 % either way from its middle. */
export const BUCKETS = 704
const MARK_BUCKET_MIN = BUCKETS / 2 - 32
const MARK_BUCKET_MAX = BUCKETS / 2 + 32

/** Below this the common factor is multiplied out, and negligible sizes are removed. */
const SCALE_MIN = 0.5
const DUST_SHARE = 1e-9

const SIDES = ['long', 'short'] as const

const LAYOUT = 2
const HEADER_FIELDS = 4

/** Size of a tier at one price beyond the map. */
export type BeyondCell = {
  readonly tier: number
  readonly price: number
  readonly sizeBase: number
}

/**
 * Position sizes by liquidation price, in the coin's unit, for every leverage tier. One array holds both sides: longs
 * below the mark, shorts above it; the mark removes what it passes. A common factor makes shrinking cheap. Sizes beyond
 * the grid are kept by price and return to the grid when the mark comes near.
 */
export class ZoneMap {
  /** By tier, each from the lowest price up, without the common factor. Allocated up to `#tiers`. */
  #sizes = new Float64Array(0)
  /** By tier: sizes beyond the grid by absolute bucket (counted from price 1), without the common factor. */
  readonly #far = Array.from({ length: TIER_COUNT }, () => new Map<number, number>())
  #scale = 1
  /** Absolute number of the first bucket. NaN before any mark. */
  #origin = Number.NaN
  /** Number of buckets whose middle is below the mark. */
  #below = 0
  /** Tiers allocated from the lowest: most coins permit one. */
  #tiers = 0

  /** False before the first mark, when there are no sides. */
  get isPlaced(): boolean {
    return !Number.isNaN(this.#origin)
  }

  /** First bucket of a side that is on the map, counted from the bottom of the grid. */
  from(side: Side): number {
    return side === 'long' ? this.#below - LONG_REACH : this.#below
  }

  /** After the last bucket of a side that is on the map. */
  until(side: Side): number {
    return side === 'long' ? this.#below : this.#below + SHORT_REACH
  }

  /** Middle of a bucket, USD. */
  priceAt(bucket: number): number {
    return Math.exp((this.#origin + bucket + 0.5) * STEP)
  }

  /** Bucket of a liquidation price, on or beyond the map; the mark may have reached it. */
  bucketOf(price: number): number {
    return Math.floor(Math.log(price) / STEP) - this.#origin
  }

  sizeAt(tier: number, bucket: number): number {
    return (this.#sizes[tier * BUCKETS + bucket] ?? 0) * this.#scale
  }

  /** In the coin's unit, over all tiers, on and beyond the map. */
  total(side: Side): number {
    let sum = 0
    for (let tier = 0; tier < this.#tiers; tier += 1) {
      const end = tier * BUCKETS + this.#gridUntil(side)
      for (let at = tier * BUCKETS + this.#gridFrom(side); at < end; at += 1)
        sum += this.#sizes[at] as number
      for (const [absolute, size] of this.#far[tier] as Map<number, number>)
        if (this.#sideOf(absolute - this.#origin) === side) sum += size
    }
    return sum * this.#scale
  }

  /** Adds a side's sizes on the map, each times `factor`, to an array of the same layout. */
  addTo(sizes: Float64Array, side: Side, factor: number): void {
    const scaled = factor * this.#scale
    for (let tier = 0; tier < this.#tiers; tier += 1) {
      const end = tier * BUCKETS + this.until(side)
      for (let at = tier * BUCKETS + this.from(side); at < end; at += 1)
        sizes[at] = (sizes[at] as number) + (this.#sizes[at] as number) * scaled
    }
  }

  /** Sizes of a side beyond the map. */
  *beyond(side: Side): Generator<BeyondCell> {
    const [from, until] = side === 'long' ? [0, this.from('long')] : [this.until('short'), BUCKETS]
    for (let tier = 0; tier < this.#tiers; tier += 1) {
      for (let bucket = from; bucket < until; bucket += 1) {
        const size = this.#sizes[tier * BUCKETS + bucket] as number
        if (size > 0) yield { tier, price: this.priceAt(bucket), sizeBase: size * this.#scale }
      }
      for (const [absolute, size] of this.#far[tier] as Map<number, number>) {
        const bucket = absolute - this.#origin
        if (this.#sideOf(bucket) === side)
          yield { tier, price: this.priceAt(bucket), sizeBase: size * this.#scale }
      }
    }
  }

  /** Adds a size at a liquidation price; ignored if the mark is already beyond it. */
  open(tier: number, side: Side, price: number, sizeBase: number): void {
    const bucket = this.bucketOf(price)
    if (this.#sideOf(bucket) !== side) return
    this.#reach(tier)
    this.#add(tier, bucket, sizeBase / this.#scale)
  }

  /** Multiplies all sizes by a share, 0 to 1. */
  shrink(share: number): void {
    this.#scale *= share
    if (this.#scale < SCALE_MIN) this.#rescale()
  }

  /** Moves the mark and removes the sizes that it passes. */
  mark(price: number): void {
    const absolute = Math.ceil(Math.log(price) / STEP - 0.5)
    if (!this.isPlaced) {
      this.#origin = absolute - BUCKETS / 2
      this.#below = BUCKETS / 2
      return
    }
    const below = absolute - this.#origin
    if (below === this.#below) return
    this.#clear(Math.min(below, this.#below), Math.max(below, this.#below))
    this.#below = below
    if (below < MARK_BUCKET_MIN || below > MARK_BUCKET_MAX) this.#follow()
  }

  /** Removes the sizes that a price range liquidates on either side of the mark. */
  sweep(low: number, high: number): void {
    if (!this.isPlaced) return
    const firstLong = Math.ceil(Math.log(low) / STEP - 0.5) - this.#origin
    const lastShort = Math.floor(Math.log(high) / STEP - 0.5) - this.#origin
    this.#clear(firstLong, this.#below)
    this.#clear(this.#below, lastShort + 1)
  }

  /** Moves all sizes of one tier to another. */
  fold(tier: number, into: number): void {
    if (tier >= this.#tiers) return
    this.#reach(into)
    for (let bucket = 0; bucket < BUCKETS; bucket += 1)
      this.#add(into, bucket, this.#sizes[tier * BUCKETS + bucket] as number)
    this.#sizes.fill(0, tier * BUCKETS, (tier + 1) * BUCKETS)
    const far = this.#far[tier] as Map<number, number>
    for (const [absolute, size] of far) this.#add(into, absolute - this.#origin, size)
    far.clear()
  }

  /** By tier and side the run of buckets that are not empty: first, count, sizes; then sizes beyond the grid. */
  save(): Float64Array {
    const numbers = [LAYOUT, this.#scale, this.#origin, this.#below]
    for (let tier = 0; tier < TIER_COUNT; tier += 1) {
      for (const side of SIDES) {
        const start = this.#gridFrom(side)
        const sizes = this.#sizes.subarray(
          tier * BUCKETS + start,
          tier * BUCKETS + this.#gridUntil(side),
        )
        const first = sizes.findIndex((size) => size !== 0)
        const last = sizes.findLastIndex((size) => size !== 0)
        const held = first < 0 ? sizes.subarray(0, 0) : sizes.subarray(first, last + 1)
        numbers.push(start + Math.max(first, 0), held.length, ...held)
      }
    }
    for (const far of this.#far) numbers.push(far.size, ...[...far].flat())
    return Float64Array.from(numbers)
  }

  /** @returns false, and is empty, for numbers that {@link save} of this version did not produce */
  restore(saved: Float64Array): boolean {
    this.#forget()
    if (saved[0] !== LAYOUT || !this.#restoreSizes(saved)) {
      this.#forget()
      return false
    }
    this.#scale = saved[1] as number
    this.#origin = saved[2] as number
    this.#below = saved[3] as number
    return true
  }

  #forget(): void {
    this.#sizes = new Float64Array(0)
    for (const far of this.#far) far.clear()
    this.#scale = 1
    this.#origin = Number.NaN
    this.#below = 0
    this.#tiers = 0
  }

  #restoreSizes(saved: Float64Array): boolean {
    let at = HEADER_FIELDS
    for (let run = 0; run < TIER_COUNT * SIDES.length; run += 1) {
      const tier = Math.floor(run / SIDES.length)
      const first = saved[at] ?? Number.NaN
      const count = saved[at + 1] ?? Number.NaN
      const isWhole = first >= 0 && count >= 0 && first + count <= BUCKETS
      if (!isWhole || at + 2 + count > saved.length) return false
      if (count > 0) {
        this.#reach(tier)
        this.#sizes.set(saved.subarray(at + 2, at + 2 + count), tier * BUCKETS + first)
      }
      at += 2 + count
    }
    for (const [tier, far] of this.#far.entries()) {
      const end = at + 1 + 2 * (saved[at] ?? Number.NaN)
      if (!(end > at && end <= saved.length)) return false
      for (at += 1; at < end; at += 2) far.set(saved[at] as number, saved[at + 1] as number)
      if (far.size > 0) this.#reach(tier)
    }
    return at === saved.length
  }

  #gridFrom(side: Side): number {
    return side === 'long' ? 0 : this.#below
  }

  #gridUntil(side: Side): number {
    return side === 'long' ? this.#below : BUCKETS
  }

  #sideOf(bucket: number): Side {
    return bucket < this.#below ? 'long' : 'short'
  }

  /** @param size without the common factor */
  #add(tier: number, bucket: number, size: number): void {
    if (size === 0) return
    if (bucket >= 0 && bucket < BUCKETS) {
      const at = tier * BUCKETS + bucket
      this.#sizes[at] = (this.#sizes[at] as number) + size
    } else {
      const far = this.#far[tier] as Map<number, number>
      const absolute = bucket + this.#origin
      far.set(absolute, (far.get(absolute) ?? 0) + size)
    }
  }

  #reach(tier: number): void {
    if (tier < this.#tiers) return
    this.#tiers = tier + 1
    const sizes = new Float64Array(this.#tiers * BUCKETS)
    sizes.set(this.#sizes)
    this.#sizes = sizes
  }

  #clear(from: number, until: number): void {
    if (from < 0 || until > BUCKETS) this.#clearFar(from, until)
    const [first, end] = [Math.max(from, 0), Math.min(until, BUCKETS)]
    if (first >= end) return
    for (let tier = 0; tier < this.#tiers; tier += 1)
      this.#sizes.fill(0, tier * BUCKETS + first, tier * BUCKETS + end)
  }

  #clearFar(from: number, until: number): void {
    for (const far of this.#far)
      for (const absolute of far.keys()) {
        const bucket = absolute - this.#origin
        if (bucket >= from && bucket < until) far.delete(absolute)
      }
  }

  /** Moves the mark back to the middle. Sizes that leave the grid are kept by price. */
  #follow(): void {
    const shift = this.#below - BUCKETS / 2
    const moved = Math.min(Math.abs(shift), BUCKETS)
    const [lostFrom, vacatedFrom] = shift > 0 ? [0, BUCKETS - moved] : [BUCKETS - moved, 0]
    for (const [tier, far] of this.#far.entries()) {
      const sizes = this.#sizes.subarray(tier * BUCKETS, (tier + 1) * BUCKETS)
      for (let bucket = lostFrom; bucket < lostFrom + moved; bucket += 1) {
        const size = sizes[bucket] as number
        if (size > 0) far.set(this.#origin + bucket, size)
      }
      if (shift > 0) sizes.copyWithin(0, moved)
      else sizes.copyWithin(moved, 0)
      sizes.fill(0, vacatedFrom, vacatedFrom + moved)
    }
    this.#origin += shift
    this.#below = BUCKETS / 2
    assert(Number.isInteger(this.#origin), 'the grid moves by whole buckets')
    this.#regain()
  }

  /** Returns sizes to the grid that are within it again. */
  #regain(): void {
    for (const [tier, far] of this.#far.entries())
      for (const [absolute, size] of far) {
        const bucket = absolute - this.#origin
        if (bucket < 0 || bucket >= BUCKETS) continue
        this.#sizes[tier * BUCKETS + bucket] = size
        far.delete(absolute)
      }
  }

  #rescale(): void {
    let sum = this.#sizes.reduce((total, size) => total + size, 0)
    for (const far of this.#far) for (const size of far.values()) sum += size
    const dust = sum * DUST_SHARE
    for (let at = 0; at < this.#sizes.length; at += 1) {
      const size = this.#sizes[at] as number
      this.#sizes[at] = size > dust ? size * this.#scale : 0
    }
    for (const far of this.#far)
      for (const [absolute, size] of far) {
        const kept = size > dust ? size * this.#scale : 0
        if (kept > 0) far.set(absolute, kept)
        else far.delete(absolute)
      }
    this.#scale = 1
  }
}
