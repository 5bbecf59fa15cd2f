import { seededNormal } from '../../../../test/golden/seeded-normal.ts'

/** Hourly closes whose log variance is an AR(1): volatility that comes in clusters, of 60 % a year. */
export function clusteredCloses(seed: number, count: number): number[] {
  const normal = seededNormal(seed)
  let [log, price] = [0, 100]
  return Array.from({ length: count }, () => {
    log = 0.98 * log + 0.15 * normal()
    price *= Math.exp(0.0064 * Math.exp(log / 2) * normal())
    return price
  })
}
