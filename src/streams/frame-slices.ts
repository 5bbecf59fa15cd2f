export type EventLoop = {
  /** A monotonic clock. */
  readonly nowMs: () => number
  /** Runs a task after all other due tasks. */
  readonly afterOthers: (task: () => void) => void
}

/** `resume` may be called without a `pause` before it. */
export type PausableSocket = { pause(): void; resume(): void }

/** Frames are processed in slices of this length. A burst of books takes ten times as long. */
const SLICE_MS = 5

/**
 * Splits a burst of frames into slices, so that other tasks of the thread run between them. Frames keep their order. All
 * sockets of a thread share one instance, because they become readable together.
 */
export class FrameSlices {
  readonly #loop: EventLoop
  readonly #waiting: (() => void)[] = []
  readonly #paused = new Set<PausableSocket>()
  /** NaN between slices. */
  #untilMs = Number.NaN

  constructor(loop: EventLoop) {
    this.#loop = loop
  }

  /** Processes a frame now, or pauses its socket and processes it in a later slice. */
  run(process: () => void, socket: PausableSocket): void {
    if (this.#hasTime()) {
      process()
      return
    }
    this.#waiting.push(process)
    this.#paused.add(socket)
    socket.pause()
  }

  #hasTime(): boolean {
    if (this.#waiting.length > 0) return false
    const nowMs = this.#loop.nowMs()
    if (Number.isNaN(this.#untilMs)) {
      this.#untilMs = nowMs + SLICE_MS
      this.#loop.afterOthers(() => this.#endSlice())
    }
    return nowMs < this.#untilMs
  }

  #endSlice(): void {
    this.#untilMs = Number.NaN
    if (this.#waiting.length > 0) {
      this.#loop.afterOthers(() => this.#processWaiting())
      return
    }
    for (const socket of this.#paused) socket.resume()
    this.#paused.clear()
  }

  #processWaiting(): void {
    const untilMs = this.#loop.nowMs() + SLICE_MS
    try {
      do this.#waiting.shift()?.()
      while (this.#waiting.length > 0 && this.#loop.nowMs() < untilMs)
    } finally {
      this.#endSlice()
    }
  }
}
