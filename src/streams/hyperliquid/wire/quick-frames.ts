import type { Batch, BookLevel, TradeEvent } from '../../../domain/event.ts'
import type { Timeframe } from '../../../domain/timeframe.ts'
import { timeframes } from '../../../domain/timeframe.ts'
import { checkedBar } from './candles.ts'
import {
  COMMA,
  charactersOf,
  codeOf,
  FrameReader,
  LEFT_BRACE,
  LEFT_BRACKET,
  NO_NAME,
  RIGHT_BRACE,
  RIGHT_BRACKET,
} from './frame-reader.ts'
import { readContext } from './quick-contexts.ts'
import { AMOUNT_MAX, isAmount, isPrice, timeMs } from './values.ts'

/**
 * The channels of single coins, which make nearly all of the traffic, read in place: `JSON.parse` would first
 * make strings and objects of hashes, addresses and numbers that nobody wants, and costs more than all that
 * is done with the rest. It reads only what is flawless and without surprise; to anything else it says
 * null, and `FrameDecoder` looks at the frame the long way. Where it answers, both answer the same.
 *
 * @param coins those that are listed, each by itself: an event names its coin by this very string, which maps find
 * sooner than one that was cut from the frame
 * @returns the events of a whole frame; null for a frame that has to be read the long way
 */
export function readQuickly(
  text: string,
  coins: ReadonlyMap<string, string>,
  timeReceivedMs: number,
): Batch | null {
  const channel = channelsByLetter.get(text.charCodeAt(LETTER_AT))
  if (channel === undefined || !text.startsWith(channel.start)) return null
  const { start, read } = channel
  const reader = FrameReader.of(text, start.length)
  if (reader === null) return null
  const events = read(reader, coins, timeReceivedMs)
  return reader.isEnd() ? events : null
}

const COIN = codeOf('coin')
const TIME = codeOf('time')
const PX = codeOf('px')
const SZ = codeOf('sz')
const SIDE = codeOf('side')
const TID = codeOf('tid')
const USERS = codeOf('users')
const LEVELS = codeOf('levels')
const BBO = codeOf('bbo')
const CTX = codeOf('ctx')
const S = codeOf('s')
const I = codeOf('i')
const T = codeOf('t')
const O = codeOf('o')
const H = codeOf('h')
const L = codeOf('l')
const C = codeOf('c')
const V = codeOf('v')
const BOUGHT = codeOf('B')
const SOLD = codeOf('A')
const timeframeOf = new Map<number, Timeframe>(timeframes.map((name) => [codeOf(name), name]))

const LEVELS_PER_SIDE_MAX = 100
const LEVEL_PRICE = charactersOf('{"px":')
const LEVEL_SIZE = charactersOf(',"sz":')
const LEVEL_ORDERS = charactersOf(',"n":')

type Channel = {
  /** Of its frames. */
  readonly start: string
  readonly read: (
    reader: FrameReader,
    coins: ReadonlyMap<string, string>,
    timeReceivedMs: number,
  ) => Batch | null
}

const channels: readonly Channel[] = [
  { start: '{"channel":"trades","data":[', read: readTrades },
  { start: '{"channel":"candle","data":{', read: readCandle },
  { start: '{"channel":"l2Book","data":{', read: readBook },
  { start: '{"channel":"bbo","data":{', read: readTopOfBook },
  { start: '{"channel":"activeAssetCtx","data":{', read: readActiveContext },
]

/** No two of their names begin with the same letter. */
const LETTER_AT = '{"channel":"'.length
const channelsByLetter = new Map(
  channels.map((channel) => [channel.start.charCodeAt(LETTER_AT), channel]),
)

function readTrades(
  reader: FrameReader,
  coins: ReadonlyMap<string, string>,
  timeReceivedMs: number,
): Batch | null {
  const trades: TradeEvent[] = []
  do {
    const trade = readTrade(reader, coins, timeReceivedMs)
    if (trade === null) return null
    trades.push(trade)
  } while (reader.skip(COMMA))
  return reader.skip(RIGHT_BRACKET) ? trades : null
}

