import type { OraclePriceEvent } from '../../../domain/external.ts'
import { isSanePrice, isSaneTime } from '../sane.ts'
import type { Refused } from './chain-events.ts'
import type { PythPrice } from './contract-views.ts'
import { PYTH_PUSH_HEARTBEAT_MS } from './pyth-feeds.ts'
import type { PythTold, PythWord } from './pyth-reading.ts'

const SECOND_MS = 1_000
/** No feed has more digits. */
const EXPO_MIN = -18

type Scaled = { readonly priceUsd: number; readonly confidenceUsd: number }
type Published = Scaled & Pick<OraclePriceEvent, 'ema' | 'timeExchangeMs'>

/** Of each feed what was published last, by whichever contract; what makes no sense is refused first. */
export function pythEvents(
  { feeds }: PythWord,
  nowMs: number,
  refused: Refused,
): readonly OraclePriceEvent[] {
  return feeds.flatMap(({ feed, told }): OraclePriceEvent[] => {
    const sane = told.flatMap((one) => publishedOf(one, nowMs) ?? [])
    if (sane.length < told.length) refused('price_refused', `${feed.asset} on Monad`)
    const newest = sane.reduce<Published | null>(
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
        timeReceivedMs: nowMs,
      },
    ]
  })
}

function publishedOf({ spot, ema }: PythTold, nowMs: number): Published | null {
  const price = scaled(spot)
  const timeExchangeMs = Number(spot.publishTime) * SECOND_MS
  if (price === null || !isSaneTime(timeExchangeMs, nowMs)) return null
  return { ...price, ema: ema === null ? null : scaled(ema), timeExchangeMs }
}

/** null for what is no price: not above zero, absurd, or less sure than it is large. */
function scaled({ price, conf, expo }: PythPrice): Scaled | null {
  if (expo < EXPO_MIN || expo > 0) return null
  const priceUsd = Number(price) / 10 ** -expo
  const confidenceUsd = Number(conf) / 10 ** -expo
  return isSanePrice(priceUsd) && confidenceUsd < priceUsd ? { priceUsd, confidenceUsd } : null
}
