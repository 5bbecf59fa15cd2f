/** Each connection has a book every 5.4 s: after more, whatever comes next may have been held up as long. */
const SILENCE_MS = 6_000

type Delay = {
  /** By how much the last frame that told when it was sent was held up, or a pong. */
  toldMs: number
  /** For how long we have not read since. */
  pausedMs: number
  /** How long nothing had come before what came last. */
  silentMs: number
  heardAtMs: number
}

/**
 * By how much what comes over a connection now may have been held up. A frame that bears its time tells; until
 * the next one, a pause of ours and a silence are added to what the last one told.
 */
export class ConnectionDelays {
  readonly #delays = new Map<number, Delay>()

  opened(socket: number, nowMs: number): void {
    this.#of(socket, nowMs)
  }

  /** Anything but a pong came. */
  received(socket: number, nowMs: number): void {
    const delay = this.#of(socket, nowMs)
    const silentMs = nowMs - delay.heardAtMs
    delay.heardAtMs = nowMs
    if (silentMs > SILENCE_MS) delay.silentMs = silentMs
  }

  told(socket: number, delayMs: number, nowMs: number): void {
    this.#delays.set(socket, { toldMs: delayMs, pausedMs: 0, silentMs: 0, heardAtMs: nowMs })
  }

  paused(pauseMs: number): void {
    for (const delay of this.#delays.values()) {
      delay.pausedMs += pauseMs
      delay.heardAtMs += pauseMs
    }
  }

  lost(socket: number): void {
    this.#delays.delete(socket)
  }

  /** Of what says itself when it was so, or of which bar it is: only that is believed after a silence. */
  ofDatedMs(socket: number): number {
    const delay = this.#delays.get(socket)
    return delay === undefined ? 0 : delay.toldMs + delay.pausedMs
  }

  ofUndatedMs(socket: number): number {
    return this.ofDatedMs(socket) + (this.#delays.get(socket)?.silentMs ?? 0)
  }

  #of(socket: number, nowMs: number): Delay {
    let delay = this.#delays.get(socket)
    if (delay === undefined) {
      delay = { toldMs: 0, pausedMs: 0, silentMs: 0, heardAtMs: nowMs }
      this.#delays.set(socket, delay)
    }
    return delay
  }
}
