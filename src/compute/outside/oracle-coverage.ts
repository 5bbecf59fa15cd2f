import type { NoAnswer } from '../../domain/document.ts'
import { assetOf, oracleNetworks } from '../../domain/outside.ts'
import type { CoinMarket } from '../market/coin-market.ts'
import type { MarketState } from '../market/market-state.ts'

/** A network that is there for longer has told all that it knows. */
const TOLD_WITHIN_MS = 60_000

/** Why no oracle network can be believed about a coin: for now, or because none knows it at all. */
export function uncovered(coin: CoinMarket, market: MarketState, nowMs: number): NoAnswer {
  const made = assetOf(coin.listing.coin)
  const isKnown = made !== null && market.outside.oraclesOf(made.asset).length > 0
  if (!isKnown && (made === null || haveAllTold(market, nowMs)))
    return { kind: 'not-covered', coins: market.measures.oracles.knownCoins(market) }
  return {
    kind: 'missing-input',
    input: 'oracle',
    detail: `No oracle network has a price of ${coin.listing.coin} that can be relied on now.`,
  }
}

/** Somebody is up since long enough, and nobody who may know more is down. */
function haveAllTold({ outside }: MarketState, nowMs: number): boolean {
  const statuses = oracleNetworks.flatMap((network) => outside.source(network) ?? [])
  const isDown = statuses.some(({ state }) => state === 'down' || state === 'degraded')
  return (
    !isDown &&
    statuses.some(
      ({ state, timeReceivedMs }) => state === 'up' && nowMs - timeReceivedMs >= TOLD_WITHIN_MS,
    )
  )
}
