import type { CandleEvent } from '../../domain/event.ts'
import { barOpenTimeMs } from '../../domain/timeframe.ts'

/** So long after the beginning of a bar, by the clock, some coin has traded, or the clock is right. */
const UNPROVEN_MS_MAX = 60_000

/** Two clocks further apart do not agree: at least one of them is wrong. */
const CLOCKS_APART_MS_MAX = 5_000

/**
 * The newest bar that any coin's candle told of. Bars of all coins begin at once, so the one before has ended for
 * every coin when that was heard, whatever the clocks say that stamp the venue's frames.
 */
export class NewestBar {
  #openTimeMs = Number.NaN
  /** When it began, by our clock. */
  #begunAtMs = Number.NaN
  /** When any coin told of it last. */
  #heardAtMs = Number.NEGATIVE_INFINITY

  candle({ bar: { openTimeMs }, timeReceivedMs }: CandleEvent): void {
    if (openTimeMs < this.#openTimeMs) return
    if (openTimeMs !== this.#openTimeMs) {
      // After a start, or a time in which nobody told anything, it may have begun long before: when our clock says, but
      // not before the bar before was heard of last.
      this.#begunAtMs = Math.min(timeReceivedMs, Math.max(openTimeMs, this.#heardAtMs))
      this.#openTimeMs = openTimeMs
    }
    this.#heardAtMs = timeReceivedMs
  }

  /**
   * Whether anything tells when a bar ends: a bar that some coin has told of, or two clocks that agree.
   * @param venueMs an instant by the venue's clock
   * @param oursMs the same instant by ours
   */
  isDated(venueMs: number, oursMs: number): boolean {
    return this.#isKnown || Math.abs(oursMs - venueMs) <= CLOCKS_APART_MS_MAX
  }

  /**
   * An instant by the venue's clock that no bar has to end for unproven: put back into the bar before while only
   * that clock says that it is over. A clock that runs ahead ends none early.
   * @param oursMs the same instant by our own clock, which has a say before any bar was heard of, if the two agree
   */
  provenMs(venueMs: number, oursMs: number): number {
    const openTimeMs = barOpenTimeMs(venueMs, '15m')
    if (venueMs >= openTimeMs + UNPROVEN_MS_MAX) return venueMs
    const hasBegun = this.#isKnown
      ? this.#openTimeMs >= openTimeMs
      : oursMs >= openTimeMs && this.isDated(venueMs, oursMs)
    return hasBegun ? venueMs : openTimeMs - 1
  }

  /** By when, on our clock, a bar with this end had ended; Infinity where no newer one was heard of. */
  endedByMs(endMs: number): number {
    return this.#openTimeMs >= endMs ? this.#begunAtMs : Number.POSITIVE_INFINITY
  }

  get #isKnown(): boolean {
    return !Number.isNaN(this.#openTimeMs)
  }
}
