/** What the health of a stablecoin is judged by. */
export type HealthFacts = {
  readonly deviationBps: number
  /** Since it went beyond 25 bps; 0 where it has not. */
  readonly beyond25Seconds: number
  readonly dispersionBps: number
  readonly confidenceBps: number
  /** null where it is not known: then it takes nothing away. */
  readonly supplyChange24hPct: number | null
}

/** 100 for a peg without a flaw, 0 for the worst of everything (`docs/numbers/depeg.md`). */
export function healthScore(facts: HealthFacts): number {
  const lost =
    45 * logRamp(Math.abs(facts.deviationBps), 5, 500) +
    20 * logRamp(facts.beyond25Seconds, 300, 86_400) +
    15 * ramp(facts.dispersionBps, 5, 100) +
    10 * ramp(facts.confidenceBps, 3, 50) +
    10 * ramp(-(facts.supplyChange24hPct ?? 0), 1, 8)
  return 100 - lost
}

/** 0 up to the one, 1 from the other on, straight between them. */
function ramp(value: number, from: number, to: number): number {
  return Math.min(1, Math.max(0, (value - from) / (to - from)))
}

function logRamp(value: number, from: number, to: number): number {
  return value <= from ? 0 : ramp(Math.log(value), Math.log(from), Math.log(to))
}
