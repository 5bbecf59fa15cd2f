import type { OraclePriceEvent } from '../../../domain/external.ts'
import { isPlausibleTime } from '../plausible.ts'
import { pythPrice } from '../pyth-price.ts'
import type { OnRefused } from './chain-events.ts'
import { PYTH_PUSH_HEARTBEAT_MS, pythFeeds } from './pyth-feeds.ts'
import type { FeedPrices, PythReading } from './pyth-query.ts'

const SECOND_MS = 1_000

type Published = Pick<OraclePriceEvent, 'priceUsd' | 'confidenceUsd' | 'ema' | 'timeExchangeMs'>

/** The newest plausible price of each feed in any contract. @param readMs as of `readMsOf` */
export function pythEvents(
  { feeds }: PythReading,
  readMs: number,
  onRefused: OnRefused,
): readonly OraclePriceEvent[] {
  return feeds.flatMap(({ feed, prices }): OraclePriceEvent[] => {
    const published = prices.flatMap((one) => publishedOf(one, readMs) ?? [])
    if (published.length < prices.length)
      onRefused('price_refused', `${feed.asset}: implausible price in a Pyth contract on Monad`)
    const newest = published.reduce<Published | null>(
      (best, next) => (best !== null && best.timeExchangeMs >= next.timeExchangeMs ? best : next),
      null,
    )
    if (newest === null) return []
    return [
      {
        kind: 'oracle-price',
        network: 'pyth-evm',
        place: 'monad',
        asset: feed.asset,
        ...newest,
        resolutionBps: feed.resolutionBps,
        heartbeatMs: PYTH_PUSH_HEARTBEAT_MS,
        timeReceivedMs: readMs,
      },
    ]
  })
}

/** The number of feeds of these assets, and of those without a price. */
export function listedFeeds(
  prices: readonly OraclePriceEvent[],
  assets: readonly string[],
): { readonly feeds: number; readonly missing: number } {
  const priced = new Set(prices.map(({ asset }) => asset))
  const listed = pythFeeds.filter(({ asset }) => assets.includes(asset))
  return { feeds: listed.length, missing: listed.filter(({ asset }) => !priced.has(asset)).length }
}

function publishedOf({ spot, ema }: FeedPrices, readMs: number): Published | null {
  const price = pythPrice(spot.price, spot.conf, spot.expo)
  const timeExchangeMs = Number(spot.publishTime) * SECOND_MS
  if (price === null || !isPlausibleTime(timeExchangeMs, readMs)) return null
  return { ...price, ema: ema && pythPrice(ema.price, ema.conf, ema.expo), timeExchangeMs }
}
