/** The smallest lag of the last half to whole window is what the way and the two clocks account for. */
const WINDOW_MS = 30 * 60_000
/** What the venue tells is 0.2 to 0.9 s old; only what is later than that was held up. */
const USUAL_SPREAD_MS = 1_000
/** A lag that differs by more is a broken figure, unless it is told again and again. */
const PLAUSIBLE_LAG_MS = 120_000
const IMPLAUSIBLE_IN_A_ROW_MAX = 50
/** A pong that comes so soon was not held up, nor was anything before it. */
const PROMPT_PONG_MS_MAX = 1_000
/** A second that took longer than this was a pause of ours: our clock runs evenly. */
const PAUSE_MS = 2_000
const TICK_MS = 1_000
/** What was held up by a pause has been read by then. */
const SETTLING_MS = 10_000

type Way = {
  pingedMs: number | null
  /** The last pong was prompt. */
  isPrompt: boolean
  /** Since that pong. */
  smallestLagMs: number
}

/**
 * How far the venue's instants lie behind ours. A frame that was held up, by the network or by a pause
 * of this process, must not count as young because it was read late; a clock that is off by a constant
 * must not make everything old. The two are told apart by what the lag was before, and by pongs: what
 * came between two prompt ones was not held up, so a lag that is longer then is a clock's.
 */
export class VenueClock {
  readonly #ways = new Map<number, Way>()
  #tickedAtMs = Number.NaN
  #windowStartMs = Number.NaN
  #smallestLagMs = Number.POSITIVE_INFINITY
  #previousSmallestLagMs = Number.POSITIVE_INFINITY
  #implausible = 0
  #settledAtMs = Number.NEGATIVE_INFINITY

  /** Our clock minus the venue's, and the shortest way between; null before any lag was seen. */
  get offsetMs(): number | null {
    const offsetMs = Math.min(this.#smallestLagMs, this.#previousSmallestLagMs)
    return Number.isFinite(offsetMs) ? offsetMs : null
  }

  /** An instant of ours by the venue's clock. */
  venueMs(nowMs: number): number {
    return nowMs - (this.offsetMs ?? 0)
  }

  /**
   * @param lagMs receive time minus the venue's time of one frame
   * @returns for how long the frame was held up on the way; 0 for a usual one, null where that cannot be
   */
  delayMs(socket: number, lagMs: number, nowMs: number): number | null {
    const isSettling = nowMs < this.#settledAtMs
    const isPlausible = Math.abs(lagMs - (this.offsetMs ?? lagMs)) <= PLAUSIBLE_LAG_MS
    this.#implausible = isPlausible ? 0 : this.#implausible + 1
    if (!isPlausible && !isSettling && this.#implausible <= IMPLAUSIBLE_IN_A_ROW_MAX) return null
    const way = this.#way(socket)
    way.smallestLagMs = Math.min(way.smallestLagMs, lagMs)
    this.#learn(lagMs, nowMs)
    const lateMs = lagMs - (this.offsetMs ?? lagMs)
    return lateMs > USUAL_SPREAD_MS ? lateMs : 0
  }

  pinged(socket: number, nowMs: number): void {
    this.#way(socket).pingedMs ??= nowMs
  }

  ponged(socket: number, nowMs: number): void {
    const way = this.#way(socket)
    const { pingedMs, isPrompt, smallestLagMs } = way
    way.pingedMs = null
    way.isPrompt = pingedMs !== null && nowMs - pingedMs <= PROMPT_PONG_MS_MAX
    way.smallestLagMs = Number.POSITIVE_INFINITY
    if (!isPrompt || !way.isPrompt || !Number.isFinite(smallestLagMs)) return
    if (smallestLagMs - (this.offsetMs ?? smallestLagMs) > USUAL_SPREAD_MS)
      this.#startOver(smallestLagMs, nowMs)
  }

  /** The connection is gone. */
  lost(socket: number): void {
    this.#ways.delete(socket)
  }

  /** Called every second. @returns for how long we were paused since the last time, or 0. */
  tick(nowMs: number): number {
    const pauseMs = nowMs - this.#tickedAtMs - TICK_MS
    this.#tickedAtMs = nowMs
    if (!(pauseMs > PAUSE_MS)) return 0
    this.#settledAtMs = nowMs + SETTLING_MS
    this.#ways.clear()
    return pauseMs
  }

  #learn(lagMs: number, nowMs: number): void {
    if (!(nowMs - this.#windowStartMs < WINDOW_MS)) {
      this.#previousSmallestLagMs = this.#smallestLagMs
      this.#smallestLagMs = Number.POSITIVE_INFINITY
      this.#windowStartMs = nowMs
    }
    this.#smallestLagMs = Math.min(this.#smallestLagMs, lagMs)
  }

  #startOver(lagMs: number, nowMs: number): void {
    this.#previousSmallestLagMs = Number.POSITIVE_INFINITY
    this.#smallestLagMs = lagMs
    this.#windowStartMs = nowMs
  }

  #way(socket: number): Way {
    let way = this.#ways.get(socket)
    if (way === undefined) {
      way = { pingedMs: null, isPrompt: false, smallestLagMs: Number.POSITIVE_INFINITY }
      this.#ways.set(socket, way)
    }
    return way
  }
}
