import type { MarketEvent } from '../../src/domain/event.ts'

/**
 * USD for what the prices of a coin are in, from everything that was told: 1 without a collateral token of its own, or with
 * that of index 0 (USDC); NaN where the last list of prices has none for it.
 */
export function naiveUsdPerUnit(log: readonly MarketEvent[], coin: string): number {
  const universe = log.findLast((event) => event.kind === 'universe')
  if (universe?.kind !== 'universe') return 1
  const index = universe.listings.find((listing) => listing.coin === coin)?.collateralToken
  if (index === undefined || index === 0) return 1
  const told = log.findLast((event) => event.kind === 'collateral-prices')
  if (told?.kind !== 'collateral-prices') return Number.NaN
  return told.tokens.find(({ token }) => token === index)?.usdcPrice ?? Number.NaN
}
