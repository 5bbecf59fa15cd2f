import type { UntrustedObject } from '../untrusted-json.ts'
import { isUntrustedObject, untrustedList } from '../untrusted-json.ts'
import type { ExchangeFrame } from './exchange-frame.ts'
import {
  HEARTBEAT,
  parseMessage,
  quotesFrame,
  ROWS_MAX,
  readBook,
  textOf,
  undecodable,
} from './exchange-frame.ts'
import { renamed } from './products.ts'
import type { ExchangeProtocol } from './protocol.ts'

const CHANNEL = 'bbo-tbt'
/** The connection will be closed for a service upgrade. */
const CLOSING_NOTICE = '64008'

/**
 * OKX v5, channel `bbo-tbt`: changes of the best level every 10 ms
 * (https://www.okx.com/docs-v5/en/#order-book-trading-market-data-ws-order-book-channel). Each product is
 * acknowledged by itself.
 */
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
  if (text === 'pong') return HEARTBEAT
  const message = parseMessage(text)
  if (message === null) return undecodable('not_json')
  const { event, arg, data } = message
  const instrument =
    isUntrustedObject(arg) && arg['channel'] === CHANNEL ? arg['instId'] : undefined
  if (event !== undefined) return answerOf(message, instrument)
  if (instrument === undefined || !Array.isArray(data)) return undecodable('bad_shape')
  return quotesFrame(untrustedList(data, ROWS_MAX).map((book) => rowOf(instrument, book)))
}

function rowOf(instrument: unknown, book: unknown) {
  if (!isUntrustedObject(book)) return null
  return readBook(instrument, book['bids'], book['asks'], book['ts'])
}

function answerOf({ event, code, msg }: UntrustedObject, instrument: unknown): ExchangeFrame {
  switch (event) {
    case 'subscribe':
      return typeof instrument === 'string'
        ? { kind: 'accepted', products: [instrument] }
        : undecodable('bad_shape')
    case 'error': {
      const reason = `${textOf(code)}: ${textOf(msg)}`
      const [, product] = UNKNOWN_INSTRUMENT.exec(typeof msg === 'string' ? msg : '') ?? []
      return product === undefined
        ? { kind: 'error', reason }
        : { kind: 'refused', product, reason }
    }
    case 'notice':
      return code === CLOSING_NOTICE ? { kind: 'closing' } : HEARTBEAT
    case 'channel-conn-count':
      return HEARTBEAT
    default:
      return undecodable('unknown_event')
  }
}
