import { Type } from 'typebox'
import { timeframesParameter } from '../../compute/analyses/pulse/timeframes-parameter.ts'
import type { AnalysisContract, DocumentContract } from '../../domain/contract.ts'
import type { Document, Input, Part, Slot, View, Warning } from '../../domain/document.ts'
import { documentKey } from '../../domain/document.ts'
import type { Listing } from '../../domain/listing.ts'
import type { Timeframe } from '../../domain/timeframe.ts'

/** A contract and documents of the size and shape of a pulse, written by hand for tests and benches. */
export const pulseLike: AnalysisContract = {
  id: 'pulse',
  offering: 'service_pulse',
  scope: 'coin',
  summary: 'Multi-timeframe technical analysis',
  guide: { title: 'One', useWhen: 'needed.', notWhen: 'not.', returns: 'a figure.' },
  priceUsdcAtomic: 25_000n,
  document: Type.Object({}),
  defaultView: '1h,4h',
  viewParameters: [timeframesParameter],
  inputAgeMsMax: Number.POSITIVE_INFINITY,
  coverageFloor: { counts: 'candles', least: '200 candles' },
}

/** Without a parameter, and with a freshness guarantee. */
export const gatedLike: AnalysisContract = {
  ...pulseLike,
  id: 'liquidations',
  offering: 'service_liquidations',
  priceUsdcAtomic: 30_000n,
  defaultView: 'all',
  viewParameters: [],
  inputAgeMsMax: 60_000,
}

/** Of the free document with the record of every rule. */
export const trackRecordLike: DocumentContract = {
  id: 'track-record',
  scope: 'market',
  document: Type.Object({}),
  defaultView: 'all',
  viewParameters: [],
}

export function listing(coin: string): Listing {
  return { coin, sizeDecimals: 3, maxLeverage: 50, marginTiers: [], isDelisted: false }
}

/** Lays text and slots one behind the other. */
export function layOut(pieces: readonly (string | Slot)[]): Pick<Document, 'bytes' | 'parts'> {
  const texts: Buffer[] = []
  let at = 0
  const parts = pieces.map((piece): Part => {
    if (typeof piece !== 'string') return piece
    const text = Buffer.from(piece)
    texts.push(text)
    const start = at
    at += text.length
    return { kind: 'text', start, end: at }
  })
  return { bytes: new Uint8Array(Buffer.concat(texts)), parts }
}

export type PulseLikeOptions = {
  readonly coin: string
  readonly confirmedAtMs: number
  readonly version?: number
  readonly warnings?: readonly Warning[]
  readonly coveragePct?: number
}

/** Views `1h,4h` and `4h` are answers, `15m` has too few candles, and the others do not exist. */
export function pulseLikeDocument(options: PulseLikeOptions): Document {
  const { coin, confirmedAtMs, version = 1, warnings = [], coveragePct = 100 } = options
  const head = `{"coin":"${coin}","timestamp_iso":"2026-01-01T00:00:00.000Z"`
  const { bytes, parts } = layOut([
    head,
    { kind: 'requested-coin' },
    ',"price":{"current":64202.5},"timeframes":{',
    ...timeframePieces('1h'),
    ',',
    ...timeframePieces('4h'),
    `},${TAIL}`,
    { kind: 'execution-ms' },
    ',"coins_available":',
    { kind: 'coins-available' },
    ',',
    { kind: 'freshness' },
    '}}',
  ])
  const all = parts.map((_, index) => index)
  const mark: Input = { name: 'mark', confirmedAtMs, cadenceMs: 5_000, isLoadBearing: true }
  const candles = (timeframe: Timeframe): Input => ({
    name: `candles_${timeframe}`,
    confirmedAtMs,
    cadenceMs: 60_000,
    isLoadBearing: true,
  })
  const four = { kind: 'answer', coveragePct, warnings } as const
  return {
    key: documentKey('pulse', coin),
    version,
    renderedAtMs: confirmedAtMs,
    bytes,
    parts,
    views: {
      '1h,4h': { ...four, parts: all, inputs: [mark, candles('1h'), candles('4h')] },
      '4h': {
        ...four,
        parts: all.filter((index) => index < 3 || index > 6),
        inputs: [mark, candles('4h')],
      },
      '15m': { kind: 'insufficient-candles', timeframe: '15m', have: 17, need: 200 },
    },
  }
}

/** A document of {@link gatedLike} with any one view. */
export function gatedLikeDocument(coin: string, confirmedAtMs: number, view?: View): Document {
  const { bytes, parts } = layOut([`{"coin":"${coin}","meta":{`, { kind: 'freshness' }, '}}'])
  const whole: View = {
    kind: 'answer',
    parts: [0, 1, 2],
    inputs: [{ name: 'mark', confirmedAtMs, cadenceMs: 5_000, isLoadBearing: true }],
    coveragePct: 100,
    warnings: ['model_estimate'],
  }
  return {
    key: documentKey('liquidations', coin),
    version: 1,
    renderedAtMs: confirmedAtMs,
    bytes,
    parts,
    views: { all: view ?? whole },
  }
}

function timeframePieces(timeframe: Timeframe): (string | Slot)[] {
  return [
    `"${timeframe}":{"indicators":${INDICATORS},"candle_freshness_seconds":`,
    { kind: 'input-age', input: `candles_${timeframe}` },
    '}',
  ]
}

const INDICATORS = JSON.stringify({
  rsi_14: 61.3042,
  rsi_zone: 'bullish',
  atr_14: 412.857,
  atr_pct: 0.6431,
  ema_20: 63984.12,
  ema_50: 63611.94,
  ema_200: 62107.55,
  vwap_20: 63951.08,
  zscore_100: 1.207,
  bollinger: {
    upper: 64710.33,
    middle: 63920.07,
    lower: 63129.81,
    width_pct: 2.4727,
    position_pct: 0.678,
  },
  trend: { direction: 1, label: 'bullish', ema_stack: 'bull_aligned' },
  history: Array.from({ length: 12 }, (_, hour) => ({
    close: 63000 + hour * 97.5,
    volume: 1200 + hour * 31.25,
    rsi_14: 50 + hour / 2,
  })),
})

const TAIL = `${JSON.stringify({
  derivatives: {
    funding_rate: 0.0000125,
    funding_annualized_pct: 10.95,
    open_interest: 2139333552,
    impact_bid: 64199.2,
    impact_ask: 64204.6,
    spread_bps: 0.16,
  },
  regime: { current: 'RISK_ON', as_of: 1767225600, drivers: ['breadth', 'funding', 'volatility'] },
  confluence: {
    score: 0.654,
    bias: 'bullish',
    signals: { rsi: 'bullish', trend: 'bullish', bollinger: 'neutral', zscore: 'bullish' },
    bullish_count: 3,
    bearish_count: 0,
  },
}).slice(1, -1)},"meta":{"provider":"perpscope","offering":"service_pulse","execution_ms":`
