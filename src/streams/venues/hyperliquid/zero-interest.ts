import type { ContextEvent } from '../../../domain/event.ts'

/** Less than the cadence of contexts, and more than the copies of one frame are apart. */
const DOUBTED_MS = 5_000

/** `waits`: nobody knows yet. `refuted`: it is believed, and the zero that was told before it was none. */
export type InterestVerdict = 'believed' | 'waits' | 'refuted'

/**
 * That nothing is open in a coin can be so, and is what a broken figure looks like. Where it is so, the
 * venue tells it again; a figure that broke on its way, it does not.
 */
export class ZeroInterest {
  /** When it was first told, by coin; 0 once it was told again. */
  readonly #toldMs = new Map<string, number>()

  judge({ coin, openInterestBase }: ContextEvent, nowMs: number): InterestVerdict {
    const toldMs = this.#toldMs.get(coin)
    if (openInterestBase > 0) {
      this.#toldMs.delete(coin)
      return toldMs === undefined || toldMs === 0 ? 'believed' : 'refuted'
    }
    const isTrue = toldMs !== undefined && nowMs - toldMs >= DOUBTED_MS
    this.#toldMs.set(coin, isTrue ? 0 : (toldMs ?? nowMs))
    return isTrue ? 'believed' : 'waits'
  }
}
