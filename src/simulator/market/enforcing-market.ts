import type { Accounts } from './accounts.ts'
import type { EnforcedTrade } from './enforced-trades.ts'
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
import { candleIntervalMs } from './market.ts'
import { sizeOf } from './precision.ts'

/** A market together with the trades that its venue enforces. They have the price of the trade before them. */
export class EnforcingMarket implements Market {
  readonly #market: Market
  readonly #accounts: Accounts

  constructor(market: Market, accounts: Accounts) {
    this.#market = market
    this.#accounts = accounts
  }

  get clockShiftMs(): number {
    return this.#market.clockShiftMs
  }

  universe(): readonly Instrument[] {
    return this.#market.universe()
  }

  instrument(coin: string): Instrument | undefined {
    return this.#market.instrument(coin)
  }

  trades(coin: string, afterMs: number, throughMs: number): readonly Trade[] {
    return this.#merged(
      coin,
      this.#market.trades(coin, afterMs, throughMs),
      this.#accounts.enforcedTrades(coin, afterMs, throughMs),
    )
  }

  lastTrades(coin: string, atMs: number, count: number): readonly Trade[] {
    const own = this.#market.lastTrades(coin, atMs, count)
    const fromMs = own.length < count ? Number.NEGATIVE_INFINITY : (own[0]?.timeMs ?? 0)
    const enforced = this.#accounts.enforcedTrades(coin, fromMs, atMs)
    return this.#merged(coin, own, enforced).slice(-count)
  }

  book(coin: string, atMs: number, levels: number): Book {
    return this.#market.book(coin, atMs, levels)
  }

  context(coin: string, atMs: number): Context | undefined {
    return this.#market.context(coin, atMs)
  }

  candles(
    coin: string,
    interval: CandleInterval,
    range: TimeRange,
    atMs: number,
  ): readonly Candle[] {
    const candles = this.#market.candles(coin, interval, range, atMs)
    const fromMs = candles[0]?.openTimeMs ?? range.fromMs
    const enforced = this.#accounts.enforcedTrades(coin, fromMs - 1, atMs)
    return enforced.length === 0 ? candles : this.#added(coin, interval, candles, enforced)
  }

  openCandle(coin: string, interval: CandleInterval, atMs: number): Candle | undefined {
    const candle = this.#market.openCandle(coin, interval, atMs)
    const stepMs = candleIntervalMs[interval]
    const openTimeMs = Math.floor(atMs / stepMs) * stepMs
    const enforced = this.#accounts.enforcedTrades(coin, openTimeMs - 1, atMs)
    const [first] = enforced
    if (first === undefined) return candle
    const flat = flatCandle(openTimeMs, first.price)
    return this.#added(coin, interval, [candle ?? flat], enforced)[0]
  }

  fundingHistory(
    coin: string,
    range: TimeRange,
    atMs: number,
    rowsMax: number,
  ): readonly SettledFunding[] {
    return this.#market.fundingHistory(coin, range, atMs, rowsMax)
  }

  isOutage(atMs: number): boolean {
    return this.#market.isOutage(atMs)
  }

  addListing(listing: NewListing, atMs: number): void {
    this.#market.addListing(listing, atMs)
  }

  delist(coin: string, atMs: number): void {
    this.#market.delist(coin, atMs)
  }

  relist(coin: string): void {
    this.#market.relist(coin)
  }

  #merged(
    coin: string,
    own: readonly Trade[],
    enforced: readonly EnforcedTrade[],
  ): readonly Trade[] {
    if (enforced.length === 0) return own
    const sizeDecimals = this.#sizeDecimals(coin)
    const others = enforced.map(
      ({ id, timeMs, side, price, lots, taker, maker }): Trade => ({
        ...{ id, timeMs, side, price, orderKey: id },
        sizeBase: sizeOf(lots, sizeDecimals),
        parties: { taker, maker },
      }),
    )
    return [...own, ...others].sort((one, other) => one.timeMs - other.timeMs)
  }

  /** The volume and the number of enforced trades, whose price is within the bar. */
  #added(
    coin: string,
    interval: CandleInterval,
    candles: readonly Candle[],
    enforced: readonly EnforcedTrade[],
  ): readonly Candle[] {
    const stepMs = candleIntervalMs[interval]
    const lots = new Map<number, { lots: number; trades: number }>()
    for (const trade of enforced) {
      const openTimeMs = Math.floor(trade.timeMs / stepMs) * stepMs
      const sum = lots.get(openTimeMs) ?? { lots: 0, trades: 0 }
      lots.set(openTimeMs, { lots: sum.lots + trade.lots, trades: sum.trades + 1 })
    }
    const sizeDecimals = this.#sizeDecimals(coin)
    return candles.map((candle) => {
      const sum = lots.get(candle.openTimeMs)
      if (sum === undefined) return candle
      return {
        ...candle,
        volumeBase: candle.volumeBase + sizeOf(sum.lots, sizeDecimals),
        trades: candle.trades + sum.trades,
      }
    })
  }

  #sizeDecimals(coin: string): number {
    const instrument = this.#market.instrument(coin)
    if (instrument === undefined) throw new Error(`${coin} is not listed`)
    return instrument.sizeDecimals
  }
}

function flatCandle(openTimeMs: number, price: number): Candle {
  const [open, high, low, close] = [price, price, price, price]
  return { openTimeMs, open, high, low, close, volumeBase: 0, trades: 0 }
}
