import assert from 'node:assert/strict'
import type {
  BookEvent,
  CoinEvent,
  ContextEvent,
  MarkEvent,
  MarketEvent,
  TopOfBookEvent,
} from '../../domain/event.ts'
import type { FundingRow, MarketSample } from '../../domain/history.ts'
import type { Listing } from '../../domain/listing.ts'
import type { BestQuote } from '../book/best-quote.ts'
import { isWide, midOf, newerQuote } from '../book/best-quote.ts'
import type { CandleLadder } from '../candles/candle-ladder.ts'
import { NewestBar } from '../candles/newest-bar.ts'
import { BOOK_CADENCE_MS } from './cadence.ts'
import { CandleConfirmation } from './candle-confirmation.ts'
import type { CoinTracker, CoinTrackerKind } from './coin-tracker.ts'
import type { Collateral } from './collaterals.ts'
import { Collaterals } from './collaterals.ts'
import { figuresFromNumbers, figuresToNumbers } from './saved-figures.ts'
import { joinNamed, splitNamed } from './saved-sections.ts'
import { TrackerSet } from './tracker-set.ts'

/** A quote that lags the mark price by more than this is not used. */
const QUOTE_LAG_MS_MAX = 2 * BOOK_CADENCE_MS

/** Figures arrive over two connections: one may overtake the other by this much. */
const OVERTAKEN_MS_MAX = 3_000

/** Raised whenever the meaning of a saved number changes: another layout is not restored. */
const LAYOUT = 5
/** Section of a saved coin for its own figures. */
const FIGURES = 'figures'
/** The same for the time of its listing, if it was listed again. */
const LISTED_AGAIN = 'listed-again'
const HEADER_FIELDS = 6
const SAVED_AT = 1
/** Smaller corrections of the clock are normal. */
const CLOCK_BACK_MS_MAX = 1_000

/** Current state of one coin: the newest event of each kind, its candles and its trackers. */
export class CoinMarket {
  readonly ladder: CandleLadder
  readonly #trackers: TrackerSet<CoinTracker>
  readonly #candles: CandleConfirmation
  readonly #collaterals: Collaterals
  listing: Listing
  #context: ContextEvent | null = null
  #book: BookEvent | null = null
  #top: TopOfBookEvent | null = null
  /** All figures of the mark channel, which sends changes only. */
  #mark: MarkEvent | null = null
  #markPrice = Number.NaN
  #venueMidPrice = Number.NaN
  #priceConfirmedAtMs = Number.NaN
  #listedAgainMs: number | undefined

  /**
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
    this.ladder = ladder
    this.#candles = new CandleConfirmation(ladder, newestBar)
    this.#collaterals = collaterals
    this.#trackers = new TrackerSet(kinds)
    ladder.onClosed = (timeframe, bar) => {
      for (const tracker of this.#trackers.all) tracker.closed?.(timeframe, bar)
    }
  }

  /** Its tracker of a kind that was given to the constructor. @throws for another kind */
  of<T extends CoinTracker>(kind: CoinTrackerKind<T>): T {
    return this.#trackers.of(kind)
  }

  /** Unit of its prices and notionals. */
  get collateral(): Collateral {
    return this.#collaterals.of(this.listing.collateralToken)
  }

  /** By the venue's clock, of a coin that was delisted before; undefined for another. */
  get listedAgainMs(): number | undefined {
    return this.#listedAgainMs
  }

  /** History from before is that of another listing: all positions were closed, and the terms may differ. */
  listedAgain(atVenueMs: number): void {
    this.#listedAgainMs = atVenueMs
  }

  get context(): ContextEvent | null {
    return this.#context
  }

  get book(): BookEvent | null {
    return this.#book
  }

  /** Last confirmation of the candles by the venue, by our clock. NaN before any history. */
  get candlesConfirmedAtMs(): number {
    return this.#candles.confirmedAtMs
  }

  /** Last confirmation of mark price and the venue's mid. NaN before any. */
  get priceConfirmedAtMs(): number {
    return this.#priceConfirmedAtMs
  }

