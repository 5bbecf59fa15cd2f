import { OperatingError } from '../../domain/errors.ts'
import { premiumOf } from './funding.ts'
import { MINUTE_MS } from './lot-bar.ts'
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
import { priceDecimalsMax, roundPrice, roundTo } from './precision.ts'
import type { CoinTape } from './recorded-tape.ts'
import { TapeLoop } from './recorded-tape.ts'
import { impactNotionalUsd, impactPrice } from './synthetic-book.ts'

/** Silence of all books for longer than this was a lost connection. */
const OUTAGE_MS_MIN = 10_000
const MINUTES_KEPT_MAX = 3 * 1440
const ORACLE_PERIOD_MS = 3000
const IMPACT_LEVELS = 20
const TOO_SHORT =
  'nothing long enough is recorded: a coin needs its books and trades of some seconds'

type RecordedCoin = {
  readonly loop: TapeLoop
  readonly sizeDecimals: number
  /** What the base's prices are multiplied with, so that its history meets the recording. */
  readonly scale: number
  /** Closed minutes of the loop; null without trades. */
  readonly minutes: Map<number, Candle | null>
  /** Infinity for a live coin. */
  delistedAtMs: number
}

/**
 * Recorded books and trades laid over another market. Recorded coins follow the base until the
 * start and the recording from then on, in recorded spacing and in a loop; the recorder's outage
 * comes back as an outage. A model's history is scaled to the recording's first price; a history
 * that is recorded itself stays verbatim.
 */
export function recordingMarket(
  recorded: ReadonlyMap<string, CoinTape>,
  base: Market,
  options: { readonly startMs: number },
): Market {
  if (recorded.size === 0) throw new OperatingError('no_recording', TOO_SHORT)
  const tapes = [...recorded].filter(([coin]) => base.instrument(coin) !== undefined)
  if (tapes.length === 0)
    throw new OperatingError('no_recording', 'the recording is of no coin that is listed')
  return new RecordingMarket({ base, joinMs: options.startMs, tapes })
}

class RecordingMarket implements Market {
  readonly clockShiftMs: number
  readonly #base: Market
  readonly #joinMs: number
  readonly #coins = new Map<string, RecordedCoin>()
  readonly #clock: TapeLoop
  /** In recorded time. */
  readonly #outages: readonly TimeRange[]

