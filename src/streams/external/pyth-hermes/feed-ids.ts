import type { FeedIds } from './decode.ts'

/** Feeds that are streamed even while the list of feeds is not available. */
export const coreFeedIds: FeedIds = new Map([
  ['BTC', 'e62df6c8b4a85fe1a67db44dc12de5db330f7ac66b72dc658afedf0f4a415b43'],
  ['ETH', 'ff61491a931112ddf1bd8147cd1b641375f79f5825126d665480874634fd0ace'],
  ['SOL', 'ef0d8b6fda2ceba41da15d4095d1da392a0d2f8ed0c6c7bc0f4cfac8c280b56d'],
  ['USDC', 'eaa020c61cc479712813461ce153894a96a6c00b21ed0cfc2798d1f9a9e9c94a'],
  ['USDT', '2b89b9dc8fdf9f34709a5b106b472f0f39bb6ca9ce04b0fd7f2e971688e2e53b'],
])
