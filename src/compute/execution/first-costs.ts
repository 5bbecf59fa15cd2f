import { StepRing } from '../statistics/step-ring.ts'

/** Orders whose slippage is published, in the unit of the book's prices. */
export const ORDER_NOTIONALS_USD = [10_000, 50_000, 100_000, 500_000] as const

const QUARTER_MS = 900_000
const QUARTERS_KEPT = 8
/** Claims about a quarter are made in its first minute, of which no cost counts. */
const SKIPPED_MS = 60_000
/** Largest ratio of an execution to the order that it stands for. */
const TIMES_MAX = 2
const ROUNDING = 1e-9
const SIZES = ORDER_NOTIONALS_USD.length
const FIELDS = 2 * SIZES

/**
 * Cost of the first execution of each size and direction in each quarter of an hour, bps. NaN for none, Infinity where
 * trades are missing before it or the quarter is no longer kept.
 */
export class FirstCosts {
  readonly #quarters = new StepRing(QUARTER_MS, QUARTERS_KEPT, FIELDS)

  add(timeMs: number, direction: 1 | -1, notional: number, paidBps: number): void {
    const size = sizeOf(notional)
    const step = this.#quarters.stepOf(timeMs)
    if (size < 0 || timeMs - step * QUARTER_MS < SKIPPED_MS) return
    const field = fieldOf(direction, size)
    const row = this.#quarters.row(step)
    if (Number.isNaN(row[field])) this.#quarters.set(step, row.with(field, paidBps))
  }

  /** Trades between two instants are missing. */
  lose(fromMs: number, toMs: number): void {
    const last = this.#quarters.stepOf(toMs)
    const first = Math.max(this.#quarters.stepOf(fromMs), last - QUARTERS_KEPT + 1)
    for (let step = first; step <= last; step += 1)
      this.#quarters.set(
        step,
        this.#quarters.row(step).map((bps) => (Number.isNaN(bps) ? Number.POSITIVE_INFINITY : bps)),
      )
  }

  /** Of the quarter that begins at an instant. @param size position in {@link ORDER_NOTIONALS_USD} */
  at(fromMs: number, direction: 1 | -1, size: number): number {
    const step = this.#quarters.stepOf(fromMs)
    const isForgotten = step <= this.#quarters.newestStep - QUARTERS_KEPT
    return isForgotten
      ? Number.POSITIVE_INFINITY
      : this.#quarters.at(step, fieldOf(direction, size))
  }

  /** Sizes, by position, of the executions of a direction in the two hours before an instant. */
  sizesSeen(direction: 1 | -1, untilMs: number): readonly number[] {
    // Without executions since, the kept quarters may be of days ago.
    const from = this.#quarters.stepOf(untilMs) - QUARTERS_KEPT
    const steps = this.#quarters.steps(from)
    return ORDER_NOTIONALS_USD.flatMap((_, size) => {
      const field = fieldOf(direction, size)
      return steps.some((step) => Number.isFinite(this.#quarters.at(step, field))) ? [size] : []
    })
  }

  /** Each quarter with its costs. */
  save(): readonly number[] {
    return this.#quarters.steps().flatMap((step) => [step, ...this.#quarters.row(step)])
  }

  restore(saved: ArrayLike<number>): void {
    const numbers = Array.from(saved)
    for (let at = 0; at + FIELDS < numbers.length; at += 1 + FIELDS)
      this.#quarters.set(numbers[at] as number, numbers.slice(at + 1, at + 1 + FIELDS))
  }
}

/** The nearest size on a logarithmic scale; -1 if none is near. */
function sizeOf(notional: number): number {
  const timesOf = (size: number) =>
    Math.exp(Math.abs(Math.log(notional / (ORDER_NOTIONALS_USD[size] ?? 0))))
  let nearest = 0
  for (let size = 1; size < SIZES; size += 1) if (timesOf(size) < timesOf(nearest)) nearest = size
  return timesOf(nearest) <= TIMES_MAX * (1 + ROUNDING) ? nearest : -1
}

function fieldOf(direction: 1 | -1, size: number): number {
  return (direction === 1 ? 0 : SIZES) + size
}
