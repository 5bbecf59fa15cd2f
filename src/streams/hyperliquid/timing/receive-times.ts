import type { Batch, MarketEvent, Stamped } from '../../../domain/event.ts'
import type { Frame } from '../wire/frame.ts'
import { TIME_AHEAD_MS_MAX } from '../wire/values.ts'
import { ConnectionDelays } from './connection-delays.ts'
import { VenueClock } from './venue-clock.ts'

/** So many frames of the future, and a clock is off ... */
const UNTIMELY_MAX = 20
/** ... by no more than this, or they mean nothing. */
const CLOCK_BEHIND_MS_MAX = 24 * 3_600_000
/** Below this an instant of ours is as good as one of the venue's. */
const CLOCK_OFFSET_MS_USUAL = 2_000

/**
 * When what arrives was so: the venue's clock, and by how much each connection is held up. What every arrival shows
 * of the two goes in, and the times that its events bear come out.
 */
export class ReceiveTimes {
  readonly #clock = new VenueClock()
  readonly #delays = new ConnectionDelays()
  /** Frames since the last timely book that told of the future, as our clock has it. */
  #untimely = 0

  /** Our clock minus the venue's, including the way; null before the first book. */
  get offsetMs(): number | null {
    return this.#clock.offsetMs
  }

  /** An instant of ours by the venue's clock, as well as it is known. */
  venueMs(nowMs: number): number {
    return Math.floor(this.#clock.venueMs(nowMs))
  }

  /**
   * By our clock or the venue's, whichever is ahead: what is told of later than that cannot be. Where
   * the venue insists on it, ours is behind, or its own was put forward.
   */
  latestMs(nowMs: number): number {
    return this.#untimely < UNTIMELY_MAX ? this.#knownMs(nowMs) : nowMs + CLOCK_BEHIND_MS_MAX
  }

  /** For how long what says itself when it was so may have been held up now. */
  delayMs(socket: number): number {
    return this.#delays.ofDatedMs(socket)
  }

  /** The times of what we say or ask ourselves. */
  stamp(nowMs: number): Stamped {
    return { timeExchangeMs: this.venueMs(nowMs), timeReceivedMs: nowMs }
  }

  /** Called every second. */
  tick(nowMs: number): void {
    this.#paused(this.#clock.tick(nowMs))
  }

  /** Before a frame is read: whoever wakes up may read before his timers run. */
  reading(nowMs: number): void {
    this.#paused(this.#clock.pausedMs(nowMs))
  }

  /** Anything but a pong was read. */
  received(socket: number, nowMs: number): void {
    this.#delays.received(socket, nowMs)
  }

  pinged(socket: number, nowMs: number): void {
    this.#clock.pinged(socket, nowMs)
    this.#delays.opened(socket, nowMs)
  }

  ponged(socket: number, nowMs: number): void {
    const heldUpMs = this.#clock.ponged(socket, nowMs)
    // Marks and contexts may come before the first book.
    if (heldUpMs !== null) this.#delays.told(socket, heldUpMs, nowMs)
  }

  /** The connection is gone. */
  lost(socket: number): void {
    this.#delays.lost(socket)
    this.#clock.lost(socket)
  }

  /** How often the venue tells of the future. */
  noteTimeliness({ drops, events }: Extract<Frame, { kind: 'events' }>, nowMs: number): void {
    const [first] = events
    if (drops.some(({ reason }) => reason === 'bad_time')) this.#untimely += 1
    else if (first?.kind === 'book' || first?.kind === 'top-of-book') {
      const isTimely = first.timeExchangeMs <= this.#knownMs(nowMs) + TIME_AHEAD_MS_MAX
      if (isTimely) this.#untimely = 0
    }
  }

  /** @param trades all that a frame told: the newest happened just now */
  traded(socket: number, trades: Batch, nowMs: number): void {
    this.#clock.traded(socket, nowMs - latestOf(trades), nowMs)
  }

  /**
   * The events of one frame, or of a part of it, which are all of one kind.
   * @returns them with the times that they have, or would have had without what held them up
   */
  stamped(socket: number, events: Batch, nowMs: number): Batch {
    const [first] = events
    if (first === undefined) return events
    if (first.kind === 'book' || first.kind === 'top-of-book') {
      const toldMs = this.#clock.delayMs(socket, nowMs - first.timeExchangeMs, nowMs)
      if (toldMs !== null) this.#delays.told(socket, toldMs, nowMs)
    }
    const delayMs = isUndated(first)
      ? this.#delays.ofUndatedMs(socket)
      : this.#delays.ofDatedMs(socket)
    const timeReceivedMs = nowMs - delayMs
    const latestMs = this.venueMs(timeReceivedMs)
    const isOff =
      (isTimed(first) && first.timeExchangeMs > this.#toldUntilMs(first, latestMs, nowMs)) ||
      Math.abs(this.#clock.offsetMs ?? 0) > CLOCK_OFFSET_MS_USUAL ||
      Math.abs(timeReceivedMs - latestMs) > CLOCK_OFFSET_MS_USUAL
    if (delayMs === 0 && !isOff && first.timeReceivedMs === nowMs) return events
    return events.map((event) => ({
      ...event,
      timeReceivedMs,
      timeExchangeMs: isTimed(event)
        ? Math.min(event.timeExchangeMs, this.#toldUntilMs(event, latestMs, nowMs))
        : latestMs,
    }))
  }

  /** Trades have the time at which they happened, by whatever clock books are stamped. */
  #toldUntilMs({ kind }: MarketEvent, latestMs: number, nowMs: number): number {
    return (kind === 'trade' ? this.#clock.tradeMs(nowMs) : latestMs) + CLOCK_OFFSET_MS_USUAL
  }

  /** What waits to be read was sent during the pause; when, the next book will tell. */
  #paused(pauseMs: number): void {
    if (pauseMs > 0) this.#delays.paused(pauseMs)
  }

  /** As far as the venue's clock is known. */
  #knownMs(nowMs: number): number {
    const isAhead = (this.#clock.offsetMs ?? 0) < -CLOCK_OFFSET_MS_USUAL
    return isAhead ? Math.floor(this.#clock.frameMs(nowMs)) : nowMs
  }
}

function latestOf(events: Batch): number {
  let latestMs = Number.NEGATIVE_INFINITY
  for (const { timeExchangeMs } of events) latestMs = Math.max(latestMs, timeExchangeMs)
  return latestMs
}

/** The venue has told the instant itself. */
function isTimed({ kind }: MarketEvent): boolean {
  return kind === 'book' || kind === 'top-of-book' || kind === 'trade'
}

/** Nothing in it says when it was so; a candle bears its bar at least. */
function isUndated({ kind }: MarketEvent): boolean {
  return kind === 'context' || kind === 'mark'
}