  /** null without a quote, or with one that is much older than the other figures. */
  get quote(): BestQuote | null {
    const quote = newerQuote(this.#book, this.#top)
    const isLate =
      quote !== null && quote.confirmedAtMs < this.#priceConfirmedAtMs - QUOTE_LAG_MS_MAX
    return isLate ? null : quote
  }

  /** Mid of the quote, else the venue's mid, else the mark price: a book may be one-sided, wide or late. */
  get midPrice(): number {
    return this.#knownMidPrice ?? this.#markPrice
  }

  /** Answers that print {@link midPrice} warn of the mark price in its place. */
  get isMidKnown(): boolean {
    return this.#knownMidPrice !== null
  }

  apply(event: CoinEvent): void {
    const whole = event.kind === 'mark' ? this.#wholeMark(event) : this.#ofThisListing(event)
    this.#take(whole)
    for (const tracker of this.#trackers.takingInput(whole.kind)) tracker.apply?.(whole, this)
  }

  /** Passes the sample of a minute to the trackers. */
  sample(sample: MarketSample): void {
    for (const tracker of this.#trackers.all) tracker.sample?.(sample)
  }

  /** Passes the estimate of an hour's funding to the trackers. */
  estimate(funding: FundingRow): void {
    for (const tracker of this.#trackers.all) tracker.estimate?.(funding)
  }

  /** The connection of its candles and trades was lost. @param atVenueMs by the venue's clock */
  interrupt(atVenueMs: number): void {
    this.#candles.interrupt(atVenueMs)
  }

  /** Closes the bars that have ended. */
  advance(): void {
    this.#candles.advance()
  }

  save(nowMs: number): Float64Array {
    return Float64Array.from([
      LAYOUT,
      nowMs,
      this.#candles.confirmedAtMs,
      this.#priceConfirmedAtMs,
      this.#markPrice,
      this.#venueMidPrice,
      ...this.ladder.save(),
      ...joinNamed(
        new Map<string, ArrayLike<number>>([
          [FIGURES, figuresToNumbers({ context: this.#context, book: this.#book, top: this.#top })],
          ...(this.#listedAgainMs === undefined
            ? []
            : [[LISTED_AGAIN, [this.#listedAgainMs]] as const]),
          ...this.#trackers.saved(),
        ]),
      ),
    ])
  }

  /**
   * Restores the last figures with their age. If the clock was set back since they were saved, their age is unknown and
   * they are left out.
   * @returns false for another layout or incomplete sections
   */
  restore(saved: Float64Array, nowMs: number): boolean {
    assert(saved.length >= HEADER_FIELDS, 'a saved coin has a complete header')
    const ladderEnd = HEADER_FIELDS + this.ladder.savedLength
    if (saved[0] !== LAYOUT || saved.length < ladderEnd) return false
    const sections = splitNamed(saved.subarray(ladderEnd))
    const savedFigures = sections?.get(FIGURES)
    const figures = savedFigures && figuresFromNumbers(this.listing.coin, savedFigures)
    if (!sections || !figures) return false
    this.ladder.restore(saved.subarray(HEADER_FIELDS, ladderEnd))
    this.#listedAgainMs = sections.get(LISTED_AGAIN)?.[0]
    this.#trackers.restore(sections, (tracker, numbers) => tracker.restore?.(numbers, this))
    const isDated = (saved[SAVED_AT] as number) <= nowMs + CLOCK_BACK_MS_MAX
    this.#candles.restore(isDated ? (saved[2] as number) : null)
    if (!isDated) return true
    this.#priceConfirmedAtMs = saved[3] as number
    this.#markPrice = saved[4] as number
    this.#venueMidPrice = saved[5] as number
    this.#context = figures.context
    this.#book = figures.book
    this.#top = figures.top
    return true
  }

  get #knownMidPrice(): number | null {
    const { quote } = this
    // The venue's mid is of the same book.
    if (isWide(quote)) return null
    return midOf(quote) ?? (Number.isNaN(this.#venueMidPrice) ? null : this.#venueMidPrice)
  }

  #take(event: CoinEvent): void {
    switch (event.kind) {
      case 'history':
        this.#candles.history(event)
        break
      case 'candle':
        this.#candles.candle(event)
        break
      case 'book':
        this.#book = event
        this.#candles.quote(event)
        break
      case 'top-of-book':
        this.#top = event
        this.#candles.quote(event)
        break
      case 'context':
        this.#takeContext(event)
        break
      case 'mark':
        this.#setPrices(event)
        break
      case 'silence':
        this.#candles.silence(event)
        break
      case 'hourly-history':
        if (event.fromMs !== undefined) this.ladder.deepen(event.bars, event.fromMs)
        break
      case 'trade':
      case 'trade-gap':
      case 'funding-history':
      case 'sample-history':
      case 'venue-fundings':
      case 'account-position':
      case 'liquidation':
      case 'liquidation-gap':
        // Read by trackers only. A trade confirms no candles: its own candle does.
        break
      default:
        event satisfies never
    }
  }

  /**
   * Without what was stored before the listing, and without funding from before it: the cache of the feed does not
   * request stored hours again. Candles are those that the venue returns under the name.
   */
  #ofThisListing(event: CoinEvent): CoinEvent {
    const fromMs = this.#listedAgainMs
    if (fromMs === undefined) return event
    if (event.kind === 'sample-history')
      return { ...event, samples: event.samples.filter(({ timeMs }) => timeMs >= fromMs) }
    if (event.kind === 'funding-history')
      return { ...event, rows: event.rows.filter(({ timeMs }) => timeMs >= fromMs) }
    if (event.kind === 'hourly-history' && event.isRemembered)
      return { ...event, bars: event.bars.filter(({ openTimeMs }) => openTimeMs >= fromMs) }
    return event
  }

  /** Fills in the figures that did not change since the last mark. */
  #wholeMark(event: MarkEvent): MarkEvent {
    this.#mark = this.#mark === null ? event : { ...this.#mark, ...event }
    return this.#mark
  }

  #takeContext(event: ContextEvent): void {
    const before = this.#context
    if (before !== null && event.dayNotional > before.dayNotional)
      this.#candles.volumeRose(before.timeReceivedMs)
    if (before === null || !isOvertaken(event, before.timeReceivedMs)) this.#context = event
    this.#setPrices(event)
  }

  #setPrices(event: ContextEvent | MarkEvent): void {
    const { markPrice, midPrice, timeReceivedMs } = event
    if (!isOvertaken(event, this.#priceConfirmedAtMs)) {
      if (markPrice !== undefined) this.#markPrice = markPrice
      if (midPrice !== undefined) this.#venueMidPrice = midPrice ?? Number.NaN
      this.#priceConfirmedAtMs = timeReceivedMs
    }
    this.#candles.figures(event)
  }
}

/**
 * Whether an event is slightly older than the last one, which came over the other connection. If it is much older, the
 * receive time of the last one was wrong.
 * @param lastMs receive time of the last one; NaN before any
 */
function isOvertaken({ timeReceivedMs }: MarketEvent, lastMs: number): boolean {
  const olderByMs = lastMs - timeReceivedMs
  return olderByMs > 0 && olderByMs <= OVERTAKEN_MS_MAX
}

/** Marks the age of a saved coin as unknown, so that it is restored without its figures. */
export function undated(saved: Float64Array): Float64Array {
  return saved.with(SAVED_AT, Number.POSITIVE_INFINITY)
}
