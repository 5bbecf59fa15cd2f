import type { Bar } from '../../domain/bar.ts'
import { barFault } from '../../domain/bar.ts'
import type { CoinEvent } from '../../domain/event.ts'
import type { Timeframe } from '../../domain/timeframe.ts'
import { timeframeMs } from '../../domain/timeframe.ts'
import type { PulseIndicators } from '../indicators/pulse-indicators.ts'
import { pulseIndicators } from '../indicators/pulse-indicators.ts'
import { barSlot, STATE_LENGTH } from '../indicators/pulse-layout.ts'
import { PulsePool } from '../indicators/pulse-series.ts'
import { withholdUnsettled } from '../indicators/seed-memory.ts'
import type { CoinTracker, TrackedCoin } from '../market/coin-tracker.ts'
import { coinTracker } from '../market/coin-tracker.ts'
import { StepRing } from '../statistics/step-ring.ts'

const HOUR_MS = timeframeMs['1h']

/** Closed bars of a chart. */
export const CHART_BARS = 240
/** One more, because the last one may be forming again. */
const BARS_KEPT = CHART_BARS + 1

const CLOSE = 3
const FIELDS = 5
/** First hour, and whether it is preceded by all bars of the coin. */
const HEADER_FIELDS = 2
const BARS_AT = HEADER_FIELDS + STATE_LENGTH

/** A closed bar, with the indicators at its close. */
export type ChartRow = { readonly bar: Bar; readonly indicators: PulseIndicators }

/**
 * The last closed 1h bars of a coin, and the indicators at each close. Kept are the bars and the state of the indicators
 * before the first of them, from which all others follow: as values they would take twice the memory. The state is that
 * of the ladder's 1h series some bars ago: it takes the same bars in the same order and starts over with it.
 */
export class ChartBars implements CoinTracker {
  readonly inputs = ['hourly-history'] as const
  readonly #pool = new PulsePool(1)
  /** Without the kept bars. */
  readonly #series = this.#pool.open()
  #bars = new StepRing(HOUR_MS, BARS_KEPT, FIELDS)
  /** Hours of the first and the last kept bar, without a gap between them; NaN before any bar. */
  #firstHour = Number.NaN
  #lastHour = Number.NaN
  /** Whether the series begins with the first bar of the coin: then no indicator is unsettled. */
  #isWhole = false

  get isWhole(): boolean {
    return this.#isWhole
  }

