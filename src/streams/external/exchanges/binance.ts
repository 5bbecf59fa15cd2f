import { isUntrustedObject } from '../untrusted-json.ts'
import type { ExchangeFrame } from './exchange-frame.ts'
import {
  HEARTBEAT,
  parseMessage,
  quotesFrame,
  readQuote,
  requestNumber,
  textOf,
  undecodable,
} from './exchange-frame.ts'
import { renamed } from './products.ts'
import type { ExchangeProtocol } from './protocol.ts'

/**
 * Binance spot, `bookTicker` in combined streams: every change of the best level, without a time
 * (https://developers.binance.com/docs/binance-spot-api-docs/web-socket-streams). It acknowledges unknown
 * symbols and sends nothing for them. Its pings are WebSocket control frames.
 */
export const binance: ExchangeProtocol = {
  exchange: 'binance',
  naming: {
    join: (base, quote) => `${base}${quote}`,
    quote: 'USDT',
    inUsdc: ['BTC', 'ETH'],
    stable: [['USDC', 'USDT']],
    aliases: {
      ...renamed,
      SATS: { name: '1000SATS', scale: 1_000 },
      CAT: { name: '1000CAT', scale: 1_000 },
      CHEEMS: { name: '1000CHEEMS', scale: 1_000 },
      BABYDOGE: { name: '1MBABYDOGE', scale: 1_000_000 },
    },
  },
  path: '/stream',
  opening: [],
  ping: null,
  batchMax: 50,
  isBatchAtomic: true,
  subscribe: (products, request) =>
    JSON.stringify({
      method: 'SUBSCRIBE',
      params: products.map((product) => `${product.toLowerCase()}@bookTicker`),
      id: request,
    }),
  decode: decodeBinance,
}

function decodeBinance(text: string): ExchangeFrame {
  const message = parseMessage(text)
  if (message === null) return undecodable('not_json')
  const request = requestNumber(message['id'])
  const error = message['error'] ?? message['msg']
  if (error !== undefined)
    return { kind: 'refused', product: null, reason: textOf(error), ...request }
  if (message['result'] === null) return { kind: 'accepted', products: null, ...request }
  const data = message['data'] ?? message
  if (!isUntrustedObject(data)) return undecodable('bad_shape')
  if (data['e'] === 'serverShutdown') return { kind: 'closing' }
  if (data['result'] !== undefined) return HEARTBEAT
  return quotesFrame([
    readQuote({
      product: data['s'],
      bid: data['b'],
      ask: data['a'],
      bidSize: data['B'],
      askSize: data['A'],
      time: undefined,
    }),
  ])
}
