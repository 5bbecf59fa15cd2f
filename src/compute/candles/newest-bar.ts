import type { CandleEvent } from '../../domain/event.ts'
import { barOpenTimeMs } from '../../domain/timeframe.ts'

/** Within this time after the start of a bar some coin trades, otherwise the clock is right. */
const UNPROVEN_MS_MAX = 60_000

/** Clocks that differ by more do not agree: at least one is wrong. */
const CLOCKS_APART_MS_MAX = 5_000

/**
 * The newest bar of any coin. The bars of all coins begin at once, so a new bar proves that the one before has ended
 * for every coin, whatever the clock says that stamps the venue's frames.
 */
export class NewestBar {
  #openTimeMs = Number.NaN
  /** Start of the bar, by our clock. */
  #begunAtMs = Number.NaN
  /** Last candle of any coin. */
  #heardAtMs = Number.NEGATIVE_INFINITY

  candle({ bar: { openTimeMs }, timeReceivedMs }: CandleEvent): void {
    if (openTimeMs < this.#openTimeMs) return
    if (openTimeMs !== this.#openTimeMs) {
      // After a start or a pause the bar may have begun long before: then by our clock, but after the last candle of
      // the bar before.
      this.#begunAtMs = Math.min(timeReceivedMs, Math.max(openTimeMs, this.#heardAtMs))
      this.#openTimeMs = openTimeMs
    }
    this.#heardAtMs = timeReceivedMs
  }

  /**
   * Whether the end of a bar can be dated: by a candle of any coin, or by two clocks that agree.
   * @param venueMs an instant by the venue's clock
   * @param oursMs the same instant by our clock
   */
  isDated(venueMs: number, oursMs: number): boolean {
    return this.#isKnown || Math.abs(oursMs - venueMs) <= CLOCKS_APART_MS_MAX
  }

  /**
   * An instant by the venue's clock at which no bar ends without proof: moved back into the bar before while only that
   * clock says that the bar is over. A clock that runs ahead thus ends no bar early.
   * @param oursMs the same instant by our clock, which decides before any candle if both clocks agree
   */
  provenMs(venueMs: number, oursMs: number): number {
    const openTimeMs = barOpenTimeMs(venueMs, '15m')
    if (venueMs >= openTimeMs + UNPROVEN_MS_MAX) return venueMs
    const hasBegun = this.#isKnown
      ? this.#openTimeMs >= openTimeMs
      : oursMs >= openTimeMs && this.isDated(venueMs, oursMs)
    return hasBegun ? venueMs : openTimeMs - 1
  }

  /** Latest time, by our clock, at which a bar with this end had ended; Infinity without a newer bar. */
  endedByMs(endMs: number): number {
    return this.#openTimeMs >= endMs ? this.#begunAtMs : Number.POSITIVE_INFINITY
  }

  get #isKnown(): boolean {
    return !Number.isNaN(this.#openTimeMs)
  }
}
