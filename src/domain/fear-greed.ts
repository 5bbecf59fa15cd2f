/** The classes of alternative.me's index of fear and greed, lowest first, in our spelling. */
export const fearGreedClasses = [
  'EXTREME_FEAR',
  'FEAR',
  'NEUTRAL',
  'GREED',
  'EXTREME_GREED',
] as const
export type FearGreedClass = (typeof fearGreedClasses)[number]

/** Highest value of each class but the last, as observed on all days since 2018; published nowhere. */
const CLASS_MAX = [25, 46, 54, 75] as const

/**
 * The class that alternative.me gives a value of its index. A value between two integers belongs to the
 * nearest.
 * @param value 0 to 100
 */
export function fearGreedClass(value: number): FearGreedClass {
  const below = CLASS_MAX.findIndex((max) => Math.round(value) <= max)
  return fearGreedClasses[below === -1 ? CLASS_MAX.length : below] ?? 'EXTREME_GREED'
}
