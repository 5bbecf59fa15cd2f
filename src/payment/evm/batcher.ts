import type { Clock } from '../../domain/clock.ts'

export type BatcherOptions<T> = {
  readonly clock: Clock
  /** The longest that anything waits here. */
  readonly waitMs: number
  readonly sizeMax: number
  /** Called with one thing, or with all that came while it was too early for the next. */
  readonly dispatch: (things: readonly T[]) => void
}

/** Lets single things pass at once, and gathers those that come in quick succession. */
export class Batcher<T> {
  readonly #options: BatcherOptions<T>
  #waiting: T[] = []
  /** Ends the time during which things are gathered; null while there is none. */
  #cancelWait: (() => void) | null = null

  constructor(options: BatcherOptions<T>) {
    this.#options = options
  }

  /** Whether the next thing will have to wait. */
  get isBatching(): boolean {
    return this.#cancelWait !== null
  }

  add(thing: T): void {
    this.#waiting.push(thing)
    if (!this.isBatching || this.#waiting.length >= this.#options.sizeMax) this.#dispatch()
  }

  #dispatch(): void {
    const { clock, waitMs, dispatch } = this.#options
    const things = this.#waiting
    this.#waiting = []
    this.#cancelWait?.()
    this.#cancelWait = clock.after(waitMs, () => {
      this.#cancelWait = null
      if (this.#waiting.length > 0) this.#dispatch()
    })
    dispatch(things)
  }
}