function readTrade(
  reader: FrameReader,
  coins: ReadonlyMap<string, string>,
  timeReceivedMs: number,
): TradeEvent | null {
  if (!reader.skip(LEFT_BRACE)) return null
  let coin: string | undefined
  let side = 0
  let price = Number.NaN
  let sizeBase = Number.NaN
  let timeExchangeMs = Number.NaN
  let tradeId = Number.NaN
  let buyer = ''
  let seller = ''
  do {
    switch (reader.name()) {
      case COIN:
        coin = coins.get(reader.string())
        break
      case SIDE:
        side = reader.word()
        break
      case PX:
        price = reader.decimal()
        break
      case SZ:
        sizeBase = reader.decimal()
        break
      case TIME:
        timeExchangeMs = reader.integer()
        break
      case TID:
        tradeId = reader.integer()
        break
      case USERS:
        if (!reader.skip(LEFT_BRACKET)) return null
        buyer = reader.address()
        if (!reader.skip(COMMA)) return null
        seller = reader.address()
        if (!reader.skip(RIGHT_BRACKET)) return null
        break
      case NO_NAME:
        return null
      default:
        reader.skipValue()
    }
  } while (reader.skip(COMMA))
  const isWhole =
    reader.skip(RIGHT_BRACE) &&
    (side === SOLD || side === BOUGHT) &&
    isPrice(price) &&
    isSize(sizeBase) &&
    tradeId >= 0 &&
    timeMs(timeExchangeMs, timeReceivedMs) !== undefined
  if (!isWhole || coin === undefined) return null
  const kind = 'trade'
  const takerSide = side === BOUGHT ? 'buy' : 'sell'
  // Each written out: to spread one into the other makes the whole frame six times as dear.
  return buyer === ''
    ? { kind, coin, timeExchangeMs, timeReceivedMs, tradeId, takerSide, price, sizeBase }
    : {
        kind,
        coin,
        timeExchangeMs,
        timeReceivedMs,
        tradeId,
        takerSide,
        price,
        sizeBase,
        buyer,
        seller,
      }
}

function readCandle(
  reader: FrameReader,
  coins: ReadonlyMap<string, string>,
  timeReceivedMs: number,
): Batch | null {
  let coin: string | undefined
  let timeframe: Timeframe | undefined
  let openTimeMs = Number.NaN
  let open = Number.NaN
  let high = Number.NaN
  let low = Number.NaN
  let close = Number.NaN
  let volumeBase = Number.NaN
  do {
    switch (reader.name()) {
      case S:
        coin = coins.get(reader.string())
        break
      case I:
        timeframe = timeframeOf.get(reader.word())
        break
      case T:
        openTimeMs = reader.integer()
        break
      case O:
        open = reader.decimal()
        break
      case H:
        high = reader.decimal()
        break
      case L:
        low = reader.decimal()
        break
      case C:
        close = reader.decimal()
        break
      case V:
        volumeBase = reader.decimal()
        break
      // It would be taken for the coin.
      case COIN:
      case NO_NAME:
        return null
      default:
        reader.skipValue()
    }
  } while (reader.skip(COMMA))
  const isWhole =
    reader.skip(RIGHT_BRACE) &&
    isPrice(open) &&
    isPrice(high) &&
    isPrice(low) &&
    isPrice(close) &&
    isAmount(volumeBase) &&
    timeMs(openTimeMs, timeReceivedMs) !== undefined
  if (!isWhole || coin === undefined || timeframe === undefined) return null
  const bar = checkedBar({ openTimeMs, open, high, low, close, volumeBase }, timeframe)
  if (typeof bar === 'string') return null
  return [{ kind: 'candle', coin, timeExchangeMs: timeReceivedMs, timeReceivedMs, timeframe, bar }]
}

function readBook(
  reader: FrameReader,
  coins: ReadonlyMap<string, string>,
  timeReceivedMs: number,
): Batch | null {
  const quotes = readQuotes(reader, coins, LEVELS, readSide)
  if (quotes === null || timeMs(quotes.timeExchangeMs, timeReceivedMs) === undefined) return null
  const { coin, timeExchangeMs, bid: bids, ask: asks } = quotes
  const [bid] = bids
  const [ask] = asks
  if (bid !== undefined && ask !== undefined && bid.price >= ask.price) return null
  return [{ kind: 'book', coin, timeExchangeMs, timeReceivedMs, bids, asks }]
}

