import type { ExchangeFrame } from './exchange-frame.ts'
import {
  ALIVE,
  isWire,
  ofRequest,
  parseObject,
  quoteOf,
  quotesOf,
  undecodable,
  wordsOf,
} from './exchange-frame.ts'
import { renamed } from './products.ts'
import type { ExchangeProtocol } from './protocol.ts'

/**
 * Binance spot, `bookTicker` in combined streams: every change of the best level, without a time. It
 * accepts any name; what it does not know stays silent. Its ping is a control frame of the websocket.
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
  const message = parseObject(text)
  if (message === null) return undecodable('not_json')
  const request = ofRequest(message['id'])
  const error = message['error'] ?? message['msg']
  if (error !== undefined)
    return { kind: 'refused', product: null, reason: wordsOf(error), ...request }
  if (message['result'] === null) return { kind: 'accepted', products: null, ...request }
  const data = message['data'] ?? message
  if (!isWire(data)) return undecodable('bad_shape')
  if (data['e'] === 'serverShutdown') return { kind: 'leaving' }
  if (data['result'] !== undefined) return ALIVE
  return quotesOf([
    quoteOf({
      product: data['s'],
      bid: data['b'],
      ask: data['a'],
      bidSize: data['B'],
      askSize: data['A'],
      time: undefined,
    }),
  ])
}
