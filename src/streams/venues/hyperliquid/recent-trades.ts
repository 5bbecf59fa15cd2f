import type { TradeEvent, TradeGapEvent } from '../../../domain/event.ts'

/** The venue replays the last 30; a generation holds far more than any replay reaches back. */
const TRADES_PER_GENERATION = 1_024

/**
 * Remembers the latest trades of one coin by id, so that what the venue replays after a subscription
 * is told from what is new. Between 1,024 and 2,048 are remembered: the older generation is forgotten
 * as a whole, which is cheaper than one by one.
 */
class RecentTrades {
  /** Of the newest trade ever admitted; NaN before any. */
  newestMs = Number.NaN
  #current = new Set<number>()
  #previous: ReadonlySet<number> = new Set()

  /** @returns false for a trade that was seen before. */
  admit({ tradeId, timeExchangeMs }: TradeEvent): boolean {
    if (this.#current.has(tradeId) || this.#previous.has(tradeId)) return false
    if (this.#current.size === TRADES_PER_GENERATION) {
      this.#previous = this.#current
      this.#current = new Set()
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

/** One memory a coin. The decoder lets only listed coins through, so their number is bounded. */
export class TradeMemory {
  readonly #byCoin = new Map<string, RecentTrades>()

  /**
   * @param trades of one coin, in any order
   * @param isReplay true for the first frame after a subscription: the venue's last 30 trades
   */
  admit(coin: string, trades: readonly TradeEvent[], isReplay: boolean): AdmittedTrades {
    const recent = this.#of(coin)
    const knownMs = recent.newestMs
    const fresh = trades.filter((trade) => recent.admit(trade))
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

function gapAfter(knownMs: number, replayed: readonly TradeEvent[]): TradeGapEvent | null {
  let oldest: TradeEvent | undefined
  for (const trade of replayed)
    if (oldest === undefined || trade.timeExchangeMs < oldest.timeExchangeMs) oldest = trade
  if (oldest === undefined || !(knownMs < oldest.timeExchangeMs)) return null
  const { coin, timeExchangeMs: toMs, timeReceivedMs } = oldest
  return { kind: 'trade-gap', coin, fromMs: knownMs, toMs, timeExchangeMs: toMs, timeReceivedMs }
}
