import { isRecord } from '../../domain/json.ts'
import type { Candle, CandleInterval, Instrument, Level, Market } from '../market/market.ts'
import { candleIntervalMs, isCandleInterval } from '../market/market.ts'
import { noiseKey, uniform } from '../market/noise.ts'
import { coarseBook, deepenedSide } from '../market/synthetic-book.ts'
import type { Dexes } from './dexes.ts'
import type { InfoAnswer, VenueInstant } from './info-answer.ts'
import { data, MALFORMED, UNKNOWN, withoutNulls } from './info-answer.ts'
import { isSpotPair, spotInstrument } from './spot.ts'
import { areFigures, isMantissa } from './subscription.ts'
import { bookWire, candleWire, fundingWire, tradeWire } from './wire.ts'

type Body = Readonly<Record<string, unknown>>

export const BOOK_LEVELS = 20
/** Levels that are joined into a book of fewer significant figures. */
const RAW_LEVELS_OF_COARSE_BOOK = 400
const CANDLES_MAX = 5000
const FUNDING_ROWS_MAX = 500
const RECENT_TRADES = 10
const CANDLES_A_WEIGHT = 60
const ROWS_A_WEIGHT = 20
/** Maximum delay of a bar without trades after its close; the documentation of the venue states none. */
const FLAT_BAR_LATE_MS_MAX = 60_000

/** The book of a request or subscription, coarse where it asks for significant figures. */
export function bookData(
  market: Market,
  request: {
    readonly coin: string
    readonly nSigFigs: number | null
    readonly mantissa: number | null
  },
  levels: number,
  { atMs, stampMs }: Pick<VenueInstant, 'atMs' | 'stampMs'>,
): object | null {
  const { coin, nSigFigs, mantissa } = request
  // `Market` lists no spot pairs and has an empty book for one.
  const instrument = market.instrument(coin) ?? spotInstrument(coin)
  if (instrument === undefined) return null
  if (nSigFigs === null) return bookWire(market.book(coin, atMs, levels), instrument, stampMs)
  const raw = market.book(coin, atMs, RAW_LEVELS_OF_COARSE_BOOK)
  const { bids, asks } = coarseBook(raw, nSigFigs, mantissa ?? 1, levels)
  const deepened = (side: readonly Level[], rawSide: readonly Level[], direction: 1 | -1) =>
    // A side with fewer levels than requested is complete.
    rawSide.length < RAW_LEVELS_OF_COARSE_BOOK
      ? side
      : deepenedSide(side, {
          direction,
          figures: nSigFigs,
          mantissa: mantissa ?? 1,
          levels,
          sizeDecimals: instrument.sizeDecimals,
          key: noiseKey(0, 'coarse book', coin),
        })
  const book = { bids: deepened(bids, raw.bids, -1), asks: deepened(asks, raw.asks, 1) }
  const bid = book.bids[0]?.price
  const ask = book.asks[0]?.price
  const spread = bid === undefined || ask === undefined ? 0 : ask - bid
  return {
    ...bookWire(book, instrument, stampMs),
    spread: String(Number(spread.toPrecision(nSigFigs))),
  }
}

export function bookAnswer(dexes: Dexes, body: Body, view: VenueInstant): InfoAnswer {
  const { coin, nSigFigs = null, mantissa = null } = body
  if (typeof coin !== 'string') return MALFORMED
  if (nSigFigs !== null && typeof nSigFigs !== 'number') return MALFORMED
  if (mantissa !== null && typeof mantissa !== 'number') return MALFORMED
  if (!areFigures(nSigFigs) || !isMantissa(mantissa, nSigFigs)) return MALFORMED
  return data(bookData(dexes.marketOf(coin), { coin, nSigFigs, mantissa }, BOOK_LEVELS, view))
}

export function candleAnswer(dexes: Dexes, request: unknown, view: VenueInstant): InfoAnswer {
  if (!isRecord(request)) return MALFORMED
  const { atMs } = view
  const { coin, interval, startTime, endTime } = withoutNulls(request, { endTime: atMs })
  if (typeof coin !== 'string' || typeof interval !== 'string') return MALFORMED
  if (typeof startTime !== 'number' || typeof endTime !== 'number') return MALFORMED
  if (!isCandleInterval(interval)) return MALFORMED
  const instrument = dexes.instrument(coin)
  if (instrument === undefined) return nothingOf(coin)
  const stepMs = candleIntervalMs[interval]
  const oldestMs = (Math.floor(atMs / stepMs) - CANDLES_MAX + 1) * stepMs
  const range = { fromMs: Math.max(startTime, oldestMs), untilMs: endTime + 1 }
  const market = dexes.marketOf(coin)
  const known = market.candles(coin, interval, range, atMs)
  const shown = known.filter(isShownAt(market, instrument, interval, view))
  const rows = shown.map((candle) => candleWire(candle, instrument, interval))
  return data(rows, Math.floor(rows.length / CANDLES_A_WEIGHT))
}

/** A bar without trades is missing for a while after its close. */
function isShownAt(
  market: Market,
  { coin }: Instrument,
  interval: CandleInterval,
  { atMs, isFlatBarLate }: VenueInstant,
): (candle: Candle) => boolean {
  const newest = isFlatBarLate ? market.lastTrades(coin, atMs, 1)[0] : undefined
  const stepMs = candleIntervalMs[interval]
  const key = noiseKey(0, 'flat bars', coin)
  return ({ openTimeMs, trades }) => {
    if (trades > 0) return true
    if (newest !== undefined && openTimeMs > newest.timeMs) return false
    const closedForMs = atMs - (openTimeMs + stepMs)
    if (closedForMs >= FLAT_BAR_LATE_MS_MAX) return true
    return closedForMs >= FLAT_BAR_LATE_MS_MAX * uniform(key, openTimeMs / stepMs)
  }
}

export function fundingAnswer(dexes: Dexes, body: Body, { atMs }: VenueInstant): InfoAnswer {
  const { coin, startTime, endTime } = withoutNulls(body, { endTime: atMs })
  if (typeof coin !== 'string') return MALFORMED
  if (typeof startTime !== 'number' || typeof endTime !== 'number') return MALFORMED
  if (dexes.instrument(coin) === undefined) return UNKNOWN
  const range = { fromMs: startTime, untilMs: endTime + 1 }
  const rows = dexes.marketOf(coin).fundingHistory(coin, range, atMs, FUNDING_ROWS_MAX)
  return data(
    rows.map((row) => fundingWire(row, coin)),
    Math.floor(rows.length / ROWS_A_WEIGHT),
  )
}

export function recentTradesAnswer(dexes: Dexes, body: Body, { atMs }: VenueInstant): InfoAnswer {
  const { coin } = body
  if (typeof coin !== 'string') return MALFORMED
  const instrument = dexes.instrument(coin)
  if (instrument === undefined) return nothingOf(coin)
  const newest = dexes.marketOf(coin).lastTrades(coin, atMs, RECENT_TRADES).toReversed()
  return data(newest.map((trade) => tradeWire(trade, instrument)))
}

/** A spot pair has no candles and no trades here; any other name is unknown. */
function nothingOf(coin: string): InfoAnswer {
  return isSpotPair(coin) ? data([]) : UNKNOWN
}
