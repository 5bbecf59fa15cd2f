/** Bounds of the buckets: from 0.1 ms up in steps of 20 %, to 100 s. */
const FIRST_MS = 0.1
const STEP = 1.2
const BUCKETS = 77

/** Durations as counts by bucket of a geometric scale: constant memory, quantiles within 20 %. */
export class DurationCounts {
  readonly #counts = new Uint32Array(BUCKETS)

  add(ms: number): void {
    const at = ms <= FIRST_MS ? 0 : Math.ceil(Math.log(ms / FIRST_MS) / Math.log(STEP))
    const bucket = Math.min(at, BUCKETS - 1)
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1
  }

  addAll(other: DurationCounts): void {
    for (const [bucket, count] of other.#counts.entries())
      this.#counts[bucket] = (this.#counts[bucket] ?? 0) + count
  }

  clear(): void {
    this.#counts.fill(0)
  }

  /** Upper bound of the bucket of this quantile; 0 without durations. */
  quantileMs(quantile: number): number {
    const total = this.#counts.reduce((sum, count) => sum + count, 0)
    let left = Math.max(1, Math.ceil(total * quantile))
    for (const [bucket, count] of this.#counts.entries()) {
      left -= count
      if (left <= 0) return Number((FIRST_MS * STEP ** bucket).toPrecision(3))
    }
    return 0
  }
}
