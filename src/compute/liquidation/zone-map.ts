import assert from 'node:assert/strict'
import type { Side } from './leverage-ladder.ts'
import { TIER_COUNT } from './leverage-ladder.ts'

/** Width of a bucket in log price: a quarter of a percent. */
const STEP = 0.0025
/** 1.6 in log price, so that at least 47 % below and 90 % above the mark have their place. */
export const BUCKETS = 640
/** The grid follows when the mark has left its middle fifth. */
const MARK_BUCKET_MIN = 0.4 * BUCKETS
const MARK_BUCKET_MAX = 0.6 * BUCKETS

/** Below this the common factor is multiplied out, and what is dust by then is dropped. */
const SCALE_MIN = 0.5
const DUST_SHARE = 1e-9

const SIDES = ['long', 'short'] as const

const LAYOUT = 1
const HEADER_FIELDS = 4

/**
 * Exposure by the price that liquidates it, in the coin's unit, for every leverage tier. One array serves
 * both sides: what lies below the mark are longs, what lies above are shorts, and what the mark has gone
 * over is gone. Shrinking is one multiplication, whatever is held.
 */
export class ZoneMap {
  /** Tier after tier, each from the lowest price up; to be multiplied by `#scale`. */
  readonly #sizes = new Float64Array(TIER_COUNT * BUCKETS)
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

  /** First bucket of a side, counted from the bottom of the grid. */
  from(side: Side): number {
    return side === 'long' ? 0 : this.#below
  }

  /** Behind the last bucket of a side. */
  until(side: Side): number {
    return side === 'long' ? this.#below : BUCKETS
  }

