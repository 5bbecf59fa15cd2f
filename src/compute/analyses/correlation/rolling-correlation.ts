import assert from 'node:assert/strict'
import { clamped, correlationOf, squaredDeviations } from './pair-moments.ts'
import type { LiveReturnTable } from './return-table.ts'
import { copyRow } from './return-table.ts'
import { BLOCK_ROWS, readProducts, rollProducts } from './rolling-loops.ts'

/** Below this share of the maximum of a row's squares, its movement loses digits to rounding. */
const SHRINKAGE_MIN = 1e-3

/** A pair with a smaller share of a row's squares in its common hours has too few digits left. */
const COMMON_SHARE_MIN = 1e-3

/** Largest difference of a correlation before and after its row is recomputed. */
export const AGREEMENT = 1e-9

/**
 * Pearson's r of all pairs of rows over the last hours of a table, from rolling sums: each hour adds the products that
 * enter and subtracts those that leave.
 *
 * Returns are relative to the row's pivot, its mean when it was last summed, which avoids cancellation. Unknown
 * returns are 0. Sums over the common hours of a pair are a row's own sums less its sums over the hours that the other
 * row lacks; those are kept per pair and cost nothing for rows without gaps.
 *
 * Rounding accumulates, so the owner recomputes a row ({@link sum}) after a correction of a past hour, when most of
 * its squares have left the window, and regularly in turn.
 */
export class RollingCorrelation {
  readonly #table: LiveReturnTable
  readonly #hours: number
  readonly #commonMin: number
  /** Columns of {@link correlations}. */
  readonly width: number
  #endHour = Number.NaN

  /** By row: pivot, and sums of returns relative to it over the row's known hours. */
  readonly #pivots: Float64Array
  readonly #counts: Float64Array
  readonly #sums: Float64Array
  readonly #squares: Float64Array
  readonly #squaresMax: Float64Array
  /** 1 for a row with valid sums. */
  readonly #isSummed: Uint8Array

  /** [a, b] with a < b: sums of products over the common hours. */
  readonly #products: Float64Array
  /** [a, b]: count, sum and squares of row b over the hours that row a lacks. */
  readonly #missedCounts: Float64Array
  readonly #missedSums: Float64Array
  readonly #missedSquares: Float64Array

  /** The entering and the leaving hour: returns relative to the pivot, and 1 if known. */
  readonly #entering: Float64Array
  readonly #leaving: Float64Array
  readonly #isEntering: Float64Array
  readonly #isLeaving: Float64Array
  readonly #means: Float64Array
  readonly #scales: Float64Array
  readonly #read: Float64Array
  readonly #window: Float64Array
  readonly #before: Float64Array

  /** @param commonMin a pair with fewer common hours has no correlation */
  constructor(table: LiveReturnTable, hours: number, commonMin: number) {
    assert(table.ringHours > hours, 'the leaving hour is still in the table when it is subtracted')
    const width = Math.ceil(table.rowsMax / BLOCK_ROWS) * BLOCK_ROWS
    this.#table = table
    this.#hours = hours
    this.#commonMin = commonMin
    this.width = width
    this.#pivots = new Float64Array(width)
    this.#counts = new Float64Array(width)
    this.#sums = new Float64Array(width)
    this.#squares = new Float64Array(width)
    this.#squaresMax = new Float64Array(width)
    this.#isSummed = new Uint8Array(width)
    this.#products = new Float64Array(width * width)
    this.#missedCounts = new Float64Array(width * width)
    this.#missedSums = new Float64Array(width * width)
    this.#missedSquares = new Float64Array(width * width)
    this.#entering = new Float64Array(width)
    this.#leaving = new Float64Array(width)
    this.#isEntering = new Float64Array(width)
    this.#isLeaving = new Float64Array(width)
    this.#means = new Float64Array(width)
    this.#scales = new Float64Array(width)
    this.#read = new Float64Array(width * width)
    this.#window = new Float64Array(hours)
    this.#before = new Float64Array(width)
  }

  /** Last hour of the window; NaN before {@link restart}. */
  get endHour(): number {
    return this.#endHour
  }

  /** Moves the window and invalidates all sums. */
  restart(endHour: number): void {
    this.#endHour = endHour
    this.#isSummed.fill(0)
  }

  isSummed(row: number): boolean {
    return this.#isSummed[row] === 1
  }

  /** Call after a change of the row within the window, or for another coin. */
  invalidate(row: number): void {
    this.#isSummed[row] = 0
  }

