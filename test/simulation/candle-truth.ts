import assert from 'node:assert/strict'
import type { PulseIndicators } from '../../src/compute/indicators/pulse-indicators.ts'
import { pulseIndicators } from '../../src/compute/indicators/pulse-indicators.ts'
import { barSlot } from '../../src/compute/indicators/pulse-layout.ts'
import type { PulseSeries } from '../../src/compute/indicators/pulse-series.ts'
import { PulsePool } from '../../src/compute/indicators/pulse-series.ts'
import type { Bar } from '../../src/domain/bar.ts'
import type { Timeframe } from '../../src/domain/timeframe.ts'
import { barOpenTimeMs, timeframeMs } from '../../src/domain/timeframe.ts'
import type { Market } from '../../src/simulator/market/market.ts'
import { lotsOf, sizeOf } from '../../src/simulator/market/precision.ts'

/** How long the states of a forming bar are kept: the greatest age of an answer. */
const REMEMBERED_MS = 10 * 60_000
/** Series up to the current bar and the one before, because an answer may not have closed the latter yet. */
const SERIES_KEPT_MAX = 2

const QUARTER_MS = timeframeMs['15m']

/** EMA 200 is published from this many bars on (docs/numbers/pulse.md). */
const EMA_200_BARS = 1_122
/** Equivalent to the full history: 3e-10 of the seed's weight remains. */
const WHOLE_BARS = 2_400

/** First bars that an engine computes from; averages depend on their start. */
export type Beginning = {
  readonly quarterMs: number
  /** First hour of the requested 1h bars; null while hours are derived from 15m bars. */
  readonly hourMs: number | null
  readonly fourHoursMs: number
  /** 4h bars closed by then were requested; later ones were derived. */
  readonly askedMs: number
}

/** State of the forming 15m bar during an interval. */
export type QuarterState = {
  readonly fromMs: number
  /** Infinity for the current state. */
  untilMs: number
  readonly bar: Bar
}

/** The venue's candles of one coin and the indicators computed from them. */
export type TimeframeTruth = {
  readonly indicators: PulseIndicators
  /** Includes the forming bar. */
  readonly bars: number
  readonly isWhole: boolean
  /** Computed from the whole history; NaN with fewer than 200 bars. */
  readonly ema200: number
}

export class CandleTruth {
  readonly #market: Market
  readonly #coin: string
  readonly #sizeDecimals: number
  #states: QuarterState[] = []
  #toldMs = Number.NaN
  readonly #series = new Map<string, Closed[]>()
  readonly #averages = new Map<Timeframe, { readonly untilMs: number; readonly ema200: number }[]>()
  readonly #longer = new Map<string, Bar | null>()

  constructor(market: Market, coin: string) {
    const instrument = market.instrument(coin)
    assert(instrument !== undefined, `${coin} is listed`)
    this.#market = market
    this.#coin = coin
    this.#sizeDecimals = instrument.sizeDecimals
  }

