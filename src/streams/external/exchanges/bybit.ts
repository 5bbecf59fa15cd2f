import type { UntrustedObject } from '../untrusted-json.ts'
import { isUntrustedObject } from '../untrusted-json.ts'
import type { ExchangeFrame } from './exchange-frame.ts'
import {
  HEARTBEAT,
  parseMessage,
  quotesFrame,
  readBook,
  requestNumber,
  textOf,
  undecodable,
} from './exchange-frame.ts'
import { renamed } from './products.ts'
import type { ExchangeProtocol } from './protocol.ts'

const TOPIC = 'orderbook.1.'

/** A quote that did not change for longer is not confirmed by being repeated: trading may be halted. */
const UNCHANGED_MS_MAX = 60_000

/**
 * Bybit v5 spot, `orderbook.1`: a snapshot of the best level after every change, repeated after 3 s without
 * one (https://bybit-exchange.github.io/docs/v5/websocket/public/orderbook). A request names at most ten
 * topics; one unknown topic fails it.
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
  const message = parseMessage(text)
  if (message === null) return undecodable('not_json')
  const { topic, op, data } = message
  if (typeof topic === 'string') {
    if (!topic.startsWith(TOPIC) || !isUntrustedObject(data)) return undecodable('bad_shape')
    const product = topic.slice(TOPIC.length)
    return quotesFrame([readBook(product, data['b'], data['a'], timeOf(message))])
  }
  if (op === 'ping' || op === 'pong') return HEARTBEAT
  return op === 'subscribe' ? answerOf(message) : errorOf(message)
}

/** The time of sending, or of the last change (`cts`) if that was too long before. */
function timeOf({ ts, cts }: UntrustedObject): unknown {
  const isOld = typeof ts === 'number' && typeof cts === 'number' && ts - cts > UNCHANGED_MS_MAX
  return isOld ? cts : ts
}

function answerOf(message: UntrustedObject): ExchangeFrame {
  const { success, ret_msg: text, req_id: id } = message
  const request = requestNumber(id)
  if (success === true) return { kind: 'accepted', products: null, ...request }
  const reason = textOf(text)
  const [, product = null] = UNKNOWN_TOPIC.exec(reason) ?? []
  return { kind: 'refused', product, reason, ...request }
}

function errorOf({ success, ret_msg: text }: UntrustedObject): ExchangeFrame {
  return success === false
    ? { kind: 'error', reason: textOf(text) }
    : undecodable('unknown_message')
}
