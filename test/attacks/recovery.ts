/** More than a busy machine needs. */
export const ROUNDS_MAX = 10

/** Limit of a measurement, by its control. */
export function limitOf(control: number, noise = 0): number {
  return 2 * control + noise
}

/**
 * Measures after an attack until the result is within its limit: a busy machine recovers within the rounds, a harmed
 * service does not.
 * @param before control from before the attack
 * @returns the control of what was measured during the attack; lasting harm is no part of it
 */
export async function measureRecovery(
  before: number,
  measure: () => Promise<number>,
  noise = 0,
): Promise<{ readonly control: number; readonly recovered: boolean }> {
  if (!Number.isFinite(before)) throw new Error(`a control of ${before} limits nothing`)
  for (let round = 0; round < ROUNDS_MAX; round += 1) {
    const after = await measure()
    if (after <= limitOf(before, noise))
      return { control: Math.max(before, after), recovered: true }
  }
  return { control: before, recovered: false }
}
