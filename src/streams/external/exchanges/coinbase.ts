import type { UntrustedObject } from '../untrusted-json.ts'
import { isUntrustedObject } from '../untrusted-json.ts'
import type { ExchangeFrame } from './exchange-frame.ts'
import {
  HEARTBEAT,
  parseMessage,
  quotesFrame,
  readQuote,
  textOf,
  undecodable,
} from './exchange-frame.ts'
import { renamed } from './products.ts'
import type { ExchangeProtocol } from './protocol.ts'

/**
 * Coinbase Exchange, channel `ticker`: best prices with every trade
 * (https://docs.cdp.coinbase.com/exchange/websocket-feed/channels). Products in USDC share the books of
 * those in USD and are not subscribed. The heartbeat channel of one product sends a frame every second.
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
  const message = parseMessage(text)
  if (message === null) return undecodable('not_json')
  switch (message['type']) {
    case 'ticker':
      return quotesFrame([
        readQuote({
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
      return HEARTBEAT
    case 'error':
      return refusalOf(message)
    default:
      return undecodable('unknown_type')
  }
}

/** Each answer lists all current subscriptions. */
function tickersOf(channels: unknown): readonly string[] {
  if (!Array.isArray(channels)) return []
  return channels
    .filter(
      (channel): channel is UntrustedObject =>
        isUntrustedObject(channel) && channel['name'] === 'ticker',
    )
    .flatMap(({ product_ids: products }) => (Array.isArray(products) ? products : []))
    .filter((product): product is string => typeof product === 'string')
}

function refusalOf({ message, reason }: UntrustedObject): ExchangeFrame {
  const text = `${textOf(message)}: ${textOf(reason)}`
  if (message !== 'Failed to subscribe') return { kind: 'error', reason: text }
  const [, product = null] = UNKNOWN_PRODUCT.exec(typeof reason === 'string' ? reason : '') ?? []
  return { kind: 'refused', product, reason: text }
}

function subscription(channel: string, products: readonly string[]): string {
  return JSON.stringify({
    type: 'subscribe',
    channels: [{ name: channel, product_ids: products }],
  })
}
