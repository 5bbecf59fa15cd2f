import assert from 'node:assert/strict'
import type { Bar } from '../../domain/bar.ts'
import type { Timeframe } from '../../domain/timeframe.ts'
import { barOpenTimeMs, timeframeMs } from '../../domain/timeframe.ts'
import type { PulsePool } from '../indicators/pulse-series.ts'
import { SETTLED_BARS } from '../indicators/seed-memory.ts'
import { CandleSeries } from './candle-series.ts'
import {
  AUDITED_BARS_MAX,
  saveBar,
  savedBar,
  savedLadder,
  savedRecent,
  saveRecent,
} from './saved-ladder.ts'

/** Bars requested at a cold start, one request each: they settle EMA 200 of 4h and 15m, and everything else of 1h. */
const COLD_BARS_4H = 1_200
const COLD_BARS_15M = 1_344

/** 1h bars requested afterwards: the seed's weight in EMA 200 falls to 1.5e-8. */
const DEPTH_BARS_1H = 2_000

/** The venue serves 5,000 bars. A longer gap cannot be bridged, so the series starts over. */
const BRIDGED_GAP_BARS_MAX = 4_900

/** Time after its end in which a bar may still receive a final frame. */
export const CLOSING_GRACE_MS = 3_000

/** A dead connection is detected within this time: a bar that was closed in it may lack trades. */
const DETECTION_MS_MAX = 60_000

/** While history is requested, at most one bar ends and the next one begins. */
const HELD_BARS_MAX = 2

const QUARTER_MS = timeframeMs['15m']

export type HistoryNeed = { readonly timeframe: Timeframe; readonly fromMs: number }

type Held = { readonly bar: Bar; readonly receivedMs: number }

/**
 * Keeps the 15m bars of one coin continuous. Bars are closed in order, each once and without a gap. Where frames may
 * have been lost the ladder stops closing bars and {@link needs} names the history that it requires.
 */
export class CandleLadder {
  readonly #series: CandleSeries
  /** Open time of the forming bar; NaN before any history. */
  #nextOpenMs = Number.NaN
  /** The forming bar as far as it is known; null only before any history. */
  #open: Bar | null = null
  /** Time of the frame or reply behind `#open`; NaN while it is derived from the bar before. */
  #openToldAtMs = Number.NaN
  /** Volume of the forming bar in the last reply of the venue; 0 without a reply. */
  #askedVolumeBase = 0
  /** Time of that reply. */
  #askedAtMs = Number.NaN
  /** Live bars that wait for the bars before them. */
  #held: Held[] = []
  /** False where frames since the last closed bar may be missing. */
  #isContinuous = false
  /** State before the last bar that was closed without a final frame. */
  readonly #undo = new Float64Array(savedLadder.length)
  #canUndo = false
  /** The last closed bars, oldest first. */
  #recent: readonly Bar[] = []

  constructor(pool: PulsePool) {
    this.#series = new CandleSeries(pool)
  }

  /** Length of the array of {@link save}. */
  get savedLength(): number {
    return savedLadder.length
  }

  get isContinuous(): boolean {
    return this.#isContinuous
  }

  /** End of the last closed 15m bar; NaN before any history. */
  get closedUntilMs(): number {
    return this.#nextOpenMs
  }

  /** Indicators of the last {@link peek}; the next peek of any coin overwrites them. */
  get values(): Float64Array {
    return this.#series.values
  }

  set onClosed(listener: (timeframe: Timeframe, bar: Bar) => void) {
    this.#series.onClosed = listener
  }

  /** Number of closed bars. */
  barCount(timeframe: Timeframe): number {
    return this.#series.barCount(timeframe)
  }

  /** Whether the series begins with the first bar of the coin: then no indicator is unsettled. */
  isWhole(timeframe: Timeframe): boolean {
    return this.#series.isWhole(timeframe)
  }

  /** Bars that were closed since the last call. */
  takeClosed(): ReturnType<CandleSeries['takeClosed']> {
    return this.#series.takeClosed()
  }

  /** The forming bar of a timeframe, or null while its beginning is unknown. */
  openBar(timeframe: Timeframe): Bar | null {
    return this.#open && this.#series.openBar(timeframe, this.#open)
  }

  /** Computes the indicators as if the forming bar closed now, into {@link values}. @returns the forming bar */
  peek(timeframe: Timeframe): Bar | null {
    const bar = this.openBar(timeframe)
    if (bar !== null) this.#series.peek(timeframe, bar)
    return bar
  }

