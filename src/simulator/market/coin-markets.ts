import assert from 'node:assert/strict'
import type {
  Book,
  Candle,
  CandleInterval,
  Context,
  Instrument,
  Market,
  NewListing,
  SettledFunding,
  TimeRange,
  Trade,
} from './market.ts'
import type { SimulatedCoin } from './simulated-coin.ts'

/** Coins that the venue can list at most. */
const COINS_MAX = 1000

/** A market of coins that are each derived from their own bars. */
export class CoinMarkets implements Market {
  readonly clockShiftMs: number
  readonly #coins = new Map<string, SimulatedCoin>()
  readonly #newCoin: (listing: NewListing, atMs: number) => SimulatedCoin

  constructor(options: {
    readonly coins: Iterable<SimulatedCoin>
    readonly newCoin: (listing: NewListing, atMs: number) => SimulatedCoin
    readonly clockShiftMs: number
  }) {
    this.clockShiftMs = options.clockShiftMs
    this.#newCoin = options.newCoin
    for (const coin of options.coins) this.#coins.set(coin.instrument.coin, coin)
  }

  universe(): readonly Instrument[] {
    return Array.from(this.#coins.values(), (coin) => coin.instrument)
  }

  instrument(coin: string): Instrument | undefined {
    return this.#coins.get(coin)?.instrument
  }

  trades(coin: string, afterMs: number, throughMs: number): readonly Trade[] {
    return this.#coins.get(coin)?.trades(afterMs, throughMs) ?? []
  }

  lastTrades(coin: string, atMs: number, count: number): readonly Trade[] {
    return this.#coins.get(coin)?.lastTrades(atMs, count) ?? []
  }

  book(coin: string, atMs: number, levels: number): Book {
    return this.#coins.get(coin)?.book(atMs, levels) ?? { bids: [], asks: [] }
  }

  context(coin: string, atMs: number): Context | undefined {
    return this.#coins.get(coin)?.context(atMs)
  }

  candles(
    coin: string,
    interval: CandleInterval,
    range: TimeRange,
    atMs: number,
  ): readonly Candle[] {
    return this.#coins.get(coin)?.candles(interval, range, atMs) ?? []
  }

  openCandle(coin: string, interval: CandleInterval, atMs: number): Candle | undefined {
    return this.#coins.get(coin)?.openCandle(interval, atMs)
  }

  fundingHistory(
    coin: string,
    range: TimeRange,
    atMs: number,
    rowsMax: number,
  ): readonly SettledFunding[] {
    return this.#coins.get(coin)?.fundingHistory(range, atMs, rowsMax) ?? []
  }

  isOutage(): boolean {
    return false
  }

  addListing(listing: NewListing, atMs: number): void {
    assert(!this.#coins.has(listing.coin), `${listing.coin} is listed already`)
    assert(this.#coins.size < COINS_MAX, 'the universe is full')
    this.#coins.set(listing.coin, this.#newCoin(listing, atMs))
  }

  delist(coin: string, atMs: number): void {
    const market = this.#coins.get(coin)
    assert(market !== undefined, `${coin} is not listed`)
    market.delist(atMs)
  }

  relist(coin: string): void {
    const market = this.#coins.get(coin)
    assert(market !== undefined, `${coin} is not listed`)
    this.#coins.delete(coin)
    this.#coins.set(coin, market)
  }
}
