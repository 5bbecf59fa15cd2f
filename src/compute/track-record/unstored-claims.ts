import type { ResolvedClaim } from '../../domain/track-record.ts'
import type { MarketTracker } from '../market/market-state.ts'
import { marketTracker } from '../market/market-state.ts'
import { resolvedFromNumbers, resolvedToNumbers } from './saved-claims.ts'

/** More than a day of 230 coins, 8 MB. */
const CLAIMS_MAX = 16_384

/**
 * Resolved claims until history has stored them, oldest first. They are saved, because an engine that is killed while
 * history cannot be written would lose them: they are open no longer. Above the bound the oldest ones are dropped.
 */
export class UnstoredClaims implements MarketTracker {
  #claims: ResolvedClaim[] = []
  #dropped = 0
  /** The claims as numbers, kept until they change: a checkpoint is written every few seconds. */
  #numbers: Float64Array | null = null

  get length(): number {
    return this.#claims.length
  }

  /** Claims that are lost because history did not store them in time. */
  get dropped(): number {
    return this.#dropped
  }

  add(claim: ResolvedClaim): void {
    this.#numbers = null
    this.#claims.push(claim)
    if (this.#claims.length <= CLAIMS_MAX) return
    this.#claims.shift()
    this.#dropped += 1
  }

  /** The oldest ones. */
  next(count: number): readonly ResolvedClaim[] {
    return this.#claims.slice(0, count)
  }

  /** Removes the oldest ones, which are stored. */
  remove(count: number): void {
    this.#numbers = null
    this.#claims.splice(0, count)
  }

  advance(): void {}

  save(): Float64Array {
    this.#numbers ??= resolvedToNumbers(this.#claims)
    return this.#numbers
  }

  restore(saved: Float64Array): boolean {
    const claims = resolvedFromNumbers(saved)
    if (claims === null) return false
    this.#numbers = null
    this.#claims = claims
    return true
  }
}

export const unstoredClaims = marketTracker('market/unstored-claims', () => new UnstoredClaims())
