import type { NotCovered } from '../../../domain/document.ts'
import { assetOf, exchanges } from '../../../domain/external.ts'
import { EXCHANGES_MIN } from '../../external/exchange-reference.ts'
import { hasTold, mayTellMore } from '../../external/oracle-coverage.ts'
import type { CoinMarket } from '../../market/coin-market.ts'
import type { MarketState } from '../../market/market-state.ts'

/**
 * Why there is no exchange price of a coin.
 * @returns a sentence if that is temporary, else the coins that enough exchanges trade
 */
export function unquoted(
  coin: CoinMarket,
  market: MarketState,
  nowMs: number,
): NotCovered | string {
  const name = coin.listing.coin
  if (isTooRare(name, market) && (assetOf(name) === null || haveAllTold(market, nowMs))) {
    const coins = Array.from(market.coins(), ({ listing }) => listing.coin)
    return { kind: 'not-covered', coins: coins.filter((one) => !isTooRare(one, market)) }
  }
  return `Fewer than ${EXCHANGES_MIN} exchanges have a fresh price of ${name}.`
}

function isTooRare(coin: string, { external }: MarketState): boolean {
  const made = assetOf(coin)
  const quotes = made === null ? [] : external.quotesOf(made.asset)
  return new Set(quotes.map(({ exchange }) => exchange)).size < EXCHANGES_MIN
}

/** Enough exchanges have been connected long enough, and none that may list more went down recently. */
function haveAllTold({ external }: MarketState, nowMs: number): boolean {
  const statuses = exchanges.flatMap((exchange) => external.source(exchange) ?? [])
  const isAwaited = statuses.some((status) => mayTellMore(status, nowMs))
  const settled = statuses.filter((status) => hasTold(status, nowMs))
  return !isAwaited && settled.length >= EXCHANGES_MIN
}
