import type { Clock } from '../domain/clock.ts'

type Work = {
  /** What is to be done, cut where the event loop may turn. */
  readonly begin: () => Generator<unknown>
  /** Hears what a slice threw; the rest of that work is left. */
  readonly onFailed: (cause: unknown) => void
}

/** Work of which one slice is done at a time, so that nothing holds the thread. */
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

  /** Begins it, unless it is still underway. */
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
