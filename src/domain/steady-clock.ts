import type { Clock } from './clock.ts'

/** What a machine knows of time, milliseconds. */
export type TimeSources = {
  /** Unix time. Somebody may put it forward or back. */
  wallMs(): number
  /** Runs evenly, the same for all threads; on some systems it stands still while the machine is suspended. */
  monotonicMs(): number
  /** Runs on through a suspension. Asked rarely, and may be coarse. */
  uptimeMs(): number
}

/** A state of a steady clock, for one of another thread that is to show the same. */
export type ClockAnchor = {
  readonly timeMs: number
  readonly monotonicMs: number
  readonly uptimeAheadMs: number
  readonly offMs: number
}

/** A wall clock that jumps by more was stepped, or the machine was suspended. */
const JUMP_MS = 1_000
/** A step and a suspension may hide each other: so often the uptime is asked in any case. */
const UPTIME_PERIOD_MS = 100
/** By so much a second is stretched or shortened while the wall clock is followed: no age shows it. */
export const FOLLOWED_PER_MS = 0.005

/**
 * Unix time that runs evenly: no step of the wall clock moves it, so no age and no deadline is ever off
 * by one. It begins at the wall clock's time and follows it slowly from then on, five milliseconds a
 * second, which takes in what two clocks drift apart.
 */
export class SteadyClock implements Clock {
  readonly after: Clock['after']
  readonly every: Clock['every']
  readonly #sources: TimeSources
  readonly #anchorMs: number
  #readAtMs: number
  /** Of monotonic time until it was last read, beyond what it says itself. */
  #addedMs = 0
  #uptimeAheadMs: number
  #uptimeReadAtMs = Number.NEGATIVE_INFINITY
  #offMs: number

  /** @param anchor of the clock that it continues; without one it begins with the wall clock */
  constructor(
    sources: TimeSources,
    timers: Pick<Clock, 'after' | 'every'>,
    anchor: ClockAnchor = wallAnchor(sources),
  ) {
    this.#sources = sources
    this.after = timers.after
    this.every = timers.every
    // Kept apart, because adding small numbers to an instant again and again would lose some of them.
    this.#anchorMs = anchor.timeMs - anchor.monotonicMs
    this.#readAtMs = anchor.monotonicMs
    this.#uptimeAheadMs = anchor.uptimeAheadMs
    this.#offMs = anchor.offMs
  }

  nowMs(): number {
    const elapsedMs = Math.max(0, this.#sources.monotonicMs() - this.#readAtMs)
    // Asked several times for one request: within a millisecond the wall clock is not looked at again.
    if (elapsedMs < 1) return Math.floor(this.#timeMs + elapsedMs)
    this.#advance(elapsedMs)
    return Math.floor(this.#timeMs)
  }

  /** The wall clock minus this one, milliseconds. */
  offMs(): number {
    this.#read()
    return this.#offMs
  }

  /** Shows the wall clock's time from now on. What was timed before has to be forgotten. */
  followAtOnce(): void {
    this.#addedMs += this.offMs()
    this.#offMs = 0
  }

  /** For a clock of another thread, which must not run while this one follows at once. */
  anchor(): ClockAnchor {
    this.#read()
    return {
      timeMs: this.#timeMs,
      monotonicMs: this.#readAtMs,
      uptimeAheadMs: this.#uptimeAheadMs,
      offMs: this.#offMs,
    }
  }

  #advance(elapsedMs: number): void {
    this.#readAtMs += elapsedMs
    const offMs = this.#wallAheadMs()
    const isDue = this.#readAtMs - this.#uptimeReadAtMs >= UPTIME_PERIOD_MS
    if (isDue || Math.abs(offMs - this.#offMs) > JUMP_MS) this.#countSuspension()
    this.#offMs = this.#wallAheadMs()
    const mostMs = elapsedMs * FOLLOWED_PER_MS
    const followedMs = Math.min(mostMs, Math.max(-mostMs, this.#offMs))
    this.#addedMs += followedMs
    this.#offMs -= followedMs
  }

  #read(): void {
    this.#advance(Math.max(0, this.#sources.monotonicMs() - this.#readAtMs))
  }

  get #timeMs(): number {
    return this.#anchorMs + this.#readAtMs + this.#addedMs
  }

  #wallAheadMs(): number {
    return this.#sources.wallMs() - this.#timeMs
  }

  /** Time that passed while the machine was suspended is no step: what was told before it is older by it. */
  #countSuspension(): void {
    this.#uptimeReadAtMs = this.#readAtMs
    const uptimeAheadMs = this.#sources.uptimeMs() - this.#readAtMs
    const suspendedMs = uptimeAheadMs - this.#uptimeAheadMs
    if (suspendedMs <= JUMP_MS) return
    this.#addedMs += suspendedMs
    this.#uptimeAheadMs = uptimeAheadMs
  }
}

function wallAnchor({ wallMs, monotonicMs, uptimeMs }: TimeSources): ClockAnchor {
  const readAtMs = monotonicMs()
  return {
    timeMs: wallMs(),
    monotonicMs: readAtMs,
    uptimeAheadMs: uptimeMs() - readAtMs,
    offMs: 0,
  }
}
