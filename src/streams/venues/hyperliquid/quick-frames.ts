import type { Batch, BookLevel, MarketEvent, TradeEvent } from '../../../domain/event.ts'
import type { Timeframe } from '../../../domain/timeframe.ts'
import { timeframes } from '../../../domain/timeframe.ts'
import { barOf } from './bars.ts'
import { AMOUNT_MAX, PRICE_MAX, timeMs } from './wire.ts'

/**
 * The three channels that make nine tenths of the traffic, read in place: `JSON.parse` would first make
 * strings and objects of hashes, addresses and numbers that nobody wants, and costs more than all that
 * is done with the rest. It reads only what is flawless and without surprise; to anything else it says
 * null, and `FrameDecoder` looks at the frame the long way. Where it answers, both answer the same.
 *
 * @returns the events of a whole frame; null for a frame that has to be read the long way
 */
export function readQuickly(
  text: string,
  coins: ReadonlySet<string>,
  timeReceivedMs: number,
): Batch | null {
  const reader = new Reader(text)
  if (reader.skipText('{"channel":"trades","data":['))
    return reader.isEndAfter(readTrades(reader, coins, timeReceivedMs))
  if (reader.skipText('{"channel":"candle","data":{'))
    return reader.isEndAfter(readCandle(reader, coins, timeReceivedMs))
  if (reader.skipText('{"channel":"l2Book","data":{'))
    return reader.isEndAfter(readBook(reader, coins, timeReceivedMs))
  return null
}

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

/** Digits that a double holds exactly: of more, only `Number` knows the nearest. */
const EXACT_DIGITS = 15
const POWERS_OF_TEN = Array.from({ length: EXACT_DIGITS + 1 }, (_, exponent) => 10 ** exponent)
const LEVELS_PER_SIDE_MAX = 100
/** `0x` and forty digits. */
const ADDRESS_LENGTH = 42
const DEPTH_MAX = 4

type Writable<T> = { -readonly [Name in keyof T]: T[Name] }

function readTrades(
  reader: Reader,
  coins: ReadonlySet<string>,
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
  coins: ReadonlySet<string>,
  timeReceivedMs: number,
): TradeEvent | null {
  if (!reader.skip(LEFT_BRACE)) return null
  let coin = ''
  let side = ''
  let price = Number.NaN
  let sizeBase = Number.NaN
  let timeExchangeMs = Number.NaN
  let tradeId = Number.NaN
  let buyer = ''
  let seller = ''
  do {
    switch (reader.name()) {
      case 'coin':
        coin = reader.string()
        break
      case 'side':
        side = reader.string()
        break
      case 'px':
        price = reader.decimal()
        break
      case 'sz':
        sizeBase = reader.decimal()
        break
      case 'time':
        timeExchangeMs = reader.integer()
        break
      case 'tid':
        tradeId = reader.integer()
        break
      case 'users':
        if (!reader.skip(LEFT_BRACKET)) return null
        buyer = reader.address()
        if (!reader.skip(COMMA)) return null
        seller = reader.address()
        if (!reader.skip(RIGHT_BRACKET)) return null
        break
      case '':
        return null
      default:
        reader.skipValue(DEPTH_MAX)
    }
  } while (reader.skip(COMMA))
  const isWhole =
    reader.skip(RIGHT_BRACE) &&
    coins.has(coin) &&
    (side === 'A' || side === 'B') &&
    isPrice(price) &&
    isSize(sizeBase) &&
    tradeId >= 0 &&
    timeMs(timeExchangeMs, timeReceivedMs) !== undefined
  if (!isWhole) return null
  const trade: Writable<TradeEvent> = {
    kind: 'trade',
    coin,
    timeExchangeMs,
    timeReceivedMs,
    tradeId,
    takerSide: side === 'B' ? 'buy' : 'sell',
    price,
    sizeBase,
  }
  // Not spread: that makes the whole frame six times as dear.
  if (buyer !== '') {
    trade.buyer = buyer
    trade.seller = seller
  }
  return trade
}

function readCandle(
  reader: Reader,
  coins: ReadonlySet<string>,
  timeReceivedMs: number,
): Batch | null {
  let coin = ''
  let interval = ''
  let openTimeMs = Number.NaN
  let open = Number.NaN
  let high = Number.NaN
  let low = Number.NaN
  let close = Number.NaN
  let volumeBase = Number.NaN
  do {
    switch (reader.name()) {
      case 's':
        coin = reader.string()
        break
      case 'i':
        interval = reader.string()
        break
      case 't':
        openTimeMs = reader.integer()
        break
      case 'o':
        open = reader.decimal()
        break
      case 'h':
        high = reader.decimal()
        break
      case 'l':
        low = reader.decimal()
        break
      case 'c':
        close = reader.decimal()
        break
      case 'v':
        volumeBase = reader.decimal()
        break
      // It would be taken for the coin.
      case 'coin':
      case '':
        return null
      default:
        reader.skipValue(DEPTH_MAX)
    }
  } while (reader.skip(COMMA))
  const timeframe = timeframes.find((name: Timeframe) => name === interval)
  const isWhole =
    reader.skip(RIGHT_BRACE) &&
    timeframe !== undefined &&
    coins.has(coin) &&
    isPrice(open) &&
    isPrice(high) &&
    isPrice(low) &&
    isPrice(close) &&
    isAmount(volumeBase) &&
    timeMs(openTimeMs, timeReceivedMs) !== undefined
  if (!isWhole) return null
  const bar = barOf({ openTimeMs, open, high, low, close, volumeBase }, timeframe)
  if (typeof bar === 'string') return null
  const stamp = { timeExchangeMs: timeReceivedMs, timeReceivedMs }
  return [{ kind: 'candle', coin, ...stamp, timeframe, bar }]
}

