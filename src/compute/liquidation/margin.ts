import type { MarginTier } from '../../domain/listing.ts'

/** A margin tier as the venue's maintenance margin uses it: notional x rate - deduction. */
export type Bracket = {
  readonly lowerBoundUsd: number
  /** Half of the initial margin at the tier's maximum leverage, as a fraction of notional. */
  readonly rate: number
  /** Keeps the margin continuous where a tier begins, USD. */
  readonly deductionUsd: number
}

export type MarginedPosition = {
  /** Positive for a long, negative for a short; not 0. */
  readonly sizeBase: number
  /** Price of `accountValueUsd`. */
  readonly price: number
  /** Equity, unrealised profit included: the isolated margin, or the value of the cross account. */
  readonly accountValueUsd: number
  /** Maintenance margin of the account's other positions; 0 for an isolated one. */
  readonly otherMaintenanceUsd: number
}

/** Venue documentation, "Margin tiers": each deduction is the previous one + lower bound x rise of the rate. */
export function maintenanceBrackets(tiers: readonly MarginTier[]): readonly Bracket[] {
  let rateBefore = 0
  let deductionUsd = 0
  return tiers.map(({ lowerBoundUsd, maxLeverage }) => {
    const rate = 1 / (2 * maxLeverage)
    deductionUsd += lowerBoundUsd * (rate - rateBefore)
    rateBefore = rate
    return { lowerBoundUsd, rate, deductionUsd }
  })
}

/**
 * Mark price at which account value equals the maintenance margin (venue documentation, "Liquidations"): account value
 * + size x (x - price) = other maintenance + |size| x rate - deduction. The tier with the largest margin applies: for a
 * long the highest of the tiers' roots, for a short the lowest.
 * @returns null where no positive price liquidates it
 */
export function liquidationPrice(
  { sizeBase, price, accountValueUsd, otherMaintenanceUsd }: MarginedPosition,
  brackets: readonly Bracket[],
): number | null {
  const isLong = sizeBase > 0
  let found = isLong ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY
  for (const { rate, deductionUsd } of brackets) {
    const root =
      (otherMaintenanceUsd - deductionUsd - accountValueUsd + sizeBase * price) /
      (sizeBase - Math.abs(sizeBase) * rate)
    found = isLong ? Math.max(found, root) : Math.min(found, root)
  }
  return Number.isFinite(found) && found > 0 ? found : null
}

/** Liquidation price of a new position with notional / leverage as isolated margin. */
export function freshLiquidationPrice(
  opened: { readonly sizeBase: number; readonly entryPrice: number; readonly leverage: number },
  brackets: readonly Bracket[],
): number | null {
  const { sizeBase, entryPrice, leverage } = opened
  return liquidationPrice(
    {
      sizeBase,
      price: entryPrice,
      accountValueUsd: (Math.abs(sizeBase) * entryPrice) / leverage,
      otherMaintenanceUsd: 0,
    },
    brackets,
  )
}
