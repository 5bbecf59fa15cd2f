import type { CandleEvent } from '../../domain/event.ts'
import { timeframeMs } from '../../domain/timeframe.ts'

/** So long after the end of a bar, by the clock, some coin has traded, or the clock is right. */
const UNPROVEN_MS_MAX = 60_000

/**
 * The newest bar that any coin's candle told of. Bars of all coins begin at once, so the one before has ended for
 * every coin when that was heard, whatever the clocks say that stamp the venue's frames.
 */
export class NewestBar {
  #openTimeMs = Number.NaN
  #heardAtMs = Number.NaN

  hear({ bar: { openTimeMs }, timeReceivedMs }: CandleEvent): void {
    if (openTimeMs <= this.#openTimeMs) return
    this.#openTimeMs = openTimeMs
    this.#heardAtMs = timeReceivedMs
  }

  /**
   * An instant by the venue's clock that no bar has to end for unproven: put back into the newest bar while only
   * the clock says that it is over. A clock that runs ahead ends none early.
   */
  provenMs(venueMs: number): number {
    const endMs = this.#openTimeMs + timeframeMs['15m']
    const isUnproven = venueMs >= endMs && venueMs < endMs + UNPROVEN_MS_MAX
    return isUnproven ? endMs - 1 : venueMs
  }

  /** By when, on our clock, a bar with this end had ended; Infinity where no newer one was heard of. */
  endedByMs(endMs: number): number {
    return this.#openTimeMs >= endMs ? this.#heardAtMs : Number.POSITIVE_INFINITY
  }
}