  constructor(options: {
    readonly base: Market
    readonly joinMs: number
    readonly tapes: readonly (readonly [string, CoinTape])[]
  }) {
    const { base, joinMs, tapes } = options
    const all = tapes.map(([, tape]) => tape)
    const startMs = Math.min(...all.map(({ trades }) => trades[0]?.timeMs ?? Infinity))
    const bookTimes = all.flatMap(({ snapshots }) => snapshots.map(({ timeMs }) => timeMs))
    bookTimes.sort((a, b) => a - b)
    const endMs = bookTimes.at(-1) ?? startMs
    if (!(endMs > startMs)) throw new OperatingError('no_recording', TOO_SHORT)
    this.#base = base
    this.#joinMs = joinMs
    this.clockShiftMs = base.clockShiftMs === 0 ? joinMs - startMs : base.clockShiftMs
    this.#outages = bookTimes.flatMap((untilMs, i) => {
      const fromMs = bookTimes[i - 1] ?? untilMs
      return untilMs - fromMs > OUTAGE_MS_MIN ? [{ fromMs, untilMs }] : []
    })
    for (const [coin, tape] of tapes) {
      const basePrice = base.openCandle(coin, '1d', joinMs)?.close ?? Number.NaN
      const scale = (tape.trades[0]?.price ?? Number.NaN) / basePrice
      const isModel = base.clockShiftMs === 0 && Number.isFinite(scale)
      this.#coins.set(coin, {
        loop: new TapeLoop({ tape, joinMs, startMs, endMs }),
        sizeDecimals: base.instrument(coin)?.sizeDecimals ?? tape.sizeDecimals,
        scale: isModel ? scale : 1,
        minutes: new Map(),
        delistedAtMs: Number.POSITIVE_INFINITY,
      })
    }
    const [first] = this.#coins.values()
    if (first === undefined) throw new OperatingError('no_recording', 'nothing is recorded')
    this.#clock = first.loop
  }

  universe(): readonly Instrument[] {
    return this.#base.universe()
  }

  instrument(coin: string): Instrument | undefined {
    return this.#base.instrument(coin)
  }

  trades(coin: string, afterMs: number, throughMs: number): readonly Trade[] {
    const recorded = this.#coins.get(coin)
    if (recorded === undefined) return this.#base.trades(coin, afterMs, throughMs)
    const untilMs = aliveUntilMs(recorded, throughMs)
    const before = this.#base.trades(coin, afterMs, Math.min(untilMs, this.#joinMs - 1))
    const after = recorded.loop.trades(afterMs, untilMs)
    return [...before.map((trade) => scaledTrade(trade, recorded)), ...after]
  }

  lastTrades(coin: string, nowMs: number, count: number): readonly Trade[] {
    const recorded = this.#coins.get(coin)
    if (recorded === undefined) return this.#base.lastTrades(coin, nowMs, count)
    const atMs = aliveUntilMs(recorded, nowMs)
    let found: readonly Trade[] = []
    // Reach back in doubling steps until there are enough.
    for (let backMs = MINUTE_MS; found.length < count; backMs *= 2) {
      found = recorded.loop.trades(atMs - backMs, atMs)
      if (atMs - backMs < this.#joinMs) break
    }
    const missing = count - found.length
    if (missing <= 0) return found.slice(-count)
    const before = this.#base.lastTrades(coin, Math.min(atMs, this.#joinMs - 1), missing)
    return [...before.map((trade) => scaledTrade(trade, recorded)), ...found]
  }

  book(coin: string, atMs: number, levels: number): Book {
    const recorded = this.#coins.get(coin)
    if (recorded === undefined) return this.#base.book(coin, atMs, levels)
    if (atMs >= recorded.delistedAtMs) return { bids: [], asks: [] }
    if (atMs >= this.#joinMs) return recorded.loop.book(atMs, levels)
    const { bids, asks } = this.#base.book(coin, atMs, levels)
    const side = (all: Book['bids']): Book['bids'] =>
      all.map((level) => ({ ...level, price: scaled(level.price, recorded) }))
    return { bids: side(bids), asks: side(asks) }
  }

  context(coin: string, atMs: number): Context | undefined {
    const recorded = this.#coins.get(coin)
    const base = this.#base.context(coin, atMs)
    if (recorded === undefined || base === undefined) return base
    if (atMs >= recorded.delistedAtMs) {
      const [last] = this.lastTrades(coin, atMs, 1)
      const price = last?.price ?? scaled(base.markPrice, recorded)
      return { ...base, markPrice: price, oraclePrice: price, prevDayPrice: price }
    }
    if (base.midPrice === null) return base
    const { sizeDecimals } = recorded
    const tickMs = Math.floor(atMs / ORACLE_PERIOD_MS) * ORACLE_PERIOD_MS
    const tickMid = midOf(this.book(coin, tickMs, 1))
    const book = this.book(coin, atMs, IMPACT_LEVELS)
    const mid = midOf(book)
    if (tickMid === undefined || mid === undefined) return base
    // Oracle and mark were not recorded: they keep the base's distance from the mid.
    const oraclePrice = roundPrice((tickMid * base.oraclePrice) / base.midPrice, sizeDecimals)
    const markPrice = roundPrice((tickMid * base.markPrice) / base.midPrice, sizeDecimals)
    const notionalUsd = impactNotionalUsd(coin)
    const bid = impactPrice(book.bids, notionalUsd)
    const ask = impactPrice(book.asks, notionalUsd)
    const decimals = priceDecimalsMax(sizeDecimals)
    const impact =
      bid === undefined || ask === undefined
        ? null
        : { bid: roundTo(bid, decimals), ask: roundTo(ask, decimals) }
    return {
      ...base,
      oraclePrice,
      markPrice,
      midPrice: roundTo(mid, decimals),
      impact,
      premium: impact === null ? null : premiumOf(impact.bid, impact.ask, oraclePrice),
      prevDayPrice: scaled(base.prevDayPrice, recorded),
      dayNotionalUsd: base.dayNotionalUsd * recorded.scale,
    }
  }

  candles(
    coin: string,
    interval: CandleInterval,
    range: TimeRange,
    nowMs: number,
  ): readonly Candle[] {
    const recorded = this.#coins.get(coin)
    if (recorded === undefined) return this.#base.candles(coin, interval, range, nowMs)
    const atMs = aliveUntilMs(recorded, nowMs)
    const before = this.#base
      .candles(coin, interval, range, Math.min(atMs, this.#joinMs - 1))
      .map((candle) => scaledCandle(candle, recorded))
    if (atMs < this.#joinMs) return before
    const stepMs = candleIntervalMs[interval]
    const joinIndex = Math.floor(this.#joinMs / stepMs)
    const found = before.filter(({ openTimeMs }) => openTimeMs < joinIndex * stepMs)
    const atJoin = before.find(({ openTimeMs }) => openTimeMs === joinIndex * stepMs)
    const last = Math.floor(Math.min(range.untilMs - 1, atMs) / stepMs)
    let close = found.at(-1)?.close
    for (
      let index = Math.max(joinIndex, Math.floor(range.fromMs / stepMs));
      index <= last;
      index++
    ) {
      const openTimeMs = index * stepMs
      const parts = this.#minutes(recorded, openTimeMs, Math.min(openTimeMs + stepMs - 1, atMs))
      if (index === joinIndex && atJoin !== undefined) parts.unshift(atJoin)
      const candle = mergedCandle(parts, openTimeMs)
      const isClosed = openTimeMs + stepMs <= atMs + 1
      if (candle !== undefined) found.push(candle)
      else if (isClosed && close !== undefined) found.push(flatCandle(close, openTimeMs))
      close = candle?.close ?? close
    }
    return found
  }

  openCandle(coin: string, interval: CandleInterval, atMs: number): Candle | undefined {
    if (!this.#coins.has(coin)) return this.#base.openCandle(coin, interval, atMs)
    return this.candles(coin, interval, { fromMs: atMs, untilMs: atMs + 1 }, atMs)[0]
  }

  fundingHistory(
    coin: string,
    range: TimeRange,
    atMs: number,
    rowsMax: number,
  ): readonly SettledFunding[] {
    return this.#base.fundingHistory(coin, range, atMs, rowsMax)
  }

  isOutage(atMs: number): boolean {
    if (atMs < this.#joinMs) return false
    const recordedMs = this.#clock.recordedMs(atMs)
    return this.#outages.some(({ fromMs, untilMs }) => recordedMs > fromMs && recordedMs < untilMs)
  }

  addListing(listing: NewListing, atMs: number): void {
    this.#base.addListing(listing, atMs)
  }

  delist(coin: string, atMs: number): void {
    this.#base.delist(coin, atMs)
    const recorded = this.#coins.get(coin)
    if (recorded !== undefined) recorded.delistedAtMs = Math.min(recorded.delistedAtMs, atMs)
  }

  relist(coin: string): void {
    this.#base.relist(coin)
  }

  /** Candles of the minutes with trades from an instant through another, of the loop alone. */
  #minutes(recorded: RecordedCoin, fromMs: number, throughMs: number): Candle[] {
    const found: Candle[] = []
    for (let startMs = fromMs; startMs <= throughMs; startMs += MINUTE_MS) {
      const endMs = startMs + MINUTE_MS - 1
      const kept = recorded.minutes.get(startMs)
      const minute =
        kept === undefined
          ? candleOf(
              recorded.loop.trades(startMs - 1, Math.min(endMs, throughMs)),
              startMs,
              recorded,
            )
          : kept
      if (kept === undefined && endMs <= throughMs) {
        if (recorded.minutes.size >= MINUTES_KEPT_MAX) recorded.minutes.clear()
        recorded.minutes.set(startMs, minute)
      }
      if (minute !== null) found.push(minute)
    }
    return found
  }
}

/** Nothing more happens to a coin from when it is delisted. */
function aliveUntilMs({ delistedAtMs }: RecordedCoin, nowMs: number): number {
  return Math.min(nowMs, delistedAtMs - 1)
}

function candleOf(
  trades: readonly Trade[],
  openTimeMs: number,
  { sizeDecimals }: RecordedCoin,
): Candle | null {
  const first = trades[0]
  if (first === undefined) return null
  let { price: high, price: low, price: close } = first
  let volumeBase = 0
  for (const { price, sizeBase } of trades) {
    high = Math.max(high, price)
    low = Math.min(low, price)
    close = price
    volumeBase += sizeBase
  }
  return {
    openTimeMs,
    open: first.price,
    high,
    low,
    close,
    volumeBase: roundTo(volumeBase, sizeDecimals),
    trades: trades.length,
  }
}

function mergedCandle(parts: readonly Candle[], openTimeMs: number): Candle | undefined {
  const first = parts[0]
  if (first === undefined) return undefined
  return parts.slice(1).reduce(
    (merged, part) => ({
      openTimeMs,
      open: merged.open,
      high: Math.max(merged.high, part.high),
      low: Math.min(merged.low, part.low),
      close: part.close,
      volumeBase: merged.volumeBase + part.volumeBase,
      trades: merged.trades + part.trades,
    }),
    { ...first, openTimeMs },
  )
}

function flatCandle(price: number, openTimeMs: number): Candle {
  return {
    openTimeMs,
    open: price,
    high: price,
    low: price,
    close: price,
    volumeBase: 0,
    trades: 0,
  }
}

function midOf({ bids, asks }: Book): number | undefined {
  const bid = bids[0]?.price
  const ask = asks[0]?.price
  return bid === undefined || ask === undefined ? undefined : (bid + ask) / 2
}

function scaled(price: number, { scale, sizeDecimals }: RecordedCoin): number {
  return scale === 1 ? price : roundPrice(price * scale, sizeDecimals)
}

function scaledTrade(trade: Trade, recorded: RecordedCoin): Trade {
  return { ...trade, price: scaled(trade.price, recorded) }
}

function scaledCandle(candle: Candle, recorded: RecordedCoin): Candle {
  return {
    ...candle,
    open: scaled(candle.open, recorded),
    high: scaled(candle.high, recorded),
    low: scaled(candle.low, recorded),
    close: scaled(candle.close, recorded),
  }
}
