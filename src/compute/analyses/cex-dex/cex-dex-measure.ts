import { oracleNetworks } from '../../../domain/external.ts'
import { quotedPrice } from '../../book/best-quote.ts'
import { aboveBps } from '../../external/basis-reading.ts'
import type { CexDexReading } from '../../external/cex-dex-reading.ts'
import { actionableSide, dexName, isSound, readCexDex } from '../../external/cex-dex-reading.ts'
import { gapSeries } from '../../external/measures/gap-series.ts'
import { MinuteSchedule } from '../../external/measures/minute-schedule.ts'
import type { SortedWindow } from '../../external/measures/minute-statistics.ts'
import { dayStatistics } from '../../external/measures/minute-statistics.ts'
import { SeriesSummaries } from '../../external/measures/series-summaries.ts'
import { comparableOracles } from '../../external/oracle-choice.ts'
import type { CoinMarket } from '../../market/coin-market.ts'
import type { MarketState, MarketTracker } from '../../market/market-state.ts'
import { marketTracker } from '../../market/market-state.ts'
import { coinOfMeasure } from '../../market/measure-log.ts'
import type { LeadLag } from './lead-lag.ts'
import { LeadLagSeconds } from './lead-lag.ts'

/** Each coin is read once a second, in {@link SHARES} ticks. */
const TICK_MS = 50
const SHARES = 20
/** Series per coin: the pools, and each oracle network. */
const LEGS_MAX = 1 + oracleNetworks.length

/** State of one coin that is not saved: it is complete again ten minutes after a restart. */
type Watched = {
  readonly seconds: LeadLagSeconds
  leadLag: LeadLag | null
  /** Start of the present actionable divergence; NaN without one. */
  openSinceMs: number
  side: number
}

/** Measures every coin's divergence: each second in memory, each minute in the measure log. */
class CexDexMeasure implements MarketTracker {
  readonly #turns = new MinuteSchedule()
  readonly #summaries = new SeriesSummaries(dayStatistics)
  readonly #watched = new Map<string, Watched>()
  #tick = Number.NaN

  day(coin: string, dex: string, market: MarketState, nowMs: number): SortedWindow {
    const series = gapSeries.cexDex(coin, dex)
    return this.#summaries.of(series, series, market.log, nowMs)
  }

  /** Lag of the venue's perpetual behind the exchanges; null if unknown. */
  leadLag(coin: string): LeadLag | null {
    return this.#watched.get(coin)?.leadLag ?? null
  }

  /** Start of the actionable divergence on this side; null without one. @param side sign of the divergence */
  openSinceMs(coin: string, side: number): number | null {
    const watched = this.#watched.get(coin)
    if (watched === undefined || watched.side !== side || Number.isNaN(watched.openSinceMs))
      return null
    return watched.openSinceMs
  }

  advance(market: MarketState, nowMs: number): void {
    this.#readShare(market, nowMs)
    for (const coin of this.#turns.due(market.coins(), nowMs)) {
      const name = coin.listing.coin
      const watched = this.#watched.get(name)
      if (watched !== undefined) watched.leadLag = watched.seconds.measure()
      const reading = readCexDex(coin, market, nowMs)
      if (typeof reading === 'string' || !isSound(reading)) continue
      for (const [dex, priceUsd] of comparedWith(reading)) {
        const series = gapSeries.cexDex(name, dex)
        market.log.record(series, nowMs, aboveBps(reading.cex.midUsd, priceUsd))
        this.#summaries.refresh(series, series, market.log, nowMs)
      }
    }
    if (this.#summaries.size > LEGS_MAX * market.listings.length)
      this.#summaries.forget((series) => market.coin(coinOfMeasure(series) ?? '') !== undefined)
  }

  #readShare(market: MarketState, nowMs: number): void {
    const tick = Math.floor(nowMs / TICK_MS)
    if (tick === this.#tick) return
    this.#tick = tick
    let share = tick % SHARES
    for (const coin of market.coins()) {
      share = (share + 1) % SHARES
      if (share === 0) this.#readCoin(coin, market, nowMs)
    }
    if (this.#watched.size > market.listings.length) this.#forgetDelisted(market)
  }

  #readCoin(coin: CoinMarket, market: MarketState, nowMs: number): void {
    const name = coin.listing.coin
    const reading = readCexDex(coin, market, nowMs)
    let watched = this.#watched.get(name)
    if (watched === undefined) {
      // No memory for coins without exchange prices.
      if (typeof reading === 'string') return
      watched = {
        seconds: new LeadLagSeconds(),
        leadLag: null,
        openSinceMs: Number.NaN,
        side: 0,
      }
      this.#watched.set(name, watched)
    }
    const isRead = typeof reading !== 'string'
    const cexUsd = isRead ? reading.cex.midUsd : Number.NaN
    watched.seconds.add(nowMs, cexUsd, quotedPrice(coin.quote) ?? Number.NaN)
    const side = isRead ? actionableSide(reading) : 0
    if (side === watched.side) return
    watched.side = side
    watched.openSinceMs = side === 0 ? Number.NaN : nowMs
  }

  #forgetDelisted(market: MarketState): void {
    for (const coin of this.#watched.keys())
      if (market.coin(coin) === undefined) this.#watched.delete(coin)
  }
}

/** The pool, or each oracle network that may be chosen; each has its own series. */
function comparedWith({ dex, choice }: CexDexReading): readonly (readonly [string, number])[] {
  if (dex.source === 'dex_pool') return [[dexName(dex), dex.priceUsd]]
  return comparableOracles(choice).map(({ network, priceUsd }) => [network, priceUsd])
}

export const cexDexMeasure = marketTracker('cex-dex/measure', () => new CexDexMeasure())
