import type {
  Batch,
  BookLevel,
  CandleEvent,
  ContextEvent,
  MarkEvent,
  MarketEvent,
  TopOfBookEvent,
  TradeEvent,
} from '../../../domain/event.ts'
import type { Timeframe } from '../../../domain/timeframe.ts'
import { timeframes } from '../../../domain/timeframe.ts'
import { decodeBar } from './candles.ts'
import { decodeContext } from './contexts.ts'
import { inflatedText } from './inflate.ts'
import { readAllContexts, readMarks } from './quick-contexts.ts'
import { readQuickly } from './quick-frames.ts'
import type { MarketChannel } from './subscription.ts'
import type { Universe } from './universe.ts'
import { isFollowedName, joinContexts, MAIN_DEX } from './universe.ts'
import type { DropReason, Rejected, VenueObject } from './values.ts'
import { address, isVenueObject, price, rejected, size, timeMs } from './values.ts'

/** What one text frame of the venue says. */
export type Frame =
  | {
      readonly kind: 'events'
      readonly events: Batch
      readonly drops: readonly DropReason[]
      /** Where it tells of all coins at once. */
      readonly channel?: MarketChannel
      /** Coins of which a trade could not be read: it is told once. */
      readonly lost?: readonly string[]
      /** Dexes of which it has more or fewer contexts than the list has coins. */
      readonly misfits?: readonly string[]
      /** What it reports by name of perpetuals of followed dexes that no list has. */
      readonly unlisted?: readonly MarkEvent[]
    }
  /** The venue accepted a subscription; its data follow. */
  | ({ readonly kind: 'acknowledged' } & Subscribed)
  /** It had done so before, and its word was lost: nothing begins anew. */
  | ({ readonly kind: 'standing' } & Subscribed)
  /** The venue refused something that we sent; the socket lives on. */
  | { readonly kind: 'refused'; readonly text: string }
  | { readonly kind: 'pong' }
  | { readonly kind: 'ignored' }
  | Rejected

type Subscribed = { readonly channel: string; readonly coin: string | null }

/** Older servers say this first. */
const GREETING = 'Websocket connection established.'
const IGNORED: Frame = { kind: 'ignored' }
const PONG: Frame = { kind: 'pong' }
const NO_DROPS: readonly DropReason[] = []

/** The venue sends 20. */
const LEVELS_PER_SIDE_MAX = 100
const REFUSAL_LENGTH_MAX = 500
/** What the venue says to a subscription that it has, which follows as JSON. */
const STANDING = 'Already subscribed: '

/**
 * Frames in, events out. It never throws: a frame is the other side's, so whatever it holds is data.
 * It knows the universe because contexts come without names, and because only coins of the universe
 * may enter: an event always names a listed coin.
 */
export class FrameDecoder {
  /** By dex. */
  readonly #universes = new Map<string, Universe>()
  /** By themselves: see {@link readQuickly}. */
  #coins: ReadonlyMap<string, string> = new Map()

  setUniverse(universe: Universe, dex = MAIN_DEX): void {
    this.#universes.set(dex, universe)
    this.#index()
  }

  dropUniverse(dex: string): void {
    this.#universes.delete(dex)
    this.#index()
  }