  /** Middle of a bucket, USD. */
  priceAt(bucket: number): number {
    return Math.exp((this.#origin + bucket + 0.5) * STEP)
  }

  /** Where a liquidation price lies, the outermost bucket where it lies beyond; -1 on the wrong side of the mark. */
  bucketOf(side: Side, price: number): number {
    const bucket = Math.floor(Math.log(price) / STEP) - this.#origin
    const isBelow = bucket < this.#below
    if (!(isBelow === (side === 'long'))) return -1
    return Math.min(Math.max(bucket, 0), BUCKETS - 1)
  }

  sizeAt(tier: number, bucket: number): number {
    return (this.#sizes[tier * BUCKETS + bucket] as number) * this.#scale
  }

  /** In the coin's unit, over all tiers. */
  total(side: Side): number {
    let sum = 0
    for (let tier = 0; tier < this.#tiers; tier += 1) {
      const end = tier * BUCKETS + this.until(side)
      for (let at = tier * BUCKETS + this.from(side); at < end; at += 1)
        sum += this.#sizes[at] as number
    }
    return sum * this.#scale
  }

  /** Adds a side's sizes, each times `factor`, to those of an array of the same layout. */
  addTo(sizes: Float64Array, side: Side, factor: number): void {
    const scaled = factor * this.#scale
    for (let tier = 0; tier < this.#tiers; tier += 1) {
      const end = tier * BUCKETS + this.until(side)
      for (let at = tier * BUCKETS + this.from(side); at < end; at += 1)
        sizes[at] = (sizes[at] as number) + (this.#sizes[at] as number) * scaled
    }
  }

  /** Adds exposure that a price liquidates; nothing where the mark is beyond that price already. */
  open(tier: number, side: Side, price: number, sizeBase: number): void {
    const bucket = this.bucketOf(side, price)
    if (bucket < 0) return
    const at = tier * BUCKETS + bucket
    this.#sizes[at] = (this.#sizes[at] as number) + sizeBase / this.#scale
    if (tier >= this.#tiers) this.#tiers = tier + 1
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
    for (let bucket = 0; bucket < BUCKETS; bucket += 1) {
      const at = into * BUCKETS + bucket
      this.#sizes[at] =
        (this.#sizes[at] as number) + (this.#sizes[tier * BUCKETS + bucket] as number)
      this.#sizes[tier * BUCKETS + bucket] = 0
    }
  }

  /** Per tier and side the run of buckets that hold something: first, count, sizes. */
  save(): Float64Array {
    const numbers = [LAYOUT, this.#scale, this.#origin, this.#below]
    for (let tier = 0; tier < TIER_COUNT; tier += 1) {
      for (const side of SIDES) {
        const start = this.from(side)
        const sizes = this.#sizes.subarray(
          tier * BUCKETS + start,
          tier * BUCKETS + this.until(side),
        )
        const first = sizes.findIndex((size) => size !== 0)
        const held = first < 0 ? sizes.subarray(0, 0) : sizes.subarray(first, lastHeld(sizes) + 1)
        numbers.push(start + Math.max(first, 0), held.length, ...held)
      }
    }
    return Float64Array.from(numbers)
  }

  /** @returns false, and holds nothing, for numbers that {@link save} of this version did not give */
  restore(saved: Float64Array): boolean {
    this.#sizes.fill(0)
    this.#scale = 1
    this.#origin = Number.NaN
    this.#below = 0
    this.#tiers = 0
    if (saved[0] !== LAYOUT || !this.#restoreSizes(saved)) {
      this.#sizes.fill(0)
      return false
    }
    this.#scale = saved[1] as number
    this.#origin = saved[2] as number
    this.#below = saved[3] as number
    return true
  }

  #restoreSizes(saved: Float64Array): boolean {
    let at = HEADER_FIELDS
    for (let run = 0; run < TIER_COUNT * SIDES.length; run += 1) {
      const tier = Math.floor(run / SIDES.length)
      const first = saved[at] ?? Number.NaN
      const count = saved[at + 1] ?? Number.NaN
      const isWhole = first >= 0 && count >= 0 && first + count <= BUCKETS
      if (!isWhole || at + 2 + count > saved.length) return false
      this.#sizes.set(saved.subarray(at + 2, at + 2 + count), tier * BUCKETS + first)
      if (count > 0) this.#tiers = tier + 1
      at += 2 + count
    }
    return at === saved.length
  }

  #clear(from: number, until: number): void {
    const [first, end] = [Math.max(from, 0), Math.min(until, BUCKETS)]
    if (first >= end) return
    for (let tier = 0; tier < TIER_COUNT; tier += 1)
      this.#sizes.fill(0, tier * BUCKETS + first, tier * BUCKETS + end)
  }

  /** Puts the mark back into the middle. What would fall off an end gathers in the outermost bucket. */
  #follow(): void {
    const shift = this.#below - BUCKETS / 2
    for (let tier = 0; tier < TIER_COUNT; tier += 1) {
      const sizes = this.#sizes.subarray(tier * BUCKETS, (tier + 1) * BUCKETS)
      const moved = Math.min(Math.abs(shift), BUCKETS)
      const lost = shift > 0 ? sizes.subarray(0, moved) : sizes.subarray(BUCKETS - moved)
      const gathered = lost.reduce((sum, size) => sum + size, 0)
      if (shift > 0) sizes.copyWithin(0, moved)
      else sizes.copyWithin(moved, 0)
      const vacated = shift > 0 ? sizes.subarray(BUCKETS - moved) : sizes.subarray(0, moved)
      vacated.fill(0)
      const edge = shift > 0 ? 0 : BUCKETS - 1
      sizes[edge] = (sizes[edge] as number) + gathered
    }
    this.#origin += shift
    this.#below = BUCKETS / 2
    assert(Number.isInteger(this.#origin), 'the grid moves by whole buckets')
  }

  #rescale(): void {
    const dust = this.#sizes.reduce((sum, size) => sum + size, 0) * DUST_SHARE
    for (let at = 0; at < this.#sizes.length; at += 1) {
      const size = this.#sizes[at] as number
      this.#sizes[at] = size > dust ? size * this.#scale : 0
    }
    this.#scale = 1
  }
}

function lastHeld(sizes: Float64Array): number {
  return sizes.findLastIndex((size) => size !== 0)
}
