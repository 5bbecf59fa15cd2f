import type { Sector } from '../../../domain/sectors.ts'
import { sectorOf, sectors } from '../../../domain/sectors.ts'

export type SectorMatrix = {
  /** Neighbours in the matrix; null is for coins without a sector, which are first. */
  readonly groups: readonly { readonly sector: Sector | null; readonly size: number }[]
  readonly coins: readonly string[]
  /** Rows and columns in the order of `coins`. */
  readonly values: readonly (readonly (number | null)[])[]
}

type Matrix = Pick<SectorMatrix, 'coins' | 'values'>

/** Coins of a sector become neighbours; within a sector they keep their order. */
export function sectorMatrix({ coins, values }: Matrix): SectorMatrix {
  const groups = [null, ...sectors]
    .map((sector) => ({
      sector,
      places: [...coins.keys()].filter((at) => (sectorOf(coins[at] ?? '') ?? null) === sector),
    }))
    .filter(({ places }) => places.length > 0)
  const order = groups.flatMap(({ places }) => places)
  return {
    groups: groups.map(({ sector, places }) => ({ sector, size: places.length })),
    coins: order.map((at) => coins[at] ?? ''),
    values: order.map((row) => order.map((column) => values[row]?.[column] ?? null)),
  }
}
