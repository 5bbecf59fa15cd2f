import { isRefusal, refusedMs, retryMs, throttledMs } from './retry.ts'

/** The addresses of one source. The next one is used after a failure. */
export class Mirrors {
  readonly #urls: readonly string[]
  #index = 0
  /** Consecutive refusals, each by another address. */
  #refusals = 0

  constructor(urls: readonly string[]) {
    this.#urls = urls.map((url) => url.replace(/\/+$/, ''))
  }

  get count(): number {
    return this.#urls.length
  }

  get url(): string {
    return this.#urls[this.#index] ?? ''
  }

  /** Every address refuses this client; from then on one address is tried every few hours. */
  get isBlocked(): boolean {
    return this.#refusals >= this.#urls.length
  }

  succeeded(): void {
    this.#refusals = 0
  }

  /** Moves on to the next address. */
  next(): void {
    this.#index = (this.#index + 1) % this.#urls.length
  }

  /** Returns to the preferred address. */
  restart(): void {
    this.#index = 0
  }

  /**
   * Moves on to the next address.
   * @param failures in a row, from 1. @param chance uniform in [0, 1)
   * @returns the pause before the next attempt
   */
  failed(cause: unknown, failures: number, chance: number, retryMsMin?: number): number {
    this.next()
    this.#refusals = isRefusal(cause) ? this.#refusals + 1 : 0
    if (this.isBlocked) return refusedMs(chance)
    return Math.max(throttledMs(cause), retryMs(failures, chance, retryMsMin))
  }
}
