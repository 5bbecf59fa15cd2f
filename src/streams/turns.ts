/** The event loop, as far as it is shared. */
export type Loop = {
  /** Of any clock that never goes back. */
  readonly nowMs: () => number
  /** Runs a task once whatever else is due has run. */
  readonly afterOthers: (task: () => void) => void
}

/** For so long one after the other is done. A burst of books would take ten times as long. */
const TURN_MS = 5

/**
 * Lets whatever else is due run amid a burst: what comes when a turn is over waits for the next one, in order.
 * Shared by all sockets of a thread, as they all become readable at once.
 */
export class Turns {
  readonly #loop: Loop
  readonly #waiting: (() => void)[] = []
  readonly #held = new Set<{ resume(): void }>()
  /** NaN: no turn is underway. */
  #untilMs = Number.NaN

  constructor(loop: Loop) {
    this.#loop = loop
  }

  /** Whether something may be done at once; if not, it has to {@link wait}. */
  hasTime(): boolean {
    if (this.#waiting.length > 0) return false
    const nowMs = this.#loop.nowMs()
    if (Number.isNaN(this.#untilMs)) {
      this.#untilMs = nowMs + TURN_MS
      this.#loop.afterOthers(() => this.#end())
    }
    return nowMs < this.#untilMs
  }

  /** @param source is resumed when nothing waits any more; it should not go on meanwhile */
  wait(task: () => void, source: { resume(): void }): void {
    this.#waiting.push(task)
    this.#held.add(source)
  }

  #end(): void {
    this.#untilMs = Number.NaN
    if (this.#waiting.length > 0) {
      this.#loop.afterOthers(() => this.#catchUp())
      return
    }
    for (const source of this.#held) source.resume()
    this.#held.clear()
  }

  #catchUp(): void {
    const untilMs = this.#loop.nowMs() + TURN_MS
    do this.#waiting.shift()?.()
    while (this.#waiting.length > 0 && this.#loop.nowMs() < untilMs)
    this.#end()
  }
}