  #index(): void {
    const listings = [...this.#universes.values()].flat()
    this.#coins = new Map(
      listings.flatMap((listing) => (listing === null ? [] : [[listing.coin, listing.coin]])),
    )
  }

  decode(text: string, timeReceivedMs: number): Frame {
    const events = readQuickly(text, this.#coins, timeReceivedMs)
    if (events !== null) return { kind: 'events', events, drops: NO_DROPS }
    const marks = readMarks(text, this.#coins, this.#universes, timeReceivedMs)
    if (marks !== null)
      return { kind: 'events', events: marks, drops: NO_DROPS, channel: 'fastAssetCtxs' }
    const contexts = readAllContexts(text, this.#universes, timeReceivedMs)
    if (contexts !== null)
      return { kind: 'events', events: contexts, drops: NO_DROPS, channel: 'allDexsAssetCtxs' }
    return this.decodeSlowly(text, timeReceivedMs)
  }

  /** The long way, for whatever comes. */
  decodeSlowly(text: string, timeReceivedMs: number): Frame {
    const message = jsonIn(text)
    if (message === undefined) return text === GREETING ? IGNORED : rejected('not_json')
    if (!isVenueObject(message)) return rejected('bad_shape')
    const { channel, data } = message
    switch (channel) {
      case 'trades':
        return this.#trades(data, timeReceivedMs)
      case 'candle':
        return this.#each(Array.isArray(data) ? data : [data], timeReceivedMs, decodeCandle)
      case 'l2Book':
        return this.#each([data], timeReceivedMs, decodeBook)
      case 'bbo':
        return this.#each([data], timeReceivedMs, decodeTopOfBook)
      case 'activeAssetCtx':
        return this.#each([data], timeReceivedMs, decodeActiveContext)
      case 'allDexsAssetCtxs':
        return this.#allContexts(data, timeReceivedMs)
      case 'fastAssetCtxs':
        return this.#marks(data, timeReceivedMs)
      case 'subscriptionResponse':
        return this.#acknowledgement(data)
      case 'error':
        return typeof data === 'string' ? this.#refusal(data) : rejected('bad_shape')
      case 'pong':
        return PONG
      case 'allMids':
        return IGNORED
      default:
        return rejected('unknown_channel')
    }
  }

  #trades(rows: unknown, timeReceivedMs: number): Frame {
    const lost = new Set<string>()
    const frame = this.#each(rows, timeReceivedMs, (row, coin, ...others) => {
      const trade = decodeTrade(row, coin, ...others)
      if (trade === undefined) lost.add(coin)
      return trade
    })
    return frame.kind === 'events' && lost.size > 0 ? { ...frame, lost: [...lost] } : frame
  }

  #each(rows: unknown, timeReceivedMs: number, decodeRow: DecodeRow): Frame {
    if (!Array.isArray(rows)) return rejected('bad_shape')
    const events: MarketEvent[] = []
    const drops: DropReason[] = []
    const unlisted: MarkEvent[] = []
    const times = { timeExchangeMs: timeReceivedMs, timeReceivedMs }
    for (const row of rows) {
      if (!isVenueObject(row)) {
        drops.push('bad_row')
        continue
      }
      // A candle calls its coin `s`.
      const told = row.coin ?? row.s
      const coin = typeof told === 'string' ? this.#coins.get(told) : undefined
      if (coin === undefined) {
        drops.push('unknown_coin')
        if (typeof told === 'string' && isFollowedName(told, this.#universes))
          unlisted.push({ kind: 'mark', coin: told, ...times })
        continue
      }
      const event = decodeRow(row, coin, timeReceivedMs, drops)
      if (event !== undefined) events.push(event)
    }
    return { kind: 'events', events, drops, ...(unlisted.length > 0 && { unlisted }) }
  }

  #allContexts(data: unknown, timeReceivedMs: number): Frame {
    if (!isVenueObject(data) || !Array.isArray(data.ctxs)) return rejected('bad_shape')
    const drops: DropReason[] = []
    const events: MarketEvent[] = []
    const misfits: string[] = []
    for (const [dex, universe] of this.#universes) {
      const told = data.ctxs.filter((one) => Array.isArray(one) && one[0] === dex)
      const rows: unknown = told[0]?.[1]
      if (dex === MAIN_DEX && !Array.isArray(rows)) return rejected('bad_shape')
      // Of two groups of rows under one name, neither is known to be that dex's.
      const contexts =
        told.length === 1 && Array.isArray(rows)
          ? joinContexts(rows, universe, timeReceivedMs, drops)
          : undefined
      if (contexts !== undefined) events.push(...contexts)
      else {
        drops.push('context_length')
        misfits.push(dex)
      }
    }
    if (misfits.length === 0) return { kind: 'events', events, drops, channel: 'allDexsAssetCtxs' }
    return events.length === 0
      ? rejected('context_length')
      : { kind: 'events', events, drops, channel: 'allDexsAssetCtxs', misfits }
  }

  #marks(data: unknown, timeReceivedMs: number): Frame {
    if (typeof data !== 'string') return rejected('bad_shape')
    const json = inflatedText(data)
    if (json === null) return rejected('bad_compression')
    const marks = jsonIn(json)
    if (marks === undefined) return rejected('bad_compression')
    if (!isVenueObject(marks)) return rejected('bad_shape')
    const events: MarkEvent[] = []
    const unlisted: MarkEvent[] = []
    const drops: DropReason[] = []
    for (const [coin, row] of Object.entries(marks)) {
      const isListed = this.#coins.has(coin)
      if (!isListed && !isFollowedName(coin, this.#universes)) continue
      if (!isListed) drops.push('unknown_coin')
      const event = decodeMark(row, coin, timeReceivedMs, drops)
      if (event !== undefined) (isListed ? events : unlisted).push(event)
    }
    const found = unlisted.length > 0 && { unlisted }
    return { kind: 'events', events, drops, channel: 'fastAssetCtxs', ...found }
  }

  /** The echo is normalised by the venue, so only what we asked by is read from it. */
  #acknowledgement(data: unknown): Frame {
    if (!isVenueObject(data) || !isVenueObject(data.subscription)) return rejected('bad_shape')
    return data.method === 'subscribe'
      ? this.#subscribed('acknowledged', data.subscription)
      : IGNORED
  }

  #refusal(text: string): Frame {
    const subscription = text.startsWith(STANDING) ? jsonIn(text.slice(STANDING.length)) : undefined
    return isVenueObject(subscription) && typeof subscription.type === 'string'
      ? this.#subscribed('standing', subscription)
      : { kind: 'refused', text: text.slice(0, REFUSAL_LENGTH_MAX) }
  }

  #subscribed(
    kind: 'acknowledged' | 'standing',
    { type: channel, coin = null }: VenueObject,
  ): Frame {
    if (typeof channel !== 'string') return rejected('bad_shape')
    if (coin === null) return { kind, channel, coin }
    return typeof coin === 'string' && this.#coins.has(coin)
      ? { kind, channel, coin }
      : { kind: 'events', events: [], drops: ['unknown_coin'] }
  }
}

