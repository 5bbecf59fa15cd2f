/** Classes of alternative.me's Fear & Greed Index, lowest first. */
export const fearGreedClasses = [
  'EXTREME_FEAR',
  'FEAR',
  'NEUTRAL',
  'GREED',
  'EXTREME_GREED',
] as const
export type FearGreedClass = (typeof fearGreedClasses)[number]

/** Upper bounds of all classes but the last: unpublished, observed on all days since 2018. */
const CLASS_MAX = [25, 46, 54, 75] as const

/** @param value of the index, 0 to 100; rounded to the nearest integer */
export function fearGreedClass(value: number): FearGreedClass {
  const below = CLASS_MAX.findIndex((max) => Math.round(value) <= max)
  return fearGreedClasses[below === -1 ? CLASS_MAX.length : below] ?? 'EXTREME_GREED'
}
