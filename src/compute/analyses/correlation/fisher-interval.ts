/** Two-sided 95 % of the standard normal distribution. */
const QUANTILE_95 = 1.959963984540054

/** Fisher's z has a variance of 1 / (n - 3). */
const LOST_OBSERVATIONS = 3

/** Standard error of Pearson's r, (1 - r^2) / sqrt(n - 1); null for fewer than two observations. */
export function standardError(r: number, n: number): number | null {
  return n < 2 ? null : (1 - r * r) / Math.sqrt(n - 1)
}

/**
 * Where the true correlation lies with 95 % confidence: tanh(atanh(r) -+ 1.96 / sqrt(n - 3)), after R. A.
 * Fisher (1921). It holds for normal returns; those of an hour have fatter tails, so it is a little narrow.
 * @returns null for n <= 3, where there is no such interval; for |r| = 1 both ends are r
 */
export function fisherInterval(r: number, n: number): { low: number; high: number } | null {
  if (n <= LOST_OBSERVATIONS) return null
  const center = Math.atanh(r)
  const reach = QUANTILE_95 / Math.sqrt(n - LOST_OBSERVATIONS)
  return { low: Math.tanh(center - reach), high: Math.tanh(center + reach) }
}
