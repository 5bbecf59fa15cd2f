/** Probability that a standard normal value is below `z`. */
export function normalBelow(z: number): number {
  return erfc(-z / Math.SQRT2) / 2
}

/** Complementary error function, relative error below 1.2e-7 (Numerical Recipes in C, 6.2). */
export function erfc(x: number): number {
  const t = 1 / (1 + 0.5 * Math.abs(x))
  const terms = [
    -1.26551223, 1.00002368, 0.37409196, 0.09678418, -0.18628806, 0.27886807, -1.13520398,
    1.48851587, -0.82215223, 0.17087277,
  ]
  const sum = terms.reduceRight((total, term) => total * t + term, 0)
  const positive = t * Math.exp(-x * x + sum)
  return x >= 0 ? positive : 2 - positive
}
