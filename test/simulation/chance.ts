import assert from 'node:assert/strict'
import { noiseKey, uniform } from '../../src/simulator/market/noise.ts'

/** Seeded randomness of a run. Streams of different names are independent. */
export class Chance {
  readonly #key: number
  #drawn = 0

  constructor(seed: number, name: string) {
    this.#key = noiseKey(seed, 'simulation', name)
  }

  /** Uniform in [0, 1). */
  readonly next = (): number => {
    this.#drawn += 1
    return uniform(this.#key, this.#drawn)
  }

  between(min: number, max: number): number {
    return min + (max - min) * this.next()
  }

  /** An integer, both ends included. */
  integer(min: number, max: number): number {
    return Math.floor(this.between(min, max + 1))
  }

  is(share: number): boolean {
    return this.next() < share
  }

  pick<T>(from: readonly T[]): T {
    const picked = from[Math.floor(this.next() * from.length)]
    assert(picked !== undefined, 'nothing to pick from')
    return picked
  }
}
