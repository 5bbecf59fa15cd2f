import type { Clock } from '../../src/domain/clock.ts'

type Timer = { dueMs: number; readonly periodMs: number | null; readonly task: () => void }

/** A clock that stands still until the test moves it. Timers fire in the order in which they are due. */
export class ManualClock implements Clock {
  #nowMs: number
  /** Where an advance that is under way ends. */
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

  /** Somebody corrects it. Timers wait as long as they would have. */
  putBack(byMs: number): void {
    this.#nowMs -= byMs
    this.#untilMs -= byMs
    for (const timer of this.#timers) timer.dueMs -= byMs
  }

  /** Moves the clock and runs whatever becomes due on the way. */
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
