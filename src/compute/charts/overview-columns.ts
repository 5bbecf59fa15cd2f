import { FUNDING_STEP_MS } from '../../domain/history.ts'
import type { FundingHour } from '../funding/funding-series.ts'
import { fundingSeries } from '../funding/funding-series.ts'
import { COIN_AGE_MS_MAX } from '../market/cadence.ts'
import type { CoinMarket } from '../market/coin-market.ts'
import type { MarketState } from '../market/market-state.ts'
import { hourlyCloses } from '../volatility/hourly-closes.ts'

export const CLOSE_HOURS = 24
export const FUNDING_HOURS = 72

/** Recent hours of the market; tables have one row for each coin, and NaN where a value is unknown. */
export type OverviewColumns = {
  /** In the venue's order. */
  readonly coins: readonly string[]
  /** Numbers of the first hour of each table, since the Unix epoch; NaN for an empty one. */
  readonly firstCloseHour: number
  readonly firstFundingHour: number
  /** USD; {@link CLOSE_HOURS} a coin. */
  readonly closes: Float64Array
  /** Settled hourly rates, fractions; {@link FUNDING_HOURS} a coin. */
  readonly fundingRates: Float64Array
  /** Coins whose candles are current, and the oldest confirmation of these. */
  readonly currentCoins: number
  readonly candlesConfirmedAtMs: number
}

/** Reads every coin once, in the engine thread; a worker renders. */
export function overviewColumns(market: MarketState, nowMs: number): OverviewColumns {
  const coins = [...market.coins()]
  const confirmedAtMs = coins
    .map(({ candlesConfirmedAtMs }) => candlesConfirmedAtMs)
    .filter((timeMs) => nowMs - timeMs <= COIN_AGE_MS_MAX)
  return {
    coins: coins.map(({ listing }) => listing.coin),
    ...closesOf(coins),
    ...fundingOf(coins),
    currentCoins: confirmedAtMs.length,
    candlesConfirmedAtMs: Math.min(...confirmedAtMs),
  }
}

/** Ends with the newest hour of any coin, so that no clock has to agree with the venue's. */
function closesOf(coins: readonly CoinMarket[]) {
  const series = coins.map((coin) => coin.of(hourlyCloses))
  const firstCloseHour = newestOf(series.map(({ newestHour }) => newestHour)) - CLOSE_HOURS + 1
  const closes = new Float64Array(coins.length * CLOSE_HOURS)
  for (const [row, of] of series.entries())
    for (let at = 0; at < CLOSE_HOURS; at += 1)
      closes[row * CLOSE_HOURS + at] = of.close(firstCloseHour + at)
  return { firstCloseHour, closes }
}

/** Ends with the newest settlement of any coin. */
function fundingOf(coins: readonly CoinMarket[]) {
  const settled = coins.map(settledHours)
  const newest = newestOf(settled.map((hours) => hourOf(hours.at(-1))))
  const firstFundingHour = newest - FUNDING_HOURS + 1
  const fundingRates = new Float64Array(coins.length * FUNDING_HOURS).fill(Number.NaN)
  for (const [row, hours] of settled.entries()) {
    for (const hour of hours) {
      const at = hourOf(hour) - firstFundingHour
      if (at >= 0) fundingRates[row * FUNDING_HOURS + at] = hour.rateHourly
    }
  }
  return { firstFundingHour, fundingRates }
}

/** Settled hours of the last days, ascending. */
function settledHours(coin: CoinMarket): readonly FundingHour[] {
  if (coin.context === null) return []
  const windows = coin.of(fundingSeries).windows(coin.context.timeExchangeMs)
  // The newest hour is settled minutes later.
  return windows.records(FUNDING_HOURS + 1).filter(({ isSettled }) => isSettled)
}

function hourOf(hour: FundingHour | undefined): number {
  return hour === undefined ? Number.NaN : hour.timeMs / FUNDING_STEP_MS
}

/** NaN for none. */
function newestOf(hours: readonly number[]): number {
  const known = hours.filter((hour) => !Number.isNaN(hour))
  return known.length === 0 ? Number.NaN : Math.max(...known)
}
