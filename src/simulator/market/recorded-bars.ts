import type { Bar } from '../../domain/bar.ts'
import { barFault } from '../../domain/bar.ts'
import { OperatingError } from '../../domain/errors.ts'
import { checkConsecutive } from '../../domain/recorded-candles.ts'
import type { BarSource, LotBar } from './lot-bar.ts'
import { flatBar, MINUTE_MS, MINUTES_A_QUARTER, QUARTER_MS, tradesAtLeast } from './lot-bar.ts'
import { gaussian } from './noise.ts'
import { lotsOf } from './precision.ts'

const HOUR_MS = 3_600_000

/** Consecutive recorded bars of one length; recorded time. */
export class RecordedSeries {
  readonly stepMs: number
  readonly firstIndex: number
  readonly #bars: readonly Bar[]

  /** @param origin file of the bars, for messages */
  constructor(stepMs: number, bars: readonly Bar[], origin: string) {
    this.stepMs = stepMs
    this.firstIndex = Math.floor((bars[0]?.openTimeMs ?? 0) / stepMs)
    this.#bars = bars
    for (const bar of bars)
      if (barFault(bar) !== null)
        throw new OperatingError('bars_unsound', `${origin}: not a bar: ${JSON.stringify(bar)}`)
    checkConsecutive(bars, stepMs, origin)
  }

  get endIndex(): number {
    return this.firstIndex + this.#bars.length
  }

  get endMs(): number {
    return this.endIndex * this.stepMs
  }

  at(index: number): Bar | undefined {
    return this.#bars[index - this.firstIndex]
  }
}

/** What was recorded of one coin. */
export type CoinRecord = {
  readonly quarters: RecordedSeries
  readonly minutes?: RecordedSeries
  /** Series of longer bars by their length. */
  readonly longer: ReadonlyMap<number, RecordedSeries>
  /** Settled hourly rates by the whole hour that they closed. */
  readonly funding: ReadonlyMap<number, number>
}

/**
 * Recorded bars, moved by whole quarters and hours to the venue's time. Trade counts were not
 * recorded and are modelled. After the last recorded bar the price is constant.
 */
export class RecordedBars implements BarSource {
  readonly firstQuarter: number
  readonly #record: CoinRecord
  readonly #shiftMs: number
  readonly #sizeDecimals: number
  readonly #tradeNotionalUsd: number
  readonly #key: number
  readonly #lastClose: number
  /** Recorded minutes are used where they cover whole quarters. */
  readonly #minuteQuarters: { readonly first: number; readonly end: number }

  constructor(options: {
    readonly record: CoinRecord
    /** Whole multiple of every bar length. */
    readonly shiftMs: number
    readonly sizeDecimals: number
    readonly tradeNotionalUsd: number
    readonly key: number
  }) {
    const { record, shiftMs } = options
    const { quarters, minutes } = record
    this.#record = record
    this.#shiftMs = shiftMs
    this.#sizeDecimals = options.sizeDecimals
    this.#tradeNotionalUsd = options.tradeNotionalUsd
    this.#key = options.key
    this.firstQuarter = quarters.firstIndex + shiftMs / QUARTER_MS
    this.#lastClose = quarters.at(quarters.endIndex - 1)?.close ?? Number.NaN
    this.#minuteQuarters = {
      first: Math.ceil((minutes?.firstIndex ?? 0) / MINUTES_A_QUARTER),
      end: Math.min(Math.floor((minutes?.endIndex ?? 0) / MINUTES_A_QUARTER), quarters.endIndex),
    }
  }

  quarter(index: number): LotBar {
    const recordedIndex = index - this.#shiftMs / QUARTER_MS
    const bar = this.#record.quarters.at(recordedIndex)
    if (bar === undefined) return flatBar(this.#lastClose)
    const { first, end } = this.#minuteQuarters
    if (recordedIndex < first || recordedIndex >= end) return this.#lotBar(bar)
    let trades = 0
    for (let i = 0; i < MINUTES_A_QUARTER; i++) {
      trades += this.minute(index * MINUTES_A_QUARTER + i)?.trades ?? 0
    }
    return { ...this.#lotBar(bar), trades }
  }

  minute(index: number): LotBar | undefined {
    const recordedIndex = index - this.#shiftMs / MINUTE_MS
    const quarter = Math.floor(recordedIndex / MINUTES_A_QUARTER)
    if (quarter < this.#minuteQuarters.first || quarter >= this.#minuteQuarters.end) {
      return undefined
    }
    const bar = this.#record.minutes?.at(recordedIndex)
    return bar === undefined ? undefined : this.#lotBar(bar)
  }

  recorded(intervalMs: number, index: number): LotBar | undefined {
    const recordedIndex = index - this.#shiftMs / intervalMs
    // The newest row of a download may have been open still.
    if ((recordedIndex + 1) * intervalMs > this.#record.quarters.endMs) return undefined
    const bar = this.#record.longer.get(intervalMs)?.at(recordedIndex)
    if (bar === undefined) return undefined
    const firstQuarter = (index * intervalMs) / QUARTER_MS
    if (firstQuarter < this.firstQuarter) return this.#lotBar(bar)
    let trades = 0
    for (let i = 0; i < intervalMs / QUARTER_MS; i++)
      trades += this.quarter(firstQuarter + i).trades
    return { ...this.#lotBar(bar), trades }
  }

  firstRecorded(intervalMs: number): number | undefined {
    const series = this.#record.longer.get(intervalMs)
    return series === undefined ? undefined : series.firstIndex + this.#shiftMs / intervalMs
  }

  settledFunding(hour: number): number | undefined {
    return this.#record.funding.get(hour - this.#shiftMs / HOUR_MS)
  }

  #lotBar({ openTimeMs, open, high, low, close, volumeBase }: Bar): LotBar {
    const lots = lotsOf(volumeBase, this.#sizeDecimals)
    const shape = { open, high, low, close }
    if (lots === 0) return { ...shape, lots, trades: 0 }
    const scatter = Math.exp(0.4 * gaussian(this.#key, openTimeMs / MINUTE_MS) - 0.08)
    const expected = Math.round(((volumeBase * close) / this.#tradeNotionalUsd) * scatter)
    return { ...shape, lots, trades: Math.max(tradesAtLeast(shape), Math.min(expected, lots)) }
  }
}