  /** Every state of the forming 15m bar in the last minutes, oldest first. */
  states(nowMs: number): readonly QuarterState[] {
    if (Number.isNaN(this.#toldMs)) this.#begin(nowMs - REMEMBERED_MS)
    const trades = this.#market.trades(this.#coin, this.#toldMs, nowMs)
    let at = 0
    for (;;) {
      const last = this.#states.at(-1)
      assert(last !== undefined, 'there is always a forming quarter')
      const boundaryMs = last.bar.openTimeMs + QUARTER_MS
      const trade = trades[at]
      if (boundaryMs <= (trade?.timeMs ?? nowMs)) {
        this.#add(boundaryMs, flatAfter(last.bar))
        continue
      }
      if (trade === undefined) break
      let { bar } = last
      for (; trades[at]?.timeMs === trade.timeMs; at += 1)
        bar = this.#traded(bar, trades[at] ?? trade)
      this.#add(trade.timeMs, bar)
    }
    this.#toldMs = Math.max(this.#toldMs, nowMs)
    const oldest = this.#states.findIndex(({ untilMs }) => untilMs > nowMs - REMEMBERED_MS)
    if (oldest > 0) this.#states.splice(0, oldest)
    return this.#states
  }

  /** Expected values with that forming 15m bar; null if the bars do not reach back far enough. */
  valued(timeframe: Timeframe, { bar }: QuarterState, from: Beginning): TimeframeTruth | null {
    const openMs = barOpenTimeMs(bar.openTimeMs, timeframe)
    const forming = timeframe === '15m' ? bar : this.#merged(timeframe, openMs, bar)
    const closed = this.#closed(timeframe, openMs, from)
    if (closed.barCount === 0) return null
    const bars = closed.barCount + 1
    const isWhole = this.#isFirst(timeframe, openMs - closed.barCount * timeframeMs[timeframe])
    const indicators = closed.valued(forming)
    return {
      indicators: isWhole || bars >= EMA_200_BARS ? indicators : withoutEma200(indicators),
      bars,
      isWhole,
      ema200: nextAverage(this.#wholeAverage(timeframe, openMs), forming.close),
    }
  }

  #isFirst(timeframe: Timeframe, openMs: number): boolean {
    const before = { fromMs: openMs - timeframeMs[timeframe], untilMs: openMs }
    return this.#market.candles(this.#coin, timeframe, before, openMs).length === 0
  }

  /** EMA 200 of all bars that had closed by then. */
  #wholeAverage(timeframe: Timeframe, untilMs: number): number {
    const kept = this.#averages.get(timeframe) ?? []
    this.#averages.set(timeframe, kept)
    const known = kept.find((average) => average.untilMs === untilMs)
    if (known !== undefined) return known.ema200
    const before = kept.findLast((average) => average.untilMs < untilMs)
    const fromMs = before?.untilMs ?? untilMs - WHOLE_BARS * timeframeMs[timeframe]
    const bars = this.#market.candles(this.#coin, timeframe, { fromMs, untilMs }, untilMs)
    const closes = bars.map(({ close }) => close)
    const ema200 =
      before === undefined ? average(closes) : closes.reduce(nextAverage, before.ema200)
    kept.push({ untilMs, ema200 })
    if (kept.length > SERIES_KEPT_MAX) kept.shift()
    return ema200
  }

  #begin(fromMs: number): void {
    const openMs = barOpenTimeMs(fromMs, '15m')
    const open = this.#market.openCandle(this.#coin, '15m', fromMs)
    const range = { fromMs: openMs - QUARTER_MS, untilMs: openMs }
    const before = this.#market.candles(this.#coin, '15m', range, openMs)[0]
    const price =
      before?.close ??
      this.#market.trades(this.#coin, openMs - 1, openMs + QUARTER_MS)[0]?.price ??
      0
    this.#states = [
      {
        fromMs,
        untilMs: Number.POSITIVE_INFINITY,
        bar: open ?? flatAfter({ ...flatBar(price), openTimeMs: openMs - QUARTER_MS }),
      },
    ]
    this.#toldMs = fromMs
  }

  #add(fromMs: number, bar: Bar): void {
    const last = this.#states.at(-1)
    if (last !== undefined) last.untilMs = fromMs
    this.#states.push({ fromMs, untilMs: Number.POSITIVE_INFINITY, bar })
  }

  #traded(
    bar: Bar,
    { price, sizeBase }: { readonly price: number; readonly sizeBase: number },
  ): Bar {
    const decimals = this.#sizeDecimals
    const lots = lotsOf(bar.volumeBase, decimals) + lotsOf(sizeBase, decimals)
    const volumeBase = sizeOf(lots, decimals)
    if (bar.volumeBase === 0)
      return {
        openTimeMs: bar.openTimeMs,
        open: price,
        high: price,
        low: price,
        close: price,
        volumeBase,
      }
    return {
      ...bar,
      high: Math.max(bar.high, price),
      low: Math.min(bar.low, price),
      close: price,
      volumeBase,
    }
  }

  /** The longer bar that ends with that forming 15m bar. */
  #merged(timeframe: Timeframe, openMs: number, forming: Bar): Bar {
    const key = `${timeframe} ${forming.openTimeMs}`
    let closed = this.#longer.get(key)
    if (closed === undefined) {
      closed = mergedQuarters(this.#quarters(openMs, forming.openTimeMs))
      this.#longer.set(key, closed)
    }
    return mergedQuarters(closed === null ? [forming] : [closed, forming]) ?? forming
  }

  /** Closed 15m bars between two instants. */
  #quarters(fromMs: number, untilMs: number): readonly Bar[] {
    if (fromMs >= untilMs) return []
    return this.#market.candles(this.#coin, '15m', { fromMs, untilMs }, untilMs)
  }

  #closed(timeframe: Timeframe, untilMs: number, from: Beginning): Closed {
    const key = `${timeframe} ${from.quarterMs} ${from.hourMs} ${from.fourHoursMs}`
    const kept = this.#series.get(key) ?? []
    this.#series.set(key, kept)
    const known = kept.find((series) => series.untilMs === untilMs)
    if (known !== undefined) return known
    const closed = new Closed(untilMs, this.#bars(timeframe, untilMs, from))
    kept.push(closed)
    if (kept.length > SERIES_KEPT_MAX) kept.shift()
    return closed
  }

  #bars(timeframe: Timeframe, untilMs: number, from: Beginning): readonly Bar[] {
    if (timeframe === '15m') return this.#quarters(from.quarterMs, untilMs)
    const stepMs = timeframeMs[timeframe]
    if (timeframe === '1h' && from.hourMs !== null)
      return this.#market.candles(this.#coin, '1h', { fromMs: from.hourMs, untilMs }, untilMs)
    if (timeframe === '1h')
      return longerBars(
        this.#quarters(barOpenTimeMs(from.quarterMs + stepMs - 1, '1h'), untilMs),
        '1h',
      )
    const askedMs = Math.min(untilMs, barOpenTimeMs(from.askedMs, '4h'))
    const range = { fromMs: from.fourHoursMs, untilMs: askedMs }
    const asked = this.#market.candles(this.#coin, '4h', range, askedMs)
    return [...asked, ...longerBars(this.#quarters(askedMs, untilMs), '4h')]
  }
}

