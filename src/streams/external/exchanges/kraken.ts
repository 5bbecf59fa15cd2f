import type { UntrustedObject } from '../untrusted-json.ts'
import { isUntrustedObject, untrustedList } from '../untrusted-json.ts'
import type { ExchangeFrame } from './exchange-frame.ts'
import {
  HEARTBEAT,
  parseMessage,
  quotesFrame,
  ROWS_MAX,
  readQuote,
  textOf,
  undecodable,
} from './exchange-frame.ts'
import { renamed } from './products.ts'
import type { ExchangeProtocol } from './protocol.ts'

/**
 * Kraken v2, channel `ticker` with every change of the best prices
 * (https://docs.kraken.com/api/docs/websocket-v2/ticker). Each symbol is acknowledged by itself.
 */
export const kraken: ExchangeProtocol = {
  exchange: 'kraken',
  naming: {
    join: (base, quote) => `${base}/${quote}`,
    quote: 'USD',
    inUsdc: ['BTC', 'ETH', 'SOL', 'XRP'],
    stable: [
      ['USDT', 'USD'],
      ['USDC', 'USD'],
      ['USDC', 'USDT'],
    ],
    aliases: {
      ...renamed,
      LUNC: { name: 'LUNA' },
      LUNA: { name: 'LUNA2' },
      USTC: { name: 'UST' },
    },
  },
  path: '',
  opening: [],
  ping: null,
  batchMax: 50,
  isBatchAtomic: false,
  subscribe: (products, request) =>
    JSON.stringify({
      method: 'subscribe',
      params: { channel: 'ticker', symbol: products, event_trigger: 'bbo', snapshot: true },
      req_id: request,
    }),
  decode: decodeKraken,
}

const HALTED: ReadonlySet<unknown> = new Set(['maintenance', 'cancel_only', 'post_only'])

const UNKNOWN_SYMBOL = /^Currency pair not (?:supported|in \S+ \S+ format) (\S+)/

function decodeKraken(text: string): ExchangeFrame {
  const message = parseMessage(text)
  if (message === null) return undecodable('not_json')
  if (message['method'] !== undefined) return answerOf(message)
  switch (message['channel']) {
    case 'ticker': {
      const { data } = message
      if (!Array.isArray(data)) return undecodable('bad_shape')
      return quotesFrame(untrustedList(data, ROWS_MAX).map(rowOf))
    }
    case 'heartbeat':
      return HEARTBEAT
    case 'status':
      return untrustedList(message['data'], ROWS_MAX).some(isHalted)
        ? { kind: 'closing' }
        : HEARTBEAT
    default:
      return undecodable('unknown_channel')
  }
}

/**
 * Whether no orders are matched: quotes are then those before the halt
 * (https://docs.kraken.com/api/docs/websocket-v2/status).
 */
function isHalted(row: unknown): boolean {
  return isUntrustedObject(row) && HALTED.has(row['system'])
}

/** `timestamp` is optional. */
function rowOf(row: unknown) {
  if (!isUntrustedObject(row)) return null
  return readQuote({
    product: row['symbol'],
    bid: row['bid'],
    ask: row['ask'],
    bidSize: row['bid_qty'],
    askSize: row['ask_qty'],
    time: row['timestamp'],
  })
}

function answerOf(message: UntrustedObject): ExchangeFrame {
  const { method, success, result, error, symbol } = message
  if (method === 'pong') return HEARTBEAT
  if (method !== 'subscribe') return undecodable('unknown_method')
  if (success === true) {
    const accepted = isUntrustedObject(result) ? result['symbol'] : undefined
    return typeof accepted === 'string'
      ? { kind: 'accepted', products: [accepted] }
      : undecodable('bad_shape')
  }
  const reason = textOf(error)
  const [, named = null] = UNKNOWN_SYMBOL.exec(reason) ?? []
  const product = typeof symbol === 'string' ? symbol : named
  if (product === null) return { kind: 'error', reason }
  if (reason.startsWith('Already subscribed')) return { kind: 'accepted', products: [product] }
  return named === null ? { kind: 'error', reason } : { kind: 'refused', product, reason }
}
