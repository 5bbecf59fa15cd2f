import type { VenueLimits } from './limits.ts'

const MINUTE_MS = 60_000

/** A bucket that refills evenly over a minute. What is charged afterwards may leave it in debt. */
export class Allowance {
  readonly #perMinute: number
  #left: number
  #atMs: number

  constructor(perMinute: number, nowMs: number) {
    this.#perMinute = perMinute
    this.#left = perMinute
    this.#atMs = nowMs
  }

  /** @returns false, and takes nothing, when less than `amount` is left. */
  take(amount: number, nowMs: number): boolean {
    const refill = ((nowMs - this.#atMs) * this.#perMinute) / MINUTE_MS
    this.#left = Math.min(this.#perMinute, this.#left + refill)
    this.#atMs = nowMs
    if (this.#left < amount) return false
    this.#left -= amount
    return true
  }

  charge(amount: number): void {
    this.#left -= amount
  }
}

/** What one client address has in use. */
export class AddressUse {
  readonly restWeight: Allowance
  readonly messages: Allowance
  readonly newConnections: Allowance
  connections = 0
  subscriptions = 0
  pendingPosts = 0
  /** Subscriptions by user. */
  readonly #users = new Map<string, number>()

  constructor(limits: VenueLimits, nowMs: number) {
    this.restWeight = new Allowance(limits.restWeightPerMinute, nowMs)
    this.messages = new Allowance(limits.messagesPerMinute, nowMs)
    this.newConnections = new Allowance(limits.newConnectionsPerMinute, nowMs)
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
