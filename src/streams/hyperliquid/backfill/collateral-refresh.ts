/** A fiftieth of the weight that we plan with, and only where some dex is not in USDC. */
const PERIOD_MS = 60_000

/** When spot prices are to be asked for again. */
export class CollateralRefresh {
  #nextMs = Number.NEGATIVE_INFINITY

  isDue(nowMs: number): boolean {
    return nowMs >= this.#nextMs
  }

  asked(nowMs: number): void {
    this.#nextMs = nowMs + PERIOD_MS
  }
}