/** Without an empty side: the long way reads that. */
function readTopOfBook(
  reader: FrameReader,
  coins: ReadonlyMap<string, string>,
  timeReceivedMs: number,
): Batch | null {
  const quotes = readQuotes(reader, coins, BBO, readLevel)
  if (quotes === null || timeMs(quotes.timeExchangeMs, timeReceivedMs) === undefined) return null
  const { coin, timeExchangeMs, bid, ask } = quotes
  if (bid.price >= ask.price) return null
  return [{ kind: 'top-of-book', coin, timeExchangeMs, timeReceivedMs, bid, ask }]
}

type Quotes<Side> = {
  readonly coin: string
  readonly timeExchangeMs: number
  readonly bid: Side
  readonly ask: Side
}

/** @param sides the member that holds first what is bid, and then what is asked */
function readQuotes<Side>(
  reader: FrameReader,
  coins: ReadonlyMap<string, string>,
  sides: number,
  read: (reader: FrameReader, direction: 1 | -1) => Side | null,
): Quotes<Side> | null {
  let coin: string | undefined
  let timeExchangeMs = Number.NaN
  let bid: Side | null = null
  let ask: Side | null = null
  do {
    switch (reader.name()) {
      case COIN:
        coin = coins.get(reader.string())
        break
      case TIME:
        timeExchangeMs = reader.integer()
        break
      case sides:
        if (!reader.skip(LEFT_BRACKET)) return null
        bid = read(reader, -1)
        if (bid === null || !reader.skip(COMMA)) return null
        ask = read(reader, 1)
        if (ask === null || !reader.skip(RIGHT_BRACKET)) return null
        break
      case NO_NAME:
        return null
      default:
        reader.skipValue()
    }
  } while (reader.skip(COMMA))
  if (!reader.skip(RIGHT_BRACE) || coin === undefined || bid === null || ask === null) return null
  return { coin, timeExchangeMs, bid, ask }
}

function readActiveContext(
  reader: FrameReader,
  coins: ReadonlyMap<string, string>,
  timeReceivedMs: number,
): Batch | null {
  // A coin that follows its context is no venue's of ours.
  if (reader.name() !== COIN) return null
  const coin = coins.get(reader.string())
  if (coin === undefined || !reader.skip(COMMA) || reader.name() !== CTX) return null
  const context = readContext(reader, coin, timeReceivedMs)
  return context !== null && reader.skip(RIGHT_BRACE) ? [context] : null
}

/** @param direction of the prices, from the best on: -1 for bids, 1 for asks */
function readSide(reader: FrameReader, direction: 1 | -1): readonly BookLevel[] | null {
  if (!reader.skip(LEFT_BRACKET)) return null
  if (reader.skip(RIGHT_BRACKET)) return []
  const side: BookLevel[] = []
  let best = Number.NaN
  do {
    const level = readLevel(reader)
    if (level === null || side.length === LEVELS_PER_SIDE_MAX) return null
    if ((level.price - best) * direction <= 0) return null
    best = level.price
    side.push(level)
  } while (reader.skip(COMMA))
  return reader.skip(RIGHT_BRACKET) ? side : null
}

/** There are forty of them in a book: their members are taken in the order alone that the venue gives them. */
function readLevel(reader: FrameReader): BookLevel | null {
  if (!reader.skipText(LEVEL_PRICE)) return null
  const price = reader.decimal()
  if (!reader.skipText(LEVEL_SIZE)) return null
  const sizeBase = reader.decimal()
  if (!reader.skipText(LEVEL_ORDERS)) return null
  reader.integer()
  const isWhole = reader.skip(RIGHT_BRACE) && isPrice(price) && isSize(sizeBase)
  return isWhole ? { price, sizeBase } : null
}

function isSize(value: number): boolean {
  return value > 0 && value <= AMOUNT_MAX
}
