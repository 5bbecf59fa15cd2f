/** Uses 2 % of the planned weight, and only if a dex has another collateral than USDC. */
const PERIOD_MS = 60_000

/** When spot prices are requested again. */
export class CollateralRefresh {
  #nextMs = Number.NEGATIVE_INFINITY

  isDue(nowMs: number): boolean {
    return nowMs >= this.#nextMs
  }

  asked(nowMs: number): void {
    this.#nextMs = nowMs + PERIOD_MS
  }
}
