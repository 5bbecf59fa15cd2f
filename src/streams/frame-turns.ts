/** The event loop, as far as it is shared. */
export type Loop = {
  /** Of any clock that never goes back. */
  readonly nowMs: () => number
  /** Runs a task once whatever else is due has run. */
  readonly afterOthers: (task: () => void) => void
}

/** Where frames come from. Asked to hold while some of them wait; may be told to go on without having been held. */
export type Source = { hold(): void; goOn(): void }

/** For so long frames are handed on one after the other. A burst of books would take ten times as long. */
const TURN_MS = 5

/**
 * Lets whatever else is due run amid a burst of frames: what comes when a turn is over waits for the next one, in
 * order. Shared by all sockets of a thread, as they all become readable at once.
 */
export class FrameTurns {
  readonly #loop: Loop
  readonly #waiting: (() => void)[] = []
  readonly #held = new Set<Source>()
  /** NaN: no turn is underway. */
  #untilMs = Number.NaN

  constructor(loop: Loop) {
    this.#loop = loop
  }

  /** Hands a frame on, now or after others have run. */
  run(handOn: () => void, source: Source): void {
    if (this.#hasTime()) {
      handOn()
      return
    }
    this.#waiting.push(handOn)
    this.#held.add(source)
    source.hold()
  }

  #hasTime(): boolean {
    if (this.#waiting.length > 0) return false
    const nowMs = this.#loop.nowMs()
    if (Number.isNaN(this.#untilMs)) {
      this.#untilMs = nowMs + TURN_MS
      this.#loop.afterOthers(() => this.#end())
    }
    return nowMs < this.#untilMs
  }

  #end(): void {
    this.#untilMs = Number.NaN
    if (this.#waiting.length > 0) {
      this.#loop.afterOthers(() => this.#catchUp())
      return
    }
    for (const source of this.#held) source.goOn()
    this.#held.clear()
  }

  #catchUp(): void {
    const untilMs = this.#loop.nowMs() + TURN_MS
    try {
      do this.#waiting.shift()?.()
      while (this.#waiting.length > 0 && this.#loop.nowMs() < untilMs)
    } finally {
      this.#end()
    }
  }
}
