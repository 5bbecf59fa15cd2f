import type { Clock } from '../../domain/clock.ts'

export type BatcherOptions<T> = {
  readonly clock: Clock
  /** Longest wait of an item. */
  readonly waitMs: number
  readonly sizeMax: number
  /** Gets one item, or the items of one wait. */
  readonly dispatch: (things: readonly T[]) => void
}

/** Passes a single item at once and batches items that follow within `waitMs`. */
export class Batcher<T> {
  readonly #options: BatcherOptions<T>
  #waiting: T[] = []
  /** Cancels the current wait; null without one. */
  #cancelWait: (() => void) | null = null

  constructor(options: BatcherOptions<T>) {
    this.#options = options
  }

  /** Whether the next item has to wait. */
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
