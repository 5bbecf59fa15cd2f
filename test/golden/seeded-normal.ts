import { seededChance } from './seeded-candles.ts'

/** Standard normal numbers, determined by the seed (Box, Muller 1958). */
export function seededNormal(seed: number): () => number {
  const chance = seededChance(seed)
  let spare = Number.NaN
  return () => {
    if (!Number.isNaN(spare)) {
      const kept = spare
      spare = Number.NaN
      return kept
    }
    const radius = Math.sqrt(-2 * Math.log(1 - chance()))
    const angle = 2 * Math.PI * chance()
    spare = radius * Math.sin(angle)
    return radius * Math.cos(angle)
  }
}
