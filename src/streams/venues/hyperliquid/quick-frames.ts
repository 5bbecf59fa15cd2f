import type { Batch, BookLevel, TradeEvent } from '../../../domain/event.ts'
import type { Timeframe } from '../../../domain/timeframe.ts'
import { timeframes } from '../../../domain/timeframe.ts'
import { barOf } from './bars.ts'
import { AMOUNT_MAX, PRICE_MAX, timeMs } from './wire.ts'

/**
 * The four channels that make nearly all of the traffic, read in place: `JSON.parse` would first make
 * strings and objects of hashes, addresses and numbers that nobody wants, and costs more than all that
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
  for (const { start, read } of channels) {
    if (!text.startsWith(start)) continue
    if (!take(text)) return null
    const reader = new Reader(text, start.length)
    const events = read(reader, coins, timeReceivedMs)
    return reader.isEnd() ? events : null
  }
  return null
}

/** What no frame holds: the reader loses its way there. */
const END = 0
const QUOTE = 0x22
const COMMA = 0x2c
const DOT = 0x2e
const ZERO = 0x30
const NINE = 0x39
const COLON = 0x3a
const LEFT_BRACKET = 0x5b
const BACKSLASH = 0x5c
const RIGHT_BRACKET = 0x5d
const LEFT_BRACE = 0x7b
const RIGHT_BRACE = 0x7d
const SPACE = 0x20
const SMALL_A = 0x61
const SMALL_F = 0x66

/** ASCII characters of a word that its code tells exactly: 7 bits each. */
const CODED_LENGTH_MAX = 7
const CHARACTER_CODES = 128

/** A short word as a number: comparing those costs a fraction of comparing strings that were cut from the frame. */
function codeOf(word: string): number {
  let code = 0
  for (let at = 0; at < word.length; at += 1) code = code * CHARACTER_CODES + word.charCodeAt(at)
  return code
}

/** A longer word. */
const OTHER = -1
const NO_NAME = codeOf('')
const COIN = codeOf('coin')
const TIME = codeOf('time')
const PX = codeOf('px')
const SZ = codeOf('sz')
const SIDE = codeOf('side')
const TID = codeOf('tid')
const USERS = codeOf('users')
const LEVELS = codeOf('levels')
const BBO = codeOf('bbo')
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

/** Digits that a double holds exactly: of more, only `Number` knows the nearest. */
const EXACT_DIGITS = 15
const POWERS_OF_TEN = Array.from({ length: EXACT_DIGITS + 1 }, (_, exponent) => 10 ** exponent)
const LEVELS_PER_SIDE_MAX = 100
/** `0x` and forty digits. */
const ADDRESS_LENGTH = 42
const DEPTH_MAX = 4

type Channel = {
  /** Of its frames. */
  readonly start: string
  readonly read: (
    reader: Reader,
    coins: ReadonlyMap<string, string>,
    timeReceivedMs: number,
  ) => Batch | null
}

const channels: readonly Channel[] = [
  { start: '{"channel":"trades","data":[', read: readTrades },
  { start: '{"channel":"candle","data":{', read: readCandle },
  { start: '{"channel":"l2Book","data":{', read: readBook },
  { start: '{"channel":"bbo","data":{', read: readTopOfBook },
]

/** The characters of the frame that is read now, and a zero: looked up sooner here than in a string. */
const characters = Buffer.alloc(64 * 1024)

/** @returns false for a frame that is too long, or not of ASCII characters alone */
function take(text: string): boolean {
  if (text.length >= characters.length || Buffer.byteLength(text) !== text.length) return false
  characters.write(text, 'latin1')
  characters[text.length] = END
  return true
}

function characterAt(at: number): number {
  return characters[at] as number
}

function readTrades(
  reader: Reader,
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
  reader: Reader,
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
        reader.skipValue(DEPTH_MAX)
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
  reader: Reader,
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
        reader.skipValue(DEPTH_MAX)
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
  const bar = barOf({ openTimeMs, open, high, low, close, volumeBase }, timeframe)
  if (typeof bar === 'string') return null
  const stamp = { timeExchangeMs: timeReceivedMs, timeReceivedMs }
  return [{ kind: 'candle', coin, ...stamp, timeframe, bar }]
}

