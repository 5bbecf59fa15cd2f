/**
 * A client-side rate limit: in any minute it grants at most `capacity + perMinute`, which must stay below the server's
 * limit.
 */
export class TokenBucket {
  readonly #capacity: number
  readonly #perMs: number
  #balance: number
  #atMs: number

  /** @param limit `initial` is the first balance if earlier use is unknown; default `capacity` */
  constructor(
    limit: { readonly capacity: number; readonly perMinute: number; readonly initial?: number },
    nowMs: number,
  ) {
    this.#capacity = limit.capacity
    this.#perMs = limit.perMinute / 60_000
    this.#balance = limit.initial ?? limit.capacity
    this.#atMs = nowMs
  }

  /** @returns 0 if the cost was taken, otherwise the milliseconds until the next attempt */
  take(cost: number, nowMs: number): number {
    this.#refill(nowMs)
    if (this.#balance >= cost) {
      this.#balance -= cost
      return 0
    }
    return Math.max(1, Math.ceil((cost - this.#balance) / this.#perMs))
  }

  /**
   * Takes a cost in advance; reservations are served in order.
   * @returns the milliseconds until the balance covers it
   */
  reserve(cost: number, nowMs: number): number {
    this.#refill(nowMs)
    this.#balance -= cost
    return this.#balance >= 0 ? 0 : Math.ceil(-this.#balance / this.#perMs)
  }

  /** Takes the available balance in whole units, at most `most`. */
  takeUpTo(most: number, nowMs: number): number {
    this.#refill(nowMs)
    const taken = Math.max(0, Math.min(most, Math.floor(this.#balance)))
    this.#balance -= taken
    return taken
  }

  /** Subtracts a cost that has already occurred. The balance may become negative. */
  debit(cost: number, nowMs: number): void {
    this.#refill(nowMs)
    this.#balance -= cost
  }

  /** A clock that steps back refills nothing. */
  #refill(nowMs: number): void {
    const elapsedMs = Math.max(0, nowMs - this.#atMs)
    this.#balance = Math.min(this.#capacity, this.#balance + elapsedMs * this.#perMs)
    this.#atMs = nowMs
  }
}
