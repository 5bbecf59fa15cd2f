import type { Batch, TradeEvent, TradeGapEvent } from '../../../domain/event.ts'
import { kept } from '../plausibility/kept.ts'

/** The venue replays the last 30; a generation holds far more than any replay reaches back. */
const TRADES_PER_GENERATION = 1_024

/** A hash table of trade ids that never grows: half of it is used at most. */
class Generation {
  readonly #slots = new Float64Array(2 * TRADES_PER_GENERATION).fill(Number.NaN)
  #size = 0

  get isFull(): boolean {
    return this.#size === TRADES_PER_GENERATION
  }

  has(tradeId: number): boolean {
    return this.#slots[this.#slotOf(tradeId)] === tradeId
  }

  add(tradeId: number): void {
    this.#slots[this.#slotOf(tradeId)] = tradeId
    this.#size += 1
  }

  clear(): void {
    this.#slots.fill(Number.NaN)
    this.#size = 0
  }

  /** Where it stands, or the empty slot where it would. Ids of one block follow each other closely. */
  #slotOf(tradeId: number): number {
    const slots = this.#slots
    // Of whole numbers, which divide faster.
    let at = (tradeId >>> 0) % slots.length
    while (slots[at] !== tradeId && !Number.isNaN(slots[at])) at = (at + 1) % slots.length
    return at
  }
}

/**
 * Remembers the latest trades of one coin by id, so that what the venue replays after a subscription
 * is told from what is new. Between 1,024 and 2,048 are remembered: the older generation is forgotten
 * as a whole, which is cheaper than one by one. All of its memory is there from the first trade on.
 */
class RecentTrades {
  /** Of the newest trade ever admitted; NaN before any. */
  newestMs = Number.NaN
  #current = new Generation()
  #previous = new Generation()

  /** @returns false for a trade that was seen before. */
  admit({ tradeId, timeExchangeMs }: TradeEvent): boolean {
    if (this.#current.has(tradeId) || this.#previous.has(tradeId)) return false
    if (this.#current.isFull) {
      const forgotten = this.#previous
      this.#previous = this.#current
      this.#current = forgotten
      forgotten.clear()
    }
    this.#current.add(tradeId)
    if (!(timeExchangeMs <= this.newestMs)) this.newestMs = timeExchangeMs
    return true
  }
}

/** What one frame of trades turned out to bring. */
export type AdmittedTrades = {
  readonly fresh: readonly TradeEvent[]
  /** Trades that were known, and left out. */
  readonly repeated: number
  /** Set when a replay shows nothing that was known: what lay between is lost. */
  readonly gap: TradeGapEvent | null
}

/** NaN: it knew none. */
export type KnownUntil = (coin: string) => number

/** One memory a coin. The decoder lets only listed coins through, so their number is bounded. */
export class TradeMemory {
  readonly #byCoin = new Map<string, RecentTrades>()
  readonly #knownUntilMs: KnownUntil

  /** @param knownUntilMs of the newest trade of a coin that the engine knew before this memory began */
  constructor(knownUntilMs: KnownUntil = () => Number.NaN) {
    this.#knownUntilMs = knownUntilMs
  }

  /**
   * @param trades of one coin, in any order
   * @param isReplay true for the first frame after a subscription: the venue's last 30 trades
   */
  admit(coin: string, trades: readonly TradeEvent[], isReplay: boolean): AdmittedTrades {
    const recent = this.#of(coin)
    const knownMs = Number.isNaN(recent.newestMs) ? this.#knownUntilMs(coin) : recent.newestMs
    const fresh = kept(trades, (trade) => recent.admit(trade))
    const repeated = trades.length - fresh.length
    const gap = isReplay && repeated === 0 ? gapAfter(knownMs, trades) : null
    return { fresh, repeated, gap }
  }

  #of(coin: string): RecentTrades {
    let recent = this.#byCoin.get(coin)
    if (recent === undefined) {
      recent = new RecentTrades()
      this.#byCoin.set(coin, recent)
    }
    return recent
  }
}

/**
 * A trade was told that cannot be read or believed: as much is lost as by a gap. The others of its frame stay.
 * @param trades of the frame
 * @param venueMs by which it had been made, if the others do not tell
 */
export function gapBeside(
  coin: string,
  trades: Batch,
  { venueMs, nowMs }: { readonly venueMs: number; readonly nowMs: number },
): TradeGapEvent {
  const times = trades.flatMap((event) =>
    event.kind === 'trade' && event.coin === coin ? [event.timeExchangeMs] : [],
  )
  const atMs = times.length === 0 ? venueMs : Math.min(...times) - 1
  const stamp = { timeExchangeMs: atMs, timeReceivedMs: nowMs }
  return { kind: 'trade-gap', coin, fromMs: atMs, toMs: atMs, ...stamp }
}

function gapAfter(knownMs: number, replayed: readonly TradeEvent[]): TradeGapEvent | null {
  let oldest: TradeEvent | undefined
  for (const trade of replayed)
    if (oldest === undefined || trade.timeExchangeMs < oldest.timeExchangeMs) oldest = trade
  if (oldest === undefined || !(knownMs < oldest.timeExchangeMs)) return null
  const { coin, timeExchangeMs: toMs, timeReceivedMs } = oldest
  return { kind: 'trade-gap', coin, fromMs: knownMs, toMs, timeExchangeMs: toMs, timeReceivedMs }
}
