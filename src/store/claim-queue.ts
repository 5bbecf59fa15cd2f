import type { ResolvedClaim } from '../domain/track-record.ts'

/** Claims that may wait for the disk: more than a day of 230 coins, 8 MB. */
const CLAIMS_MAX = 16_384

/** Resolved claims that wait for the disk. A full queue drops the oldest ones. */
export class ClaimQueue {
  readonly #claims: ResolvedClaim[] = []
  #dropped = 0

  /** Number of claims that wait. */
  get length(): number {
    return this.#claims.length
  }

  /** Claims lost before they reached the disk. */
  get dropped(): number {
    return this.#dropped
  }

  /** @param dropped number of claims that were lost before they came here */
  add(claims: readonly ResolvedClaim[], dropped: number): void {
    this.#claims.push(...claims)
    const excess = Math.max(0, this.#claims.length - CLAIMS_MAX)
    this.#claims.splice(0, excess)
    this.#dropped += excess + dropped
  }

  /** The oldest ones. */
  next(count: number): readonly ResolvedClaim[] {
    return this.#claims.slice(0, count)
  }

  /** Removes the oldest ones, which are on disk. */
  remove(count: number): void {
    this.#claims.splice(0, count)
  }
}