  /** Advances by one hour. The table must have the returns of the entering hour. */
  roll(): void {
    this.#endHour += 1
    this.#load(this.#endHour, this.#entering, this.#isEntering)
    this.#load(this.#endHour - this.#hours, this.#leaving, this.#isLeaving)
    this.#rollRows()
    rollProducts(this.#products, this.width, this.#table.rows, this.#entering, this.#leaving)
    this.#addMissed(this.#entering, this.#isEntering, 1)
    this.#addMissed(this.#leaving, this.#isLeaving, -1)
  }

  /**
   * Recomputes the sums of a row and of its pairs, with a new pivot.
   * @returns how many valid correlations changed by more than {@link AGREEMENT}
   */
  sum(row: number): number {
    const { rows } = this.#table
    const held = this.isSummed(row)
    if (held) this.#readRow(row, this.#before)
    this.#sumRow(row)
    for (let other = 0; other < rows; other += 1) if (other !== row) this.#sumPair(row, other)
    this.#isSummed[row] = 1
    if (!held) return 0
    let moved = 0
    for (let other = 0; other < rows; other += 1)
      if (Math.abs(this.correlation(row, other) - at(this.#before, other)) > AGREEMENT) moved += 1
    return moved
  }

  /**
   * -1 to 1; NaN if either row is not summed or constant, or if the pair has too few common hours or too little of the
   * movement in them.
   */
  correlation(a: number, b: number): number {
    if (this.#isSummed[a] === 0 || this.#isSummed[b] === 0) return Number.NaN
    if (a > b) return this.correlation(b, a)
    const [ab, ba] = [a * this.width + b, b * this.width + a]
    const n = at(this.#counts, a) - at(this.#missedCounts, ba)
    if (n < this.#commonMin) return Number.NaN
    const sumA = at(this.#sums, a) - at(this.#missedSums, ba)
    const squaresA = at(this.#squares, a) - at(this.#missedSquares, ba)
    const sumB = at(this.#sums, b) - at(this.#missedSums, ab)
    const squaresB = at(this.#squares, b) - at(this.#missedSquares, ab)
    if (!this.#isPrecise(a, squaredDeviations(n, sumA, squaresA))) return Number.NaN
    if (!this.#isPrecise(b, squaredDeviations(n, sumB, squaresB))) return Number.NaN
    if (a === b) return 1
    return correlationOf(n, sumA, sumB, squaresA, squaresB, at(this.#products, ab))
  }

  #isPrecise(row: number, deviations: number): boolean {
    return deviations > 0 && deviations >= COMMON_SHARE_MIN * at(this.#squares, row)
  }

  /**
   * All pairs [a, b] for a <= b, `width` columns per row; other entries are undefined. The array is reused by the next
   * call.
   */
  correlations(): Float64Array {
    const { rows } = this.#table
    const target = this.#read
    this.#loadScales()
    const factors = { means: this.#means, sums: this.#sums, scales: this.#scales }
    const isOutside = readProducts(this.#products, this.width, rows, factors, target)
    for (let a = 0; a < rows; a += 1) {
      const isUsual = at(this.#scales, a) > 0
      const from = a * this.width
      target[from + a] = this.correlation(a, a)
      for (let b = a + 1; b < rows && (isOutside || !isUsual); b += 1)
        target[from + b] = isUsual ? clamped(at(target, from + b)) : this.correlation(a, b)
    }
    for (let b = 0; b < rows; b += 1) {
      if (at(this.#scales, b) > 0) continue
      for (let a = 0; a < b; a += 1) target[a * this.width + b] = this.correlation(a, b)
    }
    return target
  }

  /** By row: mean, and 1 / the norm of the distances from it; NaN for rows with gaps. */
  #loadScales(): void {
    this.#scales.fill(Number.NaN)
    if (this.#hours < this.#commonMin) return
    for (let row = 0; row < this.#table.rows; row += 1) {
      if (at(this.#counts, row) !== this.#hours || !this.isSummed(row)) continue
      const sum = at(this.#sums, row)
      const deviations = squaredDeviations(this.#hours, sum, at(this.#squares, row))
      this.#means[row] = sum / this.#hours
      if (this.#isPrecise(row, deviations)) this.#scales[row] = 1 / Math.sqrt(deviations)
    }
  }

  #load(hour: number, values: Float64Array, isKnown: Float64Array): void {
    values.fill(0)
    for (let row = 0; row < this.#table.rows; row += 1) {
      const logReturn = this.#table.at(row, hour)
      const known = Number.isNaN(logReturn) ? 0 : 1
      isKnown[row] = known
      values[row] = known === 0 ? 0 : logReturn - at(this.#pivots, row)
    }
  }

  #rollRows(): void {
    for (let row = 0; row < this.#table.rows; row += 1) {
      const entering = at(this.#entering, row)
      const leaving = at(this.#leaving, row)
      const count = at(this.#counts, row) + at(this.#isEntering, row) - at(this.#isLeaving, row)
      const sum = at(this.#sums, row) + entering - leaving
      const squares = at(this.#squares, row) + entering * entering - leaving * leaving
      const squaresMax = Math.max(squares, at(this.#squaresMax, row))
      this.#counts[row] = count
      this.#sums[row] = sum
      this.#squares[row] = squares
      this.#squaresMax[row] = squaresMax
      const movement = squares - (sum * sum) / count
      if (movement < squaresMax * SHRINKAGE_MIN) this.invalidate(row)
    }
  }

  #addMissed(values: Float64Array, isKnown: Float64Array, sign: 1 | -1): void {
    const { rows } = this.#table
    for (let missing = 0; missing < rows; missing += 1) {
      if (isKnown[missing] === 1) continue
      const from = missing * this.width
      for (let row = 0; row < rows; row += 1) {
        const value = at(values, row)
        this.#missedCounts[from + row] =
          at(this.#missedCounts, from + row) + sign * at(isKnown, row)
        this.#missedSums[from + row] = at(this.#missedSums, from + row) + sign * value
        this.#missedSquares[from + row] = at(this.#missedSquares, from + row) + sign * value * value
      }
    }
  }

  #readRow(row: number, target: Float64Array): void {
    for (let other = 0; other < this.#table.rows; other += 1)
      target[other] = this.correlation(row, other)
  }

  /** Leaves the row's returns relative to the new pivot in `#window`; NaN: unknown. */
  #sumRow(row: number): void {
    const window = this.#window
    copyRow(this.#table, row, { endHour: this.#endHour, hours: this.#hours }, window)
    let n = 0
    let total = 0
    for (const logReturn of window) {
      if (Number.isNaN(logReturn)) continue
      n += 1
      total += logReturn
    }
    const pivot = n === 0 ? 0 : total / n
    let sum = 0
    let squares = 0
    for (let place = 0; place < window.length; place += 1) {
      const value = at(window, place) - pivot
      window[place] = value
      if (Number.isNaN(value)) continue
      sum += value
      squares += value * value
    }
    this.#pivots[row] = pivot
    this.#counts[row] = n
    this.#sums[row] = sum
    this.#squares[row] = squares
    this.#squaresMax[row] = squares
    const self = row * this.width + row
    this.#missedCounts[self] = 0
    this.#missedSums[self] = 0
    this.#missedSquares[self] = 0
  }

  /** Requires the row's returns in `#window`. */
  #sumPair(row: number, other: number): void {
    const { values, ringHours } = this.#table
    const window = this.#window
    const pivot = at(this.#pivots, other)
    const from = other * ringHours
    let place = (this.#endHour - this.#hours + 1) % ringHours
    let products = 0
    let [missedByOther, sumByOther, squaresByOther] = [0, 0, 0]
    let [missedByRow, sumByRow, squaresByRow] = [0, 0, 0]
    for (let index = 0; index < window.length; index += 1) {
      const value = at(window, index)
      const otherValue = at(values, from + place) - pivot
      place = place + 1 === ringHours ? 0 : place + 1
      const product = value * otherValue
      if (!Number.isNaN(product)) {
        products += product
      } else if (!Number.isNaN(value)) {
        missedByOther += 1
        sumByOther += value
        squaresByOther += value * value
      } else if (!Number.isNaN(otherValue)) {
        missedByRow += 1
        sumByRow += otherValue
        squaresByRow += otherValue * otherValue
      }
    }
    const byOther = other * this.width + row
    const byRow = row * this.width + other
    this.#products[Math.min(byRow, byOther)] = products
    this.#missedCounts[byOther] = missedByOther
    this.#missedSums[byOther] = sumByOther
    this.#missedSquares[byOther] = squaresByOther
    this.#missedCounts[byRow] = missedByRow
    this.#missedSums[byRow] = sumByRow
    this.#missedSquares[byRow] = squaresByRow
  }
}

/** A place within bounds. */
function at(numbers: Float64Array, place: number): number {
  return numbers[place] as number
}
