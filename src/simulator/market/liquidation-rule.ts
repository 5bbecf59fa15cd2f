/** Positions above this notional are not closed on the book at once … */
const PARTIAL_ABOVE_USD = 100_000
/** … but this share first … */
export const PARTIAL_SHARE = 0.2
/** … and the rest after this time. */
export const COOLDOWN_MS = 30_000
/** Below this share of the maintenance margin the liquidator vault takes a position over. */
const BACKSTOP_SHARE = 2 / 3

export type Verdict = 'none' | 'partial' | 'whole' | 'backstop' | 'bankrupt'

/**
 * What the venue does with an isolated position, as its documentation has it.
 * @param equityUsd margin and profit
 * @param isCooling a part was closed within the cooldown
 * @param wasPartial a part was closed before
 */
export function verdictOn(position: {
  readonly equityUsd: number
  readonly maintenanceUsd: number
  readonly notionalUsd: number
  readonly isCooling: boolean
  readonly wasPartial: boolean
}): Verdict {
  const { equityUsd, maintenanceUsd, notionalUsd, isCooling, wasPartial } = position
  if (equityUsd > maintenanceUsd) return 'none'
  if (equityUsd < 0) return 'bankrupt'
  if (equityUsd < BACKSTOP_SHARE * maintenanceUsd) return 'backstop'
  if (isCooling) return 'none'
  return notionalUsd > PARTIAL_ABOVE_USD && !wasPartial ? 'partial' : 'whole'
}
