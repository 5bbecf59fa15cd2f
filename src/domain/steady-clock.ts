import type { Clock } from './clock.ts'

/** Time sources of the machine, milliseconds. */
export type TimeSources = {
  /** Unix time; may be stepped. */
  wallMs(): number
  /** The same for all threads; on some systems it stops while the machine is suspended. */
  monotonicMs(): number
  /** Continues through a suspension; may be coarse. */
  uptimeMs(): number
}

/** State of a steady clock, from which another thread continues it. */
export type ClockAnchor = {
  readonly timeMs: number
  readonly monotonicMs: number
  readonly uptimeAheadMs: number
  readonly offMs: number
}

/** A larger jump of the wall clock is a step or a suspension. */
const JUMP_MS = 1_000
/** Period of uptime checks: a step and a suspension may cancel out. */
const UPTIME_PERIOD_MS = 100
/** Slew rate towards the wall clock: 5 ms per second. */
export const FOLLOWED_PER_MS = 0.005

/**
 * Unix time that a step of the wall clock does not move, so that ages and deadlines stay right. It starts at the wall
 * clock's time and slews towards it, which compensates drift.
 */
export class SteadyClock implements Clock {
  readonly after: Clock['after']
  readonly every: Clock['every']
  readonly #sources: TimeSources
  readonly #anchorMs: number
  #readAtMs: number
  /** Added to the monotonic time so far. */
  #addedMs = 0
  #uptimeAheadMs: number
  #uptimeReadAtMs = Number.NEGATIVE_INFINITY
  #offMs: number

  /** @param anchor state of the clock to continue; default: the wall clock */
  constructor(
    sources: TimeSources,
    timers: Pick<Clock, 'after' | 'every'>,
    anchor: ClockAnchor = wallAnchor(sources),
  ) {
    this.#sources = sources
    this.after = timers.after
    this.every = timers.every
    // Separate from `#addedMs`, because repeated small additions to an instant lose precision.
    this.#anchorMs = anchor.timeMs - anchor.monotonicMs
    this.#readAtMs = anchor.monotonicMs
    this.#uptimeAheadMs = anchor.uptimeAheadMs
    this.#offMs = anchor.offMs
  }

  nowMs(): number {
    const elapsedMs = Math.max(0, this.#sources.monotonicMs() - this.#readAtMs)
    // A request reads the clock several times; within a millisecond the wall clock is not read again.
    if (elapsedMs < 1) return Math.floor(this.#timeMs + elapsedMs)
    this.#advance(elapsedMs)
    return Math.floor(this.#timeMs)
  }

  /** The wall clock minus this one, milliseconds. */
  offMs(): number {
    this.#read()
    return this.#offMs
  }

  /** Jumps to the wall clock. Instants from before are invalid. */
  followAtOnce(): void {
    this.#addedMs += this.offMs()
    this.#offMs = 0
  }

  /** For a clock of another thread, which must not run during `followAtOnce`. */
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

  /** Adds the time of a suspension, by which earlier data have aged. */
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
