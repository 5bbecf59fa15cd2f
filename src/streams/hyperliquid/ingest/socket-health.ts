import type { FeedStatusEvent } from '../../../domain/event.ts'
import type { ReceiveTimes } from '../timing/receive-times.ts'

/** A larger offset means that one of the clocks is wrong; latency is included. */
const CLOCK_OFFSET_MS_MAX = 5_000

/** The status of the feed: up once every socket received a frame, degraded while the clocks disagree. */
export class SocketHealth {
  readonly #sockets: number
  readonly #times: ReceiveTimes
  readonly #up = new Set<number>()
  #isClockOff = false

  constructor(sockets: number, times: ReceiveTimes) {
    this.#sockets = sockets
    this.#times = times
  }

  /** @returns the status if this frame completes the sockets */
  received(socket: number, nowMs: number): FeedStatusEvent | null {
    if (this.#up.has(socket)) return null
    this.#up.add(socket)
    return this.#isComplete ? this.#complete(nowMs) : null
  }

  lost(socket: number, reason: string, coins: readonly string[], nowMs: number): FeedStatusEvent {
    this.#up.delete(socket)
    return this.#status('down', reason, coins, nowMs)
  }

  /** @returns the status if the clocks began or ceased to disagree */
  tick(nowMs: number): FeedStatusEvent | null {
    const isClockOff = Math.abs(this.#times.offsetMs ?? 0) > CLOCK_OFFSET_MS_MAX
    if (isClockOff === this.#isClockOff) return null
    this.#isClockOff = isClockOff
    return this.#isComplete ? this.#complete(nowMs) : null
  }

  get #isComplete(): boolean {
    return this.#up.size === this.#sockets
  }

  #complete(nowMs: number): FeedStatusEvent {
    return this.#isClockOff
      ? this.#status('degraded', 'clock_offset', [], nowMs)
      : this.#status('up', 'connected', [], nowMs)
  }

  #status(
    state: FeedStatusEvent['state'],
    reason: string,
    coins: readonly string[],
    nowMs: number,
  ): FeedStatusEvent {
    return { kind: 'feed-status', feed: 'venue', state, reason, coins, ...this.#times.stamp(nowMs) }
  }
}
