import { MinimumLag, USUAL_SPREAD_MS } from './minimum-lag.ts'

/** Lags between two pongs that differ by more belong to a lagging node, not to a clock. */
const STEADY_SPREAD_MS = 2 * USUAL_SPREAD_MS
/** Lags further than this from the minimum are outliers until repeated. */
const PLAUSIBLE_LAG_MS = 120_000
const IMPLAUSIBLE_IN_A_ROW_MAX = 50
/** A pong within this time was not delayed, and neither were the frames before it. */
const PROMPT_PONG_MS_MAX = 1_000
/** A pong after this time was delayed by the network, not by the load of a start. */
const LATE_PONG_MS_MIN = 2_000
/** A longer tick is a local pause. */
const PAUSE_MS = 2_000
const TICK_MS = 1_000
/** Frames that waited during a pause are read by then. */
const SETTLING_MS = 10_000

type ConnectionLag = {
  pingedMs: number | null
  /** When the last pong arrived, if it was prompt; otherwise NaN. */
  promptPongMs: number
  /** Lags since that pong, of frames stamped when sent ... */
  smallestLagMs: number
  largestLagMs: number
  /** ... and of trades. */
  smallestTradeLagMs: number
  /** Outliers in a row. */
  implausible: number
  /** Delay of the last frame. */
  delayMs: number
  /** Delay of the next frame by the last pong; 0 if unknown. */
  expectedMs: number
  /** A frame with a timestamp arrived. */
  isTimed: boolean
}

/**
 * The offset of the venue's clock and the delay of each frame. A delayed frame must not count as new, and a clock offset
 * must not make all data old. Earlier lags, pongs and trades distinguish the two: a frame between two prompt pongs was not
 * delayed by the network, and if trades arrive at their usual lag, the node does not lag either. A longer lag is then a
 * clock offset. The local clock follows the wall clock slowly, so the offset is measured again and again.
 *
 * Trades are stamped when they happen, books when they are sent. If the two disagree, bars begin and end by the trades.
 */
export class VenueClock {
  readonly #lags = new Map<number, ConnectionLag>()
  #tickedAtMs = Number.NaN
  /** A lag was learned next to a prompt pong, so the minimum is not that of delayed frames. */
  #isProven = false
  readonly #books = new MinimumLag()
  readonly #trades = new MinimumLag()
  #settledAtMs = Number.NEGATIVE_INFINITY

  /** Local clock minus venue clock plus minimum latency; null before any lag. */
  get offsetMs(): number | null {
    return this.#books.ms
  }

  /** An instant by the clock of the venue's frames, for bounds on their times. */
  frameMs(nowMs: number): number {
    return nowMs - (this.offsetMs ?? 0)
  }

