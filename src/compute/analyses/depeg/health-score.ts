/** Inputs of the health score of a stablecoin. */
export type HealthFacts = {
  readonly deviationBps: number
  /** Time beyond 25 bps; 0 if not beyond. */
  readonly beyond25Seconds: number
  readonly dispersionBps: number
  readonly confidenceBps: number
  /** null if unknown: no deduction. */
  readonly supplyChange24hPct: number | null
}

/** 0 to 100; 100 for a perfect peg (`docs/numbers/depeg.md`). */
export function healthScore(facts: HealthFacts): number {
  const lost =
    45 * logRamp(Math.abs(facts.deviationBps), 5, 500) +
    20 * logRamp(facts.beyond25Seconds, 300, 86_400) +
    15 * ramp(facts.dispersionBps, 5, 100) +
    10 * ramp(facts.confidenceBps, 3, 50) +
    10 * ramp(-(facts.supplyChange24hPct ?? 0), 1, 8)
  return 100 - lost
}

/** Linear from 0 at `from` to 1 at `to`, clamped. */
function ramp(value: number, from: number, to: number): number {
  return Math.min(1, Math.max(0, (value - from) / (to - from)))
}

function logRamp(value: number, from: number, to: number): number {
  return value <= from ? 0 : ramp(Math.log(value), Math.log(from), Math.log(to))
}
