import assert from 'node:assert/strict'
import type { Bar } from '../../domain/bar.ts'
import type { Timeframe } from '../../domain/timeframe.ts'
import { barOpenTimeMs, timeframeMs, timeframes } from '../../domain/timeframe.ts'
import { barSlot, STATE_LENGTH } from '../indicators/pulse-layout.ts'
import type { PulsePool, PulseSeries } from '../indicators/pulse-series.ts'
import { SETTLED_BARS, withholdUnsettled } from '../indicators/seed-memory.ts'
import { AGGREGATE_FIELDS, BarAggregate } from './bar-aggregate.ts'

/** Bars that a cold start asks for, one request each: EMA 200 of 4h and of 15m is settled, and all else of 1h. */
const COLD_BARS_4H = 1_200
const COLD_BARS_15M = 1_344

/** 1h bars that are asked for afterwards: 1.5e-8 of the seed is left in EMA 200. */
const DEPTH_BARS_1H = 2_000

/** The venue serves 5,000 bars. A longer gap cannot be bridged bar by bar: the series starts over. */
const BRIDGED_GAP_BARS_MAX = 4_900

/** How long after its end a bar waits for the venue's last word on it. */
const CLOSING_GRACE_MS = 3_000

/** A dead connection is noticed within this time: what was closed on its silence is taken back. */
const UNNOTICED_SILENCE_MS = 60_000

/** While history is on its way, at most one bar ends and the next begins. */
const HELD_BARS_MAX = 2

/** What bridging the longest gap folds at once, with room: closed bars are taken away more often than that. */
const CLOSED_BARS_MAX = 6_500

/** Closed quarters that are kept to be compared with the venue's own account of them. */
const AUDITED_BARS_MAX = 8

const QUARTER_MS = timeframeMs['15m']

const derivedTimeframes = ['1h', '4h'] as const

/** `nextOpenMs`, two last open times, the six numbers of the forming bar, and which series are whole. */
const HEADER_FIELDS = 12
const LAST_OPEN_1H_AT = 1
const OPEN_BAR_AT = 3
const WHOLE_AT = 9
const BAR_FIELDS = 6
const SERIES_AT = HEADER_FIELDS + AUDITED_BARS_MAX * BAR_FIELDS + 2 * AGGREGATE_FIELDS
const SAVED_FIELDS = SERIES_AT + timeframes.length * STATE_LENGTH

export type HistoryNeed = { readonly timeframe: Timeframe; readonly fromMs: number }

type Held = { readonly bar: Bar; readonly receivedMs: number }

/** Bars as they were folded; one that was taken back and folded again is there again. */
type ClosedBars = {
  readonly bars: readonly { readonly timeframe: Timeframe; readonly bar: Bar }[]
  /** How many more there were that nobody took in time. */
  readonly dropped: number
}

/**
 * The candles of one coin on all timeframes. 15m bars come from the venue; 1h and 4h are built from
 * them, so three series cost one subscription. Bars are folded in order, each once and without a hole:
 * where something may have been missed the ladder stops folding and says what it needs instead.
 */
export class CandleLadder {
  readonly #pool: PulsePool
  readonly #series: Readonly<Record<Timeframe, PulseSeries>>
  readonly #aggregates: Readonly<Record<'1h' | '4h', BarAggregate>>
  readonly #lastOpenMs = { '1h': Number.NaN, '4h': Number.NaN }
  /** Series that begin with the coin's first bar. */
  readonly #isWhole = { '15m': false, '1h': false, '4h': false }
  /** Open time of the quarter that follows the last closed one; NaN before any history. */
  #nextOpenMs = Number.NaN
  /** The quarter that opens at `#nextOpenMs`, as far as it is known; null only while that is NaN. */
  #open: Bar | null = null
  /** When it was told last, by a frame or by a reply; NaN while it only follows from the bar before. */
  #openToldAtMs = Number.NaN
  /** What the venue said, when asked, that had been traded in it so far; 0 where it was not asked. */
  #askedVolumeBase = 0
  /** When it was asked; of no meaning while that volume is 0. */
  #askedAtMs = Number.NaN
  /** Live bars that cannot be placed yet because bars before them are missing. */
  #held: Held[] = []
  /** True while every change since the last closed bar has been seen. */
  #isContinuous = false
  /** State before the last bar that we closed on our own; the venue may have another last word. */
  readonly #undo = new Float64Array(SAVED_FIELDS)
  #canUndo = false
  /** The last closed quarters, oldest first, as they were folded. */
  #recent: readonly Bar[] = []
  #closed: { readonly timeframe: Timeframe; readonly bar: Bar }[] = []
  #closedDropped = 0
  /** Told of every bar as it is folded; set by the coin whose ladder this is. */
  onClosed: (timeframe: Timeframe, bar: Bar) => void = () => {}