  /** An instant by which the venue's bars begin and end: never ahead of its trades. */
  venueMs(nowMs: number): number {
    return nowMs - Math.max(this.offsetMs ?? 0, this.#trades.ms ?? Number.NEGATIVE_INFINITY)
  }

  /** An instant by the clock of trades: no trade that arrived by then is later. */
  tradeMs(nowMs: number): number {
    return nowMs - (this.#trades.ms ?? this.offsetMs ?? 0)
  }

  /** @param lagMs receive time minus the time of a live trade, not of a replay */
  traded(socket: number, lagMs: number, nowMs: number): void {
    if (this.#trades.isOutlier(lagMs)) return
    this.#trades.learn(lagMs, nowMs)
    const lag = this.#lagOf(socket)
    lag.smallestTradeLagMs = Math.min(lag.smallestTradeLagMs, lagMs)
  }

  /**
   * @param lagMs receive time minus the venue's time of one frame
   * @returns the delay of the frame; 0 for none, null if unknown
   */
  delayMs(socket: number, lagMs: number, nowMs: number): number | null {
    const isSettling = nowMs < this.#settledAtMs
    const isPlausible = Math.abs(lagMs - (this.offsetMs ?? lagMs)) <= PLAUSIBLE_LAG_MS
    const lag = this.#lagOf(socket)
    // Outliers count here: they show that the lags vary.
    lag.largestLagMs = Math.max(lag.largestLagMs, lagMs)
    lag.implausible = isPlausible ? 0 : lag.implausible + 1
    if (!isPlausible && !isSettling && lag.implausible <= IMPLAUSIBLE_IN_A_ROW_MAX) return null
    if (this.#books.isOutlier(lagMs)) return null
    lag.isTimed = true
    lag.smallestLagMs = Math.min(lag.smallestLagMs, lagMs)
    // A clock that is set forward does not end the delay.
    const isStep = this.offsetMs !== null && lagMs < this.offsetMs - USUAL_SPREAD_MS
    this.#books.learn(lagMs - (isStep ? lag.delayMs : lag.expectedMs), nowMs)
    // A connection keeps its order, so a frame soon after a prompt pong was prompt too.
    this.#isProven ||= nowMs <= lag.promptPongMs + PROMPT_PONG_MS_MAX
    lag.expectedMs = 0
    const lateMs = lagMs - (this.offsetMs ?? lagMs)
    lag.delayMs = lateMs > USUAL_SPREAD_MS ? lateMs : 0
    return lag.delayMs
  }

  pinged(socket: number, nowMs: number): void {
    this.#lagOf(socket).pingedMs ??= nowMs
  }

  /**
   * @returns the delay of the pong, if it is the only measure: before any prompt pong, or before the first frame with a
   *   timestamp of this connection; otherwise null
   */
  ponged(socket: number, nowMs: number): number | null {
    const lag = this.#lagOf(socket)
    const { pingedMs, isTimed, smallestLagMs, largestLagMs, smallestTradeLagMs } = lag
    if (pingedMs === null) return null
    lag.pingedMs = null
    const tookMs = nowMs - pingedMs
    const wasPrompt = !Number.isNaN(lag.promptPongMs)
    const isPrompt = tookMs <= PROMPT_PONG_MS_MAX
    lag.promptPongMs = isPrompt ? nowMs : Number.NaN
    lag.smallestLagMs = Number.POSITIVE_INFINITY
    lag.largestLagMs = Number.NEGATIVE_INFINITY
    lag.smallestTradeLagMs = Number.POSITIVE_INFINITY
    if (!this.#isProven && isPrompt && isTimed) {
      this.#isProven = true
      // Earlier lags may be those of delayed frames.
      if (Number.isFinite(smallestLagMs)) this.#startOver(smallestLagMs, nowMs)
    }
    // Until then the minimum may be that of a frame as late as the pong.
    const delayMs = tookMs >= LATE_PONG_MS_MIN ? tookMs : 0
    lag.expectedMs = this.#isProven ? 0 : delayMs
    // Before a timestamp no lag shows whether the clock was set forward.
    if (!isTimed) lag.delayMs = delayMs
    const areTradesPrompt = smallestTradeLagMs <= (this.#trades.ms ?? 0) + USUAL_SPREAD_MS
    if (wasPrompt && isPrompt && areTradesPrompt) {
      if (Number.isFinite(smallestLagMs)) this.#follow(smallestLagMs, largestLagMs, nowMs)
      this.#trades.grow(smallestTradeLagMs, nowMs)
    }
    if (this.#isProven && isTimed) return null
    return delayMs > 0 || isPrompt ? delayMs : null
  }

  /** @param smallestMs and `largestMs` of undelayed frames */
  #follow(smallestMs: number, largestMs: number, nowMs: number): void {
    if (smallestMs - (this.offsetMs ?? smallestMs) <= USUAL_SPREAD_MS)
      this.#books.grow(smallestMs, nowMs)
    else if (largestMs - smallestMs <= STEADY_SPREAD_MS) this.#startOver(smallestMs, nowMs)
  }

  #startOver(lagMs: number, nowMs: number): void {
    this.#books.startOver()
    this.#books.learn(lagMs, nowMs)
  }

  /** The connection ended. */
  lost(socket: number): void {
    this.#lags.delete(socket)
  }

  /** Once per second. @returns as {@link pausedMs} */
  tick(nowMs: number): number {
    const pauseMs = this.pausedMs(nowMs)
    this.#tickedAtMs = nowMs
    return pauseMs
  }

  /**
   * Checked before every frame, because frames may be read before timers run.
   * @returns the length of a new local pause; otherwise 0
   */
  pausedMs(nowMs: number): number {
    const pauseMs = nowMs - this.#tickedAtMs - TICK_MS
    if (!(pauseMs > PAUSE_MS)) return 0
    this.#tickedAtMs = nowMs
    this.#settledAtMs = nowMs + SETTLING_MS
    this.#lags.clear()
    return pauseMs
  }

  #lagOf(socket: number): ConnectionLag {
    let lag = this.#lags.get(socket)
    if (lag === undefined) {
      lag = {
        pingedMs: null,
        promptPongMs: Number.NaN,
        smallestLagMs: Number.POSITIVE_INFINITY,
        largestLagMs: Number.NEGATIVE_INFINITY,
        smallestTradeLagMs: Number.POSITIVE_INFINITY,
        implausible: 0,
        delayMs: 0,
        expectedMs: 0,
        isTimed: false,
      }
      this.#lags.set(socket, lag)
    }
    return lag
  }
}
