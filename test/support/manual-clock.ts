import type { Clock } from '../../src/domain/clock.ts'

type Timer = { dueMs: number; readonly periodMs: number | null; readonly task: () => void }

/** A clock that only the test advances. Timers fire in the order of their due times. */
export class ManualClock implements Clock {
  #nowMs: number
  /** End of the advance in progress. */
  #untilMs = 0
  readonly #timers = new Set<Timer>()

  constructor(startMs = Date.UTC(2026, 0, 1)) {
    this.#nowMs = startMs
  }

  nowMs(): number {
    return this.#nowMs
  }

  after(delayMs: number, task: () => void): () => void {
    return this.#start({ dueMs: this.#nowMs + delayMs, periodMs: null, task })
  }

  every(periodMs: number, task: () => void): () => void {
    return this.#start({ dueMs: this.#nowMs + periodMs, periodMs, task })
  }

  /** Steps the wall clock back. Timers keep their remaining time. */
  putBack(byMs: number): void {
    this.#nowMs -= byMs
    this.#untilMs -= byMs
    for (const timer of this.#timers) timer.dueMs -= byMs
  }

  /** Advances the clock and runs the timers that become due. */
  advance(byMs: number): void {
    this.#untilMs = this.#nowMs + byMs
    for (let next = this.#nextDue(); next !== undefined; next = this.#nextDue()) {
      this.#nowMs = Math.max(this.#nowMs, next.dueMs)
      if (next.periodMs === null) this.#timers.delete(next)
      else next.dueMs += next.periodMs
      next.task()
    }
    this.#nowMs = this.#untilMs
  }

  #start(timer: Timer): () => void {
    this.#timers.add(timer)
    return () => this.#timers.delete(timer)
  }

  #nextDue(): Timer | undefined {
    let next: Timer | undefined
    for (const timer of this.#timers) {
      if (timer.dueMs <= this.#untilMs && (next === undefined || timer.dueMs < next.dueMs))
        next = timer
    }
    return next
  }
}
