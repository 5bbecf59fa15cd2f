import type { NotCovered } from '../../domain/document.ts'
import type { SourceStatusEvent } from '../../domain/external.ts'
import { assetOf, oracleNetworks } from '../../domain/external.ts'
import type { CoinMarket } from '../market/coin-market.ts'
import type { MarketState } from '../market/market-state.ts'
import { oracleTrust } from './oracle-trust.ts'

/** A source that is there for longer has told all that it knows. */
const TOLD_WITHIN_MS = 60_000
/** One that is gone for as long is not waited for. */
const AWAITED_MS = 300_000

/**
 * Why no oracle network can be believed about a coin.
 * @returns a sentence where that is so for now, else the coins that networks know
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
  return `No oracle network has a price of ${coin.listing.coin} that can be relied on now.`
}

/** Somebody is there since long enough, and nobody who may know more went down a moment ago. */
function haveAllTold({ external }: MarketState, nowMs: number): boolean {
  const statuses = oracleNetworks.flatMap((network) => external.source(network) ?? [])
  const isAwaited = statuses.some((status) => mayTellMore(status, nowMs))
  return !isAwaited && statuses.some((status) => hasTold(status, nowMs))
}

/** A source that went down a moment ago. */
export function mayTellMore({ state, timeReceivedMs }: SourceStatusEvent, nowMs: number): boolean {
  return state === 'down' && nowMs - timeReceivedMs < AWAITED_MS
}

/** A source that is there since long enough: one that is degraded tells what it can. */
export function hasTold({ state, timeReceivedMs }: SourceStatusEvent, nowMs: number): boolean {
  const isThere = state === 'up' || state === 'degraded'
  return isThere && nowMs - timeReceivedMs >= TOLD_WITHIN_MS
}
