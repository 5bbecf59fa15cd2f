import type { Bracket } from '../margin.ts'

/** USD. Rates rise with notional and the margin is continuous, so the applicable tier always has the largest margin. */
export function maintenanceMarginUsd(
  sizeBase: number,
  price: number,
  brackets: readonly Bracket[],
): number {
  let marginUsd = 0
  for (const { rate, deductionUsd } of brackets)
    marginUsd = Math.max(marginUsd, Math.abs(sizeBase) * price * rate - deductionUsd)
  return marginUsd
}
