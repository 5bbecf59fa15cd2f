import { statisticsOf } from '../statistics/series-statistics.ts'

/** Ring of the newest values of a series, with exact quantiles. */
export class RecentValues {
  readonly #values: Float64Array
  #count = 0
  #next = 0

  constructor(valuesMax: number) {
    this.#values = new Float64Array(valuesMax)
  }

  /** Number of values held. */
  get count(): number {
    return this.#count
  }

  push(value: number): void {
    this.#values[this.#next] = value
    this.#next = (this.#next + 1) % this.#values.length
    this.#count = Math.min(this.#count + 1, this.#values.length)
  }

  /** Median of the values mapped by `of`; NaN without values. */
  median(of: (value: number) => number = (value) => value): number {
    return statisticsOf(this.#values.subarray(0, this.#count).map(of)).median
  }

  /** Smallest value that is not below `share` of the mapped values; NaN without values. */
  quantile(share: number, of: (value: number) => number = (value) => value): number {
    const ascending = this.#values.subarray(0, this.#count).map(of).toSorted()
    return ascending[Math.max(0, Math.ceil(share * this.#count) - 1)] ?? Number.NaN
  }

  /** Oldest first. */
  save(): Float64Array {
    const oldest = this.#count < this.#values.length ? 0 : this.#next
    return Float64Array.from(
      { length: this.#count },
      (_, at) => this.#values[(oldest + at) % this.#values.length] as number,
    )
  }

  restore(saved: Float64Array): void {
    this.#count = 0
    this.#next = 0
    for (const value of saved) this.push(value)
  }
}
