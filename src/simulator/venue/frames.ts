import type { Instrument, Trade } from '../market/market.ts'
import { BOOK_LEVELS, bookData } from './coin-info.ts'
import type { Dexes } from './dexes.ts'
import { allMids } from './info.ts'
import type { VenueInstant } from './info-answer.ts'
import { isSpotPair, spotContextsWire } from './spot.ts'
import type { Subscription, UserSubscription } from './subscription.ts'
import { candleWire, contextsWire, contextWire, levelWire, midsWire, tradeWire } from './wire.ts'

type Of<Type extends Subscription['type']> = Extract<Subscription, { readonly type: Type }>

const FAST_BOOK_LEVELS = 5

export function tradesFrame(dexes: Dexes, coin: string, trades: readonly Trade[]): string {
  const instrument = listed(dexes, coin)
  return frame(
    'trades',
    trades.map((trade) => tradeWire(trade, instrument)),
  )
}

/** @returns undefined before the first trade of the open bar. */
export function candleFrame(
  dexes: Dexes,
  { coin, interval }: Of<'candle'>,
  atMs: number,
): string | undefined {
  const candle = dexes.marketOf(coin).openCandle(coin, interval, atMs)
  if (candle === undefined) return undefined
  return frame('candle', candleWire(candle, listed(dexes, coin), interval))
}

export function bookFrame(
  dexes: Dexes,
  subscription: Of<'l2Book'>,
  view: Pick<VenueInstant, 'atMs' | 'stampMs'>,
): string {
  const { coin, fast } = subscription
  const levels = fast ? FAST_BOOK_LEVELS : BOOK_LEVELS
  const book = bookData(dexes.marketOf(coin), subscription, levels, view)
  return frame('l2Book', fast ? { ...book, fast: true } : book)
}

/** Best prices without their time, which alone is no change; undefined for an empty book. */
export function bestPrices(dexes: Dexes, coin: string, atMs: number): string | undefined {
  const { bids, asks } = dexes.marketOf(coin).book(coin, atMs, 1)
  const bid = bids[0]
  const ask = asks[0]
  if (bid === undefined && ask === undefined) return undefined
  const { sizeDecimals } = listed(dexes, coin)
  const bbo = [bid, ask].map((level) =>
    level === undefined ? null : levelWire(level, sizeDecimals),
  )
  return `"coin":${JSON.stringify(coin)},"bbo":${JSON.stringify(bbo)}`
}

export function bboFrame(prices: string, stampMs: number): string {
  return `{"channel":"bbo","data":{"time":${stampMs},${prices}}}`
}

/** Frame of a channel with a state; undefined for channels of events. */
export function stateFrame(
  dexes: Dexes,
  subscription: Subscription,
  atMs: number,
): string | undefined {
  switch (subscription.type) {
    case 'activeAssetCtx': {
      const { coin } = subscription
      if (isSpotPair(coin)) return spotFrame(dexes, coin, atMs)
      const context = dexes.marketOf(coin).context(coin, atMs)
      if (context === undefined) return undefined
      return frame('activeAssetCtx', { coin, ctx: contextWire(context, listed(dexes, coin)) })
    }
    case 'allDexsAssetCtxs': {
      // By name, unlike everywhere else.
      const byName = dexes.all.toSorted((one, other) => (one.name < other.name ? -1 : 1))
      const ctxs = byName.map(({ name, market }) => [name, contextsWire(market, atMs)])
      return frame('allDexsAssetCtxs', { ctxs })
    }
    case 'assetCtxs': {
      const { dex = '' } = subscription
      const { market } = dexes.named(dex) ?? dexes.main
      return frame('assetCtxs', { dex, ctxs: contextsWire(market, atMs) })
    }
    case 'allMids': {
      const { dex } = subscription
      const mids = allMids(dexes, dexes.named(dex ?? '') ?? dexes.main, atMs)
      return frame('allMids', dex === undefined ? { mids } : { mids, dex })
    }
    default:
      return undefined
  }
}

/** The figures of a spot pair have a channel name of their own. */
function spotFrame(dexes: Dexes, coin: string, atMs: number): string {
  const mids = midsWire(dexes.main.market, atMs)
  const ctx = spotContextsWire((perpetual) => mids[perpetual], atMs).find(
    (context) => context.coin === coin,
  )
  return frame('activeSpotAssetCtx', { coin, ctx })
}

/** What a user's channel says first; undefined where it says nothing. */
export function firstUserFrame({ type, user }: UserSubscription): string | undefined {
  switch (type) {
    case 'userFills':
      return frame(type, { isSnapshot: true, user, fills: [] })
    case 'userFundings':
      return frame(type, { isSnapshot: true, user, fundings: [] })
    case 'userNonFundingLedgerUpdates':
      return frame(type, { isSnapshot: true, user, nonFundingLedgerUpdates: [] })
    case 'userEvents':
    case 'orderUpdates':
      return undefined
  }
}

function frame(channel: string, data: unknown): string {
  return JSON.stringify({ channel, data })
}

function listed(dexes: Dexes, coin: string): Instrument {
  const instrument = dexes.instrument(coin)
  if (instrument === undefined) throw new Error(`${coin} was subscribed but is not listed`)
  return instrument
}
