import { percent } from '../../render/significance.ts'

const MOMENTUM_PCT = 2

/** Buckets of a score, from fear to greed. */
export const scoreBuckets = ['EXTREME_FEAR', 'FEAR', 'NEUTRAL', 'GREED', 'EXTREME_GREED'] as const
export type ScoreBucket = (typeof scoreBuckets)[number]

export const directions = ['bullish', 'neutral', 'bearish'] as const
export type Direction = (typeof directions)[number]

export const breadths = ['STRONG', 'MIXED', 'WEAK'] as const
type Breadth = (typeof breadths)[number]

/** @param score 0 to 1; exactly 0.4 and 0.6 are NEUTRAL, 0.8 is GREED */
export function bucketOf(score: number): ScoreBucket {
  if (score < 0.2) return 'EXTREME_FEAR'
  if (score < 0.4) return 'FEAR'
  if (score <= 0.6) return 'NEUTRAL'
  return score <= 0.8 ? 'GREED' : 'EXTREME_GREED'
}

/** @param score 0 to 1 */
export function sentimentDirection(score: number): Direction {
  if (score > 0.6) return 'bullish'
  return score < 0.4 ? 'bearish' : 'neutral'
}

/** @param score 0 to 1 */
export function breadthLabel(score: number): Breadth {
  if (score > 0.6) return 'STRONG'
  return score < 0.4 ? 'WEAK' : 'MIXED'
}

/** @param return7d a fraction; the label is that of the printed percent */
export function momentumOf(return7d: number): Direction {
  const returnPct = percent(return7d * 100)
  if (returnPct > MOMENTUM_PCT) return 'bullish'
  return returnPct < -MOMENTUM_PCT ? 'bearish' : 'neutral'
}