function readBook(
  reader: Reader,
  coins: ReadonlySet<string>,
  timeReceivedMs: number,
): Batch | null {
  let coin = ''
  let timeExchangeMs = Number.NaN
  let bids: readonly BookLevel[] | null = null
  let asks: readonly BookLevel[] | null = null
  do {
    switch (reader.name()) {
      case 'coin':
        coin = reader.string()
        break
      case 'time':
        timeExchangeMs = reader.integer()
        break
      case 'levels':
        if (!reader.skip(LEFT_BRACKET)) return null
        bids = readSide(reader, -1)
        if (!reader.skip(COMMA)) return null
        asks = readSide(reader, 1)
        if (!reader.skip(RIGHT_BRACKET)) return null
        break
      case '':
        return null
      default:
        reader.skipValue(DEPTH_MAX)
    }
  } while (reader.skip(COMMA))
  const isWhole =
    reader.skip(RIGHT_BRACE) &&
    coins.has(coin) &&
    timeMs(timeExchangeMs, timeReceivedMs) !== undefined
  if (!isWhole || bids === null || asks === null) return null
  const [bid] = bids
  const [ask] = asks
  if (bid !== undefined && ask !== undefined && bid.price >= ask.price) return null
  return [{ kind: 'book', coin, timeExchangeMs, timeReceivedMs, bids, asks }]
}

/** @param direction of the prices, from the best on: -1 for bids, 1 for asks */
function readSide(reader: Reader, direction: 1 | -1): readonly BookLevel[] | null {
  if (!reader.skip(LEFT_BRACKET)) return null
  if (reader.skip(RIGHT_BRACKET)) return []
  const side: BookLevel[] = []
  let best = Number.NaN
  do {
    if (!reader.skip(LEFT_BRACE)) return null
    let price = Number.NaN
    let sizeBase = Number.NaN
    do {
      switch (reader.name()) {
        case 'px':
          price = reader.decimal()
          break
        case 'sz':
          sizeBase = reader.decimal()
          break
        case '':
          return null
        default:
          reader.skipValue(DEPTH_MAX)
      }
    } while (reader.skip(COMMA))
    if (!reader.skip(RIGHT_BRACE) || !isPrice(price) || !isSize(sizeBase)) return null
    if ((price - best) * direction <= 0 || side.length === LEVELS_PER_SIDE_MAX) return null
    best = price
    side.push({ price, sizeBase })
  } while (reader.skip(COMMA))
  return reader.skip(RIGHT_BRACKET) ? side : null
}

function isLowerHex(text: string, from: number, to: number): boolean {
  for (let at = from; at < to; at += 1) {
    const code = text.charCodeAt(at)
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
  #at = 0
  #isLost = false

  constructor(text: string) {
    this.#text = text
  }

  skipText(expected: string): boolean {
    if (!this.#text.startsWith(expected, this.#at)) return false
    this.#at += expected.length
    return true
  }

  skip(code: number): boolean {
    if (this.#isLost || this.#text.charCodeAt(this.#at) !== code) return false
    this.#at += 1
    return true
  }

  /** What was read, when the frame ends where it should and nothing in it was strange. */
  isEndAfter(events: readonly MarketEvent[] | null): Batch | null {
    const isEnd = this.skip(RIGHT_BRACE) && this.#at === this.#text.length
    return isEnd ? events : null
  }

  /** The name of the next member, and the colon behind it; empty where there is none. */
  name(): string {
    const name = this.string()
    return this.skip(COLON) ? name : ''
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
    const isFramed = this.skip(QUOTE) && text.charCodeAt(to) === QUOTE
    if (!isFramed || !text.startsWith('0x', from) || !isLowerHex(text, from + 2, to)) {
      this.#lose()
      return ''
    }
    this.#at = to + 1
    return text.slice(from, to)
  }

  /** A string that holds a plain decimal, at most as long as a double is exact. */
  decimal(): number {
    if (!this.skip(QUOTE)) return this.#lose()
    const text = this.#text
    let at = this.#at
    let mantissa = 0
    let digits = 0
    let decimals = 0
    let code = text.charCodeAt(at)
    for (; code >= ZERO && code <= NINE; code = text.charCodeAt(++at)) {
      mantissa = mantissa * 10 + (code - ZERO)
      digits += 1
    }
    if (code === DOT && digits > 0) {
      code = text.charCodeAt(++at)
      for (; code >= ZERO && code <= NINE; code = text.charCodeAt(++at)) {
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
    const text = this.#text
    const from = this.#at
    let at = from
    let value = 0
    let code = text.charCodeAt(at)
    for (; code >= ZERO && code <= NINE; code = text.charCodeAt(++at))
      value = value * 10 + (code - ZERO)
    const digits = at - from
    const isPadded = digits > 1 && text.charCodeAt(from) === ZERO
    const isExact = digits > 0 && value <= Number.MAX_SAFE_INTEGER
    if (this.#isLost || !isExact || isPadded) return this.#lose()
    this.#at = at
    return value
  }

  /** A string, a non-negative integer, or an array of such. */
  skipValue(depth: number): void {
    const code = this.#text.charCodeAt(this.#at)
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
    const text = this.#text
    let at = this.#at
    let code = text.charCodeAt(at)
    while (code !== QUOTE) {
      // The end of the text, which is NaN, is neither.
      if (!(code >= SPACE) || code === BACKSLASH) return this.#lose() === 0
      code = text.charCodeAt(++at)
    }
    this.#at = at + 1
    return true
  }

  #lose(): number {
    this.#isLost = true
    return Number.NaN
  }
}
