import type { ExchangeFrame, Wire } from './exchange-frame.ts'
import {
  ALIVE,
  isWire,
  parseObject,
  quoteOf,
  quotesOf,
  undecodable,
  wordsOf,
} from './exchange-frame.ts'
import { renamed } from './products.ts'
import type { ExchangeProtocol } from './protocol.ts'

/**
 * Coinbase Exchange, channel `ticker`: told with every trade. Its USDC products are the same books as
 * its USD ones, so they are left alone. The heartbeat of one product tells each second that it lives.
 */
export const coinbase: ExchangeProtocol = {
  exchange: 'coinbase',
  naming: {
    join: (base, quote) => `${base}-${quote}`,
    quote: 'USD',
    inUsdc: [],
    stable: [['USDT', 'USD']],
    aliases: { ...renamed, CELO: { name: 'CGLD' } },
  },
  path: '',
  opening: [subscription('heartbeat', ['BTC-USD'])],
  ping: null,
  batchMax: 30,
  isBatchAtomic: true,
  subscribe: (products) => subscription('ticker', products),
  decode: decodeCoinbase,
}

const UNKNOWN_PRODUCT = /^(\S+) is not a valid product/

function decodeCoinbase(text: string): ExchangeFrame {
  const message = parseObject(text)
  if (message === null) return undecodable('not_json')
  switch (message['type']) {
    case 'ticker':
      return quotesOf([
        quoteOf({
          product: message['product_id'],
          bid: message['best_bid'],
          ask: message['best_ask'],
          bidSize: message['best_bid_size'],
          askSize: message['best_ask_size'],
          time: message['time'] ?? null,
        }),
      ])
    case 'subscriptions':
      return { kind: 'accepted', products: tickersOf(message['channels']) }
    case 'heartbeat':
      return ALIVE
    case 'error':
      return refusalOf(message)
    default:
      return undecodable('unknown_type')
  }
}

/** It lists everything that is subscribed, every time. */
function tickersOf(channels: unknown): readonly string[] {
  if (!Array.isArray(channels)) return []
  return channels
    .filter((channel): channel is Wire => isWire(channel) && channel['name'] === 'ticker')
    .flatMap(({ product_ids: products }) => (Array.isArray(products) ? products : []))
    .filter((product): product is string => typeof product === 'string')
}

function refusalOf({ message, reason }: Wire): ExchangeFrame {
  const words = `${wordsOf(message)}: ${wordsOf(reason)}`
  if (message !== 'Failed to subscribe') return { kind: 'complaint', reason: words }
  const [, product = null] = UNKNOWN_PRODUCT.exec(typeof reason === 'string' ? reason : '') ?? []
  return { kind: 'refused', product, reason: words }
}

function subscription(channel: string, products: readonly string[]): string {
  return JSON.stringify({
    type: 'subscribe',
    channels: [{ name: channel, product_ids: products }],
  })
}
