import type { ExchangeFrame, Wire } from './exchange-frame.ts'
import {
  ALIVE,
  bestLevel,
  isWire,
  parseObject,
  quoteOf,
  quotesOf,
  undecodable,
  wordsOf,
} from './exchange-frame.ts'
import { renamed } from './products.ts'
import type { ExchangeProtocol } from './protocol.ts'

const CHANNEL = 'bbo-tbt'
/** Closed by the exchange for an upgrade, in a moment. */
const CLOSING_NOTICE = '64008'

/** OKX v5, channel `bbo-tbt`: changes of the best level every 10 ms. Each product is answered by itself. */
export const okx: ExchangeProtocol = {
  exchange: 'okx',
  naming: {
    join: (base, quote) => `${base}-${quote}`,
    quote: 'USDT',
    inUsdc: ['BTC', 'ETH'],
    stable: [['USDC', 'USDT']],
    aliases: renamed,
  },
  path: '',
  opening: [],
  ping: 'ping',
  batchMax: 50,
  isBatchAtomic: false,
  subscribe: (products) =>
    JSON.stringify({
      op: 'subscribe',
      args: products.map((product) => ({ channel: CHANNEL, instId: product })),
    }),
  decode: decodeOkx,
}

const UNKNOWN_INSTRUMENT = /instId:(\S+) doesn't exist/

function decodeOkx(text: string): ExchangeFrame {
  if (text === 'pong') return ALIVE
  const message = parseObject(text)
  if (message === null) return undecodable('not_json')
  const { event, arg, data } = message
  const instrument = isWire(arg) && arg['channel'] === CHANNEL ? arg['instId'] : undefined
  if (event !== undefined) return answerOf(message, instrument)
  if (instrument === undefined || !Array.isArray(data)) return undecodable('bad_shape')
  return quotesOf(data.map((book) => rowOf(instrument, book)))
}

function rowOf(instrument: unknown, book: unknown) {
  if (!isWire(book)) return null
  const bid = bestLevel(book['bids'])
  const ask = bestLevel(book['asks'])
  return quoteOf({
    product: instrument,
    bid: bid.price,
    ask: ask.price,
    bidSize: bid.size,
    askSize: ask.size,
    time: book['ts'] ?? null,
  })
}

function answerOf({ event, code, msg }: Wire, instrument: unknown): ExchangeFrame {
  switch (event) {
    case 'subscribe':
      return typeof instrument === 'string'
        ? { kind: 'accepted', products: [instrument] }
        : undecodable('bad_shape')
    case 'error': {
      const reason = `${wordsOf(code)}: ${wordsOf(msg)}`
      const [, product] = UNKNOWN_INSTRUMENT.exec(typeof msg === 'string' ? msg : '') ?? []
      return product === undefined
        ? { kind: 'complaint', reason }
        : { kind: 'refused', product, reason }
    }
    case 'notice':
      return code === CLOSING_NOTICE ? { kind: 'leaving' } : ALIVE
    case 'channel-conn-count':
      return ALIVE
    default:
      return undecodable('unknown_event')
  }
}