/** @returns undefined where it holds none. */
function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** @returns undefined, with the reason in `drops`, for a row that says nothing usable. */
type DecodeRow = (
  row: VenueObject,
  coin: string,
  timeReceivedMs: number,
  drops: DropReason[],
) => MarketEvent | undefined

function decodeTrade(
  row: VenueObject,
  coin: string,
  timeReceivedMs: number,
  drops: DropReason[],
): TradeEvent | undefined {
  const timeExchangeMs = timeMs(row.time, timeReceivedMs)
  if (timeExchangeMs === undefined) return dropped('bad_time', drops)
  const { tid: tradeId } = row
  if (typeof tradeId !== 'number' || !Number.isSafeInteger(tradeId) || tradeId < 0)
    return dropped('bad_trade_id', drops)
  const tradePrice = price(row.px)
  if (tradePrice === undefined) return dropped('bad_price', drops)
  const sizeBase = size(row.sz)
  if (sizeBase === undefined) return dropped('bad_size', drops)
  if (row.side !== 'A' && row.side !== 'B') return dropped('bad_side', drops)
  const users: readonly unknown[] = Array.isArray(row.users) ? row.users : []
  const buyer = address(users[0])
  const seller = address(users[1])
  return {
    kind: 'trade',
    coin,
    timeExchangeMs,
    timeReceivedMs,
    tradeId,
    takerSide: row.side === 'B' ? 'buy' : 'sell',
    price: tradePrice,
    sizeBase,
    // A trade counts whoever made it.
    ...(buyer === undefined || seller === undefined ? {} : { buyer, seller }),
  }
}

function decodeCandle(
  row: VenueObject,
  coin: string,
  timeReceivedMs: number,
  drops: DropReason[],
): CandleEvent | undefined {
  const timeframe = timeframes.find((name: Timeframe) => name === row.i)
  if (timeframe === undefined) return dropped('unknown_interval', drops)
  const bar = decodeBar(row, timeframe, timeReceivedMs, drops)
  if (bar === undefined) return undefined
  return { kind: 'candle', coin, timeExchangeMs: timeReceivedMs, timeReceivedMs, timeframe, bar }
}

