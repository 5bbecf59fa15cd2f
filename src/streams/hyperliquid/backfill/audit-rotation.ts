/** An eighth of the weight that we plan with; all coins of the main dex have their turn in half an hour. */
export const AUDIT_SPACING_MS = 10_000

/** Which coin's closed bars are compared with the venue's own account next: one after the other. */
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
    this.#nextMs = nowMs + AUDIT_SPACING_MS
    return coin
  }
}
