import type { CoinTracker } from '../market/coin-tracker.ts'
import { coinTracker } from '../market/coin-tracker.ts'
import { blendedForecast } from './blended-forecast.ts'
import { ewmaForecast } from './ewma-forecast.ts'
import type { HarForecast } from './har-forecast.ts'
import { harForecast } from './har-forecast.ts'
import type { HourlyCloses } from './hourly-closes.ts'
import { CLOSES_READ } from './hourly-closes.ts'
import type { SpreadForecast } from './spread-forecast.ts'
import type { VolatilityRank } from './volatility-rank.ts'
import { volatilityRank } from './volatility-rank.ts'

/** Measures that change once an hour. */
export type HourlyVolatility = {
  readonly rank: VolatilityRank
  readonly forecast: HarForecast
  readonly blend: SpreadForecast | null
  readonly ewma: SpreadForecast | null
}

/**
 * Rank and forecasts of one coin, computed once for each state of its closes, for the answer and for the claims: a
 * forecast takes about a millisecond. Nothing is saved, because the closes give the same again.
 */
class HourlyForecasts implements CoinTracker {
  readonly inputs = [] as const
  #held: (HourlyVolatility & { readonly revision: number }) | null = null

  of(closes: HourlyCloses): HourlyVolatility {
    const { revision, newestHour } = closes
    if (this.#held?.revision === revision) return this.#held
    const known = Float64Array.from(
      { length: Number.isNaN(newestHour) ? 0 : CLOSES_READ },
      (_, at) => closes.close(newestHour - CLOSES_READ + 1 + at),
    )
    const forecast = harForecast(known)
    const ewma = ewmaForecast(known)
    const blend = blendedForecast(forecast, ewma)
    this.#held = { revision, rank: volatilityRank(known), forecast, blend, ewma }
    return this.#held
  }
}

export const hourlyForecasts = coinTracker('market/hourly-forecasts', () => new HourlyForecasts())
