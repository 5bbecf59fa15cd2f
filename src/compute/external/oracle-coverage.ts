import type { NotCovered } from '../../domain/document.ts'
import type { SourceStatusEvent } from '../../domain/external.ts'
import { assetOf, oracleNetworks } from '../../domain/external.ts'
import type { CoinMarket } from '../market/coin-market.ts'
import type { MarketState } from '../market/market-state.ts'
import { oracleTrust } from './oracle-trust.ts'

/** A source that is up for this long has sent everything that it has. */
const TOLD_WITHIN_MS = 60_000
/** A source that is down for this long is not waited for. */
const AWAITED_MS = 300_000

/**
 * Why no oracle network covers a coin.
 * @returns a sentence if that is temporary, else the coins that networks cover
 */
export function uncovered(
  coin: CoinMarket,
  market: MarketState,
  nowMs: number,
): NotCovered | string {
  const made = assetOf(coin.listing.coin)
  const isKnown = made !== null && market.external.oraclesOf(made.asset).length > 0
  if (!isKnown && (made === null || haveAllTold(market, nowMs)))
    return { kind: 'not-covered', coins: market.of(oracleTrust).knownCoins(market) }
  return `No oracle network has a reliable price of ${coin.listing.coin} at the moment.`
}

/** Whether some network is up for long enough, and none went down recently. */
function haveAllTold({ external }: MarketState, nowMs: number): boolean {
  const statuses = oracleNetworks.flatMap((network) => external.source(network) ?? [])
  const isAwaited = statuses.some((status) => mayTellMore(status, nowMs))
  return !isAwaited && statuses.some((status) => hasTold(status, nowMs))
}

/** Whether a source went down recently. */
export function mayTellMore({ state, timeReceivedMs }: SourceStatusEvent, nowMs: number): boolean {
  return state === 'down' && nowMs - timeReceivedMs < AWAITED_MS
}

/** Whether a source is up for long enough; a degraded one sends what it can. */
export function hasTold({ state, timeReceivedMs }: SourceStatusEvent, nowMs: number): boolean {
  const isThere = state === 'up' || state === 'degraded'
  return isThere && nowMs - timeReceivedMs >= TOLD_WITHIN_MS
}
