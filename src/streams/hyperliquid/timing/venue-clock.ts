import { MinimumLag, USUAL_SPREAD_MS } from './minimum-lag.ts'

/** Lags between two pongs that differ by more are not those of a clock: something falls behind. */
const STEADY_SPREAD_MS = 2 * USUAL_SPREAD_MS
/** A lag that differs by more is a broken figure, unless it is told again and again. */
const PLAUSIBLE_LAG_MS = 120_000
const IMPLAUSIBLE_IN_A_ROW_MAX = 50
/** A pong that comes so soon was not held up, nor was anything before it. */
const PROMPT_PONG_MS_MAX = 1_000
/** One that comes so late was held up on its way, not by the bustle of a start. */
const LATE_PONG_MS_MIN = 2_000
/** A second that took longer than this was a pause of ours: our clock runs evenly. */
const PAUSE_MS = 2_000
const TICK_MS = 1_000
/** What was held up by a pause has been read by then. */
const SETTLING_MS = 10_000

type Way = {
  pingedMs: number | null
  /** When the last pong came, if it was prompt; else NaN. */
  promptPongMs: number
  /** Since that pong, of what the venue stamps when it sends ... */
  smallestLagMs: number
  largestLagMs: number
  /** ... and of trades. */
  smallestTradeLagMs: number
  /** Broken figures in a row. */
  implausible: number
  /** For how long the last frame was held up. */
  heldUpMs: number
  /** By its pong, for how long the next one is; 0 where that says nothing. */
  expectedMs: number
  /** A frame of it has told when it was sent. */
  isTimed: boolean
}

/**
 * How far the venue's instants lie behind ours. A frame that was held up, by the network or by a pause
 * of this process, must not count as young because it was read late; a clock that is off by a constant
 * must not make everything old. The two are told apart by what the lag was before, by pongs and by trades: what
 * came between two prompt pongs was not held up on its way, and where trades came as fast as ever meanwhile
 * the node that sent it does not lag either. A lag that is longer then is a clock's. Our own moves as well, as slowly as
 * it follows the wall clock: each time it is measured anew how fast that is.
 *
 * Trades are stamped where they happen, books where they are sent: when the two disagree, bars begin and
 * end by the trades.
 */
export class VenueClock {
  readonly #ways = new Map<number, Way>()
  #tickedAtMs = Number.NaN
  /** A lag was learned beside a prompt pong: not everything that was learned can have been held up. */
  #isProven = false
  readonly #books = new MinimumLag()
  readonly #trades = new MinimumLag()
  #settledAtMs = Number.NEGATIVE_INFINITY

  /** Our clock minus the venue's, and the shortest way between; null before any lag was seen. */
  get offsetMs(): number | null {
    return this.#books.ms
  }

  /** An instant of ours by the clock of the venue's frames, which tells what cannot be yet. */
  frameMs(nowMs: number): number {
    return nowMs - (this.offsetMs ?? 0)
  }

