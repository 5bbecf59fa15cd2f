import type { Market } from '../market/market.ts'
import { bits, drift, noiseKey, uniform } from '../market/noise.ts'
import { decimalText } from '../market/precision.ts'

const HOUR_MS = 3_600_000
const FRACTION_DECIMALS = 10
const INTERVAL_HOURS = 8
const SHORT_INTERVAL_HOURS = 4
/** Shares of the coins that another exchange does not have, or settles more often. */
const ABSENT_SHARE = 0.2
const SHORT_INTERVAL_SHARE = 0.4

type Prediction = {
  readonly fundingRate: string
  readonly nextFundingTime: number
  readonly fundingIntervalHours: number
}

/** What the main dex's live coins pay next here and on two other exchanges, by name. */
export function predictedFundingsWire(market: Market, atMs: number): readonly object[] {
  return market
    .universe()
    .flatMap(({ coin, isDelisted }) => {
      const context = isDelisted ? undefined : market.context(coin, atMs)
      return context === undefined ? [] : [{ coin, rate: context.fundingRateHourly }]
    })
    .toSorted((one, other) => (one.coin < other.coin ? -1 : 1))
    .map(({ coin, rate }) => [
      coin,
      [
        ['BinPerp', elsewhere('BinPerp', coin, rate, atMs)],
        ['HlPerp', here(rate, atMs)],
        ['BybitPerp', elsewhere('BybitPerp', coin, rate, atMs)],
      ],
    ])
}

/** The venue names the hour that is settled already. */
function here(rate: number, atMs: number): Prediction {
  return {
    fundingRate: decimalText(rate, FRACTION_DECIMALS),
    nextFundingTime: Math.floor(atMs / HOUR_MS) * HOUR_MS,
    fundingIntervalHours: 1,
  }
}

/** null where the exchange does not have the coin. */
function elsewhere(
  exchange: string,
  coin: string,
  rateHourly: number,
  atMs: number,
): Prediction | null {
  const key = noiseKey(0, exchange, coin)
  if (uniform(key, 1) < ABSENT_SHARE) return null
  const isShort = uniform(key, 2) < SHORT_INTERVAL_SHARE
  const hours = isShort ? SHORT_INTERVAL_HOURS : INTERVAL_HOURS
  const periodMs = hours * HOUR_MS
  const own = 0.00005 * drift(bits(key, 3), atMs / periodMs)
  return {
    fundingRate: decimalText(rateHourly * hours + own, FRACTION_DECIMALS),
    nextFundingTime: (Math.floor(atMs / periodMs) + 1) * periodMs,
    fundingIntervalHours: hours,
  }
}
