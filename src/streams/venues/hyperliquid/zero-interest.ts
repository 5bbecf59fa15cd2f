import type { ContextEvent } from '../../../domain/event.ts'

/** Less than the cadence of contexts, and more than the copies of one frame are apart. */
const DOUBTED_MS = 5_000

/**
 * That nothing is open in a coin can be so, and is what a broken figure looks like. Where it is so, the
 * venue tells it again; a figure that broke on its way, it does not.
 */
export class ZeroInterest {
  /** When it was first told, by coin. */
  readonly #toldMs = new Map<string, number>()

  /** @returns false while nothing is open by one word alone. */
  isBelieved({ coin, openInterestBase }: ContextEvent, nowMs: number): boolean {
    if (openInterestBase > 0) {
      this.#toldMs.delete(coin)
      return true
    }
    const toldMs = this.#toldMs.get(coin) ?? nowMs
    this.#toldMs.set(coin, toldMs)
    return nowMs - toldMs >= DOUBTED_MS
  }
}