  constructor(pool: PulsePool) {
    this.#pool = pool
    this.#series = { '15m': pool.open(), '1h': pool.open(), '4h': pool.open() }
    this.#aggregates = { '1h': new BarAggregate('1h'), '4h': new BarAggregate('4h') }
  }

  /** How many numbers {@link save} gives. */
  get savedLength(): number {
    return SAVED_FIELDS
  }

  get isContinuous(): boolean {
    return this.#isContinuous
  }

  /** End of the last closed quarter; NaN before any history. */
  get closedUntilMs(): number {
    return this.#nextOpenMs
  }

  /** Where {@link peek} puts the indicators; overwritten by the next peek of any coin. */
  get values(): Float64Array {
    return this.#pool.values
  }

  /** Closed bars folded so far. */
  barCount(timeframe: Timeframe): number {
    return this.#series[timeframe].barCount
  }

  /** Whether these are all that the coin ever had: then every value is by definition what they give. */
  isWhole(timeframe: Timeframe): boolean {
    return this.#isWhole[timeframe]
  }

  /** Bars that were folded since the last call, in that order. */
  takeClosed(): ClosedBars {
    const taken = { bars: this.#closed, dropped: this.#closedDropped }
    this.#closed = []
    this.#closedDropped = 0
    return taken
  }

  /** The forming bar of a timeframe, or null while its beginning is unknown. */
  openBar(timeframe: Timeframe): Bar | null {
    if (this.#open === null) return null
    return timeframe === '15m' ? this.#open : this.#aggregates[timeframe].merged(this.#open)
  }

  /** Values the indicators as if the forming bar closed now, into the pool's `values`. NaN: unknown, or not settled. */
  peek(timeframe: Timeframe): Bar | null {
    const bar = this.openBar(timeframe)
    if (bar === null) return null
    this.#load(bar)
    const series = this.#series[timeframe]
    series.peek()
    if (!this.#isWhole[timeframe]) withholdUnsettled(this.#pool.values, series.barCount + 1)
    return bar
  }

  /** Without history, or with so old a one that the present cannot be joined to it. */
  isCold(nowMs: number): boolean {
    return !(nowMs - this.#nextOpenMs <= BRIDGED_GAP_BARS_MAX * QUARTER_MS)
  }

  /** What must be asked of the venue before folding can go on; empty while nothing is missing. */
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

  /** From which open time on 1h bars must be asked, so that {@link deepen} can settle EMA 200; null for none. */
  depthFromMs(nowMs: number): number | null {
    const isDeep = this.#isWhole['1h'] || this.barCount('1h') + 1 >= SETTLED_BARS
    if (isDeep || this.isCold(nowMs)) return null
    return barOpenTimeMs(nowMs, '1h') - DEPTH_BARS_1H * timeframeMs['1h']
  }

  /**
   * 1h bars that reach further back than those that were derived, ascending and closed, as asked from `fromMs`. The
   * series is folded once more from them. A reply that ends before our last bar, or with another one, is not taken.
   */
  deepen(bars: readonly Bar[], fromMs: number): void {
    const series = this.#series['1h']
    const lastMs = this.#lastOpenMs['1h']
    const last = bars.findIndex(({ openTimeMs }) => openTimeMs === lastMs)
    if (this.#isWhole['1h'] || last + 1 < series.barCount) return
    if (bars[last]?.close !== series.lastClose) return
    const isWhole = isWholeFrom(bars, fromMs)
    series.reset()
    for (const bar of bars.slice(0, last + 1)) {
      this.#load(bar)
      series.fold()
      if (!this.#canUndo || bar.openTimeMs !== this.#undo[LAST_OPEN_1H_AT]) continue
      this.#undo.set(series.save(), SERIES_AT + timeframes.indexOf('1h') * STATE_LENGTH)
      this.#undo[WHOLE_AT + timeframes.indexOf('1h')] = Number(isWhole)
    }
    this.#isWhole['1h'] = isWhole
  }

  /**
   * What to ask for so that {@link history} can compare: a frame that was lost without a trace, as
   * the venue's last word on a bar can be, shows nowhere else. null while nothing was closed.
   */
  audit(): HistoryNeed | null {
    const [first] = this.#recent
    return first === undefined || !this.#isContinuous
      ? null
      : { timeframe: '15m', fromMs: first.openTimeMs }
  }

  /**
   * Past bars, ascending and complete as of `askedAtMs`: a bar that is missing at their end had no
   * trades. 4h history only seeds a ladder that is cold; 1h is derived, and may be deepened.
   * @param fromMs what was asked from: bars that begin later are all that there are
   */
  history(
    timeframe: Timeframe,
    bars: readonly Bar[],
    askedAtMs: number,
    fromMs = Number.NaN,
  ): void {
    if (timeframe === '15m') this.#quarterHistory(bars, askedAtMs, fromMs)
    else if (timeframe === '4h') this.#seed4h(bars, askedAtMs, fromMs)
  }

  /** The present state of one 15m bar. */
  live(bar: Bar, receivedMs: number): void {
    if (bar.openTimeMs === this.#nextOpenMs) {
      // Held up since before the question that was answered with more; so long none is, so the answer was bent.
      if (bar.volumeBase < this.#askedVolumeBase) {
        if (receivedMs > this.#askedAtMs + UNNOTICED_SILENCE_MS) this.#isContinuous = false
        return
      }
      // It is whole, whatever of it was missed.
      this.#hear(bar, receivedMs)
      this.#isContinuous = true
      if (this.#held.length > 0) this.#placeHeld(() => false)
    } else if (!this.#isContinuous) {
      this.#hold(bar, receivedMs)
    } else if (bar.openTimeMs === this.#nextOpenMs - QUARTER_MS) {
      this.#revise(bar)
    } else if (bar.openTimeMs > this.#nextOpenMs) {
      this.#closeUntil(bar.openTimeMs)
      this.#hear(bar, receivedMs)
    }
  }

  /**
   * Closes what has ended by the last instant at which the venue spoke of this coin. While nobody
   * trades it sends no candles, and the bar is flat.
   */
  advance(observedMs: number): void {
    if (this.#isContinuous) this.#closeUntil(barOpenTimeMs(observedMs - CLOSING_GRACE_MS, '15m'))
  }

  /**
   * The connection was lost: what happened from shortly before on is unknown until it is told again. What is held
   * stays: a reply that was asked later says as much of that bar or more, and volume tells which of the two it is.
   */
  interrupt(nowMs: number): void {
    const isDoubtful = this.#nextOpenMs > nowMs - UNNOTICED_SILENCE_MS
    if (this.#isContinuous && this.#canUndo && isDoubtful) this.#takeBack()
    this.#isContinuous = false
  }

  /** Back to no bars at all. */
  reset(): void {
    for (const timeframe of timeframes) this.#series[timeframe].reset()
    for (const timeframe of derivedTimeframes) this.#aggregates[timeframe].reset()
    for (const timeframe of timeframes) this.#isWhole[timeframe] = false
    this.#lastOpenMs['1h'] = Number.NaN
    this.#lastOpenMs['4h'] = Number.NaN
    this.#nextOpenMs = Number.NaN
    this.#open = null
    this.#openToldAtMs = Number.NaN
    this.#askedVolumeBase = 0
    this.#held = []
    this.#canUndo = false
    this.#isContinuous = false
    this.#recent = []
    this.#closed = []
    this.#closedDropped = 0
  }

  /** Everything that {@link restore} needs, as numbers. */
  save(): Float64Array {
    const saved = new Float64Array(SAVED_FIELDS)
    this.#saveInto(saved)
    return saved
  }

  /** A restored ladder is interrupted: time has passed since it was saved. */
  restore(saved: Float64Array): void {
    assert.equal(saved.length, SAVED_FIELDS, 'a saved ladder has a fixed size')
    this.reset()
    this.#loadFrom(saved)
  }

  #quarterHistory(bars: readonly Bar[], askedAtMs: number, fromMs: number): void {
    const first = bars[0]
    if (this.isCold(askedAtMs)) {
      if (first === undefined) return
      if (!Number.isNaN(this.#nextOpenMs)) this.reset()
      this.#nextOpenMs = first.openTimeMs
      this.#isWhole['15m'] = isWholeFrom(bars, fromMs)
      if (this.#isWhole['15m'])
        for (const timeframe of derivedTimeframes) this.#aggregates[timeframe].beginWith(first)
    }
    const settledMs = barOpenTimeMs(askedAtMs - CLOSING_GRACE_MS, '15m')
    if (!this.#isConfirmedBy(bars, settledMs)) {
      // What was folded on a wrong bar cannot be taken back: it is asked for from the beginning.
      this.reset()
      return
    }
    // Everything is known, and what came since the question is newer than the answer; unless a frame was lost.
    if (this.#isContinuous) {
      for (const bar of bars)
        if (this.#isBeyondOpen(bar) || this.#isTakenBackBy(bar, askedAtMs))
          this.#ask(bar, askedAtMs)
        // What is wrong may be the answer: it is asked for once more, and until then nobody vouches for the bar.
        else if (this.#isContradictedBy(bar, askedAtMs)) this.#isContinuous = false
      return
    }
    const wasTraded = this.#open !== null && this.#open.volumeBase > 0
    const told = bars.find((bar) => bar.openTimeMs === this.#nextOpenMs)
    // A reply without the bar that we saw being traded, or with less of it, is not complete, whatever it says of later.
    if (told === undefined && (wasTraded || this.#open === null)) return
    if (told !== undefined && this.#isBehindOpen(told, askedAtMs)) return
    /** Within the grace after a boundary the bar behind it has begun as well. */
    const begun: Bar[] = []
    for (const bar of bars) {
      if (bar.openTimeMs < this.#nextOpenMs) continue
      if (bar.openTimeMs >= settledMs) {
        if (bar.openTimeMs === this.#nextOpenMs) this.#ask(bar, askedAtMs)
        else begun.push(bar)
        continue
      }
      // A hole: what lies behind it cannot be joined.
      if (bar.openTimeMs > this.#nextOpenMs) return
      this.#close(bar)
    }
    this.#closeUntil(settledMs)
    // What was closed here has had its last word.
    this.#canUndo = false
    this.#isContinuous = true
    for (const bar of begun) {
      this.live(bar, askedAtMs)
      this.#ask(bar, askedAtMs)
    }
    this.#placeHeld((held) => held.receivedMs >= askedAtMs || this.#isBeyondOpen(held.bar))
  }

  /** Places what was heard while bars before it were missing. */
  #placeHeld(isNews: (held: Held) => boolean): void {
    const held = this.#held
    this.#held = []
    for (const one of held)
      if (one.bar.openTimeMs > this.#nextOpenMs || isNews(one)) this.live(one.bar, one.receivedMs)
  }

  /** A later state of the forming bar than the one we know: volume never falls. */
  #isBeyondOpen(bar: Bar): boolean {
    return bar.openTimeMs === this.#nextOpenMs && bar.volumeBase > (this.#open?.volumeBase ?? 0)
  }

  /**
   * An earlier state of the forming bar than a frame told of, by a reply that was asked before: frames may count as
   * held up, and the reply as younger than they are. Later than that, what the frame said was bent.
   */
  #isBehindOpen(bar: Bar, askedAtMs: number): boolean {
    return (
      bar.volumeBase < (this.#open?.volumeBase ?? 0) &&
      askedAtMs <= this.#openToldAtMs + UNNOTICED_SILENCE_MS
    )
  }

  /**
   * Whether the venue, asked again, says less of the forming bar than before, and no frame said as much either: one
   * figure in the reply before was bent, and would keep all frames from being heard until the bar ends.
   */
  #isTakenBackBy(bar: Bar, askedAtMs: number): boolean {
    return (
      bar.openTimeMs === this.#nextOpenMs &&
      askedAtMs > this.#askedAtMs &&
      bar.volumeBase < this.#askedVolumeBase &&
      this.#open?.volumeBase === this.#askedVolumeBase
    )
  }

  /**
   * Whether the venue says otherwise of the forming bar than was told so long ago that the answer is not of before
   * it: a figure of the last frame was bent, and no trade has brought another one since.
   */
  #isContradictedBy(bar: Bar, askedAtMs: number): boolean {
    return (
      bar.openTimeMs === this.#nextOpenMs &&
      askedAtMs > this.#openToldAtMs + UNNOTICED_SILENCE_MS &&
      this.#open !== null &&
      !isSameBar(this.#open, bar)
    )
  }

  /** The forming bar as a frame told of it. */
  #hear(bar: Bar, receivedMs: number): void {
    this.#open = bar
    this.#openToldAtMs = receivedMs
  }

  /** The forming bar as the venue gave it when asked. */
  #ask(bar: Bar, askedAtMs: number): void {
    this.#hear(bar, askedAtMs)
    this.#askedVolumeBase = bar.volumeBase
    this.#askedAtMs = askedAtMs
  }

  /**
   * False when the venue gives a bar otherwise than it was folded, and it was not the last one. One that was still
   * forming when it was asked for says nothing of how it ended.
   */
  #isConfirmedBy(bars: readonly Bar[], settledMs: number): boolean {
    for (const bar of bars) {
      if (bar.openTimeMs >= settledMs) break
      const folded = this.#recent.find(({ openTimeMs }) => openTimeMs === bar.openTimeMs)
      if (folded === undefined || isSameBar(folded, bar)) continue
      const isLast = bar.openTimeMs === this.#nextOpenMs - QUARTER_MS
      if (!isLast || !this.#canUndo) return false
      this.#revise(bar)
    }
    return true
  }

  #seed4h(bars: readonly Bar[], askedAtMs: number, fromMs: number): void {
    const stepMs = timeframeMs['4h']
    if (!this.isCold(askedAtMs)) return
    const held = this.#held
    this.reset()
    this.#held = held
    this.#isWhole['4h'] = isWholeFrom(bars, fromMs)
    for (const bar of bars) {
      const last = this.#lastOpenMs['4h']
      if (bar.openTimeMs + stepMs > askedAtMs - CLOSING_GRACE_MS) break
      if (!Number.isNaN(last) && bar.openTimeMs !== last + stepMs) continue
      this.#fold('4h', bar)
      this.#lastOpenMs['4h'] = bar.openTimeMs
    }
  }

  #hold(bar: Bar, receivedMs: number): void {
    const later = this.#held.filter((held) => held.bar.openTimeMs !== bar.openTimeMs)
    this.#held = [...later, { bar, receivedMs }].slice(-HELD_BARS_MAX)
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
    this.#fold('15m', bar)
    this.#nextOpenMs = bar.openTimeMs + QUARTER_MS
    this.#open = flatAfter(bar)
    this.#openToldAtMs = Number.NaN
    this.#askedVolumeBase = 0
    this.#recent = [...this.#recent, bar].slice(-AUDITED_BARS_MAX)
    for (const timeframe of derivedTimeframes) {
      const longer = this.#aggregates[timeframe].add(bar)
      const last = this.#lastOpenMs[timeframe]
      if (longer === null || longer.openTimeMs <= last) continue
      this.#fold(timeframe, longer)
      this.#lastOpenMs[timeframe] = longer.openTimeMs
    }
  }

  /**
   * The last bar that we closed on our own is forming again. What a frame told of the next one is held: a reply that
   * was asked before the frame does not have it, and volume never falls.
   */
  #takeBack(): void {
    const [next, toldAtMs] = [this.#open, this.#openToldAtMs]
    this.#loadFrom(this.#undo)
    if (next !== null && next.volumeBase > 0) this.#hold(next, toldAtMs)
  }

  /** The venue's last word on a bar can arrive after we closed it on our own clock. */
  #revise(bar: Bar): void {
    if (!this.#canUndo) return
    const open = this.#open
    const openToldAtMs = this.#openToldAtMs
    this.#loadFrom(this.#undo)
    // Where it is taken back once more, it is as it was told last.
    this.#open = bar
    this.#saveInto(this.#undo)
    this.#canUndo = true
    this.#close(bar)
    if (open !== null && open.volumeBase > 0) this.#hear(open, openToldAtMs)
  }

  #fold(timeframe: Timeframe, bar: Bar): void {
    this.#load(bar)
    this.#series[timeframe].fold()
    this.#closed.push({ timeframe, bar })
    this.onClosed(timeframe, bar)
    if (this.#closed.length <= CLOSED_BARS_MAX) return
    this.#closed.shift()
    this.#closedDropped += 1
  }

  #load(bar: Bar): void {
    const slot = this.#pool.bar
    slot[barSlot.high] = bar.high
    slot[barSlot.low] = bar.low
    slot[barSlot.close] = bar.close
    slot[barSlot.volume] = bar.volumeBase
  }

  #saveInto(saved: Float64Array): void {
    saved[0] = this.#nextOpenMs
    saved[1] = this.#lastOpenMs['1h']
    saved[2] = this.#lastOpenMs['4h']
    saveBar(this.#open, saved, OPEN_BAR_AT)
    for (const [at, timeframe] of timeframes.entries())
      saved[WHOLE_AT + at] = Number(this.#isWhole[timeframe])
    let at = HEADER_FIELDS
    for (let slot = 0; slot < AUDITED_BARS_MAX; slot += 1) {
      saveBar(this.#recent[slot] ?? null, saved, at)
      at += BAR_FIELDS
    }
    for (const timeframe of derivedTimeframes) {
      saved.set(this.#aggregates[timeframe].save(), at)
      at += AGGREGATE_FIELDS
    }
    for (const timeframe of timeframes) {
      saved.set(this.#series[timeframe].save(), at)
      at += STATE_LENGTH
    }
  }

  #loadFrom(saved: Float64Array): void {
    const field = (at: number) => saved[at] as number
    this.#nextOpenMs = field(0)
    this.#lastOpenMs['1h'] = field(1)
    this.#lastOpenMs['4h'] = field(2)
    this.#open = savedBar(saved, OPEN_BAR_AT)
    for (const [at, timeframe] of timeframes.entries())
      this.#isWhole[timeframe] = field(WHOLE_AT + at) === 1
    let at = HEADER_FIELDS
    const recent: Bar[] = []
    for (let slot = 0; slot < AUDITED_BARS_MAX; slot += 1) {
      const bar = savedBar(saved, at)
      if (bar !== null) recent.push(bar)
      at += BAR_FIELDS
    }
    this.#recent = recent
    for (const timeframe of derivedTimeframes) {
      this.#aggregates[timeframe].restore(saved.subarray(at, at + AGGREGATE_FIELDS))
      at += AGGREGATE_FIELDS
    }
    for (const timeframe of timeframes) {
      this.#series[timeframe].restore(saved.subarray(at, at + STATE_LENGTH))
      at += STATE_LENGTH
    }
    this.#canUndo = false
    this.#openToldAtMs = Number.NaN
    this.#askedVolumeBase = 0
  }
}

/** The venue has no earlier bar than these, or it would have answered with it. */
function isWholeFrom([first]: readonly Bar[], fromMs: number): boolean {
  return first !== undefined && first.openTimeMs > fromMs
}

/** NaN stands for no bar. */
function saveBar(bar: Bar | null, saved: Float64Array, at: number): void {
  saved[at] = bar?.openTimeMs ?? Number.NaN
  saved[at + 1] = bar?.open ?? Number.NaN
  saved[at + 2] = bar?.high ?? Number.NaN
  saved[at + 3] = bar?.low ?? Number.NaN
  saved[at + 4] = bar?.close ?? Number.NaN
  saved[at + 5] = bar?.volumeBase ?? Number.NaN
}

function savedBar(saved: Float64Array, at: number): Bar | null {
  const field = (index: number) => saved[at + index] as number
  if (Number.isNaN(field(0))) return null
  return {
    openTimeMs: field(0),
    open: field(1),
    high: field(2),
    low: field(3),
    close: field(4),
    volumeBase: field(5),
  }
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
