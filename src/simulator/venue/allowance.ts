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

  constructor(limits: VenueLimits, nowMs: number) {
    this.restWeight = new Allowance(limits.restWeightPerMinute, nowMs)
    this.messages = new Allowance(limits.messagesPerMinute, nowMs)
    this.newConnections = new Allowance(limits.newConnectionsPerMinute, nowMs)
  }
}
