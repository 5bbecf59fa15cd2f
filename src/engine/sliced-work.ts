import type { Clock } from '../domain/clock.ts'

type Work = {
  /** Each `yield` is a point at which other tasks of the event loop may run. */
  readonly begin: () => Generator<unknown>
  /** Receives the error of a slice; the remaining slices are not run. */
  readonly onFailed: (cause: unknown) => void
}

/** Work that is done one slice at a time, so that it does not block the thread. */
export class SlicedWork {
  readonly #clock: Clock
  readonly #gapMs: number
  readonly #work: Work
  #slices: Generator<unknown> | null = null
  #cancel = () => {}

  constructor(clock: Clock, gapMs: number, work: Work) {
    this.#clock = clock
    this.#gapMs = gapMs
    this.#work = work
  }

  /** Begins the work, unless it is in progress. */
  run(): void {
    if (this.#slices !== null) return
    this.#slices = this.#work.begin()
    this.#slice(this.#slices)
  }

  stop(): void {
    this.#cancel()
  }

  #slice(slices: Generator<unknown>): void {
    try {
      if (slices.next().done) this.#slices = null
      else this.#cancel = this.#clock.after(this.#gapMs, () => this.#slice(slices))
    } catch (cause) {
      this.#slices = null
      this.#work.onFailed(cause)
    }
  }
}