  /** An instant of ours by which the venue's bars begin and end: never ahead of its trades. */
  venueMs(nowMs: number): number {
    return nowMs - Math.max(this.offsetMs ?? 0, this.#trades.ms ?? Number.NEGATIVE_INFINITY)
  }

  /** An instant of ours by the clock of trades: no trade that came by then happened later. */
  tradeMs(nowMs: number): number {
    return nowMs - (this.#trades.ms ?? this.offsetMs ?? 0)
  }

  /** @param lagMs receive time minus the time of a trade that happened just now: a replay says nothing of a clock */
  traded(socket: number, lagMs: number, nowMs: number): void {
    if (this.#trades.doubts(lagMs)) return
    this.#trades.learn(lagMs, nowMs)
    const way = this.#way(socket)
    way.smallestTradeLagMs = Math.min(way.smallestTradeLagMs, lagMs)
  }

  /**
   * @param lagMs receive time minus the venue's time of one frame
   * @returns for how long the frame was held up on the way; 0 for a usual one, null where that cannot be told by it
   */
  delayMs(socket: number, lagMs: number, nowMs: number): number | null {
    const isSettling = nowMs < this.#settledAtMs
    const isPlausible = Math.abs(lagMs - (this.offsetMs ?? lagMs)) <= PLAUSIBLE_LAG_MS
    const way = this.#way(socket)
    // Also what is no measure of a clock shows that lags are not those of one.
    way.largestLagMs = Math.max(way.largestLagMs, lagMs)
    way.implausible = isPlausible ? 0 : way.implausible + 1
    if (!isPlausible && !isSettling && way.implausible <= IMPLAUSIBLE_IN_A_ROW_MAX) return null
    if (this.#books.doubts(lagMs)) return null
    way.isTimed = true
    way.smallestLagMs = Math.min(way.smallestLagMs, lagMs)
    // A clock that is put forward does not say that what held frames up has ended as well.
    const isStep = this.offsetMs !== null && lagMs < this.offsetMs - USUAL_SPREAD_MS
    this.#books.learn(lagMs - (isStep ? way.heldUpMs : way.expectedMs), nowMs)
    // What comes so soon after a prompt pong came as promptly: a connection keeps its order.
    this.#isProven ||= nowMs <= way.promptPongMs + PROMPT_PONG_MS_MAX
    way.expectedMs = 0
    const lateMs = lagMs - (this.offsetMs ?? lagMs)
    way.heldUpMs = lateMs > USUAL_SPREAD_MS ? lateMs : 0
    return way.heldUpMs
  }

  pinged(socket: number, nowMs: number): void {
    this.#way(socket).pingedMs ??= nowMs
  }

  /**
   * @returns for how long it was held up, while it is all that can tell: before any prompt one, or before a frame of
   *   this connection told when it was sent; else null
   */
  ponged(socket: number, nowMs: number): number | null {
    const way = this.#way(socket)
    const { pingedMs, isTimed, smallestLagMs, largestLagMs, smallestTradeLagMs } = way
    if (pingedMs === null) return null
    way.pingedMs = null
    const tookMs = nowMs - pingedMs
    const wasPrompt = !Number.isNaN(way.promptPongMs)
    const isPrompt = tookMs <= PROMPT_PONG_MS_MAX
    way.promptPongMs = isPrompt ? nowMs : Number.NaN
    way.smallestLagMs = Number.POSITIVE_INFINITY
    way.largestLagMs = Number.NEGATIVE_INFINITY
    way.smallestTradeLagMs = Number.POSITIVE_INFINITY
    if (!this.#isProven && isPrompt && isTimed) {
      this.#isProven = true
      // Earlier ones may have been late by as much as nothing said.
      if (Number.isFinite(smallestLagMs)) this.#startOver(smallestLagMs, nowMs)
    }
    // Until then the smallest lag may itself be a late frame's: as late as the pong.
    const heldUpMs = tookMs >= LATE_PONG_MS_MIN ? tookMs : 0
    way.expectedMs = this.#isProven ? 0 : heldUpMs
    // The clock may have been put forward since this connection began: then no lag shows it.
    if (!isTimed) way.heldUpMs = heldUpMs
    const areTradesPrompt = smallestTradeLagMs <= (this.#trades.ms ?? 0) + USUAL_SPREAD_MS
    if (wasPrompt && isPrompt && areTradesPrompt) {
      if (Number.isFinite(smallestLagMs)) this.#follow(smallestLagMs, largestLagMs, nowMs)
      this.#trades.grow(smallestTradeLagMs, nowMs)
    }
    if (this.#isProven && isTimed) return null
    return heldUpMs > 0 || isPrompt ? heldUpMs : null
  }

  /** @param smallestMs and the largest, of frames that were not held up */
  #follow(smallestMs: number, largestMs: number, nowMs: number): void {
    if (smallestMs - (this.offsetMs ?? smallestMs) <= USUAL_SPREAD_MS)
      this.#books.grow(smallestMs, nowMs)
    else if (largestMs - smallestMs <= STEADY_SPREAD_MS) this.#startOver(smallestMs, nowMs)
  }

  #startOver(lagMs: number, nowMs: number): void {
    this.#books.startOver()
    this.#books.learn(lagMs, nowMs)
  }

  /** The connection is gone. */
  lost(socket: number): void {
    this.#ways.delete(socket)
  }

  /** Called every second. @returns as {@link pausedMs} */
  tick(nowMs: number): number {
    const pauseMs = this.pausedMs(nowMs)
    this.#tickedAtMs = nowMs
    return pauseMs
  }

  /**
   * Whoever wakes up may read before his timers run, so every frame asks.
   * @returns for how long we were paused, if that was not told yet; else 0
   */
  pausedMs(nowMs: number): number {
    const pauseMs = nowMs - this.#tickedAtMs - TICK_MS
    if (!(pauseMs > PAUSE_MS)) return 0
    this.#tickedAtMs = nowMs
    this.#settledAtMs = nowMs + SETTLING_MS
    this.#ways.clear()
    return pauseMs
  }

  #way(socket: number): Way {
    let way = this.#ways.get(socket)
    if (way === undefined) {
      way = {
        pingedMs: null,
        promptPongMs: Number.NaN,
        smallestLagMs: Number.POSITIVE_INFINITY,
        largestLagMs: Number.NEGATIVE_INFINITY,
        smallestTradeLagMs: Number.POSITIVE_INFINITY,
        implausible: 0,
        heldUpMs: 0,
        expectedMs: 0,
        isTimed: false,
      }
      this.#ways.set(socket, way)
    }
    return way
  }
}
