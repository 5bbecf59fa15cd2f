/** 0.975 quantile of the standard normal distribution. */
const Z_95 = 1.959_963_984_540_054

/**
 * 95 % interval of a proportion (E. B. Wilson, 1927). It stays within 0 and 1, also for a proportion of 0 or 1.
 * @param count independent observations; need not be whole
 */
export function wilsonInterval(proportion: number, count: number): readonly [number, number] {
  const z2 = Z_95 * Z_95
  const middle = (proportion + z2 / (2 * count)) / (1 + z2 / count)
  const half =
    (Z_95 * Math.sqrt((proportion * (1 - proportion)) / count + z2 / (4 * count * count))) /
    (1 + z2 / count)
  return [Math.max(0, middle - half), Math.min(1, middle + half)]
}
