import type { MarketEvent } from '../../src/domain/event.ts'

/**
 * USD per unit of a coin's quote currency, from all events: 1 without a collateral token or with token 0 (USDC); NaN
 * if the last list of prices lacks the token.
 */
export function naiveUsdPerUnit(log: readonly MarketEvent[], coin: string): number {
  const universe = log.findLast((event) => event.kind === 'universe')
  if (universe?.kind !== 'universe') return 1
  const index = universe.listings.find((listing) => listing.coin === coin)?.collateralToken
  if (index === undefined || index === 0) return 1
  const prices = log.findLast((event) => event.kind === 'collateral-prices')
  if (prices?.kind !== 'collateral-prices') return Number.NaN
  return prices.tokens.find(({ token }) => token === index)?.usdcPrice ?? Number.NaN
}
