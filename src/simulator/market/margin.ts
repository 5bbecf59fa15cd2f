import type { MarginTier } from '../../domain/listing.ts'
import { marginTables } from './catalog.ts'

/** A range of notional, and what maintenance costs in it: `notional * rate - deduction`. */
export type MaintenanceTier = {
  readonly lowerBoundUsd: number
  readonly maxLeverage: number
  readonly rate: number
  readonly deductionUsd: number
}

/** Of a margin table, ascending. Tables below 50 are implied: one tier, the maximum leverage is the id. */
export function maintenanceTiers(marginTableId: number): readonly MaintenanceTier[] {
  const table = marginTables.find(({ id }) => id === marginTableId)
  const tiers: readonly MarginTier[] = table?.tiers ?? [
    { lowerBoundUsd: 0, maxLeverage: marginTableId },
  ]
  let rateBefore = 0
  let deductionUsd = 0
  return tiers.map(({ lowerBoundUsd, maxLeverage }) => {
    // Half of the initial margin at the highest leverage; continuous from tier to tier.
    const rate = 1 / (2 * maxLeverage)
    deductionUsd += lowerBoundUsd * (rate - rateBefore)
    rateBefore = rate
    return { lowerBoundUsd, maxLeverage, rate, deductionUsd }
  })
}

/** The tier of a notional; a boundary belongs to the higher one. */
export function tierAt(tiers: readonly MaintenanceTier[], notionalUsd: number): MaintenanceTier {
  const tier = tiers.findLast(({ lowerBoundUsd }) => notionalUsd >= lowerBoundUsd) ?? tiers[0]
  if (tier === undefined) throw new Error('a margin table has a tier')
  return tier
}

export function maintenanceUsd(tiers: readonly MaintenanceTier[], notionalUsd: number): number {
  const { rate, deductionUsd } = tierAt(tiers, notionalUsd)
  return notionalUsd * rate - deductionUsd
}

/**
 * The price at which what backs a position equals the maintenance margin: the root of
 * `equity = rawUsd + size * price`, `equity = maintenance(|size| * price) + otherMaintenanceUsd`, with
 * the tier that the root itself is in. The venue's rules, as its documentation has them.
 * @param sizeBase negative for a short
 * @param rawUsd account value without the position's own worth: `accountValue - size * mark`
 * @returns null where no positive price does it
 */
export function modelLiquidationPrice(
  tiers: readonly MaintenanceTier[],
  sizeBase: number,
  rawUsd: number,
  otherMaintenanceUsd = 0,
): number | null {
  const absolute = Math.abs(sizeBase)
  for (const tier of tiers) {
    const slope = sizeBase - absolute * tier.rate
    const price = (otherMaintenanceUsd - tier.deductionUsd - rawUsd) / slope
    if (price > 0 && tierAt(tiers, absolute * price) === tier) return price
  }
  return null
}
