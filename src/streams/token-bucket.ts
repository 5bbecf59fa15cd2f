/**
 * A rate limit on our own side. In any minute at most `capacity + perMinute` is taken, which is what
 * has to stay below the other side's limit. Pure over the time that it is given.
 */
export class TokenBucket {
  readonly #capacity: number
  readonly #perMs: number
  #balance: number
  #atMs: number

  /** @param limit `initial` is there at once, for whoever cannot know what was used before; else `capacity` */
  constructor(
    limit: { readonly capacity: number; readonly perMinute: number; readonly initial?: number },
    nowMs: number,
  ) {
    this.#capacity = limit.capacity
    this.#perMs = limit.perMinute / 60_000
    this.#balance = limit.initial ?? limit.capacity
    this.#atMs = nowMs
  }

  /** @returns 0 when the cost was taken, else the milliseconds after which to ask again. */
  take(cost: number, nowMs: number): number {
    this.#refill(nowMs)
    if (this.#balance >= cost) {
      this.#balance -= cost
      return 0
    }
    return Math.max(1, Math.ceil((cost - this.#balance) / this.#perMs))
  }

  /**
   * Takes a cost for as soon as it can be afforded; who reserves first is served first.
   * @returns the milliseconds until then
   */
  reserve(cost: number, nowMs: number): number {
    this.#refill(nowMs)
    this.#balance -= cost
    return this.#balance >= 0 ? 0 : Math.ceil(-this.#balance / this.#perMs)
  }

  /** Takes what is there, up to `most`, in whole units. */
  takeUpTo(most: number, nowMs: number): number {
    this.#refill(nowMs)
    const taken = Math.max(0, Math.min(most, Math.floor(this.#balance)))
    this.#balance -= taken
    return taken
  }

  /** Takes a cost that has already been caused. The balance may become negative. */
  debit(cost: number, nowMs: number): void {
    this.#refill(nowMs)
    this.#balance -= cost
  }

  /** A clock that steps back refills nothing and costs nothing. */
  #refill(nowMs: number): void {
    const elapsedMs = Math.max(0, nowMs - this.#atMs)
    this.#balance = Math.min(this.#capacity, this.#balance + elapsedMs * this.#perMs)
    this.#atMs = nowMs
  }
}
