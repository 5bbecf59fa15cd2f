import assert from 'node:assert/strict'
import type { Bar } from '../../domain/bar.ts'
import { UNKNOWN_INSTANT_MS } from '../../domain/document.ts'
import type {
  BookEvent,
  CoinEvent,
  ContextEvent,
  MarkEvent,
  MarketEvent,
  TopOfBookEvent,
} from '../../domain/event.ts'
import type { MarketSample } from '../../domain/history.ts'
import type { Listing } from '../../domain/listing.ts'
import type { Timeframe } from '../../domain/timeframe.ts'
import { timeframeMs } from '../../domain/timeframe.ts'
import type { BestQuote } from '../book/best-quote.ts'
import { midOf, newerQuote } from '../book/best-quote.ts'
import type { CandleLadder } from '../candles/candle-ladder.ts'
import { NewestBar } from '../candles/newest-bar.ts'
import type { Collateral } from './collaterals.ts'
import { Collaterals } from './collaterals.ts'
import { figuresFromNumbers, figuresToNumbers } from './saved-figures.ts'
import { joinNamed, splitNamed } from './saved-sections.ts'
import type { TrackerKind } from './tracker-kind.ts'
import { TrackerSet } from './tracker-set.ts'

/** How often a healthy venue sends whole books. */
export const BOOK_CADENCE_MS = 6_000

/** How often a healthy venue confirms a coin's figures: its slowest channel, with some room. */
export const CONTEXT_CADENCE_MS = 15_000

/** Answers about the whole market leave out coins with older data. */
export const COIN_AGE_MS_MAX = 300_000

/** A quote that lags this much behind the coin's own figures is history, not a price. */
const QUOTE_LAG_MS_MAX = 2 * BOOK_CADENCE_MS

/** Longer without a word about a coin, and its candles may have moved unseen. */
const UNOBSERVED_MS_MAX = CONTEXT_CADENCE_MS + 5_000

/** The venue may tell the day's volume, and the candles that made it, so far apart. */
const VOLUME_LAG_MS_MAX = 5_000

/** Of figures that come over two connections, the newer may arrive so much sooner. */
const OVERTAKEN_MS_MAX = 3_000

/** Raised whenever the meaning of a saved number changes: another layout is not restored. */
const LAYOUT = 5
/** The section of a saved coin that no tracker has. */
const FIGURES = 'figures'
const HEADER_FIELDS = 6
const SAVED_AT = 1
/** Clocks are corrected by less than this all the time. */
const CLOCK_BACK_MS_MAX = 1_000

/**
 * State that is derived from one coin's events, besides its candles and latest figures. The coin calls it with every
 * event in order. It is bounded, reads no clock, and the same events give the same state.
 */
export interface CoinTracker {
  /** The kinds of event that {@link apply} is called with: most events are trades and quotes, and few trackers need them. */
  readonly hears?: readonly CoinEvent['kind'][]
  /** After the coin itself took the event in. */
  apply?(event: CoinEvent, coin: CoinMarket): void
  /** A bar of the candles ended. A bar that was reopened comes again when it has ended. */
  closed?(timeframe: Timeframe, bar: Bar): void
  /** A whole minute's figures; the same that history keeps. */
  sample?(sample: MarketSample): void
  /** Numbers that {@link restore} continues from; none where history brings everything back. */
  save(): Float64Array
  /** @returns false for numbers of another version: then it begins empty. */
  restore(saved: Float64Array, coin: CoinMarket): boolean
}

/** A tracker that every coin has one of; `coin.of(kind)` is the coin's own. */
export type CoinTrackerKind<T extends CoinTracker = CoinTracker> = TrackerKind<'coin', T>

/** @param id where its state stands in a checkpoint: `<analysis>/<name>`, or `market/<name>` where several use it */
export function coinTracker<T extends CoinTracker>(
  id: string,
  create: () => T,
): CoinTrackerKind<T> {
  return { scope: 'coin', id, create }
}

