import type { OracleNetwork } from '../../../domain/external.ts'
import { oracleNetworks } from '../../../domain/external.ts'
import { aboveBps, readBasis } from '../../external/basis-reading.ts'
import { gapSeries } from '../../external/measures/gap-series.ts'
import { MinuteSchedule } from '../../external/measures/minute-schedule.ts'
import type { SeriesSummary } from '../../external/measures/minute-statistics.ts'
import { seriesSummary } from '../../external/measures/minute-statistics.ts'
import { SeriesSummaries } from '../../external/measures/series-summaries.ts'
import { comparableOracles } from '../../external/oracle-choice.ts'
import type { MarketState, MarketTracker } from '../../market/market-state.ts'
import { marketTracker } from '../../market/market-state.ts'
import { coinOfMeasure } from '../../market/measure-log.ts'
import { PublicationCount } from './publication-count.ts'
import type { WindowMean } from './window-mean.ts'
import { windowMeanOf } from './window-mean.ts'

/** Older venue figures are not recorded. */
const VENUE_MS_MAX = 15_000

/**
 * Records every coin's basis once a minute in the measure log, one series per oracle network that may be chosen,
 * because the networks have different errors. Summaries are refreshed once a minute.
 */
class BasisMeasure implements MarketTracker {
  readonly #turns = new MinuteSchedule()
  readonly #summaries = new SeriesSummaries(seriesSummary)
  readonly #publications = new PublicationCount()

  /** The history of a coin's basis by one network. */
  summary(coin: string, network: OracleNetwork, market: MarketState, nowMs: number): SeriesSummary {
    const series = gapSeries.basis(coin, network)
    return this.#summaries.of(series, series, market.log, nowMs)
  }

  /** Mean of the last hour by one network, with its confidence band. */
  windowMean(coin: string, network: OracleNetwork, market: MarketState, nowMs: number): WindowMean {
    const series = gapSeries.basis(coin, network)
    return windowMeanOf(market.log, series, this.#publications.of(series, nowMs), nowMs)
  }

  advance(market: MarketState, nowMs: number): void {
    for (const coin of this.#turns.due(market.coins(), nowMs)) {
      const reading = readBasis(coin, market, nowMs)
      if (reading === null || reading.choice.weakness !== null) continue
      if (nowMs - reading.context.timeReceivedMs > VENUE_MS_MAX) continue
      for (const { network, priceUsd, publishedAtMs } of comparableOracles(reading.choice)) {
        const series = gapSeries.basis(coin.listing.coin, network)
        const basisBps = aboveBps(reading.context.oraclePrice, priceUsd * reading.scale)
        market.log.record(series, nowMs, basisBps)
        this.#publications.observe(series, publishedAtMs, nowMs)
        this.#summaries.refresh(series, series, market.log, nowMs)
      }
    }
    if (this.#summaries.size <= oracleNetworks.length * market.listings.length) return
    const isListed = (series: string) => market.coin(coinOfMeasure(series) ?? '') !== undefined
    this.#summaries.forget(isListed)
    this.#publications.forget(isListed)
  }
}

export const basisMeasure = marketTracker('basis/measure', () => new BasisMeasure())
