import type { CatalogRow } from './catalog.ts'
import { CoinMarkets } from './coin-markets.ts'
import { builderDexFunding } from './funding.ts'
import type { Market } from './market.ts'
import { modelCoins } from './seeded-market.ts'

/** A builder-deployed dex (HIP-3). */
export type BuilderDex = {
  /** Lower case; its coins are called `name:COIN`. */
  readonly name: string
  readonly fullName: string
  /** Index of the spot token that its notionals are in. */
  readonly collateralToken: number
  readonly fundingMultiplier: number
  /** Since when its fees are those of a young dex; absent where they are not. */
  readonly growthModeSince?: string
  /** Whether positions may share margin. */
  readonly isCrossAllowed: boolean
  readonly market: Market
}

type BuilderRow = Omit<BuilderDex, 'market'> & { readonly coins: readonly CatalogRow[] }

/**
 * Three of the venue's builder dexes, in its order, with few of their coins. TSLA and GOLD are on two of
 * them, BTC and SOL on the main dex too, XYZ100 has digits, SILVER is delisted.
 */
const builders: readonly BuilderRow[] = [
  {
    name: 'xyz',
    fullName: 'XYZ',
    collateralToken: 0,
    fundingMultiplier: 0.5,
    growthModeSince: '2025-11-23T17:37:10.033211662',
    isCrossAllowed: true,
    coins: [
      ['xyz:XYZ100', 4, 30, 29_850, 1.5e8, 3.4e8],
      ['xyz:TSLA', 3, 20, 381.4, 1.9e6, 2.1e7],
      ['xyz:NVDA', 3, 20, 178.2, 6.5e6, 3.2e7],
      ['xyz:GOLD', 4, 20, 4560, 3.1e7, 6e7],
      ['xyz:CL', 3, 20, 71.3, 2.4e7, 4.1e7],
      ['xyz:EUR', 1, 50, 1.171, 1.2e6, 3e6],
    ],
  },
  {
    name: 'flx',
    fullName: 'Felix Exchange',
    collateralToken: 6,
    fundingMultiplier: 1,
    isCrossAllowed: false,
    coins: [
      ['flx:TSLA', 3, 10, 381.6, 9_900, 320_000],
      ['flx:GOLD', 3, 10, 4561, 240_000, 900_000],
      ['flx:SILVER', 2, 10, 52.4, 50_000, 100_000, true],
      ['flx:OIL', 2, 10, 71.2, 130_000, 410_000],
    ],
  },
  {
    name: 'hyna',
    fullName: 'HyENA',
    collateralToken: 5,
    fundingMultiplier: 1,
    isCrossAllowed: true,
    coins: [
      ['hyna:BTC', 5, 40, 77_600, 3.9e6, 2.4e7],
      ['hyna:SOL', 2, 20, 86.1, 1.1e6, 5e6],
    ],
  },
]

/**
 * The builder dexes of one seed and start. They move with the main dex's coins. The first has some percent of the venue,
 * and the others less than one.
 */
export function seededBuilderDexes({
  seed,
  startMs,
}: {
  readonly seed: number
  readonly startMs: number
}): readonly BuilderDex[] {
  return builders.map(({ coins, ...dex }) => {
    const model = modelCoins(seed, startMs, builderDexFunding(dex.fundingMultiplier))
    const market = new CoinMarkets({
      clockShiftMs: 0,
      coins: coins.map(model.ofCatalog),
      newCoin: model.ofListing,
    })
    return { ...dex, market }
  })
}