function readBook(
  reader: Reader,
  coins: ReadonlyMap<string, string>,
  timeReceivedMs: number,
): Batch | null {
  let coin: string | undefined
  let timeExchangeMs = Number.NaN
  let bids: readonly BookLevel[] | null = null
  let asks: readonly BookLevel[] | null = null
  do {
    switch (reader.name()) {
      case COIN:
        coin = coins.get(reader.string())
        break
      case TIME:
        timeExchangeMs = reader.integer()
        break
      case LEVELS:
        if (!reader.skip(LEFT_BRACKET)) return null
        bids = readSide(reader, -1)
        if (!reader.skip(COMMA)) return null
        asks = readSide(reader, 1)
        if (!reader.skip(RIGHT_BRACKET)) return null
        break
      case NO_NAME:
        return null
      default:
        reader.skipValue(DEPTH_MAX)
    }
  } while (reader.skip(COMMA))
  const isWhole = reader.skip(RIGHT_BRACE) && timeMs(timeExchangeMs, timeReceivedMs) !== undefined
  if (!isWhole || coin === undefined || bids === null || asks === null) return null
  const [bid] = bids
  const [ask] = asks
  if (bid !== undefined && ask !== undefined && bid.price >= ask.price) return null
  return [{ kind: 'book', coin, timeExchangeMs, timeReceivedMs, bids, asks }]
}

/** Without an empty side: the long way reads that. */
function readTopOfBook(
  reader: Reader,
  coins: ReadonlyMap<string, string>,
  timeReceivedMs: number,
): Batch | null {
  let coin: string | undefined
  let timeExchangeMs = Number.NaN
  let bid: BookLevel | null = null
  let ask: BookLevel | null = null
  do {
    switch (reader.name()) {
      case COIN:
        coin = coins.get(reader.string())
        break
      case TIME:
        timeExchangeMs = reader.integer()
        break
      case BBO:
        if (!reader.skip(LEFT_BRACKET)) return null
        bid = readLevel(reader)
        if (!reader.skip(COMMA)) return null
        ask = readLevel(reader)
        if (!reader.skip(RIGHT_BRACKET)) return null
        break
      case NO_NAME:
        return null
      default:
        reader.skipValue(DEPTH_MAX)
    }
  } while (reader.skip(COMMA))
  const isWhole = reader.skip(RIGHT_BRACE) && timeMs(timeExchangeMs, timeReceivedMs) !== undefined
  if (!isWhole || coin === undefined || bid === null || ask === null) return null
  if (bid.price >= ask.price) return null
  return [{ kind: 'top-of-book', coin, timeExchangeMs, timeReceivedMs, bid, ask }]
}

