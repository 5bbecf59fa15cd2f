/** Two-sided 95 % quantile of the standard normal distribution. */
const NORMAL_95 = 1.959963984540054
const OUTSIDE_SHARE = 0.05

/** Below two degrees of freedom the series is off by more than 0.1 %. */
export const FREEDOM_MIN = 2

/**
 * Two-sided 95 % quantile of Student's t: G. W. Hill, Algorithm 396, Communications of the ACM 13 (1970).
 * @param freedom degrees of freedom, at least {@link FREEDOM_MIN}; they need not be whole
 */
export function studentQuantile95(freedom: number): number {
  const a = 1 / (freedom - 0.5)
  const b = 48 / (a * a)
  let c = ((20_700 * a) / b - 98) * a * a - 16 * a + 96.36
  const d = ((94.5 / (b + c) - 3) / b + 1) * Math.sqrt((a * Math.PI) / 2) * freedom
  const y = (d * OUTSIDE_SHARE) ** (2 / freedom)
  if (y <= 0.05 + a) {
    const tail = 1 / (((freedom + 6) / (freedom * y) - 0.089 * d - 0.822) * (freedom + 2) * 3)
    const square = ((tail + 0.5 / (freedom + 4)) * y - 1) * ((freedom + 1) / (freedom + 2)) + 1 / y
    return Math.sqrt(freedom * square)
  }
  const x = -NORMAL_95
  if (freedom < 5) c += 0.3 * (freedom - 4.5) * (x + 0.6)
  c += (((0.05 * d * x - 5) * x - 7) * x - 2) * x + b
  const w = x * x
  const z = (((((0.4 * w + 6.3) * w + 36) * w + 94.5) / c - w - 3) / b + 1) * x
  return Math.sqrt(freedom * Math.expm1(a * z * z))
}
