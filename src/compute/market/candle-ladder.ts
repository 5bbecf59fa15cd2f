import assert from 'node:assert/strict'
import type { Bar } from '../../domain/bar.ts'
import type { Timeframe } from '../../domain/timeframe.ts'
import { barOpenTimeMs, timeframeMs, timeframes } from '../../domain/timeframe.ts'
import { STATE_LENGTH } from '../indicators/pulse-layout.ts'
import type { PulsePool, PulseSeries } from '../indicators/pulse-series.ts'
import { AGGREGATE_FIELDS, BarAggregate } from './bar-aggregate.ts'

/** Bars that a cold start asks for: enough to settle a 200-period average, within one request each. */
const COLD_BARS_4H = 250
const COLD_BARS_15M = 1008

/** A gap longer than this is not bridged bar by bar: the series starts over. */
const BRIDGED_GAP_BARS_MAX = 1000

/** How long after its end a bar waits for the venue's last word on it. */
const CLOSING_GRACE_MS = 3_000

const QUARTER_MS = timeframeMs['15m']

const derivedTimeframes = ['1h', '4h'] as const

export type HistoryNeed = { readonly timeframe: Timeframe; readonly fromMs: number }

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
  /** Open time of the quarter that follows the last closed one; NaN before any history. */
  #nextOpenMs = Number.NaN
  #open: Bar | null = null
  /** A live bar that cannot be placed yet because bars before it are missing. */
  #ahead: Bar | null = null
  /** True while every change since the last closed bar has been seen. */
  #isContinuous = false
  /** State before the last close, in case the venue revises that bar once more. */
  #undo: Float64Array | null = null

  constructor(pool: PulsePool) {
    this.#pool = pool
    this.#series = { '15m': pool.open(), '1h': pool.open(), '4h': pool.open() }
    this.#aggregates = { '1h': new BarAggregate('1h'), '4h': new BarAggregate('4h') }
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

  /** The forming bar of a timeframe, or null while its beginning is unknown. */
  openBar(timeframe: Timeframe): Bar | null {
    if (this.#open === null) return null
    return timeframe === '15m' ? this.#open : this.#aggregates[timeframe].merged(this.#open)
  }

  /** Values the indicators as if the forming bar closed now, into the pool's `values`. */
  peek(timeframe: Timeframe): Bar | null {
    const bar = this.openBar(timeframe)
    if (bar === null) return null
    this.#load(bar)
    this.#series[timeframe].peek()
    return bar
  }

  /** What must be asked of the venue before folding can go on; empty while nothing is missing. */
  needs(nowMs: number): readonly HistoryNeed[] {
    const formingMs = barOpenTimeMs(nowMs, '15m')
    const missing = (formingMs - this.#nextOpenMs) / QUARTER_MS
    if (Number.isNaN(missing) || missing > BRIDGED_GAP_BARS_MAX) {
      const boundaryMs = barOpenTimeMs(nowMs, '4h')
      return [
        { timeframe: '4h', fromMs: boundaryMs - COLD_BARS_4H * timeframeMs['4h'] },
        { timeframe: '15m', fromMs: boundaryMs - COLD_BARS_15M * QUARTER_MS },
      ]
    }
    return this.#isContinuous ? [] : [{ timeframe: '15m', fromMs: this.#nextOpenMs }]
  }

  /** Past bars, ascending. 4h history only seeds a ladder that is cold; 1h is always derived. */
  history(timeframe: Timeframe, bars: readonly Bar[], nowMs: number): void {
    if (timeframe === '15m') this.#quarterHistory(bars, nowMs)
    else if (timeframe === '4h') this.#seed4h(bars, nowMs)
  }

  /** The present state of one 15m bar. */
  live(bar: Bar): void {
    if (bar.openTimeMs === this.#nextOpenMs) {
      this.#open = bar
      this.#isContinuous = true
    } else if (bar.openTimeMs === this.#nextOpenMs - QUARTER_MS) {
      this.#revise(bar)
    } else if (bar.openTimeMs > this.#nextOpenMs && this.#isContinuous) {
      this.#closeUntil(bar.openTimeMs)
      this.#open = bar
    } else if (!(bar.openTimeMs < this.#nextOpenMs)) {
      this.#ahead = bar
    }
  }

  /** Closes what has ended. While nobody trades the venue sends nothing, and the bar is flat. */
  advance(nowMs: number): void {
    if (this.#isContinuous) this.#closeUntil(barOpenTimeMs(nowMs - CLOSING_GRACE_MS, '15m'))
  }

  /** The feed was lost: what the forming bar did from here on is unknown until it is sent again. */
  interrupt(): void {
    this.#isContinuous = false
  }

  /** Everything that {@link restore} needs, as numbers. */
  save(): Float64Array {
    const open = this.#open
    const saved = new Float64Array(HEADER_FIELDS + 2 * AGGREGATE_FIELDS + 3 * STATE_LENGTH)
    saved.set([
      this.#nextOpenMs,
      this.#lastOpenMs['1h'],
      this.#lastOpenMs['4h'],
      open?.openTimeMs ?? Number.NaN,
      open?.open ?? Number.NaN,
      open?.high ?? Number.NaN,
      open?.low ?? Number.NaN,
      open?.close ?? Number.NaN,
      open?.volumeBase ?? Number.NaN,
      ...this.#aggregates['1h'].save(),
      ...this.#aggregates['4h'].save(),
    ])
    let at = HEADER_FIELDS + 2 * AGGREGATE_FIELDS
    for (const timeframe of timeframes) {
      saved.set(this.#series[timeframe].save(), at)
      at += STATE_LENGTH
    }
    return saved
  }

  /** A restored ladder is interrupted: time has passed since it was saved. */
  restore(saved: Float64Array): void {
    const { openTimeMs, rest } = this.#restoreBars(saved)
    const [open, high, low, close, volumeBase] = rest
    this.#open = Number.isNaN(openTimeMs)
      ? null
      : {
          openTimeMs,
          open: open as number,
          high: high as number,
          low: low as number,
          close: close as number,
          volumeBase: volumeBase as number,
        }
    this.#isContinuous = false
  }

  #quarterHistory(bars: readonly Bar[], nowMs: number): void {
    const first = bars[0]
    if (first === undefined) return
    if (Number.isNaN(this.#nextOpenMs)) this.#nextOpenMs = first.openTimeMs
    else if (nowMs - this.#nextOpenMs > BRIDGED_GAP_BARS_MAX * QUARTER_MS) this.#startOver(first)
    for (const bar of bars) {
      if (bar.openTimeMs !== this.#nextOpenMs) continue
      if (bar.openTimeMs + QUARTER_MS <= nowMs) this.#close(bar)
      else this.#open = bar
    }
    if (this.#nextOpenMs + QUARTER_MS <= nowMs - CLOSING_GRACE_MS) return
    this.#isContinuous = true
    const ahead = this.#ahead
    this.#ahead = null
    if (ahead !== null) this.live(ahead)
  }

  #seed4h(bars: readonly Bar[], nowMs: number): void {
    const stepMs = timeframeMs['4h']
    if (
      !Number.isNaN(this.#nextOpenMs) &&
      nowMs - this.#nextOpenMs <= BRIDGED_GAP_BARS_MAX * QUARTER_MS
    )
      return
    this.#reset()
    for (const bar of bars) {
      const last = this.#lastOpenMs['4h']
      if (bar.openTimeMs + stepMs > nowMs) break
      if (!Number.isNaN(last) && bar.openTimeMs !== last + stepMs) continue
      this.#fold('4h', bar)
      this.#lastOpenMs['4h'] = bar.openTimeMs
    }
  }

  #startOver(first: Bar): void {
    this.#reset()
    this.#nextOpenMs = first.openTimeMs
  }

  #reset(): void {
    for (const timeframe of timeframes) this.#series[timeframe].reset()
    this.#lastOpenMs['1h'] = Number.NaN
    this.#lastOpenMs['4h'] = Number.NaN
    this.#nextOpenMs = Number.NaN
    this.#open = null
    this.#undo = null
    this.#isContinuous = false
  }

  #closeUntil(openTimeMs: number): void {
    while (this.#nextOpenMs < openTimeMs) {
      assert(this.#open !== null, 'a bar is forming as soon as one has closed')
      this.#close(this.#open)
    }
  }

  #close(bar: Bar): void {
    assert.equal(bar.openTimeMs, this.#nextOpenMs, 'bars close in order')
    this.#undo = this.save()
    this.#fold('15m', bar)
    this.#nextOpenMs = bar.openTimeMs + QUARTER_MS
    this.#open = flatAfter(bar)
    for (const timeframe of derivedTimeframes) {
      const longer = this.#aggregates[timeframe].add(bar)
      const last = this.#lastOpenMs[timeframe]
      if (longer === null || longer.openTimeMs <= last) continue
      this.#fold(timeframe, longer)
      this.#lastOpenMs[timeframe] = longer.openTimeMs
    }
  }

  /** The venue's last word on a bar can arrive after we closed it on our own clock. */
  #revise(bar: Bar): void {
    if (this.#undo === null) return
    const open = this.#open
    const isContinuous = this.#isContinuous
    this.#restoreBars(this.#undo)
    this.#close(bar)
    if (open !== null && open.volumeBase > 0) this.#open = open
    this.#isContinuous = isContinuous
  }

  #fold(timeframe: Timeframe, bar: Bar): void {
    this.#load(bar)
    this.#series[timeframe].fold()
  }

  #load(bar: Bar): void {
    const slot = this.#pool.bar
    slot[0] = bar.high
    slot[1] = bar.low
    slot[2] = bar.close
    slot[3] = bar.volumeBase
  }

  #restoreBars(saved: Float64Array): { openTimeMs: number; rest: Float64Array } {
    let at = HEADER_FIELDS
    this.#nextOpenMs = saved[0] as number
    this.#lastOpenMs['1h'] = saved[1] as number
    this.#lastOpenMs['4h'] = saved[2] as number
    for (const timeframe of derivedTimeframes) {
      this.#aggregates[timeframe].restore(saved.subarray(at, at + AGGREGATE_FIELDS))
      at += AGGREGATE_FIELDS
    }
    for (const timeframe of timeframes) {
      this.#series[timeframe].restore(saved.subarray(at, at + STATE_LENGTH))
      at += STATE_LENGTH
    }
    return { openTimeMs: saved[3] as number, rest: saved.subarray(4, HEADER_FIELDS) }
  }
}

const HEADER_FIELDS = 9

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
