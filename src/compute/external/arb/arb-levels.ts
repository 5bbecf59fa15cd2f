/** Of the score, 0 to 1: below 0.25, 0.5, 0.75, and above. */
export const stressLevels = ['LOW', 'MODERATE', 'HIGH', 'EXTREME'] as const
type StressLevel = (typeof stressLevels)[number]

/** Of the index, 0 to 100: below 25, 40, 55, 75, and above. */
export const stressBands = ['CALM', 'NORMAL', 'ELEVATED', 'STRESSED', 'CRITICAL'] as const
type StressBand = (typeof stressBands)[number]

const BAND_LIMITS = [25, 40, 55, 75]

/** @param score 0 to 1, as shown */
export function stressLevelOf(score: number): StressLevel {
  return stressLevels[Math.min(3, Math.floor(score * 4))] as StressLevel
}

/** @param index 0 to 100, as shown */
export function stressBandOf(index: number): StressBand {
  return stressBands[BAND_LIMITS.filter((limit) => index >= limit).length] as StressBand
}
