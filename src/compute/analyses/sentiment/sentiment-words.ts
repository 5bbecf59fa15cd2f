/** Buckets of a score, from fear to greed (contract 5.10). */
export const scoreBuckets = ['EXTREME_FEAR', 'FEAR', 'NEUTRAL', 'GREED', 'EXTREME_GREED'] as const
export type ScoreBucket = (typeof scoreBuckets)[number]

export const directions = ['bullish', 'neutral', 'bearish'] as const
export type Direction = (typeof directions)[number]

export const breadths = ['STRONG', 'MIXED', 'WEAK'] as const
type Breadth = (typeof breadths)[number]

/** @param score 0 to 1; what lies on 0.4 or 0.6 is neutral, on 0.8 greed */
export function bucketOf(score: number): ScoreBucket {
  if (score < 0.2) return 'EXTREME_FEAR'
  if (score < 0.4) return 'FEAR'
  if (score <= 0.6) return 'NEUTRAL'
  return score <= 0.8 ? 'GREED' : 'EXTREME_GREED'
}

/** @param score 0 to 1 */
export function directionOf(score: number): Direction {
  if (score > 0.6) return 'bullish'
  return score < 0.4 ? 'bearish' : 'neutral'
}

/** @param score 0 to 1 */
export function breadthOf(score: number): Breadth {
  if (score > 0.6) return 'STRONG'
  return score < 0.4 ? 'WEAK' : 'MIXED'
}

/** A return over a week as a score: a tenth up or down is three quarters of the way to an end. */
export function momentumOf(return7d: number): number {
  return (Math.tanh(return7d / 0.1) + 1) / 2
}
