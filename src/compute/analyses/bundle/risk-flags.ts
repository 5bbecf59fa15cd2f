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

/** As in the freshness rule of the gateway: an input is late after two missed confirmations. */
const LATE_CADENCES = 2

/** Risks of acting on a bundle, at the time of rendering. */
export function riskFlagsOf(found: {
  /** -1: crowded longs; 1: crowded shorts; null: unknown. */
  readonly fundingDirection: -1 | 0 | 1 | null
  readonly isThin: boolean
  /** Percentile of the 1h ATR in the coin's own 30 days; null: unknown. */
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
