import type {
  BookEvent,
  BookLevel,
  ContextEvent,
  MarketEvent,
  TopOfBookEvent,
} from '../../domain/event.ts'
import type { Listing } from '../../domain/listing.ts'
import type { PulsePool } from '../indicators/pulse-series.ts'
import { CandleLadder } from './candle-ladder.ts'

/** Best bid and ask; either is null on a one-sided book. */
export type Quote = {
  readonly bid: BookLevel | null
  readonly ask: BookLevel | null
  readonly confirmedAtMs: number
}

/** What is true about one coin now. Events are immutable, so the newest of a kind is simply kept. */
export class CoinMarket {
  readonly ladder: CandleLadder
  listing: Listing
  #context: ContextEvent | null = null
  #book: BookEvent | null = null
  #top: TopOfBookEvent | null = null
  #markPrice = Number.NaN
  #midPrice = Number.NaN
  #priceConfirmedAtMs = Number.NaN
  #candlesConfirmedAtMs = Number.NaN

  constructor(listing: Listing, pool: PulsePool) {
    this.listing = listing
    this.ladder = new CandleLadder(pool)
  }

  get context(): ContextEvent | null {
    return this.#context
  }

  get book(): BookEvent | null {
    return this.#book
  }

  /**
   * The last instant at which the venue vouched for the candles: a candle or a trade, or, while nobody
   * trades, a live feed that still sends this coin's figures.
   */
  get candlesConfirmedAtMs(): number {
    return this.#candlesConfirmedAtMs
  }

  get priceConfirmedAtMs(): number {
    return this.#priceConfirmedAtMs
  }

  get markPrice(): number {
    return this.#markPrice
  }

  /** Mid of the newest quote, else the venue's own mid, else the mark (a book may be one-sided). */
  get midPrice(): number {
    const quote = this.quote()
    if (quote?.bid && quote.ask) return (quote.bid.price + quote.ask.price) / 2
    return Number.isNaN(this.#midPrice) ? this.#markPrice : this.#midPrice
  }

  /** The newer of the two quotes that the venue sends: whole books rarely, best levels on change. */
  quote(): Quote | null {
    const book = this.#book
    const top = this.#top
    if (book === null && top === null) return null
    if (book === null || (top !== null && top.timeExchangeMs > book.timeExchangeMs))
      return top && { bid: top.bid, ask: top.ask, confirmedAtMs: top.timeReceivedMs }
    return {
      bid: book.bids[0] ?? null,
      ask: book.asks[0] ?? null,
      confirmedAtMs: book.timeReceivedMs,
    }
  }

  apply(event: Exclude<MarketEvent, { kind: 'universe' | 'feed-status' }>): void {
    switch (event.kind) {
      case 'history':
        this.ladder.history(event.timeframe, event.bars, event.timeReceivedMs)
        this.#candlesConfirmedAtMs = this.ladder.isContinuous
          ? event.timeReceivedMs
          : this.ladder.closedUntilMs
        break
      case 'candle':
        if (event.timeframe === '15m') this.ladder.live(event.bar)
        this.#confirmCandles(event.timeReceivedMs)
        break
      case 'trade':
        this.#confirmCandles(event.timeReceivedMs)
        break
      case 'book':
        this.#book = event
        break
      case 'top-of-book':
        this.#top = event
        break
      case 'context':
        this.#context = event
        this.#setPrices(event.markPrice, event.midPrice, event.timeReceivedMs)
        break
      case 'mark':
        this.#setPrices(event.markPrice, event.midPrice, event.timeReceivedMs)
        break
      default:
        event satisfies never
    }
  }

  save(): Float64Array {
    return Float64Array.from([this.#candlesConfirmedAtMs, ...this.ladder.save()])
  }

  restore(saved: Float64Array): void {
    this.#candlesConfirmedAtMs = saved[0] as number
    this.ladder.restore(saved.subarray(1))
  }

  #setPrices(
    markPrice: number | undefined,
    midPrice: number | null | undefined,
    atMs: number,
  ): void {
    if (markPrice !== undefined) this.#markPrice = markPrice
    if (midPrice !== undefined) this.#midPrice = midPrice ?? Number.NaN
    this.#priceConfirmedAtMs = atMs
    this.#confirmCandles(atMs)
  }

  /** Only a series without a hole can be confirmed; one that waits for its history keeps its age. */
  #confirmCandles(atMs: number): void {
    if (this.ladder.isContinuous) this.#candlesConfirmedAtMs = atMs
  }
}