  /** The last closed bars before an hour, up to {@link CHART_BARS}, oldest first. */
  rowsBefore(openTimeMs: number): readonly ChartRow[] {
    const rows: ChartRow[] = []
    const state = this.#series.save()
    const endHour = Math.min(this.#bars.stepOf(openTimeMs), this.#lastHour + 1)
    for (let hour = this.#firstHour; hour < endHour; hour += 1) {
      const bar = this.#bar(hour)
      this.#load(bar)
      if (hour >= endHour - CHART_BARS) rows.push({ bar, indicators: this.#indicatorsAt(bar) })
      this.#series.fold()
    }
    this.#series.restore(state)
    return rows
  }

  closed(timeframe: Timeframe, bar: Bar): void {
    if (timeframe !== '1h') return
    const hour = this.#bars.stepOf(bar.openTimeMs)
    // Again after it was reopened.
    if (hour === this.#lastHour) this.#set(hour, bar)
    else {
      if (hour !== this.#lastHour + 1) this.#startOver(hour, false)
      this.#append(bar)
    }
  }

  apply(event: CoinEvent, { ladder }: TrackedCoin): void {
    if (event.kind !== 'hourly-history') return
    const closedHour = this.#bars.stepOf(ladder.closedUntilMs) - 1
    const bars = withoutGaps(
      event.bars.filter(({ openTimeMs }) => openTimeMs <= closedHour * HOUR_MS),
    )
    const [first] = bars
    // The reply would have begun with earlier bars.
    const isWhole =
      first !== undefined &&
      first === event.bars[0] &&
      first.openTimeMs > (event.fromMs ?? Number.NaN)
    this.#deepen(bars, isWhole, closedHour)
  }

  save(): Float64Array {
    const count = Number.isNaN(this.#lastHour) ? 0 : this.#lastHour - this.#firstHour + 1
    const saved = new Float64Array(BARS_AT + count * FIELDS)
    saved.set([this.#firstHour, Number(this.#isWhole)])
    saved.set(this.#series.save(), HEADER_FIELDS)
    for (let at = 0; at < count; at += 1)
      saved.set(this.#bars.row(this.#firstHour + at), BARS_AT + at * FIELDS)
    return saved
  }

  restore(saved: Float64Array, { ladder }: TrackedCoin): boolean {
    const count = (saved.length - BARS_AT) / FIELDS
    if (!Number.isInteger(count) || count < 1 || count > BARS_KEPT) return false
    const [firstHour = Number.NaN, isWhole] = saved
    // A bar that the ladder has not closed follows only where the last one was reopened.
    const isOfLadder = firstHour + count - 1 <= this.#bars.stepOf(ladder.closedUntilMs)
    if (!Number.isInteger(firstHour) || !isOfLadder) return false
    this.#startOver(firstHour, isWhole === 1)
    this.#series.restore(saved.subarray(HEADER_FIELDS, BARS_AT))
    for (let at = 0; at < count; at += 1) {
      const from = BARS_AT + at * FIELDS
      const hour = firstHour + at
      this.#bars.set(hour, [...saved.subarray(from, from + FIELDS)])
      this.#lastHour = hour
    }
    return true
  }

  /**
   * Begins again with bars that reach further back, as the ladder does with its 1h series, and continues with the own
   * bars after them.
   * @param bars closed ones, without gaps
   */
  #deepen(bars: readonly Bar[], isWhole: boolean, closedHour: number): void {
    const [first, last] = [bars[0], bars.at(-1)]
    if (first === undefined || last === undefined || this.#isWhole) return
    // A reopened bar closes again.
    const ownLastHour = Math.min(this.#lastHour, closedHour)
    const hour = this.#bars.stepOf(last.openTimeMs)
    const later = this.#kept(Math.max(this.#firstHour, hour + 1), ownLastHour)
    if (this.#bars.has(hour) && this.#bars.at(hour, CLOSE) !== last.close) return
    const isJoined = !(ownLastHour > hour) || later[0]?.openTimeMs === last.openTimeMs + HOUR_MS
    const ownCount = this.#series.barCount + (ownLastHour - this.#firstHour + 1)
    if (!isJoined || bars.length + later.length < ownCount) return
    this.#startOver(this.#bars.stepOf(first.openTimeMs), isWhole)
    for (const bar of [...bars, ...later]) this.#append(bar)
  }

  #startOver(firstHour: number, isWhole: boolean): void {
    this.#series.reset()
    this.#bars = new StepRing(HOUR_MS, BARS_KEPT, FIELDS)
    this.#firstHour = firstHour
    this.#lastHour = firstHour - 1
    this.#isWhole = isWhole
  }

  #append(bar: Bar): void {
    const hour = this.#lastHour + 1
    if (hour - this.#firstHour === BARS_KEPT) {
      this.#load(this.#bar(this.#firstHour))
      this.#series.fold()
      this.#firstHour += 1
    }
    this.#set(hour, bar)
    this.#lastHour = hour
  }

  #set(hour: number, { open, high, low, close, volumeBase }: Bar): void {
    this.#bars.set(hour, [open, high, low, close, volumeBase])
  }

  #kept(fromHour: number, toHour: number): readonly Bar[] {
    const bars: Bar[] = []
    for (let hour = fromHour; hour <= toHour; hour += 1) bars.push(this.#bar(hour))
    return bars
  }

  #bar(hour: number): Bar {
    const [open, high, low, close, volumeBase] = this.#bars.row(hour)
    return { openTimeMs: hour * HOUR_MS, open, high, low, close, volumeBase } as Bar
  }

  #load({ high, low, close, volumeBase }: Bar): void {
    const slot = this.#pool.bar
    slot[barSlot.high] = high
    slot[barSlot.low] = low
    slot[barSlot.close] = close
    slot[barSlot.volume] = volumeBase
  }

  /** Of the loaded bar. */
  #indicatorsAt({ close }: Bar): PulseIndicators {
    const { values } = this.#pool
    this.#series.peek()
    if (!this.#isWhole) withholdUnsettled(values, this.#series.barCount + 1)
    return pulseIndicators(values, close)
  }
}

/** The last bars that follow each other; history on disk may have gaps, and damaged rows. */
function withoutGaps(bars: readonly Bar[]): readonly Bar[] {
  const followsNext = (at: number) => {
    const [bar, next] = [bars[at], bars[at + 1]]
    return bar !== undefined && next !== undefined && next.openTimeMs - bar.openTimeMs === HOUR_MS
  }
  let first = bars.length
  while (first > 0) {
    const bar = bars[first - 1]
    if (bar === undefined || barFault(bar) !== null) break
    if (first < bars.length && !followsNext(first - 1)) break
    first -= 1
  }
  return bars.slice(first)
}

export const chartBars = coinTracker('chart/bars', () => new ChartBars())
