import { backOffMs } from '../../../domain/back-off.ts'
import { BoundedMap } from '../../../domain/bounded-map.ts'
import { ACCOUNT_WEIGHT } from './weight-budget.ts'

/** Each account is requested once per round. */
export const ROUND_MS = 600_000
/** Share of a round for accounts with known positions. */
const HOLDERS_SHARE = 2 / 3
/** Period for an account without positions. */
const EMPTY_MS = 3_600_000
/** More accounts than a round requests. */
const ASKED_MAX = 2_048
/** Upper bound per round, which bounds the memory of the engine. */
const PLACES_MAX = 400
const BACK_OFF = { minMs: 5_000, maxMs: 300_000 }
const MINUTE_MS = 60_000

type Requested = {
  readonly atMs: number
  /** Notional of all positions; null before a reply. */
  readonly heldUsd: number | null
  readonly dueMs: number
}

/**
 * Chooses the account whose positions are requested next, within a weight budget. Most of a round goes to the largest
 * holders, because an account can be liquidated without trading; the remainder goes to the largest traders.
 */
export class AccountRotation {
  readonly #spacingMs: number
  /** Accounts of one round. */
  readonly #places: number
  readonly #requested = new BoundedMap<string, Requested>(ASKED_MAX)
  #nextMs: number
  #failures = 0

  /** @param weightPerMinute the budget; 0 for none */
  constructor(weightPerMinute: number, nowMs: number) {
    this.#spacingMs = (MINUTE_MS * ACCOUNT_WEIGHT) / weightPerMinute
    this.#places = Math.min(PLACES_MAX, Math.floor(ROUND_MS / this.#spacingMs))
    this.#nextMs = nowMs
  }

  /**
   * @param traders the largest traders first
   * @returns the account that is due, which counts as requested
   */
  next(traders: (count: number) => readonly string[], nowMs: number): string | undefined {
    if (this.#places === 0 || nowMs < this.#nextMs) return undefined
    this.#nextMs = nowMs + this.#spacingMs
    const account = this.#leastRecent(traders, nowMs)
    if (account === undefined) return undefined
    const heldUsd = this.#requested.get(account)?.heldUsd ?? null
    this.#requested.set(account, { atMs: nowMs, heldUsd, dueMs: nowMs + ROUND_MS })
    return account
  }

  /** @param heldUsd notional of all positions; 0 for none */
  answered(account: string, heldUsd: number, nowMs: number): void {
    this.#failures = 0
    const pauseMs = heldUsd > 0 ? ROUND_MS : EMPTY_MS
    this.#requested.set(account, { atMs: nowMs, heldUsd, dueMs: nowMs + pauseMs })
  }

  /**
   * All accounts wait: the failure is the venue's, not the account's.
   * @param chance uniform in [0, 1)
   */
  failed(nowMs: number, chance: number): void {
    this.#failures += 1
    this.#nextMs = nowMs + backOffMs(BACK_OFF, this.#failures, chance)
  }

  #leastRecent(traders: (count: number) => readonly string[], nowMs: number): string | undefined {
    const places = new Set(this.#holders())
    for (const account of traders(2 * this.#places)) {
      if (places.size >= this.#places) break
      const isEmpty = this.#requested.get(account)?.heldUsd === 0
      if (!isEmpty || this.#isDue(account, nowMs)) places.add(account)
    }
    let next: string | undefined
    let nextAtMs = Number.POSITIVE_INFINITY
    for (const account of places) {
      const atMs = this.#requested.get(account)?.atMs ?? Number.NEGATIVE_INFINITY
      if (atMs >= nextAtMs || !this.#isDue(account, nowMs)) continue
      next = account
      nextAtMs = atMs
    }
    return next
  }

  /** The largest holders with a reserved place. */
  #holders(): readonly string[] {
    const holders: [account: string, heldUsd: number][] = []
    for (const [account, { heldUsd }] of this.#requested)
      if (heldUsd !== null && heldUsd > 0) holders.push([account, heldUsd])
    return holders
      .toSorted(([, one], [, other]) => other - one)
      .slice(0, Math.floor(this.#places * HOLDERS_SHARE))
      .map(([account]) => account)
  }

  #isDue(account: string, nowMs: number): boolean {
    return (this.#requested.get(account)?.dueMs ?? Number.NEGATIVE_INFINITY) <= nowMs
  }
}
