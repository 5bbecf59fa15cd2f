import { createRequire } from 'node:module'
import * as classic from 'technicalindicators'
import * as signals from 'trading-signals'
import type { Bar } from '../src/domain/bar.ts'

/** Its ES build is marked as CommonJS, so that `import` fails; its CommonJS build works. */
const fast: typeof import('fast-technical-indicators') = createRequire(import.meta.url)(
  'fast-technical-indicators',
)

/** The pulse set of one series, built from one library. Missing rolling forms are composed of existing ones. */
export type PeerSeries = {
  /** Closes a bar. @returns RSI, ATR, EMA 20/50/200, VWAP, z-score, upper, middle, lower. */
  add(bar: Bar): PeerValues
  /** Revises the newest bar; null if the library cannot. */
  readonly replace: ((bar: Bar) => PeerValues) | null
}

export type PeerValues = readonly (number | null | undefined)[]

export type Peer = {
  readonly name: string
  readonly version: string
  /** Absolute error of RSI that the library's own rounding causes. */
  readonly rsiRounding: number
  open(): PeerSeries
}

export const peers = [
  { name: 'trading-signals', version: '8.3.0', rsiRounding: 0, open: openSignals },
  { name: 'technicalindicators', version: '3.1.0', rsiRounding: 0.005, open: openClassic },
  { name: 'fast-technical-indicators', version: '1.1.4', rsiRounding: 0.005, open: openFast },
] as const satisfies readonly Peer[]

function openSignals(): PeerSeries {
  const rsi = new signals.RSI(14)
  const atr = new signals.ATR(14)
  const ema20 = new signals.EMA(20)
  const ema50 = new signals.EMA(50)
  const ema200 = new signals.EMA(200)
  const vwma = new signals.VWMA(20)
  const wide = new signals.BollingerBands(100, 1)
  const bands = new signals.BollingerBands(20, 2)
  const update = (bar: Bar, isRevision: boolean): PeerValues => {
    const { high, low, close, volumeBase: volume } = bar
    const typical = { open: bar.open, high, low, close: (high + low + close) / 3, volume }
    const r = rsi.update(close, isRevision)
    const a = atr.update({ high, low, close }, isRevision)
    const e20 = ema20.update(close, isRevision)
    const e50 = ema50.update(close, isRevision)
    const e200 = ema200.update(close, isRevision)
    const v = vwma.update(typical, isRevision)
    const w = wide.update(close, isRevision)
    const b = bands.update(close, isRevision)
    const z = w === null ? null : (close - w.middle) / (w.upper - w.middle)
    return [r, a, e20, e50, e200, v, z, b?.upper, b?.middle, b?.lower]
  }
  return { add: (bar) => update(bar, false), replace: (bar) => update(bar, true) }
}

function openClassic(): PeerSeries {
  const empty = { values: [] as number[] }
  const rsi = new classic.RSI({ period: 14, ...empty })
  const atr = new classic.ATR({ period: 14, high: [], low: [], close: [] })
  const ema20 = new classic.EMA({ period: 20, ...empty })
  const ema50 = new classic.EMA({ period: 50, ...empty })
  const ema200 = new classic.EMA({ period: 200, ...empty })
  const turnover = new classic.SMA({ period: 20, ...empty })
  const volume = new classic.SMA({ period: 20, ...empty })
  const mean = new classic.SMA({ period: 100, ...empty })
  const deviation = new classic.SD({ period: 100, ...empty })
  const bands = new classic.BollingerBands({ period: 20, stdDev: 2, ...empty })
  const add = (bar: Bar): PeerValues => {
    const { high, low, close } = bar
    const r = rsi.nextValue(close)
    const a = atr.nextValue(bar)
    const e20 = ema20.nextValue(close)
    const e50 = ema50.nextValue(close)
    const e200 = ema200.nextValue(close)
    const t = turnover.nextValue(((high + low + close) / 3) * bar.volumeBase)
    const v = volume.nextValue(bar.volumeBase)
    const m = mean.nextValue(close)
    const d = deviation.nextValue(close)
    const b = bands.nextValue(close)
    return [r, a, e20, e50, e200, ratio(t, v), score(close, m, d), b?.upper, b?.middle, b?.lower]
  }
  return { add, replace: null }
}

function openFast(): PeerSeries {
  const empty = { values: [] as number[] }
  const rsi = new fast.RSI({ period: 14, ...empty })
  const atr = new fast.ATR({ period: 14, high: [], low: [], close: [] })
  const ema20 = new fast.EMA({ period: 20, ...empty })
  const ema50 = new fast.EMA({ period: 50, ...empty })
  const ema200 = new fast.EMA({ period: 200, ...empty })
  const turnover = new fast.SMA({ period: 20, ...empty })
  const volume = new fast.SMA({ period: 20, ...empty })
  const wide = new fast.BollingerBands({ period: 100, stdDev: 1, ...empty })
  const bands = new fast.BollingerBands({ period: 20, stdDev: 2, ...empty })
  const add = (bar: Bar): PeerValues => {
    const { high, low, close } = bar
    const r = rsi.nextValue(close)
    const a = atr.nextValue(high, low, close)
    const e20 = ema20.nextValue(close)
    const e50 = ema50.nextValue(close)
    const e200 = ema200.nextValue(close)
    const t = turnover.nextValue(((high + low + close) / 3) * bar.volumeBase)
    const v = volume.nextValue(bar.volumeBase)
    const w = wide.nextValue(close)
    const b = bands.nextValue(close)
    const z = score(close, w?.middle, (w?.upper ?? Number.NaN) - (w?.middle ?? Number.NaN))
    return [r, a, e20, e50, e200, ratio(t, v), z, b?.upper, b?.middle, b?.lower]
  }
  return { add, replace: null }
}

function ratio(turnover: number | undefined, volume: number | undefined): number | undefined {
  return turnover === undefined || volume === undefined ? undefined : turnover / volume
}

function score(
  close: number,
  mean: number | undefined,
  deviation: number | undefined,
): number | undefined {
  return mean === undefined || deviation === undefined ? undefined : (close - mean) / deviation
}
