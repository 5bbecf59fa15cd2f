import type { Bar } from '../../domain/bar.ts'
import type { Timeframe } from '../../domain/timeframe.ts'
import { timeframeMs, timeframes } from '../../domain/timeframe.ts'
import { barSlot, STATE_LENGTH } from '../indicators/pulse-layout.ts'
import type { PulsePool, PulseSeries } from '../indicators/pulse-series.ts'
import { withholdUnsettled } from '../indicators/seed-memory.ts'
import { AGGREGATE_FIELDS, BarAggregate } from './bar-aggregate.ts'
import { savedLadder } from './saved-ladder.ts'

/** More than the bars of the longest bridged gap; closed bars are taken more often than that. */
const CLOSED_BARS_MAX = 6_500

const derivedTimeframes = ['1h', '4h'] as const

/** Closed bars in the order of folding. A bar that was reopened is repeated when it closes again. */
type ClosedBars = {
  readonly bars: readonly { readonly timeframe: Timeframe; readonly bar: Bar }[]
  /** Number of older bars that were dropped because nothing took them in time. */
  readonly dropped: number
}

/**
 * Indicators of one coin on all timeframes, from closed 15m bars. 1h and 4h bars are aggregated from them, so that
 * three series cost one subscription.
 */
export class CandleSeries {
  readonly #pool: PulsePool
  readonly #series: Readonly<Record<Timeframe, PulseSeries>>
  readonly #aggregates: Readonly<Record<'1h' | '4h', BarAggregate>>
  readonly #lastOpenMs = { '1h': Number.NaN, '4h': Number.NaN }
  readonly #isWhole = { '15m': false, '1h': false, '4h': false }
  #closed: { readonly timeframe: Timeframe; readonly bar: Bar }[] = []
  #closedDropped = 0
  /** Called with every bar as it is folded. */
  onClosed: (timeframe: Timeframe, bar: Bar) => void = () => {}

  constructor(pool: PulsePool) {
    this.#pool = pool
    this.#series = { '15m': pool.open(), '1h': pool.open(), '4h': pool.open() }
    this.#aggregates = { '1h': new BarAggregate('1h'), '4h': new BarAggregate('4h') }
  }

  /** Result of {@link peek}; the next peek of any coin overwrites it. */
  get values(): Float64Array {
    return this.#pool.values
  }

  barCount(timeframe: Timeframe): number {
    return this.#series[timeframe].barCount
  }

  isWhole(timeframe: Timeframe): boolean {
    return this.#isWhole[timeframe]
  }

  takeClosed(): ClosedBars {
    const taken = { bars: this.#closed, dropped: this.#closedDropped }
    this.#closed = []
    this.#closedDropped = 0
    return taken
  }

  /** Forming bar of a timeframe, from the forming 15m bar; null while its beginning is unknown. */
  openBar(timeframe: Timeframe, open: Bar): Bar | null {
    return timeframe === '15m' ? open : this.#aggregates[timeframe].merged(open)
  }

  /** Writes the indicators into {@link values} as if the forming bar closed now. NaN: unknown or not settled. */
  peek(timeframe: Timeframe, bar: Bar): void {
    this.#load(bar)
    const series = this.#series[timeframe]
    series.peek()
    if (!this.#isWhole[timeframe]) withholdUnsettled(this.#pool.values, series.barCount + 1)
  }

  /** @param isWhole whether the first 15m bar is the first one of the coin */
  begin(first: Bar, isWhole: boolean): void {
    this.#isWhole['15m'] = isWhole
    if (isWhole)
      for (const timeframe of derivedTimeframes) this.#aggregates[timeframe].beginWith(first)
  }

  /** Folds a closed 15m bar and the longer bars that it completes. */
  close(bar: Bar): void {
    this.#fold('15m', bar)
    for (const timeframe of derivedTimeframes) {
      const longer = this.#aggregates[timeframe].add(bar)
      if (longer === null || longer.openTimeMs <= this.#lastOpenMs[timeframe]) continue
      this.#fold(timeframe, longer)
      this.#lastOpenMs[timeframe] = longer.openTimeMs
    }
  }

  /** Folds 4h bars that ended by an instant into an empty series. */
  seed4h(bars: readonly Bar[], endedByMs: number, isWhole: boolean): void {
    const stepMs = timeframeMs['4h']
    this.#isWhole['4h'] = isWhole
    for (const bar of bars) {
      const last = this.#lastOpenMs['4h']
      if (bar.openTimeMs + stepMs > endedByMs) break
      if (!Number.isNaN(last) && bar.openTimeMs !== last + stepMs) continue
      this.#fold('4h', bar)
      this.#lastOpenMs['4h'] = bar.openTimeMs
    }
  }

  /**
   * Folds the 1h series again from bars that reach further back. Bars that end before the last folded one, or differ
   * from it, are ignored.
   * @param snapshot an earlier state of {@link saveInto}, in which the 1h series is replaced as well; null for none
   */
  deepen(bars: readonly Bar[], isWhole: boolean, snapshot: Float64Array | null): void {
    const series = this.#series['1h']
    const last = bars.findIndex(({ openTimeMs }) => openTimeMs === this.#lastOpenMs['1h'])
    if (this.#isWhole['1h'] || last + 1 < series.barCount) return
    if (bars[last]?.close !== series.lastClose) return
    series.reset()
    for (const bar of bars.slice(0, last + 1)) {
      this.#load(bar)
      series.fold()
      if (snapshot?.[savedLadder.lastOpenMs['1h']] !== bar.openTimeMs) continue
      snapshot.set(series.save(), savedLadder.series['1h'])
      snapshot[savedLadder.isWhole['1h']] = Number(isWhole)
    }
    this.#isWhole['1h'] = isWhole
  }

  reset(): void {
    for (const timeframe of timeframes) {
      this.#series[timeframe].reset()
      this.#isWhole[timeframe] = false
    }
    for (const timeframe of derivedTimeframes) {
      this.#aggregates[timeframe].reset()
      this.#lastOpenMs[timeframe] = Number.NaN
    }
    this.#closed = []
    this.#closedDropped = 0
  }

  /** @param saved with the layout of {@link savedLadder} */
  saveInto(saved: Float64Array): void {
    for (const timeframe of timeframes) {
      saved[savedLadder.isWhole[timeframe]] = Number(this.#isWhole[timeframe])
      saved.set(this.#series[timeframe].save(), savedLadder.series[timeframe])
    }
    for (const timeframe of derivedTimeframes) {
      saved[savedLadder.lastOpenMs[timeframe]] = this.#lastOpenMs[timeframe]
      saved.set(this.#aggregates[timeframe].save(), savedLadder.aggregate[timeframe])
    }
  }

  restoreFrom(saved: Float64Array): void {
    for (const timeframe of timeframes) {
      this.#isWhole[timeframe] = saved[savedLadder.isWhole[timeframe]] === 1
      const at = savedLadder.series[timeframe]
      this.#series[timeframe].restore(saved.subarray(at, at + STATE_LENGTH))
    }
    for (const timeframe of derivedTimeframes) {
      this.#lastOpenMs[timeframe] = saved[savedLadder.lastOpenMs[timeframe]] as number
      const at = savedLadder.aggregate[timeframe]
      this.#aggregates[timeframe].restore(saved.subarray(at, at + AGGREGATE_FIELDS))
    }
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
}
