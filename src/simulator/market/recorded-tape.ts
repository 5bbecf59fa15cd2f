import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { OperatingError } from '../../domain/errors.ts'
import { countThrough } from './count-through.ts'
import { csvRows } from './csv-file.ts'
import type { Book, Level, Trade } from './market.ts'
import { bits, noiseKey } from './noise.ts'

const BOOK_LEVELS = 20
const ID_MODULUS = 2 ** 50
const LAP_ID_STEP = 0x9e3779b1

/** `book` is a function, so that a long tape can store a more compact form. */
type Snapshot = { readonly timeMs: number; readonly book: () => Book }

/** Recorded books and trades of one coin, in recorded time, ascending. */
export type CoinTape = {
  readonly snapshots: readonly Snapshot[]
  readonly trades: readonly Trade[]
  readonly sizeDecimals: number
}

/** Reads `orderbooks_<COIN>.csv.gz` and `trades_<COIN>.csv.gz` of every coin. */
export function readTapes(directory: string): ReadonlyMap<string, CoinTape> {
  return new Map(coinsIn(directory).map((coin) => [coin, readTape(directory, coin)]))
}

function coinsIn(directory: string): readonly string[] {
  try {
    return readdirSync(directory).flatMap((name) => /^trades_(.+)\.csv\.gz$/.exec(name)?.[1] ?? [])
  } catch (cause) {
    throw new OperatingError('no_recording', `cannot read ${directory}`, { cause })
  }
}

function readTape(directory: string, coin: string): CoinTape {
  const snapshots: Snapshot[] = []
  const bookHeader = ['timestamp', 'sequence', 'exchange_timestamp', 'bid_price_0']
  for (const cells of csvRows(join(directory, `orderbooks_${coin}.csv.gz`), bookHeader)) {
    const book = bookOf(cells)
    snapshots.push({ timeMs: Number(cells[2]), book: () => book })
  }
  const trades: Trade[] = []
  const known = new Set<number>()
  let sizeDecimals = 0
  const orderKey = noiseKey(0, 'recorded order', coin)
  const tradeHeader = ['timestamp', 'price', 'size', 'side', 'trade_id', 'exchange_timestamp']
  for (const cells of csvRows(join(directory, `trades_${coin}.csv.gz`), tradeHeader)) {
    const [, price, size = '', side, id, time] = cells
    // A replay after a reconnect repeats trades that are known.
    if (known.has(Number(id))) continue
    known.add(Number(id))
    sizeDecimals = Math.max(sizeDecimals, size.split('.')[1]?.length ?? 0)
    trades.push({
      id: Number(id),
      timeMs: Number(time),
      side: side === 'buy' ? 'B' : 'A',
      price: Number(price),
      sizeBase: Number(size),
      // Hashes were not recorded; fills of one order share instant and side.
      orderKey: bits(orderKey ^ (side === 'buy' ? 1 : 2), Number(time) % 2 ** 32),
    })
  }
  trades.sort((a, b) => a.timeMs - b.timeMs)
  snapshots.sort((a, b) => a.timeMs - b.timeMs)
  return { snapshots, trades, sizeDecimals }
}

/** Plays a tape in a loop from `joinMs` on, with its times shifted to the venue's. */
export class TapeLoop {
  readonly #tape: CoinTape
  readonly #joinMs: number
  readonly #startMs: number
  readonly #lengthMs: number

  /** @param options.startMs Recorded instant that plays at `joinMs`. */
  constructor(options: {
    readonly tape: CoinTape
    readonly joinMs: number
    readonly startMs: number
    readonly endMs: number
  }) {
    this.#tape = options.tape
    this.#joinMs = options.joinMs
    this.#startMs = options.startMs
    this.#lengthMs = options.endMs - options.startMs
  }

  /** Recorded instant that plays at an instant of the venue. */
  recordedMs(atMs: number): number {
    return atMs - this.#joinMs - this.#lap(atMs) * this.#lengthMs + this.#startMs
  }

  book(atMs: number, levels: number): Book {
    const { snapshots } = this.#tape
    const index = Math.max(0, countThrough(snapshots, this.recordedMs(atMs)) - 1)
    const book = snapshots[index]?.book() ?? { bids: [], asks: [] }
    return { bids: book.bids.slice(0, levels), asks: book.asks.slice(0, levels) }
  }

  /** Trades after `afterMs` up to and including `throughMs`, none before `joinMs`. */
  trades(afterMs: number, throughMs: number): Trade[] {
    const found: Trade[] = []
    const fromMs = Math.max(afterMs, this.#joinMs - 1)
    const { trades } = this.#tape
    for (let lap = this.#lap(fromMs + 1); lap <= this.#lap(throughMs); lap++) {
      const shiftMs = this.#joinMs + lap * this.#lengthMs - this.#startMs
      for (let i = countThrough(trades, fromMs - shiftMs); i < trades.length; i++) {
        const trade = trades[i]
        if (trade === undefined || trade.timeMs + shiftMs > throughMs) break
        if (trade.timeMs >= this.#startMs + this.#lengthMs) break
        const id = (trade.id + lap * LAP_ID_STEP) % ID_MODULUS
        found.push({ ...trade, id: lap === 0 ? trade.id : id, timeMs: trade.timeMs + shiftMs })
      }
    }
    return found
  }

  #lap(atMs: number): number {
    return Math.max(0, Math.floor((atMs - this.#joinMs) / this.#lengthMs))
  }
}

function bookOf(cells: readonly string[]): Book {
  const bids: Level[] = []
  const asks: Level[] = []
  for (let i = 0; i < BOOK_LEVELS; i++) {
    const [bidPrice, bidSize, askPrice, askSize] = cells.slice(3 + 4 * i, 7 + 4 * i).map(Number)
    // Order counts were not kept.
    if (bidPrice && bidSize) bids.push({ price: bidPrice, sizeBase: bidSize, orders: 1 })
    if (askPrice && askSize) asks.push({ price: askPrice, sizeBase: askSize, orders: 1 })
  }
  return { bids, asks }
}
