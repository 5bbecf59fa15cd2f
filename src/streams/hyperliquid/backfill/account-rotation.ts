import { backOffMs } from '../../../domain/back-off.ts'
import { ACCOUNT_WEIGHT } from './weight-budget.ts'

/** How old what we know of an account may become before it is asked again. */
export const ROUND_MS = 600_000
/** Share of a round that goes to accounts of which we know that they hold something. */
const HOLDERS_SHARE = 2 / 3
/** An account without positions is not asked again for so long. */
const EMPTY_MS = 3_600_000
/** Accounts that were asked lately and are remembered; more than a round ever asks. */
const ASKED_MAX = 2_048
/** Of one round, however much may be spent: what the engine remembers is bounded. */
const PLACES_MAX = 400
const BACK_OFF = { minMs: 5_000, maxMs: 300_000 }
const MINUTE_MS = 60_000

type Asked = {
  readonly atMs: number
  /** Of all positions; null where no reply has told yet. */
  readonly heldUsd: number | null
  readonly dueMs: number
}

/**
 * Which account's positions are asked next: within a budget of weight, one after the other, each once a
 * round. Most of a round belongs to the accounts that hold the most, because an account need not trade
 * to be liquidated; the rest goes to those that trade the most, and may turn out to hold something.
 */
export class AccountRotation {
  readonly #spacingMs: number
  /** Accounts of one round. */
  readonly #places: number
  readonly #asked = new Map<string, Asked>()
  #nextMs: number
  #failures = 0

  /** @param weightPerMinute what may be spent on it; 0 for nothing */
  constructor(weightPerMinute: number, nowMs: number) {
    this.#spacingMs = (MINUTE_MS * ACCOUNT_WEIGHT) / weightPerMinute
    this.#places = Math.min(PLACES_MAX, Math.floor(ROUND_MS / this.#spacingMs))
    this.#nextMs = nowMs
  }

  /**
   * @param traders by what they traded, the largest first
   * @returns the account that is due, if one is; it counts as asked
   */
  next(traders: (count: number) => readonly string[], nowMs: number): string | undefined {
    if (this.#places === 0 || nowMs < this.#nextMs) return undefined
    this.#nextMs = nowMs + this.#spacingMs
    const account = this.#longestUnasked(traders, nowMs)
    if (account === undefined) return undefined
    const heldUsd = this.#asked.get(account)?.heldUsd ?? null
    this.#note(account, { atMs: nowMs, heldUsd, dueMs: nowMs + ROUND_MS })
    return account
  }

  /** @param heldUsd of all its positions; 0 and it has none */
  answered(account: string, heldUsd: number, nowMs: number): void {
    this.#failures = 0
    const pauseMs = heldUsd > 0 ? ROUND_MS : EMPTY_MS
    this.#note(account, { atMs: nowMs, heldUsd, dueMs: nowMs + pauseMs })
  }

  /**
   * The account waits for its next round, and all others a while: who did not answer is the venue.
   * @param chance uniform in [0, 1)
   */
  failed(nowMs: number, chance: number): void {
    this.#failures += 1
    this.#nextMs = nowMs + backOffMs(BACK_OFF, this.#failures, chance)
  }

  #longestUnasked(
    traders: (count: number) => readonly string[],
    nowMs: number,
  ): string | undefined {
    const places = new Set(this.#holders())
    for (const account of traders(2 * this.#places)) {
      if (places.size >= this.#places) break
      const isEmpty = this.#asked.get(account)?.heldUsd === 0
      if (!isEmpty || this.#isDue(account, nowMs)) places.add(account)
    }
    let next: string | undefined
    let nextAtMs = Number.POSITIVE_INFINITY
    for (const account of places) {
      const atMs = this.#asked.get(account)?.atMs ?? Number.NEGATIVE_INFINITY
      if (atMs >= nextAtMs || !this.#isDue(account, nowMs)) continue
      next = account
      nextAtMs = atMs
    }
    return next
  }

  /** The largest, as many as have a place for sure. */
  #holders(): readonly string[] {
    const holders: [account: string, heldUsd: number][] = []
    for (const [account, { heldUsd }] of this.#asked)
      if (heldUsd !== null && heldUsd > 0) holders.push([account, heldUsd])
    return holders
      .toSorted(([, one], [, other]) => other - one)
      .slice(0, Math.floor(this.#places * HOLDERS_SHARE))
      .map(([account]) => account)
  }

  #isDue(account: string, nowMs: number): boolean {
    return (this.#asked.get(account)?.dueMs ?? Number.NEGATIVE_INFINITY) <= nowMs
  }

  #note(account: string, asked: Asked): void {
    this.#asked.delete(account)
    this.#asked.set(account, asked)
    const [oldest] = this.#asked.keys()
    if (this.#asked.size > ASKED_MAX && oldest !== undefined) this.#asked.delete(oldest)
  }
}
