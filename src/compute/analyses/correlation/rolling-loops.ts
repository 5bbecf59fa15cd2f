/**
 * Loops over all pairs of rows. Matrices have `width` columns, a multiple of four; only [a, b] with a < b is used.
 * Four rows are processed together, which doubles the speed because they share the column reads. Entries on the
 * diagonal blocks and after the last row are written but not used.
 */
export const BLOCK_ROWS = 4

/** products[a, b] += entering[a] * entering[b] - leaving[a] * leaving[b]; both 0 after the last row. */
export function rollProducts(
  products: Float64Array,
  width: number,
  rows: number,
  entering: Float64Array,
  leaving: Float64Array,
): void {
  for (let a = 0; a < rows; a += BLOCK_ROWS) {
    const [e0, l0] = [entering[a] as number, leaving[a] as number]
    const [e1, l1] = [entering[a + 1] as number, leaving[a + 1] as number]
    const [e2, l2] = [entering[a + 2] as number, leaving[a + 2] as number]
    const [e3, l3] = [entering[a + 3] as number, leaving[a + 3] as number]
    for (let b = a + 1; b < rows; b += 1) {
      const e = entering[b] as number
      const l = leaving[b] as number
      const at0 = a * width + b
      const at1 = at0 + width
      const at2 = at1 + width
      const at3 = at2 + width
      products[at0] = (products[at0] as number) + (e0 * e - l0 * l)
      products[at1] = (products[at1] as number) + (e1 * e - l1 * l)
      products[at2] = (products[at2] as number) + (e2 * e - l2 * l)
      products[at3] = (products[at3] as number) + (e3 * e - l3 * l)
    }
  }
}

/**
 * target[a, b] = (products[a, b] - means[a] * sums[b]) * scales[a] * scales[b].
 * @returns whether rounding moved an entry outside -1 to 1
 */
export function readProducts(
  products: Float64Array,
  width: number,
  rows: number,
  { means, sums, scales }: Readonly<Record<'means' | 'sums' | 'scales', Float64Array>>,
  target: Float64Array,
): boolean {
  let isOutside = false
  for (let a = 0; a < rows; a += BLOCK_ROWS) {
    const [m0, s0] = [means[a] as number, scales[a] as number]
    const [m1, s1] = [means[a + 1] as number, scales[a + 1] as number]
    const [m2, s2] = [means[a + 2] as number, scales[a + 2] as number]
    const [m3, s3] = [means[a + 3] as number, scales[a + 3] as number]
    for (let b = a + 1; b < rows; b += 1) {
      const sum = sums[b] as number
      const scale = scales[b] as number
      const at0 = a * width + b
      const at1 = at0 + width
      const at2 = at1 + width
      const at3 = at2 + width
      const r0 = ((products[at0] as number) - m0 * sum) * s0 * scale
      const r1 = ((products[at1] as number) - m1 * sum) * s1 * scale
      const r2 = ((products[at2] as number) - m2 * sum) * s2 * scale
      const r3 = ((products[at3] as number) - m3 * sum) * s3 * scale
      target[at0] = r0
      target[at1] = r1
      target[at2] = r2
      target[at3] = r3
      if (r0 > 1 || r0 < -1 || r1 > 1 || r1 < -1) isOutside = true
      if (r2 > 1 || r2 < -1 || r3 > 1 || r3 < -1) isOutside = true
    }
  }
  return isOutside
}
