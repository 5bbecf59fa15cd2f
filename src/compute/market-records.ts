import type { Checkpoint } from '../domain/checkpoint.ts'
import { WHOLE_MARKET } from '../domain/document.ts'
import type { ClosedBar, HistoryBatch } from '../domain/history.ts'
import type { Listing } from '../domain/listing.ts'
import type { ResolvedClaim } from '../domain/track-record.ts'
import type { MarketSampler } from './market/market-sampler.ts'
import type { MarketState } from './market/market-state.ts'
import type { DocumentVersions } from './render/document-versions.ts'
import type { UnstoredClaims } from './track-record/unstored-claims.ts'
import { unstoredClaims } from './track-record/unstored-claims.ts'

/** The state of the market in the form in which it is saved: rows of a checkpoint, and rows of history. */
export class MarketRecords {
  readonly #market: MarketState
  readonly #sampler: MarketSampler
  readonly #versions: DocumentVersions

  constructor(market: MarketState, sampler: MarketSampler, versions: DocumentVersions) {
    this.#market = market
    this.#sampler = sampler
    this.#versions = versions
  }

  /** The newest document version. */
  get version(): number {
    return this.#versions.newest
  }

  get listings(): readonly Listing[] {
    return this.#market.listings
  }

  /** Names of the rows of a checkpoint. */
  names(): readonly string[] {
    return [...Array.from(this.#market.coins(), ({ listing }) => listing.coin), WHOLE_MARKET]
  }

  /** One row of a checkpoint; null if the coin was delisted. */
  row(name: string, nowMs: number): Float64Array | null {
    if (name === WHOLE_MARKET) return this.#market.save()
    return this.#market.coin(name)?.save(nowMs) ?? null
  }

  /** All rows at once. */
  checkpoint(nowMs: number): Checkpoint {
    const coins = new Map<string, Float64Array>()
    for (const name of this.names()) {
      const saved = this.row(name, nowMs)
      if (saved !== null) coins.set(name, saved)
    }
    return { version: this.version, listings: this.listings, coins }
  }

  /** Resolved claims that history has not stored, which removes them here when it has. */
  get unstoredClaims(): UnstoredClaims {
    return this.#market.of(unstoredClaims)
  }

  /** Removes and returns the resolved claims, where no history stores them. */
  takeClaims(): readonly ResolvedClaim[] {
    const claims = this.unstoredClaims
    const taken = claims.next(claims.length)
    claims.remove(taken.length)
    return taken
  }

  /** New history rows since the last call. A checkpoint of the same instant contains no later bar. */
  takeHistory(): HistoryBatch {
    const { samples, fundings, dropped } = this.#sampler.take()
    const bars: ClosedBar[] = []
    let droppedRows = dropped
    for (const { listing, ladder } of this.#market.coins()) {
      const closed = ladder.takeClosed()
      for (const { timeframe, bar } of closed.bars)
        bars.push({ coin: listing.coin, timeframe, bar })
      droppedRows += closed.dropped
    }
    const measured = this.#market.log.take()
    droppedRows += measured.dropped
    return { bars, samples, fundings, measures: measured.minutes, droppedRows }
  }
}