/** Indicators of one series of closed bars. */
class Closed {
  readonly untilMs: number
  readonly #pool = new PulsePool(1)
  readonly #series: PulseSeries

  constructor(untilMs: number, bars: readonly Bar[]) {
    this.untilMs = untilMs
    this.#series = this.#pool.open()
    for (const bar of bars) {
      this.#load(bar)
      this.#series.fold()
    }
  }

  get barCount(): number {
    return this.#series.barCount
  }

  valued(forming: Bar): PulseIndicators {
    this.#load(forming)
    this.#series.peek()
    return pulseIndicators(this.#pool.values, forming.close)
  }

  #load({ high, low, close, volumeBase }: Bar): void {
    const slot = this.#pool.bar
    slot[barSlot.high] = high
    slot[barSlot.low] = low
    slot[barSlot.close] = close
    slot[barSlot.volume] = volumeBase
  }
}

function withoutEma200(indicators: PulseIndicators): PulseIndicators {
  return { ...indicators, ema_200: null, trend: { ...indicators.trend, ema_stack: null } }
}

/** Seeded with the mean of the first 200; NaN with fewer. */
function average(closes: readonly number[]): number {
  if (closes.length < 200) return Number.NaN
  const seed = closes.slice(0, 200).reduce((sum, close) => sum + close, 0) / 200
  return closes.slice(200).reduce(nextAverage, seed)
}

function nextAverage(before: number, close: number): number {
  return before + (2 / 201) * (close - before)
}

function longerBars(quarters: readonly Bar[], timeframe: Timeframe): readonly Bar[] {
  const groups = new Map<number, Bar[]>()
  for (const quarter of quarters) {
    const openMs = barOpenTimeMs(quarter.openTimeMs, timeframe)
    const group = groups.get(openMs) ?? []
    group.push(quarter)
    groups.set(openMs, group)
  }
  return [...groups.values()].map((group) => mergedQuarters(group)).filter((bar) => bar !== null)
}

/** The venue opens a bar with its first trade, so a 15m bar without one adds nothing to a longer bar. */
function mergedQuarters(quarters: readonly Bar[]): Bar | null {
  const first = quarters[0]
  const last = quarters.at(-1)
  if (first === undefined || last === undefined) return null
  const traded = quarters.filter(({ volumeBase }) => volumeBase > 0)
  const [opening] = traded
  if (opening === undefined) return { ...last, openTimeMs: first.openTimeMs }
  return {
    openTimeMs: first.openTimeMs,
    open: opening.open,
    high: Math.max(...traded.map(({ high }) => high)),
    low: Math.min(...traded.map(({ low }) => low)),
    close: last.close,
    volumeBase: traded.reduce((sum, { volumeBase }) => sum + volumeBase, 0),
  }
}

function flatAfter({ openTimeMs, close }: Bar): Bar {
  return { ...flatBar(close), openTimeMs: openTimeMs + QUARTER_MS }
}

function flatBar(price: number): Bar {
  return { openTimeMs: 0, open: price, high: price, low: price, close: price, volumeBase: 0 }
}
