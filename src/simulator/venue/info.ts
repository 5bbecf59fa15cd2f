import type { Market } from '../market/market.ts'
import { candleIntervalMs, isCandleInterval } from '../market/market.ts'
import { coarseBook } from '../market/synthetic-book.ts'
import { isRecord } from './subscription.ts'
import {
  bookWire,
  candleWire,
  contextsWire,
  fundingWire,
  marginTableWire,
  metaWire,
  midsWire,
  spotMetaWire,
  spotNames,
  tradeWire,
} from './wire.ts'

export const BOOK_LEVELS = 20
/** Levels that are joined into a book of fewer significant figures. */
const RAW_LEVELS_OF_COARSE_BOOK = 400
const CANDLES_MAX = 5000
const FUNDING_ROWS_MAX = 500
const RECENT_TRADES = 10
const DEFAULT_WEIGHT = 20
const LIGHT_WEIGHT = 2
const CANDLES_A_WEIGHT = 60
const ROWS_A_WEIGHT = 20

const lightTypes: ReadonlySet<string> = new Set(['l2Book', 'allMids', 'exchangeStatus'])

/** Answer to one `info` request. `rowWeight` is charged on top of the request's own weight. */
export type InfoAnswer =
  | { readonly kind: 'data'; readonly data: unknown; readonly rowWeight: number }
  /** The body does not have the shape of any request: HTTP 422. */
  | { readonly kind: 'malformed' }
  /** Unknown dex or coin: HTTP 500 with the body `null`. */
  | { readonly kind: 'unknown' }

export function infoWeight(body: unknown): number {
  if (!isRecord(body)) return DEFAULT_WEIGHT
  const { type } = body
  return typeof type === 'string' && lightTypes.has(type) ? LIGHT_WEIGHT : DEFAULT_WEIGHT
}

/** @param viewMs What the venue knows: everything up to this instant. */
export function answerInfo(market: Market, body: unknown, viewMs: number): InfoAnswer {
  if (!isRecord(body)) return { kind: 'malformed' }
  const { type, dex, req } = body
  if (typeof (dex ?? '') !== 'string') return { kind: 'malformed' }
  if ((dex ?? '') !== '') return { kind: 'unknown' }
  switch (type) {
    case 'meta':
      return data(metaWire(market))
    case 'metaAndAssetCtxs':
      return data([metaWire(market), contextsWire(market, viewMs)])
    case 'allPerpMetas':
      return data([metaWire(market)])
    case 'perpDexs':
      return data([null])
    case 'allMids':
      return data(midsWire(market, viewMs))
    case 'l2Book':
      return bookAnswer(market, body, viewMs)
    case 'candleSnapshot':
      return candleAnswer(market, req, viewMs)
    case 'fundingHistory':
      return fundingAnswer(market, body, viewMs)
    case 'recentTrades':
      return recentTradesAnswer(market, body, viewMs)
    case 'marginTable': {
      const { id } = body
      if (typeof id !== 'number') return { kind: 'malformed' }
      const table = marginTableWire(id)
      return table === undefined ? { kind: 'unknown' } : data(table)
    }
    case 'perpsAtOpenInterestCap':
      return data([])
    case 'spotMeta':
      return data(spotMetaWire)
    case 'spotMetaAndAssetCtxs':
      return data([spotMetaWire, spotContexts(market, viewMs)])
    case 'exchangeStatus':
      return data({ specialStatuses: null, time: viewMs })
    default:
      return { kind: 'malformed' }
  }
}

/** The book of a request or subscription, coarse where it asks for significant figures. */
export function bookData(
  market: Market,
  request: {
    readonly coin: string
    readonly nSigFigs: number | null
    readonly mantissa: number | null
  },
  levels: number,
  viewMs: number,
): object | null {
  const { coin, nSigFigs, mantissa } = request
  const instrument = market.instrument(coin)
  if (instrument === undefined) return null
  if (nSigFigs === null) return bookWire(market.book(coin, viewMs, levels), instrument, viewMs)
  const raw = market.book(coin, viewMs, RAW_LEVELS_OF_COARSE_BOOK)
  const book = coarseBook(raw, nSigFigs, mantissa ?? 1, levels)
  const bid = book.bids[0]?.price
  const ask = book.asks[0]?.price
  const spread = bid === undefined || ask === undefined ? 0 : ask - bid
  return {
    ...bookWire(book, instrument, viewMs),
    spread: String(Number(spread.toPrecision(nSigFigs))),
  }
}

