import type { CandleEvent } from '../../domain/event.ts'

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

  /** By when, on our clock, a bar with this end had ended; Infinity where no newer one was heard of. */
  endedByMs(endMs: number): number {
    return this.#openTimeMs >= endMs ? this.#heardAtMs : Number.POSITIVE_INFINITY
  }
}
