import { clamped, correlationOf, squaredDeviations } from './pair-moments.ts'
import { pairStatistics } from './pair-statistics.ts'
import type { ProductKernel } from './product-kernel.ts'
import type { ReturnTable, ReturnWindow } from './return-table.ts'
import { copyRow } from './return-table.ts'

/** Sums that lost so many of their digits to a subtraction are summed again around the true means. */
const CANCELLED_SHARE = 1e-5

/** Rows and lengths are multiples of it, with 0 behind the last. */
const BLOCK = 4

/**
 * Pearson's r of all pairs over their common hours, from nothing but the returns: `rows` x `rows` numbers,
 * symmetric, NaN where a pair has fewer than `commonMin` common hours or a coin does not move. Returns are
 * taken from their own mean, so that the sums are of movements alone.
 */
export function scratchCorrelations(
  kernel: ProductKernel,
  table: ReturnTable,
  window: ReturnWindow,
  commonMin: number,
): Float64Array {
  const { rows } = table
  const correlations = new Float64Array(rows * rows).fill(Number.NaN)
  if (rows === 0) return correlations
  const task = { kernel, table, window, commonMin, correlations }
  const { whole, gapped } = multiplyWhole(task)
  if (gapped.length > 0) multiplyGapped(task, whole, gapped)
  return correlations
}

type Task = {
  readonly kernel: ProductKernel
  readonly table: ReturnTable
  readonly window: ReturnWindow
  readonly commonMin: number
  readonly correlations: Float64Array
}

/**
 * Rows without a gap share all their hours: r is the product of their distances from the mean, scaled.
 * @returns the rows that know every hour of the window, and those that lack some
 */
function multiplyWhole(task: Task) {
  const { kernel, table, window, commonMin } = task
  const length = upTo(window.hours, BLOCK)
  const countMax = upTo(table.rows, BLOCK)
  const out = countMax * length
  const room = kernel.reserve(out + countMax * countMax)
  const whole: number[] = []
  const gapped: number[] = []
  for (let row = 0; row < table.rows; row += 1) {
    const from = whole.length * length
    const isWhole = loadWhole(table, row, window, room.subarray(from, from + length))
    ;(isWhole ? whole : gapped).push(row)
  }
  if (window.hours < commonMin || whole.length === 0) return { whole, gapped }
  const count = upTo(whole.length, BLOCK)
  room.fill(0, whole.length * length, count * length)
  kernel.multiply({ a: 0, rowsA: count, b: 0, rowsB: count, length, out, isTriangle: true })
  scaleProducts(task, Int32Array.from(whole), room.subarray(out), count)
  return { whole, gapped }
}

/** From the products of `count` columns, those of a row with itself among them. */
function scaleProducts(
  { correlations, table: { rows }, window: { hours } }: Task,
  whole: Int32Array,
  products: Float64Array,
  count: number,
): void {
  /** 1 / the length of a row's vector of distances; NaN for a coin that does not move. */
  const scales = new Float64Array(whole.length)
  for (let a = 0; a < whole.length; a += 1) {
    const deviations = squaredDeviations(hours, 0, products[a * count + a] as number)
    scales[a] = deviations > 0 ? 1 / Math.sqrt(deviations) : Number.NaN
  }
  for (let a = 0; a < whole.length; a += 1) {
    const rowA = whole[a] as number
    const scale = scales[a] as number
    correlations[rowA * rows + rowA] = Number.isNaN(scale) ? Number.NaN : 1
    for (let b = a + 1; b < whole.length; b += 1) {
      const rowB = whole[b] as number
      const r = clamped((products[a * count + b] as number) * scale * (scales[b] as number))
      correlations[rowA * rows + rowB] = r
      correlations[rowB * rows + rowA] = r
    }
  }
}

/** Leaves distances from the mean, and 0 behind the last. @returns false for a row with gaps */
function loadWhole(
  table: ReturnTable,
  row: number,
  window: ReturnWindow,
  distances: Float64Array,
): boolean {
  const { hours } = window
  copyRow(table, row, window, distances)
  distances.fill(0, hours)
  // Apart, because an addition does not have to wait for another one's result.
  let [sum0, sum1, sum2, sum3] = [0, 0, 0, 0]
  for (let at = 0; at < distances.length; at += BLOCK) {
    sum0 += distances[at] as number
    sum1 += distances[at + 1] as number
    sum2 += distances[at + 2] as number
    sum3 += distances[at + 3] as number
  }
  const mean = (sum0 + sum1 + (sum2 + sum3)) / hours
  if (Number.isNaN(mean)) return false
  for (let at = 0; at < hours; at += 1) distances[at] = (distances[at] as number) - mean
  return true
}

