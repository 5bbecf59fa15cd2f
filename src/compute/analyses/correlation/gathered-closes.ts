import type { MarketState } from '../../market/market-state.ts'
import { openInterestUsdOf } from '../../open-interest/open-interest-usd.ts'
import type { HourlyCloses } from '../../volatility/hourly-closes.ts'
import { hourlyCloses } from '../../volatility/hourly-closes.ts'
import { CORRELATED_COINS_MAX, RETURN_MS, RETURNS_READ } from './correlation-window.ts'

/** A return lies between two closes. */
const CLOSES = RETURNS_READ + 1

/** The window ends with an hour when all coins have closed it, at the latest this long after its end. */
const LATE_CLOSE_MS_MAX = 60_000

/** Inputs of one `/correlation` answer, by row. NaN: unknown. */
export type GatheredCloses = {
  /** By row, in the venue's order. */
  readonly coins: readonly string[]
  /** One hourly close more than {@link RETURNS_READ} for each row, up to `endHour`, USD. */
  readonly closes: Float64Array
  /** Last hour of the window, by its number since the Unix epoch; NaN before any. */
  readonly endHour: number
  /** Number of listed coins. */
  readonly coinsTotal: number
  readonly openInterestUsd: Float64Array
  /** Last confirmation of a coin's candles by the venue. */
  readonly candlesConfirmedAtMs: Float64Array
  readonly contextReceivedAtMs: Float64Array
}

export function gatherCloses(market: MarketState): GatheredCloses {
  const listed = [...market.coins()]
  const coins = listed.slice(0, CORRELATED_COINS_MAX)
  const hourly = coins.map((coin) => coin.of(hourlyCloses))
  const endHour = endHourOf(hourly, market.venueMs)
  const closes = new Float64Array(coins.length * CLOSES).fill(Number.NaN)
  const byRow = () => new Float64Array(coins.length).fill(Number.NaN)
  const [openInterestUsd, candlesConfirmedAtMs, contextReceivedAtMs] = [byRow(), byRow(), byRow()]
  for (const [row, coin] of coins.entries()) {
    const { context } = coin
    const ofCoin = hourly[row] as HourlyCloses
    for (let at = 0; at < CLOSES; at += 1)
      closes[row * CLOSES + at] = ofCoin.close(endHour - CLOSES + 1 + at)
    // Before candles are received, history confirms the closed hours.
    candlesConfirmedAtMs[row] = Number.isNaN(coin.candlesConfirmedAtMs)
      ? (ofCoin.newestHour + 1) * RETURN_MS
      : coin.candlesConfirmedAtMs
    if (context === null) continue
    openInterestUsd[row] = openInterestUsdOf(coin)
    contextReceivedAtMs[row] = context.timeReceivedMs
  }
  return {
    coins: coins.map(({ listing }) => listing.coin),
    closes,
    endHour,
    coinsTotal: listed.length,
    openInterestUsd,
    candlesConfirmedAtMs,
    contextReceivedAtMs,
  }
}

/** Coins without the hour before are not waited for. */
function endHourOf(hourly: readonly HourlyCloses[], venueMs: number): number {
  const newestHour = Math.max(
    ...hourly.map((closes) => closes.newestHour).filter((hour) => !Number.isNaN(hour)),
  )
  if (newestHour === Number.NEGATIVE_INFINITY) return Number.NaN
  const isComplete = hourly.every(
    ({ newestHour: hour }) => !(hour >= newestHour - 1) || hour === newestHour,
  )
  const isLate = venueMs >= (newestHour + 1) * RETURN_MS + LATE_CLOSE_MS_MAX
  return isComplete || isLate ? newestHour : newestHour - 1
}
