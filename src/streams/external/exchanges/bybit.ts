import type { ExchangeFrame, Wire } from './exchange-frame.ts'
import {
  ALIVE,
  bestLevel,
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

const TOPIC = 'orderbook.1.'

/**
 * Bybit v5 spot, `orderbook.1`: a snapshot of the best level with every change, again after 3 s without
 * one. One unknown topic fails the request, which may name ten.
 */
export const bybit: ExchangeProtocol = {
  exchange: 'bybit',
  naming: {
    join: (base, quote) => `${base}${quote}`,
    quote: 'USDT',
    inUsdc: ['BTC', 'ETH'],
    stable: [['USDC', 'USDT']],
    aliases: {
      ...renamed,
      NEIRO: { name: 'NEIROCTO' },
      BABYDOGE: { name: '1MBABYDOGE', scale: 1_000_000 },
    },
  },
  path: '',
  opening: [],
  ping: JSON.stringify({ op: 'ping' }),
  batchMax: 10,
  isBatchAtomic: true,
  subscribe: (products, request) =>
    JSON.stringify({
      req_id: String(request),
      op: 'subscribe',
      args: products.map((product) => `${TOPIC}${product}`),
    }),
  decode: decodeBybit,
}

const UNKNOWN_TOPIC = /orderbook\.1\.(\w+)/

function decodeBybit(text: string): ExchangeFrame {
  const message = parseObject(text)
  if (message === null) return undecodable('not_json')
  const { topic, op, data } = message
  if (typeof topic === 'string') {
    if (!topic.startsWith(TOPIC) || !isWire(data)) return undecodable('bad_shape')
    const bid = bestLevel(data['b'])
    const ask = bestLevel(data['a'])
    return quotesOf([
      quoteOf({
        product: topic.slice(TOPIC.length),
        bid: bid.price,
        ask: ask.price,
        bidSize: bid.size,
        askSize: ask.size,
        time: message['ts'] ?? null,
      }),
    ])
  }
  if (op === 'ping' || op === 'pong') return ALIVE
  return op === 'subscribe' ? answerOf(message) : complaintOf(message)
}

function answerOf(message: Wire): ExchangeFrame {
  const { success, ret_msg: words, req_id: id } = message
  const request = ofRequest(id)
  if (success === true) return { kind: 'accepted', products: null, ...request }
  const reason = wordsOf(words)
  const [, product = null] = UNKNOWN_TOPIC.exec(reason) ?? []
  return { kind: 'refused', product, reason, ...request }
}

function complaintOf({ success, ret_msg: words }: Wire): ExchangeFrame {
  return success === false
    ? { kind: 'complaint', reason: wordsOf(words) }
    : undecodable('unknown_message')
}
