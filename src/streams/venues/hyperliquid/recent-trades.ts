import type { Batch } from '../../../domain/event.ts'

/** The venue replays the last 30; a generation holds far more than any replay reaches back. */
const TRADES_PER_GENERATION = 1_024

/**
 * Remembers the latest trades of one coin by id, so that what the venue replays after a subscription
 * is told from what is new. Between 1,024 and 2,048 are remembered: the older generation is forgotten
 * as a whole, which is cheaper than one by one.
 */
class RecentTrades {
  #current = new Set<number>()
  #previous: ReadonlySet<number> = new Set()

  /** @returns false for a trade that was seen before. */
  admit(tradeId: number): boolean {
    if (this.#current.has(tradeId) || this.#previous.has(tradeId)) return false
    if (this.#current.size === TRADES_PER_GENERATION) {
      this.#previous = this.#current
      this.#current = new Set()
    }
    this.#current.add(tradeId)
    return true
  }
}

/** One memory a coin. The decoder lets only listed coins through, so their number is bounded. */
export class ReplayFilter {
  readonly #byCoin = new Map<string, RecentTrades>()

  /** @returns the batch without the trades that were delivered before. */
  fresh(batch: Batch): Batch {
    // A frame holds one kind of event, and most hold no trades.
    if (batch[0]?.kind !== 'trade') return batch
    return batch.filter(
      (event) => event.kind !== 'trade' || this.#of(event.coin).admit(event.tradeId),
    )
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
