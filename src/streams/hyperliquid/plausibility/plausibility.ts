import type {
  Batch,
  CandleEvent,
  ContextEvent,
  MarkEvent,
  TradeEvent,
} from '../../../domain/event.ts'
import type { Drop } from '../wire/rejection.ts'
import { drop } from '../wire/rejection.ts'
import { dexOf } from '../wire/universe.ts'
import { NamedPrices } from './named-prices.ts'
import type { Outlier } from './plausibility-filter.ts'
import { isOutlierHeld, PlausibilityFilter, withoutFarImpact } from './plausibility-filter.ts'
import type { UniverseCache } from './universe-cache.ts'

/**
 * How contexts were joined with coins: by a name in the row, by a universe in the same reply, or by the last universe,
 * which may have changed since.
 */
export type JoinedBy = 'name' | 'own universe' | 'last universe'

/**
 * Removes implausible events, and rows that belong to another coin than that of their place: the universe can change
 * between two frames without a sign in them.
 */
export class Plausibility {
  readonly #filter = new PlausibilityFilter()
  readonly #prices = new NamedPrices()
  readonly #universes: UniverseCache
  readonly #onDrop: (drop: Drop) => void
  readonly #contradicted: string[] = []
  readonly #candlesHeld: string[] = []

  constructor(universes: UniverseCache, onDrop: (drop: Drop) => void) {
    this.#universes = universes
    this.#onDrop = onDrop
  }

  /** Something contradicts the universe of a dex. */
  contradict(dex: string): void {
    if (this.#universes.contradict(dex)) this.#contradicted.push(dex)
  }

  /** Dexes with a new contradiction since the last call. */
  takeContradicted(): readonly string[] {
    return this.#contradicted.length === 0 ? NONE : this.#contradicted.splice(0)
  }

  /** Coins with a held candle since the last call: their history must be requested. */
  takeHeldCandles(): readonly string[] {
    return this.#candlesHeld.length === 0 ? NONE : this.#candlesHeld.splice(0)
  }

  /** Coins that a frame names and no universe lists. */
  unlisted(marks: readonly MarkEvent[], nowMs: number): void {
    for (const mark of marks)
      if (this.#prices.unlisted(mark, nowMs)) this.contradict(dexOf(mark.coin))
  }

  marksReceived(socket: number, nowMs: number): void {
    this.#prices.marksReceived(socket, nowMs)
  }

  lost(socket: number): void {
    this.#prices.lost(socket)
  }

  keep(isListed: (coin: string) => boolean): void {
    this.#prices.keep(isListed)
  }

  /** Rows of the last universe, without those that belong to another coin. */
  rowsOfTheirCoins(contexts: Batch, nowMs: number): Batch {
    const own = contexts.filter((event) => {
      if (event.kind !== 'context' || !this.#prices.isOfOther(event, nowMs)) return true
      this.contradict(dexOf(event.coin))
      this.#onDrop(drop('unconfirmed_row', 'markPx', event.coin))
      return false
    })
    return this.#confirmed(own, nowMs)
  }

  contexts(events: Batch, joinedBy: JoinedBy, nowMs: number): Batch {
    const accepted = events.filter((event) => {
      if (event.kind !== 'context') return true
      const isKnown = this.#filter.knowsContextOf(event.coin)
      const outlier = this.#filter.context(event, nowMs)
      if (!isOutlierHeld(outlier)) {
        this.#reportCorrected(outlier, event.coin)
        if (joinedBy === 'name') this.#prices.context(event, nowMs)
        return true
      }
      // The same channel would repeat the row of another coin, so the universe must be confirmed first.
      const isDoubtful = joinedBy === 'last universe' && isKnown
      if (isDoubtful && !this.#prices.isConfirmed(event, nowMs)) this.contradict(dexOf(event.coin))
      return false
    })
    const confirmed = joinedBy === 'last universe' ? this.#confirmed(accepted, nowMs) : accepted
    return confirmed.map((event) => (event.kind === 'context' ? this.#withImpact(event) : event))
  }

  /** Marks and candles; every other event is accepted. */
  others(events: Batch, nowMs: number): Batch {
    return events.filter((event) => {
      switch (event.kind) {
        case 'mark':
          return this.#mark(event, nowMs)
        case 'book':
        case 'top-of-book':
          this.#prices.book(event, nowMs)
          return true
        case 'candle':
          return this.#candle(event, nowMs)
        default:
          return true
      }
    })
  }

  trade(event: TradeEvent, nowMs: number): boolean {
    const outlier = this.#filter.trade(event, nowMs)
    return outlier === null || this.#drop(outlier, event.coin)
  }

  #mark(event: MarkEvent, nowMs: number): boolean {
    const outlier = this.#filter.mark(event, nowMs)
    if (isOutlierHeld(outlier)) return false
    this.#reportCorrected(outlier, event.coin)
    this.#prices.mark(event, nowMs)
    return true
  }

  #candle(event: CandleEvent, nowMs: number): boolean {
    const outlier = this.#filter.candle(event, nowMs)
    if (!isOutlierHeld(outlier)) return true
    if (outlier.state === 'held') this.#candlesHeld.push(event.coin)
    return this.#drop(outlier, event.coin)
  }

  /** A held context or mark is a drop once the next value corrects it; a repeated one was true. */
  #reportCorrected(outlier: Outlier | null, coin: string): void {
    if (outlier !== null) this.#drop(outlier, coin)
  }

  #drop({ field }: Outlier, coin: string): false {
    this.#onDrop(drop('doubtful_figure', field, coin))
    return false
  }

  /** Without rows of a contradicted universe that no named price confirms. */
  #confirmed(contexts: Batch, nowMs: number): Batch {
    if (!this.#universes.isAnyContradicted) return contexts
    return contexts.filter((event) => {
      if (event.kind !== 'context' || !this.#universes.isContradicted(dexOf(event.coin)))
        return true
      const isConfirmed = this.#prices.isConfirmed(event, nowMs)
      if (!isConfirmed) this.#onDrop(drop('unconfirmed_row', 'markPx', event.coin))
      return isConfirmed
    })
  }

  #withImpact(context: ContextEvent): ContextEvent {
    const plausible = withoutFarImpact(context)
    if (plausible !== context) this.#onDrop(drop('doubtful_figure', 'impactPxs', context.coin))
    return plausible
  }
}

const NONE: readonly string[] = []
