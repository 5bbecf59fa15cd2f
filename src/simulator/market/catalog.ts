import type { MarginTier } from '../../domain/listing.ts'
import catalogue from './catalog.json' with { type: 'json' }

/** One coin of the model market; names, precision and margin table are the venue's. */
export type CatalogRow = readonly [
  coin: string,
  sizeDecimals: number,
  marginTableId: number,
  priceUsd: number,
  dayNotionalUsd: number,
  openInterestUsd: number,
  isDelisted?: true,
]

type MarginTable = {
  readonly id: number
  readonly description: string
  readonly tiers: readonly MarginTier[]
}

export const catalog = catalogue.coins as unknown as readonly CatalogRow[]

/** Tables below 50 are implied: one tier, the maximum leverage is the id. */
export const marginTables: readonly MarginTable[] = catalogue.marginTables

/** Coins whose positions cannot share margin. */
export const strictlyIsolatedCoins: ReadonlySet<string> = new Set(catalogue.strictlyIsolatedCoins)

export function maxLeverageOf(marginTableId: number): number {
  const explicit = marginTables.find(({ id }) => id === marginTableId)
  return explicit?.tiers[0]?.maxLeverage ?? marginTableId
}