/** What is true about one coin now. Events are immutable, so the newest of a kind is simply kept. */
export class CoinMarket {
  readonly ladder: CandleLadder
  readonly #trackers: TrackerSet<CoinTracker>
  readonly #newestBar: NewestBar
  readonly #collaterals: Collaterals
  listing: Listing
  #context: ContextEvent | null = null
  #book: BookEvent | null = null
  #top: TopOfBookEvent | null = null
  /** The last of its channel, with all that it told before and did not change. */
  #mark: MarkEvent | null = null
  #markPrice = Number.NaN
  #venueMidPrice = Number.NaN
  #priceConfirmedAtMs = Number.NaN
  #candlesConfirmedAtMs = Number.NaN
  /** The last instant at which anything was heard that would have told of a trade, by our clock ... */
  #observedAtMs = Number.NaN
  /** ... and by the venue's, which bars begin and end by. */
  #observedVenueMs = Number.NaN
  /** The last candle, or question for history, by our clock. */
  #candlesHeardAtMs = Number.NaN
  /** The last book or best levels, which come over the same connection as candles; NaN before any. */
  #quoteHeardAtMs = Number.NaN
  /** After this instant, by our clock, the venue has traded: the day's volume rose. NaN before it did. */
  #tradedSinceMs = Number.NaN
  /** One of its channels is silent: its figures go on, and prove nothing about its candles. */
  #isSilent = false

