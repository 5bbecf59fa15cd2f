/** Uses an eighth of the planned weight; covers all coins of the main dex in half an hour. */
export const AUDIT_SPACING_MS = 10_000

/** Chooses the coin whose closed bars are compared with the venue next, in turn. */
export class AuditRotation {
  #nextMs: number
  #last: string | null = null

  constructor(nowMs: number) {
    this.#nextMs = nowMs
  }

  /** @param coins in a stable order. @returns the coin that is due */
  next(coins: readonly string[], nowMs: number): string | undefined {
    if (coins.length === 0 || nowMs < this.#nextMs) return undefined
    const at = this.#last === null ? 0 : coins.indexOf(this.#last) + 1
    const coin = coins[at] ?? coins[0]
    this.#last = coin ?? null
    this.#nextMs = nowMs + AUDIT_SPACING_MS
    return coin
  }
}