  /** Whether there is no history, or none that can be joined to the present. */
  isCold(nowMs: number): boolean {
    return !(nowMs - this.#nextOpenMs <= BRIDGED_GAP_BARS_MAX * QUARTER_MS)
  }

  /** History that is required before bars can be closed; empty while nothing is missing. */
  needs(nowMs: number): readonly HistoryNeed[] {
    if (this.isCold(nowMs)) {
      const boundaryMs = barOpenTimeMs(nowMs, '4h')
      return [
        { timeframe: '4h', fromMs: boundaryMs - COLD_BARS_4H * timeframeMs['4h'] },
        { timeframe: '15m', fromMs: boundaryMs - COLD_BARS_15M * QUARTER_MS },
      ]
    }
    return this.#isContinuous ? [] : [{ timeframe: '15m', fromMs: this.#nextOpenMs }]
  }

  /** Open time of the first 1h bar that {@link deepen} requires to settle EMA 200; null for none. */
  depthFromMs(nowMs: number): number | null {
    const isDeep = this.isWhole('1h') || this.barCount('1h') + 1 >= SETTLED_BARS
    if (isDeep || this.isCold(nowMs)) return null
    return barOpenTimeMs(nowMs, '1h') - DEPTH_BARS_1H * timeframeMs['1h']
  }

  /** Takes closed 1h bars, ascending, as requested from `fromMs`, and computes the 1h series again from them. */
  deepen(bars: readonly Bar[], fromMs: number): void {
    this.#series.deepen(bars, isWholeFrom(bars, fromMs), this.#canUndo ? this.#undo : null)
  }

  /**
   * Closed bars to request again for comparison: only this shows a lost frame that no later one reveals. null while
   * there are none.
   */
  audit(): HistoryNeed | null {
    const [first] = this.#recent
    return first === undefined || !this.#isContinuous
      ? null
      : { timeframe: '15m', fromMs: first.openTimeMs }
  }

  /**
   * Takes past bars, ascending and complete as of `askedAtMs`: bars missing at the end had no trades. 4h history only
   * seeds a cold ladder.
   * @param fromMs start of the request: the coin has no bars between it and the first one of the reply
   */
  history(
    timeframe: Timeframe,
    bars: readonly Bar[],
    askedAtMs: number,
    fromMs = Number.NaN,
  ): void {
    if (timeframe === '15m') this.#take15mHistory(bars, askedAtMs, fromMs)
    else if (timeframe === '4h' && this.isCold(askedAtMs)) {
      const held = this.#held
      this.reset()
      this.#held = held
      this.#series.seed4h(bars, askedAtMs - CLOSING_GRACE_MS, isWholeFrom(bars, fromMs))
    }
  }

  /** Takes the current state of one 15m bar. */
  live(bar: Bar, receivedMs: number): void {
    if (bar.openTimeMs === this.#nextOpenMs) {
      // A delayed frame: the reply already had more volume. If frames stay below it for long, the reply was wrong.
      if (bar.volumeBase < this.#askedVolumeBase) {
        if (receivedMs > this.#askedAtMs + DETECTION_MS_MAX) this.#isContinuous = false
        return
      }
      this.#setOpen(bar, receivedMs)
      // A frame holds the whole bar, so lost frames of it do not matter.
      this.#isContinuous = true
      if (this.#held.length > 0) this.#placeHeld(() => false)
    } else if (!this.#isContinuous) {
      this.#hold(bar, receivedMs)
    } else if (bar.openTimeMs === this.#nextOpenMs - QUARTER_MS) {
      this.#revise(bar)
    } else if (bar.openTimeMs > this.#nextOpenMs) {
      this.#closeUntil(bar.openTimeMs)
      this.#setOpen(bar, receivedMs)
    }
  }

  /** Closes bars that ended by the last observation of the coin. The venue sends no candles without trades. */
  advance(observedMs: number): void {
    if (this.#isContinuous) this.#closeUntil(barOpenTimeMs(observedMs - CLOSING_GRACE_MS, '15m'))
  }

  /**
   * The connection was lost: bars since shortly before are in doubt until history confirms them. Held bars stay; their
   * volume shows whether a later reply is newer.
   */
  interrupt(nowMs: number): void {
    const isDoubtful = this.#nextOpenMs > nowMs - DETECTION_MS_MAX
    if (this.#isContinuous && this.#canUndo && isDoubtful) this.#reopenLast()
    this.#isContinuous = false
  }

  /** Removes all bars. */
  reset(): void {
    this.#series.reset()
    this.#nextOpenMs = Number.NaN
    this.#setOpen(null, Number.NaN)
    this.#askedVolumeBase = 0
    this.#held = []
    this.#canUndo = false
    this.#isContinuous = false
    this.#recent = []
  }

  save(): Float64Array {
    const saved = new Float64Array(savedLadder.length)
    this.#saveInto(saved)
    return saved
  }

  /** A restored ladder is interrupted, because time has passed since it was saved. */
  restore(saved: Float64Array): void {
    assert.equal(saved.length, savedLadder.length, 'a saved ladder has a fixed size')
    this.reset()
    this.#restoreFrom(saved)
  }

  #take15mHistory(bars: readonly Bar[], askedAtMs: number, fromMs: number): void {
    const first = bars[0]
    if (this.isCold(askedAtMs)) {
      if (first === undefined) return
      if (!Number.isNaN(this.#nextOpenMs)) this.reset()
      this.#nextOpenMs = first.openTimeMs
      this.#series.begin(first, isWholeFrom(bars, fromMs))
    }
    const settledMs = barOpenTimeMs(askedAtMs - CLOSING_GRACE_MS, '15m')
    if (!this.#isConfirmedBy(bars, settledMs)) {
      // A wrong bar cannot be removed from the indicators, so everything is requested again.
      this.reset()
      return
    }
    if (this.#isContinuous) this.#compareOpen(bars, askedAtMs)
    else this.#bridge(bars, askedAtMs, settledMs)
  }

  /** Nothing is missing, so frames are newer than the reply, unless one was lost or wrong. */
  #compareOpen(bars: readonly Bar[], askedAtMs: number): void {
    for (const bar of bars) {
      if (this.#isBeyondOpen(bar) || this.#isTakenBackBy(bar, askedAtMs))
        this.#setAsked(bar, askedAtMs)
      // Frame or reply is wrong: the bar is unconfirmed until a second reply.
      else if (this.#isContradictedBy(bar, askedAtMs)) this.#isContinuous = false
    }
  }

  /** Closes the missing bars and joins the live ones to them. */
  #bridge(bars: readonly Bar[], askedAtMs: number, settledMs: number): void {
    const wasTraded = this.#open !== null && this.#open.volumeBase > 0
    const received = bars.find((bar) => bar.openTimeMs === this.#nextOpenMs)
    // A reply without the traded bar, or with less volume of it, is incomplete.
    if (received === undefined && (wasTraded || this.#open === null)) return
    if (received !== undefined && this.#isBehindOpen(received, askedAtMs)) return
    /** Within the grace after a boundary the next bar has begun as well. */
    const begun: Bar[] = []
    for (const bar of bars) {
      if (bar.openTimeMs < this.#nextOpenMs) continue
      if (bar.openTimeMs >= settledMs) {
        if (bar.openTimeMs === this.#nextOpenMs) this.#setAsked(bar, askedAtMs)
        else begun.push(bar)
        continue
      }
      if (bar.openTimeMs > this.#nextOpenMs) return
      this.#close(bar)
    }
    this.#closeUntil(settledMs)
    // These bars are final.
    this.#canUndo = false
    this.#isContinuous = true
    for (const bar of begun) {
      this.live(bar, askedAtMs)
      this.#setAsked(bar, askedAtMs)
    }
    this.#placeHeld((held) => held.receivedMs >= askedAtMs || this.#isBeyondOpen(held.bar))
  }

  /** Places bars that were held while earlier bars were missing. */
  #placeHeld(isNewer: (held: Held) => boolean): void {
    const held = this.#held
    this.#held = []
    for (const one of held)
      if (one.bar.openTimeMs > this.#nextOpenMs || isNewer(one)) this.live(one.bar, one.receivedMs)
  }

  /** A later state of the forming bar: volume never falls. */
  #isBeyondOpen(bar: Bar): boolean {
    return bar.openTimeMs === this.#nextOpenMs && bar.volumeBase > (this.#open?.volumeBase ?? 0)
  }

  /**
   * A reply with less volume than a frame, requested at most shortly after it: the reply is older. If requested later,
   * the frame was wrong.
   */
  #isBehindOpen(bar: Bar, askedAtMs: number): boolean {
    return (
      bar.volumeBase < (this.#open?.volumeBase ?? 0) &&
      askedAtMs <= this.#openToldAtMs + DETECTION_MS_MAX
    )
  }

  /**
   * A second reply with less volume of the forming bar than the first, which no frame confirmed: the first was wrong,
   * and would cause all frames to be ignored until the bar ends.
   */
  #isTakenBackBy(bar: Bar, askedAtMs: number): boolean {
    return (
      bar.openTimeMs === this.#nextOpenMs &&
      askedAtMs > this.#askedAtMs &&
      bar.volumeBase < this.#askedVolumeBase &&
      this.#open?.volumeBase === this.#askedVolumeBase
    )
  }

  /** A reply that differs from the forming bar, requested long after its last frame: the frame was wrong. */
  #isContradictedBy(bar: Bar, askedAtMs: number): boolean {
    return (
      bar.openTimeMs === this.#nextOpenMs &&
      askedAtMs > this.#openToldAtMs + DETECTION_MS_MAX &&
      this.#open !== null &&
      !isSameBar(this.#open, bar)
    )
  }

  /** Sets the forming bar from a frame. */
  #setOpen(bar: Bar | null, receivedMs: number): void {
    this.#open = bar
    this.#openToldAtMs = receivedMs
  }

  /** Sets the forming bar from a reply. */
  #setAsked(bar: Bar, askedAtMs: number): void {
    this.#setOpen(bar, askedAtMs)
    this.#askedVolumeBase = bar.volumeBase
    this.#askedAtMs = askedAtMs
  }

  /** False where a final bar of the reply differs from a closed one that cannot be revised. */
  #isConfirmedBy(bars: readonly Bar[], settledMs: number): boolean {
    for (const bar of bars) {
      if (bar.openTimeMs >= settledMs) break
      const closed = this.#recent.find(({ openTimeMs }) => openTimeMs === bar.openTimeMs)
      if (closed === undefined || isSameBar(closed, bar)) continue
      const isLast = bar.openTimeMs === this.#nextOpenMs - QUARTER_MS
      if (!isLast || !this.#canUndo) return false
      this.#revise(bar)
    }
    return true
  }

  #hold(bar: Bar, receivedMs: number): void {
    const others = this.#held.filter((held) => held.bar.openTimeMs !== bar.openTimeMs)
    this.#held = [...others, { bar, receivedMs }].slice(-HELD_BARS_MAX)
  }

  #closeUntil(openTimeMs: number): void {
    while (this.#nextOpenMs < openTimeMs) {
      assert(this.#open !== null, 'a bar is forming as soon as one has closed')
      this.#saveInto(this.#undo)
      this.#canUndo = true
      this.#close(this.#open)
    }
  }

  #close(bar: Bar): void {
    assert.equal(bar.openTimeMs, this.#nextOpenMs, 'bars close in order')
    this.#series.close(bar)
    this.#nextOpenMs = bar.openTimeMs + QUARTER_MS
    this.#setOpen(flatAfter(bar), Number.NaN)
    this.#askedVolumeBase = 0
    this.#recent = [...this.#recent, bar].slice(-AUDITED_BARS_MAX)
  }

  /** The last closed bar is forming again. A frame of the next one is held, because an older reply lacks it. */
  #reopenLast(): void {
    const [next, toldAtMs] = [this.#open, this.#openToldAtMs]
    this.#restoreFrom(this.#undo)
    if (next !== null && next.volumeBase > 0) this.#hold(next, toldAtMs)
  }

  /** Replaces the last closed bar: its final frame can arrive after it was closed by the clock. */
  #revise(bar: Bar): void {
    if (!this.#canUndo) return
    const [open, toldAtMs] = [this.#open, this.#openToldAtMs]
    this.#restoreFrom(this.#undo)
    this.#open = bar
    // Another revision starts from this state.
    this.#saveInto(this.#undo)
    this.#canUndo = true
    this.#close(bar)
    if (open !== null && open.volumeBase > 0) this.#setOpen(open, toldAtMs)
  }

  #saveInto(saved: Float64Array): void {
    saved[savedLadder.nextOpenMs] = this.#nextOpenMs
    saveBar(this.#open, saved, savedLadder.openBar)
    saveRecent(this.#recent, saved)
    this.#series.saveInto(saved)
  }

  #restoreFrom(saved: Float64Array): void {
    this.#nextOpenMs = saved[savedLadder.nextOpenMs] as number
    this.#setOpen(savedBar(saved, savedLadder.openBar), Number.NaN)
    this.#recent = savedRecent(saved)
    this.#series.restoreFrom(saved)
    this.#canUndo = false
    this.#askedVolumeBase = 0
  }
}

/** Whether the coin has no earlier bars: the reply would have begun with them. */
function isWholeFrom([first]: readonly Bar[], fromMs: number): boolean {
  return first !== undefined && first.openTimeMs > fromMs
}

function isSameBar(one: Bar, other: Bar): boolean {
  return (
    one.open === other.open &&
    one.high === other.high &&
    one.low === other.low &&
    one.close === other.close &&
    one.volumeBase === other.volumeBase
  )
}

/** A bar without trades repeats the close before it. */
function flatAfter(bar: Bar): Bar {
  return {
    openTimeMs: bar.openTimeMs + QUARTER_MS,
    open: bar.close,
    high: bar.close,
    low: bar.close,
    close: bar.close,
    volumeBase: 0,
  }
}