  /**
   * @param kinds what is tracked of it
   * @param newestBar of all coins of the venue
   * @param collaterals of all its dexes
   */
  constructor(
    listing: Listing,
    ladder: CandleLadder,
    kinds: readonly CoinTrackerKind[] = [],
    newestBar = new NewestBar(),
    collaterals = new Collaterals(),
  ) {
    this.listing = listing
    this.#newestBar = newestBar
    this.#collaterals = collaterals
    this.ladder = ladder
    this.#trackers = new TrackerSet(kinds)
    ladder.onClosed = (timeframe, bar) => {
      for (const tracker of this.#trackers.all) tracker.closed?.(timeframe, bar)
    }
  }

  /** Its tracker of a kind that was given to the constructor. @throws for another kind */
  of<T extends CoinTracker>(kind: CoinTrackerKind<T>): T {
    return this.#trackers.of(kind)
  }

  /** What its prices, and all notionals that are tracked of it, are in. */
  get collateral(): Collateral {
    return this.#collaterals.of(this.listing.collateralToken)
  }

  get context(): ContextEvent | null {
    return this.#context
  }

  get book(): BookEvent | null {
    return this.#book
  }

  /**
   * The last instant at which the venue vouched for the candles: a candle or a trade, or, while nobody
   * trades, a live feed that still sends this coin's figures. NaN before any history.
   */
  get candlesConfirmedAtMs(): number {
    return this.#candlesConfirmedAtMs
  }

  /** Of mark price and the venue's own mid. NaN before any. */
  get priceConfirmedAtMs(): number {
    return this.#priceConfirmedAtMs
  }

  /** null when there is none, or none as young as the coin's other figures. */
  get quote(): BestQuote | null {
    const quote = newerQuote(this.#book, this.#top)
    const isLate =
      quote !== null && quote.confirmedAtMs < this.#priceConfirmedAtMs - QUOTE_LAG_MS_MAX
    return isLate ? null : quote
  }

  /** Mid of the quote, else the venue's own mid, else the mark: a book may be one-sided or late. */
  get midPrice(): number {
    const mid = midOf(this.quote)
    if (mid !== null) return mid
    return Number.isNaN(this.#venueMidPrice) ? this.#markPrice : this.#venueMidPrice
  }

  apply(event: CoinEvent): void {
    const whole = event.kind === 'mark' ? this.#wholeMark(event) : event
    this.#take(whole)
    for (const tracker of this.#trackers.hearing(whole.kind)) tracker.apply?.(whole, this)
  }

  /** A whole minute's figures of this coin. */
  sample(sample: MarketSample): void {
    for (const tracker of this.#trackers.all) tracker.sample?.(sample)
  }

  /** The connection that its candles and trades came over is lost, at this instant by the venue's clock. */
  interrupt(atVenueMs: number): void {
    this.#isSilent = false
    this.#interrupt(atVenueMs)
  }

  /** Closes the bars that have ended by what was observed of this coin. */
  advance(): void {
    if (!Number.isNaN(this.#observedVenueMs))
      this.ladder.advance(this.#newestBar.provenMs(this.#observedVenueMs, this.#observedAtMs))
  }

  save(nowMs: number): Float64Array {
    return Float64Array.from([
      LAYOUT,
      nowMs,
      this.#candlesConfirmedAtMs,
      this.#priceConfirmedAtMs,
      this.#markPrice,
      this.#venueMidPrice,
      ...this.ladder.save(),
      ...joinNamed(
        new Map([
          [FIGURES, figuresToNumbers({ context: this.#context, book: this.#book, top: this.#top })],
          ...this.#trackers.saved(),
        ]),
      ),
    ])
  }

  /**
   * What was last told is told again, as old as it is; but not where the clock was put back since it was
   * saved, because nobody knows how old that is.
   * @returns false for numbers of another version, which mean something else
   */
  restore(saved: Float64Array, nowMs: number): boolean {
    assert(saved.length >= HEADER_FIELDS, 'a saved coin begins with its layout')
    const ladderEnd = HEADER_FIELDS + this.ladder.savedLength
    if (saved[0] !== LAYOUT || saved.length < ladderEnd) return false
    const sections = splitNamed(saved.subarray(ladderEnd))
    const savedFigures = sections?.get(FIGURES)
    const figures = savedFigures && figuresFromNumbers(this.listing.coin, savedFigures)
    if (!sections || !figures) return false
    this.ladder.restore(saved.subarray(HEADER_FIELDS, ladderEnd))
    this.#trackers.restore(sections, (tracker, numbers) => tracker.restore(numbers, this))
    if ((saved[SAVED_AT] as number) > nowMs + CLOCK_BACK_MS_MAX) {
      this.#candlesConfirmedAtMs = UNKNOWN_INSTANT_MS
      return true
    }
    this.#candlesConfirmedAtMs = saved[2] as number
    this.#priceConfirmedAtMs = saved[3] as number
    this.#markPrice = saved[4] as number
    this.#venueMidPrice = saved[5] as number
    this.#context = figures.context
    this.#book = figures.book
    this.#top = figures.top
    return true
  }

  #take(event: CoinEvent): void {
    switch (event.kind) {
      case 'history': {
        this.#candlesHeardAtMs = later(this.#candlesHeardAtMs, event.timeReceivedMs)
        this.#observe(event)
        this.#observedVenueMs = event.timeExchangeMs
        const wasContinuous = this.ladder.isContinuous
        const { timeExchangeMs, timeReceivedMs } = event
        const provenMs = this.#newestBar.provenMs(timeExchangeMs, timeReceivedMs)
        this.ladder.history(event.timeframe, event.bars, provenMs, event.fromMs)
        // What was heard since the question was asked is no older for the answer.
        if (wasContinuous && this.ladder.isContinuous) break
        // A bar that may be over is vouched for no longer than until its end, which another coin may have told.
        this.#candlesConfirmedAtMs =
          this.ladder.isContinuous && this.#newestBar.isDated(timeExchangeMs, timeReceivedMs)
            ? Math.min(
                timeReceivedMs - (timeExchangeMs - provenMs),
                this.#newestBar.endedByMs(this.#openEndVenueMs),
              )
            : oursOf(this.ladder.closedUntilMs, timeReceivedMs - timeExchangeMs)
        break
      }
      case 'candle':
        this.#candlesHeardAtMs = later(this.#candlesHeardAtMs, event.timeReceivedMs)
        this.#observe(event)
        // Not the later of the two: what came before any book was not told by the venue's clock.
        this.#observedVenueMs = event.timeExchangeMs
        if (event.timeframe === '15m') {
          this.#newestBar.hear(event)
          this.ladder.live(event.bar, event.timeExchangeMs)
        }
        this.#confirmCandles()
        break
      case 'trade':
        // Its candle comes with it, and vouches for both; a trade whose candle does not come for none.
        break
      case 'book':
        this.#book = event
        this.#hearQuote(event)
        break
      case 'top-of-book':
        this.#top = event
        this.#hearQuote(event)
        break
      case 'context':
        this.#noteVolume(event)
        if (this.#context === null || !isOvertaken(event, this.#context.timeReceivedMs))
          this.#context = event
        this.#setPrices(event)
        break
      case 'mark':
        this.#setPrices(event)
        break
      case 'silence':
        this.#isSilent = event.state === 'silent'
        this.#interrupt(event.timeExchangeMs)
        break
      case 'hourly-history':
        if (event.fromMs !== undefined) this.ladder.deepen(event.bars, event.fromMs)
        break
      case 'trade-gap':
      case 'funding-history':
      case 'sample-history':
      case 'venue-fundings':
      case 'account-position':
        // For the trackers alone.
        break
      default:
        event satisfies never
    }
  }

  /** When the forming bar ends, by the venue's clock. */
  get #openEndVenueMs(): number {
    return this.ladder.closedUntilMs + timeframeMs['15m']
  }

  #hearQuote({ timeReceivedMs }: BookEvent | TopOfBookEvent): void {
    this.#quoteHeardAtMs = later(this.#quoteHeardAtMs, timeReceivedMs)
    this.#confirmCandles()
  }

  /** What did not change is as the last mark told it: a context may have told the same price of another instant since. */
  #wholeMark(event: MarkEvent): MarkEvent {
    this.#mark = this.#mark === null ? event : { ...this.#mark, ...event }
    return this.#mark
  }

  #setPrices(event: ContextEvent | MarkEvent): void {
    const { markPrice, midPrice, timeReceivedMs } = event
    if (!isOvertaken(event, this.#priceConfirmedAtMs)) {
      if (markPrice !== undefined) this.#markPrice = markPrice
      if (midPrice !== undefined) this.#venueMidPrice = midPrice ?? Number.NaN
      this.#priceConfirmedAtMs = timeReceivedMs
    }
    if (!this.#isSilent && !this.#isTradedUnheard) this.#observe(event)
  }

  #noteVolume({ dayNotionalUsd }: ContextEvent): void {
    const before = this.#context
    if (before !== null && dayNotionalUsd > before.dayNotionalUsd)
      this.#tradedSinceMs = before.timeReceivedMs - VOLUME_LAG_MS_MAX
  }

  /** The day's volume rose, and no candle told why: figures that go on prove nothing about candles. */
  get #isTradedUnheard(): boolean {
    return !Number.isNaN(this.#tradedSinceMs) && !(this.#candlesHeardAtMs >= this.#tradedSinceMs)
  }

  /** Figures come over another connection; that of the candles may lag, or be dead. Infinity where nobody knows. */
  get #connectionHeardAtMs(): number {
    return Number.isNaN(this.#quoteHeardAtMs)
      ? Number.POSITIVE_INFINITY
      : later(this.#candlesHeardAtMs, this.#quoteHeardAtMs)
  }

  #observe({ timeReceivedMs, timeExchangeMs }: MarketEvent): void {
    // A venue that hung, or a machine that slept: what ended meanwhile may lack its last trades.
    if (timeReceivedMs - this.#observedAtMs > UNOBSERVED_MS_MAX)
      this.#interrupt(this.#observedVenueMs)
    this.#observedAtMs = later(this.#observedAtMs, timeReceivedMs)
    this.#observedVenueMs = later(this.#observedVenueMs, timeExchangeMs)
    this.#confirmCandles()
  }

  /** A bar may be taken back: then no more is confirmed than its end. */
  #interrupt(atVenueMs: number): void {
    // Silence may be noticed late: what was closed last was closed by what was observed.
    const observedMs = this.#observedVenueMs
    this.ladder.interrupt(Number.isNaN(observedMs) ? atVenueMs : Math.min(observedMs, atVenueMs))
    const venueEndMs = this.#openEndVenueMs
    const openEndMs = Math.min(
      oursOf(venueEndMs, this.#observedAtMs - this.#observedVenueMs),
      this.#newestBar.endedByMs(venueEndMs),
    )
    if (openEndMs < this.#candlesConfirmedAtMs) this.#candlesConfirmedAtMs = openEndMs
  }

  /** Only a series without a hole can be confirmed; one that waits for its history keeps its age. */
  #confirmCandles(): void {
    const isDated = this.#newestBar.isDated(this.#observedVenueMs, this.#observedAtMs)
    if (!this.ladder.isContinuous || !isDated) return
    // Where a bar of another coin has begun, this one's has ended, and is closed a little later; before, the clock says.
    const venueEndMs = this.#openEndVenueMs
    const provenMs = this.#newestBar.endedByMs(venueEndMs)
    const endedMs = Number.isFinite(provenMs)
      ? provenMs
      : venueEndMs + this.#observedAtMs - this.#observedVenueMs
    const confirmedMs = Math.min(this.#observedAtMs, endedMs, this.#connectionHeardAtMs)
    this.#candlesConfirmedAtMs = later(this.#candlesConfirmedAtMs, confirmedMs)
  }
}

/**
 * By what came over the other connection. What is older by more than a moment was held up, and so was the last one,
 * which nobody could know yet.
 * @param lastMs when the last one counts as received; NaN before any
 */
function isOvertaken({ timeReceivedMs }: MarketEvent, lastMs: number): boolean {
  const olderByMs = lastMs - timeReceivedMs
  return olderByMs > 0 && olderByMs <= OVERTAKEN_MS_MAX
}

/** A saved coin of which nobody knows how old it is. */
export function undated(saved: Float64Array): Float64Array {
  return saved.with(SAVED_AT, Number.POSITIVE_INFINITY)
}

/**
 * The end of a bar by our clock. Where the two clocks disagree, the older of what either says: nobody
 * knows whether the clock that stamps the venue's frames is the one that its bars go by.
 */
function oursOf(venueMs: number, offsetMs: number): number {
  return venueMs + Math.min(0, offsetMs)
}

/** The later of the two, the first of which may be NaN. */
function later(one: number, other: number): number {
  return Number.isNaN(one) ? other : Math.max(one, other)
}
