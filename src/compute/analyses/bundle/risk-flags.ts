import type { Input } from '../../../domain/document.ts'
import { volatilityRegimeOf } from '../../volatility/volatility-regime.ts'

export const riskFlags = [
  'crowded_long',
  'crowded_short',
  'thin_liquidity',
  'high_volatility',
  'stale_input',
  'weak_peg',
] as const
export type RiskFlag = (typeof riskFlags)[number]

/** As the reader of an answer judges it: it missed one confirmation and is about to miss the next. */
const LATE_CADENCES = 2

/** What stands against acting on a bundle, as of its rendering. */
export function riskFlagsOf(found: {
  /** -1: longs pay an unusual price to stay in. */
  readonly fundingDirection: -1 | 0 | 1
  readonly isThin: boolean
  /** Of the ATR on 1h among the coin's own 30 days; null: unknown. */
  readonly volatilityPercentile: number | null
  readonly inputs: readonly Input[]
  readonly isPegBroken: boolean
  readonly nowMs: number
}): readonly RiskFlag[] {
  const regime =
    found.volatilityPercentile === null ? null : volatilityRegimeOf(found.volatilityPercentile)
  const isRaised: Readonly<Record<RiskFlag, boolean>> = {
    crowded_long: found.fundingDirection === -1,
    crowded_short: found.fundingDirection === 1,
    thin_liquidity: found.isThin,
    high_volatility: regime === 'HIGH' || regime === 'EXTREME',
    stale_input: found.inputs.some(
      ({ confirmedAtMs, cadenceMs }) => found.nowMs - confirmedAtMs >= LATE_CADENCES * cadenceMs,
    ),
    weak_peg: found.isPegBroken,
  }
  return riskFlags.filter((flag) => isRaised[flag])
}
