import { catalog } from '../../src/simulator/market/catalog.ts'
import { CoinMarkets } from '../../src/simulator/market/coin-markets.ts'
import type {
  Book,
  Candle,
  CandleInterval,
  Context,
  TimeRange,
} from '../../src/simulator/market/market.ts'
import { candleIntervalMs } from '../../src/simulator/market/market.ts'
import { modelCoins } from '../../src/simulator/market/seeded-market.ts'

/**
 * Twenty coins and their day notional, reduced from the catalogue where that saves time. They include
 * coins quoted in thousands, names that begin with a digit, a delisted coin, many with a leverage of at
 * most 3, and two that hardly trade.
 */
const coins: readonly (readonly [coin: string, dayNotionalUsd: number])[] = [
  ['BTC', 2e7],
  ['ETH', 8e6],
  ['SOL', 4e6],
  ['HYPE', 2e6],
  ['XRP', 1e6],
  ['kPEPE', 8e5],
  ['MATIC', 5e4],
  ['DOGE', 5e5],
  ['kBONK', 4e5],
  ['LTC', 3e5],
  ['PAXG', 2e5],
  ['GMX', 1.5e5],
  ['0G', 1e5],
  ['2Z', 8e4],
  ['IO', 6e4],
  ['W', 5e4],
  ['RSR', 4e4],
  ['kNEIRO', 3e4],
  ['ARK', 6e3],
  ['BANANA', 2e3],
]

/** Minimum time for which published states are kept. */
export const REMEMBERED_MS = 240_000

export type Seen<Value> = { readonly atMs: number; readonly value: Value }

/**
 * The market of one run. It records the books and contexts that the venue reads, so that a checker knows
 * every state that the venue may have published, by its true instant.
 */
export class ObservedMarket extends CoinMarkets {
  readonly #books = new Map<string, Seen<Book>[]>()
  readonly #tops = new Map<string, Seen<Book>[]>()
  readonly #contexts = new Map<string, Seen<Context>[]>()
  readonly #closed = new Map<string, ClosedCandles>()

  /** @param coinsMax the first ones, which trade most; all if absent */
  constructor(seed: number, startMs: number, coinsMax?: number) {
    const model = modelCoins(seed, startMs)
    super({
      clockShiftMs: 0,
      coins: coins.slice(0, coinsMax).map(([coin, dayNotionalUsd]) => {
        const row = catalog.find(([name]) => name === coin)
        if (row === undefined) throw new Error(`${coin} is not in the catalogue`)
        const [, sizeDecimals, marginTableId, priceUsd, , , isDelisted] = row
        const figures = [priceUsd, dayNotionalUsd, 4 * dayNotionalUsd] as const
        return model.ofCatalog(
          isDelisted === undefined
            ? [coin, sizeDecimals, marginTableId, ...figures]
            : [coin, sizeDecimals, marginTableId, ...figures, isDelisted],
        )
      }),
      newCoin: model.ofListing,
    })
  }

  override book(coin: string, atMs: number, levels: number): Book {
    const book = super.book(coin, atMs, levels)
    remember(levels === 1 ? this.#tops : this.#books, coin, { atMs, value: book })
    return book
  }

  override context(coin: string, atMs: number): Context | undefined {
    const context = super.context(coin, atMs)
    if (context !== undefined) remember(this.#contexts, coin, { atMs, value: context })
    return context
  }

  /** Caches closed bars: they do not change and are read repeatedly. */
  override candles(
    coin: string,
    interval: CandleInterval,
    range: TimeRange,
    atMs: number,
  ): readonly Candle[] {
    const stepMs = candleIntervalMs[interval]
    const fromMs = Math.floor(range.fromMs / stepMs) * stepMs
    const key = `${coin} ${interval}`
    let closed = this.#closed.get(key)
    if (closed === undefined || fromMs < closed.fromMs) {
      closed = { fromMs, untilMs: fromMs, candles: [] }
      this.#closed.set(key, closed)
    }
    const closedMs = Math.floor(atMs / stepMs) * stepMs
    if (closedMs > closed.untilMs) {
      const missing = { fromMs: closed.untilMs, untilMs: closedMs }
      closed.candles.push(...super.candles(coin, interval, missing, closedMs))
      closed.untilMs = closedMs
    }
    const untilMs = Math.min(range.untilMs, closedMs)
    const known = closed.candles.filter(
      ({ openTimeMs }) => openTimeMs >= fromMs && openTimeMs < untilMs,
    )
    if (range.untilMs <= closedMs) return known
    const open = { fromMs: Math.max(closedMs, range.fromMs), untilMs: range.untilMs }
    return [...known, ...super.candles(coin, interval, open, atMs)]
  }

  /** Whole books, newest last. */
  booksSeen(coin: string): readonly Seen<Book>[] {
    return this.#books.get(coin) ?? []
  }

  /** Top of book, newest last. */
  topsSeen(coin: string): readonly Seen<Book>[] {
    return this.#tops.get(coin) ?? []
  }

  /** Contexts, newest last. */
  contextsSeen(coin: string): readonly Seen<Context>[] {
    return this.#contexts.get(coin) ?? []
  }

  /** Whether the coin was listed during the run. */
  isNew(coin: string): boolean {
    return !coins.some(([name]) => name === coin)
  }

  tradable(): readonly string[] {
    return this.universe().flatMap(({ coin, isDelisted }) => (isDelisted ? [] : [coin]))
  }
}

/** All closed bars of one series between two instants. */
type ClosedCandles = { readonly fromMs: number; untilMs: number; readonly candles: Candle[] }

function remember<Value>(
  memory: Map<string, Seen<Value>[]>,
  coin: string,
  seen: Seen<Value>,
): void {
  const known = memory.get(coin)
  if (known === undefined) {
    memory.set(coin, [seen])
    return
  }
  const last = known.at(-1)
  // Read instants may go back by a few milliseconds; the list stays ordered.
  if (last !== undefined && last.atMs > seen.atMs) return
  known.push(seen)
  const first = known[0]
  if (first !== undefined && first.atMs < seen.atMs - 2 * REMEMBERED_MS) {
    const from = known.findIndex(({ atMs }) => atMs >= seen.atMs - REMEMBERED_MS)
    known.splice(0, from)
  }
}
