import { UNKNOWN_INSTANT_MS } from '../../domain/document.ts'
import type { CandleEvent, HistoryEvent, MarketEvent, SilenceEvent } from '../../domain/event.ts'
import { timeframeMs } from '../../domain/timeframe.ts'
import type { CandleLadder } from '../candles/candle-ladder.ts'
import type { NewestBar } from '../candles/newest-bar.ts'
import { CONTEXT_CADENCE_MS } from './cadence.ts'

/** After a longer time without events of a coin its candles may have changed unnoticed. */
const UNOBSERVED_MS_MAX = CONTEXT_CADENCE_MS + 5_000

/** Largest delay between the day's volume of a context and the candles that it includes. */
const VOLUME_LAG_MS_MAX = 5_000

/**
 * Feeds the candles of one coin and dates them: the last instant at which the venue confirmed them. A candle confirms
 * them. Without trades the venue sends none, so figures of the coin and book updates confirm them too, as long as no
 * sign contradicts: a silent channel, or a day's volume that rose without a candle.
 */
export class CandleConfirmation {
  readonly #ladder: CandleLadder
  readonly #newestBar: NewestBar
  #confirmedAtMs = Number.NaN
  /** Last event that implies that no candle was missed, by our clock and by the venue's. NaN before any. */
  #observedAtMs = Number.NaN
  #observedVenueMs = Number.NaN
  /** Last candle or reply with history, by our clock. */
  #candleReceivedAtMs = Number.NaN
  /** Last book or best levels, which share the connection of the candles. NaN before any. */
  #quoteReceivedAtMs = Number.NaN
  /** The day's volume rose after this instant. NaN before it did. */
  #tradedSinceMs = Number.NaN
  #isSilent = false

  /** @param newestBar of all coins */
  constructor(ladder: CandleLadder, newestBar: NewestBar) {
    this.#ladder = ladder
    this.#newestBar = newestBar
  }

  /** By our clock. NaN before any history. */
  get confirmedAtMs(): number {
    return this.#confirmedAtMs
  }

  /** @param confirmedAtMs as saved; null where the clock was set back since */
  restore(confirmedAtMs: number | null): void {
    this.#confirmedAtMs = confirmedAtMs ?? UNKNOWN_INSTANT_MS
  }

