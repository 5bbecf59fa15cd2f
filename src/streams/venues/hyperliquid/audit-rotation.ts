/** Every coin is compared with the venue's own account once in this time. */
export const AUDIT_PERIOD_MS = 30 * 60_000

/**
 * Which coin's closed bars are compared next: one after the other, evenly spread, so that it costs an
 * eighth of the weight that we plan with.
 */
export class AuditRotation {
  #nextMs: number
  #last: string | null = null

  constructor(nowMs: number) {
    this.#nextMs = nowMs
  }

  /** @param coins in an order of their own that lasts. @returns the coin that is due, if one is. */
  next(coins: readonly string[], nowMs: number): string | undefined {
    if (coins.length === 0 || nowMs < this.#nextMs) return undefined
    const at = this.#last === null ? 0 : coins.indexOf(this.#last) + 1
    const coin = coins[at] ?? coins[0]
    this.#last = coin ?? null
    this.#nextMs = nowMs + AUDIT_PERIOD_MS / coins.length
    return coin
  }
}