/** @param direction of the prices, from the best on: -1 for bids, 1 for asks */
function readSide(reader: Reader, direction: 1 | -1): readonly BookLevel[] | null {
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

function readLevel(reader: Reader): BookLevel | null {
  if (!reader.skip(LEFT_BRACE)) return null
  let price = Number.NaN
  let sizeBase = Number.NaN
  do {
    switch (reader.name()) {
      case PX:
        price = reader.decimal()
        break
      case SZ:
        sizeBase = reader.decimal()
        break
      case NO_NAME:
        return null
      default:
        reader.skipValue(DEPTH_MAX)
    }
  } while (reader.skip(COMMA))
  const isWhole = reader.skip(RIGHT_BRACE) && isPrice(price) && isSize(sizeBase)
  return isWhole ? { price, sizeBase } : null
}

function isLowerHex(from: number, to: number): boolean {
  for (let at = from; at < to; at += 1) {
    const code = characterAt(at)
    const isDigit = code >= ZERO && code <= NINE
    if (!isDigit && !(code >= SMALL_A && code <= SMALL_F)) return false
  }
  return true
}

function isPrice(value: number): boolean {
  return value > 0 && value <= PRICE_MAX
}

function isAmount(value: number): boolean {
  return value >= 0 && value <= AMOUNT_MAX
}

function isSize(value: number): boolean {
  return value > 0 && value <= AMOUNT_MAX
}

/**
 * Compact JSON, read from left to right. After anything that it does not take it stands still for good,
 * so that a caller may ask at the end alone.
 */
class Reader {
  readonly #text: string
  #at: number
  #isLost = false

  /** @param text the one that was taken */
  constructor(text: string, at: number) {
    this.#text = text
    this.#at = at
  }

  skip(code: number): boolean {
    if (this.#isLost || characterAt(this.#at) !== code) return false
    this.#at += 1
    return true
  }

  /** Whether the frame ends here, as it should, and nothing in it was strange. */
  isEnd(): boolean {
    return this.skip(RIGHT_BRACE) && this.#at === this.#text.length
  }

  /** The code of the next member's name, after the colon behind it; {@link NO_NAME} where there is none. */
  name(): number {
    const name = this.word()
    return this.skip(COLON) ? name : NO_NAME
  }

  /** The code of a string without escapes; {@link OTHER} where it has none. */
  word(): number {
    const from = this.#at + 1
    if (!this.#skipString()) return NO_NAME
    const to = this.#at - 1
    if (to - from > CODED_LENGTH_MAX) return OTHER
    let code = 0
    for (let at = from; at < to; at += 1) {
      code = code * CHARACTER_CODES + characterAt(at)
    }
    return code
  }

  /** A string without escapes. */
  string(): string {
    const from = this.#at + 1
    return this.#skipString() ? this.#text.slice(from, this.#at - 1) : ''
  }

  /** A string that holds an address, in lower case. */
  address(): string {
    const text = this.#text
    const from = this.#at + 1
    const to = from + ADDRESS_LENGTH
    const isFramed = this.skip(QUOTE) && characterAt(to) === QUOTE
    if (!isFramed || !text.startsWith('0x', from) || !isLowerHex(from + 2, to)) {
      this.#lose()
      return ''
    }
    this.#at = to + 1
    return text.slice(from, to)
  }

  /** A string that holds a plain decimal, at most as long as a double is exact. */
  decimal(): number {
    if (!this.skip(QUOTE)) return this.#lose()
    let at = this.#at
    let mantissa = 0
    let digits = 0
    let decimals = 0
    let code = characterAt(at)
    for (; code >= ZERO && code <= NINE; code = characterAt(++at)) {
      mantissa = mantissa * 10 + (code - ZERO)
      digits += 1
    }
    if (code === DOT && digits > 0) {
      code = characterAt(++at)
      for (; code >= ZERO && code <= NINE; code = characterAt(++at)) {
        mantissa = mantissa * 10 + (code - ZERO)
        decimals += 1
      }
      if (decimals === 0) return this.#lose()
    }
    digits += decimals
    if (code !== QUOTE || digits === 0 || digits > EXACT_DIGITS) return this.#lose()
    this.#at = at + 1
    // Both are exact, so their quotient is the double nearest to the decimal.
    return decimals === 0 ? mantissa : mantissa / (POWERS_OF_TEN[decimals] as number)
  }

  /** A non-negative integer. */
  integer(): number {
    const from = this.#at
    let at = from
    let value = 0
    let code = characterAt(at)
    for (; code >= ZERO && code <= NINE; code = characterAt(++at))
      value = value * 10 + (code - ZERO)
    const digits = at - from
    const isPadded = digits > 1 && characterAt(from) === ZERO
    const isExact = digits > 0 && value <= Number.MAX_SAFE_INTEGER
    if (this.#isLost || !isExact || isPadded) return this.#lose()
    this.#at = at
    return value
  }

  /** A string, a non-negative integer, or an array of such. */
  skipValue(depth: number): void {
    const code = characterAt(this.#at)
    if (code === QUOTE) this.#skipString()
    else if (code !== LEFT_BRACKET) this.integer()
    else if (depth === 0) this.#lose()
    else {
      this.#at += 1
      if (this.skip(RIGHT_BRACKET)) return
      do this.skipValue(depth - 1)
      while (this.skip(COMMA))
      if (!this.skip(RIGHT_BRACKET)) this.#lose()
    }
  }

  #skipString(): boolean {
    if (!this.skip(QUOTE)) return this.#lose() === 0
    let at = this.#at
    let code = characterAt(at)
    while (code !== QUOTE) {
      if (code < SPACE || code === BACKSLASH) return this.#lose() === 0
      code = characterAt(++at)
    }
    this.#at = at + 1
    return true
  }

  #lose(): number {
    this.#isLost = true
    return Number.NaN
  }
}