  history(event: HistoryEvent): void {
    const { timeExchangeMs, timeReceivedMs } = event
    this.#candleReceivedAtMs = later(this.#candleReceivedAtMs, timeReceivedMs)
    this.#observe(event)
    this.#observedVenueMs = timeExchangeMs
    const wasContinuous = this.#ladder.isContinuous
    const provenMs = this.#newestBar.provenMs(timeExchangeMs, timeReceivedMs)
    this.#ladder.history(event.timeframe, event.bars, provenMs, event.fromMs)
    // Frames since the request are newer than the reply.
    if (wasContinuous && this.#ladder.isContinuous) return
    // A bar that may have ended is confirmed until its end only, which another coin may prove.
    this.#confirmedAtMs =
      this.#ladder.isContinuous && this.#newestBar.isDated(timeExchangeMs, timeReceivedMs)
        ? Math.min(
            timeReceivedMs - (timeExchangeMs - provenMs),
            this.#newestBar.endedByMs(this.#openEndVenueMs),
          )
        : ourInstant(this.#ladder.closedUntilMs, timeReceivedMs - timeExchangeMs)
  }

  candle(event: CandleEvent): void {
    this.#candleReceivedAtMs = later(this.#candleReceivedAtMs, event.timeReceivedMs)
    this.#observe(event)
    // Not the later one: events before the first book have no venue time of their own.
    this.#observedVenueMs = event.timeExchangeMs
    if (event.timeframe === '15m') {
      this.#newestBar.candle(event)
      this.#ladder.live(event.bar, event.timeExchangeMs)
    }
    this.#confirm()
  }

  quote({ timeReceivedMs }: MarketEvent): void {
    this.#quoteReceivedAtMs = later(this.#quoteReceivedAtMs, timeReceivedMs)
    this.#confirm()
  }

  /** Figures of the coin, which arrive over another connection. */
  figures(event: MarketEvent): void {
    const isTradeMissing =
      !Number.isNaN(this.#tradedSinceMs) && !(this.#candleReceivedAtMs >= this.#tradedSinceMs)
    if (!this.#isSilent && !isTradeMissing) this.#observe(event)
  }

  /** The day's volume rose after an instant by our clock. */
  volumeRose(afterMs: number): void {
    this.#tradedSinceMs = afterMs - VOLUME_LAG_MS_MAX
  }

  silence(event: SilenceEvent): void {
    this.#isSilent = event.state === 'silent'
    this.#interrupt(event.timeExchangeMs)
  }

  /** The connection of its candles was lost. @param atVenueMs by the venue's clock */
  interrupt(atVenueMs: number): void {
    this.#isSilent = false
    this.#interrupt(atVenueMs)
  }

  /** Closes the bars that ended by the last observation. */
  advance(): void {
    if (!Number.isNaN(this.#observedVenueMs))
      this.#ladder.advance(this.#newestBar.provenMs(this.#observedVenueMs, this.#observedAtMs))
  }

  /** End of the forming bar, by the venue's clock. */
  get #openEndVenueMs(): number {
    return this.#ladder.closedUntilMs + timeframeMs['15m']
  }

  #observe({ timeReceivedMs, timeExchangeMs }: MarketEvent): void {
    // The venue or this machine paused: bars that ended in between may lack their last trades.
    if (timeReceivedMs - this.#observedAtMs > UNOBSERVED_MS_MAX)
      this.#interrupt(this.#observedVenueMs)
    this.#observedAtMs = later(this.#observedAtMs, timeReceivedMs)
    this.#observedVenueMs = later(this.#observedVenueMs, timeExchangeMs)
    this.#confirm()
  }

  /** The last bar may be reopened: then only bars before it are confirmed. */
  #interrupt(atVenueMs: number): void {
    // Silence may be detected late: the last bar was closed by the last observation.
    const observedMs = this.#observedVenueMs
    this.#ladder.interrupt(Number.isNaN(observedMs) ? atVenueMs : Math.min(observedMs, atVenueMs))
    const venueEndMs = this.#openEndVenueMs
    const openEndMs = Math.min(
      ourInstant(venueEndMs, this.#observedAtMs - this.#observedVenueMs),
      this.#newestBar.endedByMs(venueEndMs),
    )
    if (openEndMs < this.#confirmedAtMs) this.#confirmedAtMs = openEndMs
  }

  /** Only continuous candles can be confirmed; those that wait for history keep their age. */
  #confirm(): void {
    const isDated = this.#newestBar.isDated(this.#observedVenueMs, this.#observedAtMs)
    if (!this.#ladder.isContinuous || !isDated) return
    // A newer bar of another coin proves that this one has ended; otherwise the clock decides.
    const venueEndMs = this.#openEndVenueMs
    const provenMs = this.#newestBar.endedByMs(venueEndMs)
    const endedMs = Number.isFinite(provenMs)
      ? provenMs
      : venueEndMs + this.#observedAtMs - this.#observedVenueMs
    // The connection of the candles may be late or dead while that of the figures is alive.
    const connectionMs = Number.isNaN(this.#quoteReceivedAtMs)
      ? Number.POSITIVE_INFINITY
      : later(this.#candleReceivedAtMs, this.#quoteReceivedAtMs)
    const confirmedMs = Math.min(this.#observedAtMs, endedMs, connectionMs)
    this.#confirmedAtMs = later(this.#confirmedAtMs, confirmedMs)
  }
}

/**
 * An instant of the venue's clock by ours. Where the clocks disagree, the earlier of both: it is unknown which clock
 * the venue's bars follow.
 */
function ourInstant(venueMs: number, offsetMs: number): number {
  return venueMs + Math.min(0, offsetMs)
}

/** @param one may be NaN */
function later(one: number, other: number): number {
  return Number.isNaN(one) ? other : Math.max(one, other)
}
