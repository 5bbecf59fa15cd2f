import type { TradeEvent, TradeGapEvent } from '../../../domain/event.ts'

/** The venue replays the last 30 trades, or all trades of a coin with fewer. */
const REPLAYED_TRADES = 30

/** A generation holds many more than a replay. At 1,024, 230 coins took 7 MB. */
const TRADES_PER_GENERATION = 256

/** A hash table of trade identifiers with a fixed size, at most half full. */
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

  /** The slot of an identifier, or the empty slot for it. */
  #slotOf(tradeId: number): number {
    const slots = this.#slots
    // Integer division is faster.
    let at = (tradeId >>> 0) % slots.length
    while (slots[at] !== tradeId && !Number.isNaN(slots[at])) at = (at + 1) % slots.length
    return at
  }
}

/**
 * The identifiers of the latest 256 to 512 trades of one coin. The older generation is removed as a whole, which is
 * cheaper than one by one; memory is allocated with the first trade.
 */
class RecentTrades {
  /** Exchange time of the newest trade; NaN before any. */
  newestMs = Number.NaN
  #current = new Generation()
  #previous = new Generation()

  /** @returns false for a known trade */
  accept({ tradeId, timeExchangeMs }: TradeEvent): boolean {
    if (this.#current.has(tradeId) || this.#previous.has(tradeId)) return false
    if (this.#current.isFull) {
      const removed = this.#previous
      this.#previous = this.#current
      this.#current = removed
      removed.clear()
    }
    this.#current.add(tradeId)
    if (!(timeExchangeMs <= this.newestMs)) this.newestMs = timeExchangeMs
    return true
  }
}

/** The trades of one frame. */
export type AcceptedTrades = {
  readonly fresh: readonly TradeEvent[]
  /** The number of known trades. */
  readonly repeated: number
  /** Set if a replay contains no known trade: the trades before it are lost. */
  readonly gap: TradeGapEvent | null
}

/** What the engine knows of the trades of a coin. */
export type KnownTrades = (coin: string) => {
  /** Exchange time of the newest one; NaN for none. */
  readonly newestMs: number
  /** Until when the coin is observed, with or without a trade; NaN for not yet. */
  readonly observedMs: number
}

const NOTHING_KNOWN = { newestMs: Number.NaN, observedMs: Number.NaN }
/** A dead connection is detected within this time, while another one still observes the coin. */
const DETECTION_MS_MAX = 60_000

/** Recent trades of every coin. Only listed coins occur, so their number is bounded. */
export class TradeMemory {
  readonly #byCoin = new Map<string, RecentTrades>()
  /** Per coin without a trade whose connection was lost, until when it had none; until the next replay. */
  readonly #silentUntilMs = new Map<string, number>()
  /** Coins that are subscribed since the last loss. */
  readonly #subscribed = new Set<string>()
  readonly #known: KnownTrades

  /** @param known what the engine knew before this memory began */
  constructor(known: KnownTrades = () => NOTHING_KNOWN) {
    this.#known = known
  }

  /** A replay follows, unless the coin has no trade at all. */
  subscribed(coin: string): void {
    this.#subscribed.add(coin)
  }

  /** The coin was delisted: if it is listed again, its trades begin with that. */
  forget(coin: string): void {
    this.#byCoin.delete(coin)
    this.#silentUntilMs.delete(coin)
    this.#subscribed.delete(coin)
  }

  /** The connection of the coin was lost, or the engine ended: its next replay may lack trades, also if it had none. */
  interrupted(coin: string): void {
    const { newestMs, observedMs } = this.#known(coin)
    const isFirst = this.#subscribed.delete(coin) || !this.#silentUntilMs.has(coin)
    if (Number.isNaN(newestMs) && isFirst)
      this.#silentUntilMs.set(coin, observedMs - DETECTION_MS_MAX)
  }

  /**
   * @param trades of one coin, in any order
   * @param isReplay true for the first frame after a subscription: the venue's last 30 trades
   */
  accept(coin: string, trades: readonly TradeEvent[], isReplay: boolean): AcceptedTrades {
    const recent = this.#of(coin)
    const knownMs = isReplay ? this.#knownMs(coin, recent.newestMs, trades.length) : Number.NaN
    const fresh = trades.filter((trade) => recent.accept(trade))
    const repeated = trades.length - fresh.length
    const gap = isReplay && repeated === 0 ? gapAfter(knownMs, trades) : null
    return { fresh, repeated, gap }
  }

  /** Until when trades are known. A coin that had none may have had more than a whole replay since. */
  #knownMs(coin: string, newestMs: number, replayed: number): number {
    const silentUntilMs = this.#silentUntilMs.get(coin) ?? Number.NaN
    this.#silentUntilMs.delete(coin)
    if (!Number.isNaN(newestMs)) return newestMs
    const known = this.#known(coin)
    const canLack = Number.isNaN(known.newestMs) && replayed >= REPLAYED_TRADES
    return canLack ? silentUntilMs : known.newestMs
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

function gapAfter(knownMs: number, replayed: readonly TradeEvent[]): TradeGapEvent | null {
  let oldest: TradeEvent | undefined
  for (const trade of replayed)
    if (oldest === undefined || trade.timeExchangeMs < oldest.timeExchangeMs) oldest = trade
  if (oldest === undefined || !(knownMs < oldest.timeExchangeMs)) return null
  const { coin, timeExchangeMs: toMs, timeReceivedMs } = oldest
  return { kind: 'trade-gap', coin, fromMs: knownMs, toMs, timeExchangeMs: toMs, timeReceivedMs }
}
