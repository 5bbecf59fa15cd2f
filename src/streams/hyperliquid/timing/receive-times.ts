import type { Batch, MarketEvent, Stamped } from '../../../domain/event.ts'
import type { Frame } from '../wire/frame.ts'
import { TIME_AHEAD_MS_MAX } from '../wire/values.ts'
import { ConnectionDelays } from './connection-delays.ts'
import { VenueClock } from './venue-clock.ts'

/** This many frames from the future mean that a clock is wrong ... */
const UNTIMELY_MAX = 20
/** ... by at most this. */
const CLOCK_BEHIND_MS_MAX = 24 * 3_600_000
/** Below this offset the local clock is used as the venue's. */
const CLOCK_OFFSET_MS_USUAL = 2_000

/** The receive times of events: corrected for the delay of their connection and for the offset of the venue's clock. */
export class ReceiveTimes {
  readonly #clock = new VenueClock()
  readonly #delays = new ConnectionDelays()
  /** Frames from the future since the last timely book. */
  #untimely = 0

  /** Local clock minus venue clock, latency included; null before the first book. */
  get offsetMs(): number | null {
    return this.#clock.offsetMs
  }

  /** An instant of the local clock by the venue's clock. */
  venueMs(nowMs: number): number {
    return Math.floor(this.#clock.venueMs(nowMs))
  }

  /**
   * The present by the clock that is ahead; later times are invalid. If the venue repeats them, the local clock is behind
   * or the venue's was set forward.
   */
  latestMs(nowMs: number): number {
    return this.#untimely < UNTIMELY_MAX ? this.#knownMs(nowMs) : nowMs + CLOCK_BEHIND_MS_MAX
  }

  /** The present delay of frames with a timestamp. */
  delayMs(socket: number): number {
    return this.#delays.ofDatedMs(socket)
  }

  /** The times of local events and requests. */
  stamp(nowMs: number): Stamped {
    return { timeExchangeMs: this.venueMs(nowMs), timeReceivedMs: nowMs }
  }

  /** Once per second. */
  tick(nowMs: number): void {
    this.#paused(this.#clock.tick(nowMs))
  }

  /** Before a frame is read: after a suspension, frames may be read before timers run. */
  reading(nowMs: number): void {
    this.#paused(this.#clock.pausedMs(nowMs))
  }

  /** A frame other than a pong was read. */
  received(socket: number, nowMs: number): void {
    this.#delays.received(socket, nowMs)
  }

  pinged(socket: number, nowMs: number): void {
    this.#clock.pinged(socket, nowMs)
    this.#delays.opened(socket, nowMs)
  }

  ponged(socket: number, nowMs: number): void {
    const delayMs = this.#clock.ponged(socket, nowMs)
    // Marks and contexts may arrive before the first book.
    if (delayMs !== null) this.#delays.measured(socket, delayMs, nowMs)
  }

  /** The connection is gone. */
  lost(socket: number): void {
    this.#delays.lost(socket)
    this.#clock.lost(socket)
  }

  /** Counts frames from the future. */
  noteTimeliness({ drops, events }: Extract<Frame, { kind: 'events' }>, nowMs: number): void {
    const [first] = events
    if (drops.some(({ reason }) => reason === 'bad_time')) this.#untimely += 1
    else if (first?.kind === 'book' || first?.kind === 'top-of-book') {
      const isTimely = first.timeExchangeMs <= this.#knownMs(nowMs) + TIME_AHEAD_MS_MAX
      if (isTimely) this.#untimely = 0
    }
  }

  /** @param trades of one live frame: the newest happened just now */
  traded(socket: number, trades: Batch, nowMs: number): void {
    this.#clock.traded(socket, nowMs - latestOf(trades), nowMs)
  }

  /**
   * @param events of one frame and one kind
   * @returns the events with the times that they would have without a delay
   */
  stamped(socket: number, events: Batch, nowMs: number): Batch {
    const [first] = events
    if (first === undefined) return events
    if (first.kind === 'book' || first.kind === 'top-of-book') {
      const measuredMs = this.#clock.delayMs(socket, nowMs - first.timeExchangeMs, nowMs)
      if (measuredMs !== null) this.#delays.measured(socket, measuredMs, nowMs)
    }
    const delayMs = isUndated(first)
      ? this.#delays.ofUndatedMs(socket)
      : this.#delays.ofDatedMs(socket)
    const timeReceivedMs = nowMs - delayMs
    const latestMs = this.venueMs(timeReceivedMs)
    const isOff =
      (isTimed(first) && first.timeExchangeMs > this.#latestEventMs(first, latestMs, nowMs)) ||
      Math.abs(this.#clock.offsetMs ?? 0) > CLOCK_OFFSET_MS_USUAL ||
      Math.abs(timeReceivedMs - latestMs) > CLOCK_OFFSET_MS_USUAL
    if (delayMs === 0 && !isOff && first.timeReceivedMs === nowMs) return events
    return events.map((event) => ({
      ...event,
      timeReceivedMs,
      timeExchangeMs: isTimed(event)
        ? Math.min(event.timeExchangeMs, this.#latestEventMs(event, latestMs, nowMs))
        : latestMs,
    }))
  }

  /** Trades and books may be stamped by different clocks. */
  #latestEventMs({ kind }: MarketEvent, latestMs: number, nowMs: number): number {
    return (kind === 'trade' ? this.#clock.tradeMs(nowMs) : latestMs) + CLOCK_OFFSET_MS_USUAL
  }

  /** Waiting frames were sent during the pause; the next book shows when. */
  #paused(pauseMs: number): void {
    if (pauseMs > 0) this.#delays.paused(pauseMs)
  }

  /** The present, by the venue's clock if it is ahead. */
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

/** Whether the event carries an exchange time. */
function isTimed({ kind }: MarketEvent): boolean {
  return kind === 'book' || kind === 'top-of-book' || kind === 'trade'
}

/** Whether the event has no time at all; a candle has its bar. */
function isUndated({ kind }: MarketEvent): boolean {
  return kind === 'context' || kind === 'mark'
}
