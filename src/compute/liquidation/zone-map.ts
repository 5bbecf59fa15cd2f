import assert from 'node:assert/strict'
import type { Side } from './leverage-ladder.ts'
import { TIER_COUNT } from './leverage-ladder.ts'

/** Width of a bucket in log price: a quarter of a percent. */
const STEP = 0.0025
/** The map reaches from the lower to the upper of these multiples of the mark, to a bucket. */
export const MAP_MULTIPLES = { long: 0.45, short: 2.2 } as const
const LONG_REACH = Math.floor(-Math.log(MAP_MULTIPLES.long) / STEP)
const SHORT_REACH = Math.floor(Math.log(MAP_MULTIPLES.short) / STEP)
/** The grid holds the whole map while the mark moves by 8 % either way from its middle. */
export const BUCKETS = 704
const MARK_BUCKET_MIN = BUCKETS / 2 - 32
const MARK_BUCKET_MAX = BUCKETS / 2 + 32

/** Below this the common factor is multiplied out, and what is dust by then is dropped. */
const SCALE_MIN = 0.5
const DUST_SHARE = 1e-9

const SIDES = ['long', 'short'] as const

const LAYOUT = 2
const HEADER_FIELDS = 4

/** What one price beyond the map liquidates of a tier. */
export type BeyondCell = {
  readonly tier: number
  readonly price: number
  readonly sizeBase: number
}

/**
 * Exposure by the price that liquidates it, in the coin's unit, for every leverage tier. One array serves
 * both sides: what lies below the mark are longs, what lies above are shorts, and what the mark has gone
 * over is gone. Shrinking is one multiplication, whatever is held. What the grid does not reach is kept by
 * its own price, and comes back onto the grid when the mark comes near it.
 */
export class ZoneMap {
  /**
   * Tier after tier, each from the lowest price up; to be multiplied by `#scale`. Reaches as far as `#tiers`, which
   * is one for most coins.
   */
  #sizes = new Float64Array(0)
  /** Per tier what lies off the grid, by the number of its bucket counted from price 1; scaled alike. */
  readonly #far = Array.from({ length: TIER_COUNT }, () => new Map<number, number>())
  #scale = 1
  /** Number of the first bucket, counted from price 1. NaN before any mark. */
  #origin = Number.NaN
  /** Buckets whose middle lies below the mark. */
  #below = 0
  /** Tiers from the lowest that ever held something: most coins permit one. */
  #tiers = 0

  /** False before the first mark: there is no side to open anything on. */
  get isPlaced(): boolean {
    return !Number.isNaN(this.#origin)
  }

  /** First bucket of a side that is on the map, counted from the bottom of the grid. */
  from(side: Side): number {
    return side === 'long' ? this.#below - LONG_REACH : this.#below
  }

  /** Behind the last bucket of a side that is on the map. */
  until(side: Side): number {
    return side === 'long' ? this.#below : this.#below + SHORT_REACH
  }

  /** Middle of a bucket, USD. */
  priceAt(bucket: number): number {
    return Math.exp((this.#origin + bucket + 0.5) * STEP)
  }

  /** Where a liquidation price lies, on or beyond the map; it may have been reached already. */
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

  /** Adds a side's sizes on the map, each times `factor`, to those of an array of the same layout. */
  addTo(sizes: Float64Array, side: Side, factor: number): void {
    const scaled = factor * this.#scale
    for (let tier = 0; tier < this.#tiers; tier += 1) {
      const end = tier * BUCKETS + this.until(side)
      for (let at = tier * BUCKETS + this.from(side); at < end; at += 1)
        sizes[at] = (sizes[at] as number) + (this.#sizes[at] as number) * scaled
    }
  }

  /** What a side holds beyond the map. */
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

  /** Adds exposure that a price liquidates; nothing where the mark is beyond that price already. */
  open(tier: number, side: Side, price: number, sizeBase: number): void {
    const bucket = this.bucketOf(price)
    if (this.#sideOf(bucket) !== side) return
    this.#reach(tier)
    this.#add(tier, bucket, sizeBase / this.#scale)
  }

  /** Keeps this share of everything, 0 to 1. */
  shrink(share: number): void {
    this.#scale *= share
    if (this.#scale < SCALE_MIN) this.#rescale()
  }

  /** Moves the mark, and takes away what it goes over. */
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

  /** Takes away what a price range would have liquidated on either side of the mark. */
  sweep(low: number, high: number): void {
    if (!this.isPlaced) return
    const firstLong = Math.ceil(Math.log(low) / STEP - 0.5) - this.#origin
    const lastShort = Math.floor(Math.log(high) / STEP - 0.5) - this.#origin
    this.#clear(firstLong, this.#below)
    this.#clear(this.#below, lastShort + 1)
  }

  /** Hands everything of one tier to another. */
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

  /** Per tier and side the run of buckets that hold something: first, count, sizes; then what lies off the grid. */
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
        const held = first < 0 ? sizes.subarray(0, 0) : sizes.subarray(first, lastHeld(sizes) + 1)
        numbers.push(start + Math.max(first, 0), held.length, ...held)
      }
    }
    for (const far of this.#far) numbers.push(far.size, ...[...far].flat())
    return Float64Array.from(numbers)
  }

  /** @returns false, and holds nothing, for numbers that {@link save} of this version did not give */
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

  /** `size` is to be multiplied by the common factor. */
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

  /** Puts the mark back into the middle. What falls off an end is kept by its price. */
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

  /** Puts back onto the grid what lies on it by now. */
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

function lastHeld(sizes: Float64Array): number {
  return sizes.findLastIndex((size) => size !== 0)
}