/** A book with one bad level is a wrong book; the next frame brings all of it again. */
function decodeBook(
  row: VenueObject,
  coin: string,
  timeReceivedMs: number,
  drops: DropReason[],
): MarketEvent | undefined {
  const timeExchangeMs = timeMs(row.time, timeReceivedMs)
  if (timeExchangeMs === undefined) return dropped('bad_time', drops)
  const { levels } = row
  const bids = Array.isArray(levels) ? decodeSide(levels[0], (worse, best) => worse < best) : null
  const asks = Array.isArray(levels) ? decodeSide(levels[1], (worse, best) => worse > best) : null
  if (bids === null || asks === null || isCrossed(bids[0], asks[0]))
    return dropped('bad_book', drops)
  return { kind: 'book', coin, timeExchangeMs, timeReceivedMs, bids, asks }
}

function decodeTopOfBook(
  row: VenueObject,
  coin: string,
  timeReceivedMs: number,
  drops: DropReason[],
): TopOfBookEvent | undefined {
  const timeExchangeMs = timeMs(row.time, timeReceivedMs)
  if (timeExchangeMs === undefined) return dropped('bad_time', drops)
  const { bbo } = row
  if (!Array.isArray(bbo) || bbo.length !== 2) return dropped('bad_book', drops)
  const bid = bbo[0] === null ? null : decodeLevel(bbo[0])
  const ask = bbo[1] === null ? null : decodeLevel(bbo[1])
  if (bid === undefined || ask === undefined || isCrossed(bid, ask))
    return dropped('bad_book', drops)
  return { kind: 'top-of-book', coin, timeExchangeMs, timeReceivedMs, bid, ask }
}

function decodeActiveContext(
  row: VenueObject,
  coin: string,
  timeReceivedMs: number,
  drops: DropReason[],
): ContextEvent | undefined {
  return decodeContext(row.ctx, coin, timeReceivedMs, drops)
}

function decodeMark(
  row: unknown,
  coin: string,
  timeReceivedMs: number,
  drops: DropReason[],
): MarkEvent | undefined {
  if (!isVenueObject(row)) return dropped('bad_row', drops)
  const markPrice = price(row.markPx)
  const midPrice = row.midPx === null ? null : price(row.midPx)
  if (row.markPx !== undefined && markPrice === undefined) drops.push('bad_price')
  if (row.midPx !== undefined && midPrice === undefined) drops.push('bad_price')
  if (markPrice === undefined && midPrice === undefined) return undefined
  return {
    kind: 'mark',
    coin,
    timeExchangeMs: timeReceivedMs,
    timeReceivedMs,
    ...(markPrice === undefined ? {} : { markPrice }),
    ...(midPrice === undefined ? {} : { midPrice }),
  }
}

/** @returns null unless every level is sound and worse than the one before it. */
function decodeSide(
  levels: unknown,
  isWorse: (price: number, best: number) => boolean,
): readonly BookLevel[] | null {
  if (!Array.isArray(levels) || levels.length > LEVELS_PER_SIDE_MAX) return null
  const side: BookLevel[] = []
  for (const row of levels) {
    const level = decodeLevel(row)
    const previous = side.at(-1)
    if (level === undefined || (previous && !isWorse(level.price, previous.price))) return null
    side.push(level)
  }
  return side
}

function decodeLevel(row: unknown): BookLevel | undefined {
  if (!isVenueObject(row)) return undefined
  const levelPrice = price(row.px)
  const sizeBase = size(row.sz)
  return levelPrice === undefined || sizeBase === undefined
    ? undefined
    : { price: levelPrice, sizeBase }
}

function isCrossed(bid: BookLevel | null | undefined, ask: BookLevel | null | undefined): boolean {
  return bid != null && ask != null && bid.price >= ask.price
}

function dropped(reason: DropReason, drops: DropReason[]): undefined {
  drops.push(reason)
  return undefined
}
