import assert from 'node:assert/strict'
import type { VenueLimits } from './limits.ts'

const MINUTE_MS = 60_000

type Taken = { readonly atMs: number; amount: number }

/**
 * A limit for every 60 seconds. A token bucket would allow twice as much in its first minute. A later charge may exceed
 * the limit.
 */
export class MinuteAllowance {
  readonly #perMinute: number
  /**
   * By time, one entry an instant: never more than are allowed a minute, and as many again that are over.
   * Those are before `#oldest`, and cut off when they are half of all.
   */
  #taken: Taken[] = []
  #oldest = 0
  #used = 0

  constructor(perMinute: number) {
    this.#perMinute = perMinute
  }

  /** @returns false, and takes nothing, when less than `amount` is left. */
  take(amount: number, nowMs: number): boolean {
    this.#forget(nowMs - MINUTE_MS)
    if (this.#used + amount > this.#perMinute) return false
    const newest = this.#taken.at(-1)
    if (newest?.atMs === nowMs) newest.amount += amount
    else this.#taken.push({ atMs: nowMs, amount })
    this.#used += amount
    return true
  }

  /** On top of what was taken last. */
  charge(amount: number): void {
    const newest = this.#taken.at(-1)
    assert(newest !== undefined, 'something was taken before')
    newest.amount += amount
    this.#used += amount
  }

  #forget(throughMs: number): void {
    for (;;) {
      const taken = this.#taken[this.#oldest]
      if (taken === undefined || taken.atMs > throughMs) break
      this.#used -= taken.amount
      this.#oldest++
    }
    if (2 * this.#oldest <= this.#taken.length) return
    this.#taken = this.#taken.slice(this.#oldest)
    this.#oldest = 0
  }
}

/** Limits and current use of one client address. */
export class AddressUse {
  readonly restWeight: MinuteAllowance
  readonly messages: MinuteAllowance
  readonly newConnections: MinuteAllowance
  connections = 0
  subscriptions = 0
  pendingPosts = 0
  /** Subscriptions by user. */
  readonly #users = new Map<string, number>()

  constructor(limits: VenueLimits) {
    this.restWeight = new MinuteAllowance(limits.restWeightPerMinute)
    this.messages = new MinuteAllowance(limits.messagesPerMinute)
    this.newConnections = new MinuteAllowance(limits.newConnectionsPerMinute)
  }

  /** @returns false when that would be one user too many. */
  trackUser(user: string, usersMax: number): boolean {
    const count = this.#users.get(user)
    if (count === undefined && this.#users.size >= usersMax) return false
    this.#users.set(user, (count ?? 0) + 1)
    return true
  }

  untrackUser(user: string): void {
    const count = this.#users.get(user) ?? 0
    if (count > 1) this.#users.set(user, count - 1)
    else this.#users.delete(user)
  }
}