/**
 * A row with gaps has other common hours with every other row. With 0 for what is unknown and a mask of
 * what is known, all sums over common hours are products of rows.
 */
function multiplyGapped(task: Task, whole: readonly number[], gapped: readonly number[]): void {
  const { kernel, table, window } = task
  const length = upTo(window.hours, BLOCK)
  const gappedCount = upTo(gapped.length, BLOCK)
  const order = [...gapped, ...whole]
  const rowCount = upTo(Math.max(order.length, gappedCount), BLOCK)
  const size = rowCount * length
  const [distances, squares, masks] = [0, size, 2 * size]
  const outSize = gappedCount * rowCount
  const outs = Array.from({ length: 6 }, (_, at) => 3 * size + at * outSize)
  const [products, sumsX, squaresX, sumsY, squaresY, counts] = outs as Sums
  const room = kernel.reserve(3 * size + 6 * outSize)
  room.fill(0, 0, 3 * size)
  for (const [at, row] of order.entries()) {
    const part = (from: number) => room.subarray(from + at * length, from + (at + 1) * length)
    loadGapped(table, row, window, [part(distances), part(squares), part(masks)])
  }
  const multiply = (a: number, b: number, out: number) =>
    kernel.multiply({ a, rowsA: gappedCount, b, rowsB: rowCount, length, out, isTriangle: false })
  multiply(distances, distances, products)
  multiply(distances, masks, sumsX)
  multiply(squares, masks, squaresX)
  multiply(masks, distances, sumsY)
  multiply(masks, squares, squaresY)
  multiply(masks, masks, counts)
  for (const [a, rowA] of gapped.entries()) {
    for (const [b, rowB] of order.entries()) {
      const at = a * rowCount + b
      const sums = outs.map((out) => room[out + at] as number) as Sums
      put(task.correlations, table.rows, rowA, rowB, gappedCorrelation(task, rowA, rowB, sums))
    }
  }
}

/** Products, sums of x and of its squares, of y and of its squares, and the number of common hours. */
type Sums = [number, number, number, number, number, number]

function gappedCorrelation(
  { table, window, commonMin }: Task,
  rowA: number,
  rowB: number,
  [products, sumX, squaresX, sumY, squaresY, n]: Sums,
): number {
  if (n < commonMin) return Number.NaN
  const x = squaredDeviations(n, sumX, squaresX)
  const y = squaredDeviations(n, sumY, squaresY)
  if (rowA === rowB) return x > 0 ? 1 : Number.NaN
  const isCancelled = x < CANCELLED_SHARE * squaresX || y < CANCELLED_SHARE * squaresY
  return isCancelled
    ? pairStatistics(table, rowA, rowB, window).r
    : correlationOf(n, sumX, sumY, squaresX, squaresY, products)
}

function loadGapped(
  table: ReturnTable,
  row: number,
  window: ReturnWindow,
  [distances, squares, mask]: [Float64Array, Float64Array, Float64Array],
): void {
  copyRow(table, row, window, distances)
  let n = 0
  let sum = 0
  for (let at = 0; at < window.hours; at += 1) {
    const logReturn = distances[at] as number
    if (Number.isNaN(logReturn)) continue
    n += 1
    sum += logReturn
  }
  const mean = sum / n
  for (let at = 0; at < window.hours; at += 1) {
    const isKnown = !Number.isNaN(distances[at])
    const distance = isKnown ? (distances[at] as number) - mean : 0
    distances[at] = distance
    squares[at] = distance * distance
    mask[at] = isKnown ? 1 : 0
  }
}

function put(correlations: Float64Array, rows: number, a: number, b: number, r: number): void {
  correlations[a * rows + b] = r
  correlations[b * rows + a] = r
}

function upTo(count: number, multiple: number): number {
  return Math.ceil(count / multiple) * multiple
}
