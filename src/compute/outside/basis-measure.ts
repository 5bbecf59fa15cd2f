import type { OracleNetwork } from '../../domain/outside.ts'
import type { MarketState } from '../market/market-state.ts'
import { readBasis } from './basis-reading.ts'
import type { SeriesSummary } from './minute-statistics.ts'
import { MinuteTurns } from './minute-turns.ts'
import type { OutsideMeasure } from './outside-measure.ts'
import { SeriesSummaries } from './series-summaries.ts'

/** What the venue told longer ago is no basis of now. */
const VENUE_MS_MAX = 15_000

/**
 * Every coin's basis once a minute, by the network that was believed then: each network has a series of
 * its own, because the one says of a coin what another cannot. The log keeps the values; what is summed up
 * from them is done once a minute.
 */
export class BasisMeasure implements OutsideMeasure {
  readonly #turns = new MinuteTurns()
  readonly #summaries = new SeriesSummaries()

  /** The history of a coin's basis by one network. */
  summary(coin: string, network: OracleNetwork, market: MarketState, nowMs: number): SeriesSummary {
    return this.#summaries.of(coin, basisSeries(coin, network), market.log, nowMs)
  }

  apply(): void {
    // A minute has one value: what stands when it is looked at.
  }

  advance(market: MarketState, nowMs: number): void {
    for (const coin of this.#turns.due(market.coins(), nowMs)) {
      const reading = readBasis(coin, market, nowMs)
      if (reading === null || reading.choice.weakness !== null) continue
      if (nowMs - reading.context.timeReceivedMs > VENUE_MS_MAX) continue
      const name = coin.listing.coin
      const series = basisSeries(name, reading.oracle.network)
      market.log.record(series, nowMs, reading.basisBps)
      this.#summaries.refresh(name, series, market.log, nowMs)
    }
    if (this.#summaries.size > market.listings.length)
      this.#summaries.forget((coin) => market.coin(coin) !== undefined)
  }

  save(): Float64Array {
    return new Float64Array(0)
  }

  restore(): boolean {
    return true
  }
}

function basisSeries(coin: string, network: OracleNetwork): string {
  return `basis/${coin}/${network}`
}