function bookAnswer(
  market: Market,
  body: Readonly<Record<string, unknown>>,
  viewMs: number,
): InfoAnswer {
  const { coin, nSigFigs = null, mantissa = null } = body
  if (typeof coin !== 'string') return { kind: 'malformed' }
  if (nSigFigs !== null && typeof nSigFigs !== 'number') return { kind: 'malformed' }
  if (mantissa !== null && typeof mantissa !== 'number') return { kind: 'malformed' }
  return data(bookData(market, { coin, nSigFigs, mantissa }, BOOK_LEVELS, viewMs))
}

function candleAnswer(market: Market, request: unknown, viewMs: number): InfoAnswer {
  if (!isRecord(request)) return { kind: 'malformed' }
  const { coin, interval, startTime, endTime } = withoutNulls(request, { endTime: viewMs })
  if (typeof coin !== 'string' || typeof interval !== 'string') return { kind: 'malformed' }
  if (typeof startTime !== 'number' || typeof endTime !== 'number') return { kind: 'malformed' }
  if (!isCandleInterval(interval)) return { kind: 'malformed' }
  const instrument = market.instrument(coin)
  if (instrument === undefined) return { kind: 'unknown' }
  const stepMs = candleIntervalMs[interval]
  const oldestMs = (Math.floor(viewMs / stepMs) - CANDLES_MAX + 1) * stepMs
  const range = { fromMs: Math.max(startTime, oldestMs), untilMs: endTime + 1 }
  const candles = market.candles(coin, interval, range, viewMs)
  return {
    kind: 'data',
    data: candles.map((candle) => candleWire(candle, instrument, interval)),
    rowWeight: Math.floor(candles.length / CANDLES_A_WEIGHT),
  }
}

function fundingAnswer(
  market: Market,
  body: Readonly<Record<string, unknown>>,
  viewMs: number,
): InfoAnswer {
  const { coin, startTime, endTime } = withoutNulls(body, { endTime: viewMs })
  if (typeof coin !== 'string') return { kind: 'malformed' }
  if (typeof startTime !== 'number' || typeof endTime !== 'number') return { kind: 'malformed' }
  if (market.instrument(coin) === undefined) return { kind: 'unknown' }
  const range = { fromMs: startTime, untilMs: endTime + 1 }
  const rows = market.fundingHistory(coin, range, viewMs, FUNDING_ROWS_MAX)
  return {
    kind: 'data',
    data: rows.map((row) => fundingWire(row, coin)),
    rowWeight: Math.floor(rows.length / ROWS_A_WEIGHT),
  }
}

function recentTradesAnswer(
  market: Market,
  body: Readonly<Record<string, unknown>>,
  viewMs: number,
): InfoAnswer {
  const { coin } = body
  if (typeof coin !== 'string') return { kind: 'malformed' }
  const instrument = market.instrument(coin)
  if (instrument === undefined) return { kind: 'unknown' }
  const trades = market.lastTrades(coin, viewMs, RECENT_TRADES).toReversed()
  return data(trades.map((trade) => tradeWire(trade, instrument)))
}

/** Spot pairs at the price of their perpetual; nothing trades there. */
function spotContexts(market: Market, viewMs: number): readonly object[] {
  const mids = midsWire(market, viewMs)
  return Object.values(spotNames)
    .flat()
    .map((coin) => {
      const px = mids[coin] ?? '1.0'
      return {
        prevDayPx: px,
        dayNtlVlm: '0.0',
        markPx: px,
        midPx: px,
        circulatingSupply: '0.0',
        coin,
        totalSupply: '0.0',
        dayBaseVlm: '0.0',
      }
    })
}

/** An optional field may be absent or null: both mean the default. */
function withoutNulls(
  body: Readonly<Record<string, unknown>>,
  defaults: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const given = Object.entries(body).filter(([, value]) => value !== null)
  return { ...defaults, ...Object.fromEntries(given) }
}

function data(value: unknown): InfoAnswer {
  return { kind: 'data', data: value, rowWeight: 0 }
}
