/** A book arrives every 5.4 s: after a longer silence the next frame may be delayed by as much. */
const SILENCE_MS = 6_000

type Delay = {
  /** Delay of the last frame with a timestamp, or of a pong. */
  measuredMs: number
  /** Local pauses since. */
  pausedMs: number
  /** Silence before the last frame. */
  silentMs: number
  receivedMs: number
}

/**
 * The present delay of each connection. A frame with a timestamp measures it; until the next one, local pauses and a
 * silence are added.
 */
export class ConnectionDelays {
  readonly #delays = new Map<number, Delay>()

  opened(socket: number, nowMs: number): void {
    this.#of(socket, nowMs)
  }

  /** A frame other than a pong arrived. */
  received(socket: number, nowMs: number): void {
    const delay = this.#of(socket, nowMs)
    const silentMs = nowMs - delay.receivedMs
    delay.receivedMs = nowMs
    if (silentMs > SILENCE_MS) delay.silentMs = silentMs
  }

  measured(socket: number, delayMs: number, nowMs: number): void {
    this.#delays.set(socket, { measuredMs: delayMs, pausedMs: 0, silentMs: 0, receivedMs: nowMs })
  }

  paused(pauseMs: number): void {
    for (const delay of this.#delays.values()) {
      delay.pausedMs += pauseMs
      delay.receivedMs += pauseMs
    }
  }

  lost(socket: number): void {
    this.#delays.delete(socket)
  }

  /** Of events with a time or a bar, which a silence does not delay. */
  ofDatedMs(socket: number): number {
    const delay = this.#delays.get(socket)
    return delay === undefined ? 0 : delay.measuredMs + delay.pausedMs
  }

  ofUndatedMs(socket: number): number {
    return this.ofDatedMs(socket) + (this.#delays.get(socket)?.silentMs ?? 0)
  }

  #of(socket: number, nowMs: number): Delay {
    let delay = this.#delays.get(socket)
    if (delay === undefined) {
      delay = { measuredMs: 0, pausedMs: 0, silentMs: 0, receivedMs: nowMs }
      this.#delays.set(socket, delay)
    }
    return delay
  }
}
