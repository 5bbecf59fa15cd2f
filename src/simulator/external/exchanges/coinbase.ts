import type { Clock } from '../../../domain/clock.ts'
import type { ReferencePrices } from '../reference-prices.ts'
import type { Upstream } from '../upstream.ts'
import type { ExchangeConnection } from './exchange-connection.ts'
import { exchangeUpstream, timeText } from './exchange-connection.ts'
import type { SimulatedQuote } from './exchange-market.ts'
import type { ExchangeRequest } from './exchange-request.ts'
import { parseRequest, requestObject, stringsOf } from './exchange-request.ts'
import { RateWindow } from './rate-window.ts'

/** Documented limits. */
const CONNECTIONS = { max: 20, windowMs: 1_000 }
const MESSAGES_PER_SECOND = 100
const SUBSCRIBE_WITHIN_MS = 5_000
const HEARTBEAT_MS = 1_000
const CHANNELS = ['ticker', 'heartbeat'] as const
type Channel = (typeof CHANNELS)[number]

/** Coinbase Exchange: a `ticker` for each quote, and `heartbeat`. One unknown product fails a request. */
export function simulatedCoinbase(reference: ReferencePrices, clock: Clock): Upstream {
  return exchangeUpstream(
    { reference, clock },
    {
      exchange: 'coinbase',
      join: (base, currency) => `${base}-${currency}`,
      currencies: ['USD'],
      stable: [['USDT', 'USD']],
      names: { CELO: 'CGLD' },
      unlisted: ['TRX', 'KAS', 'BSV', 'GAS'],
    },
    CONNECTIONS,
    (connection) => new CoinbaseSession(connection),
  )
}

class CoinbaseSession {
  readonly #connection: ExchangeConnection
  readonly #messages: RateWindow
  readonly #heartbeats = new Set<string>()
  #sequence = 90_000_000_000

  constructor(connection: ExchangeConnection) {
    this.#connection = connection
    this.#messages = new RateWindow(connection.clock, MESSAGES_PER_SECOND, 1_000)
    connection.onQuote((product, quote) => this.#sendQuote(product, quote))
    connection.after(SUBSCRIBE_WITHIN_MS, () => {
      if (this.#heartbeats.size + connection.products.length === 0) connection.peer.drop()
    })
    connection.every(HEARTBEAT_MS, () => this.#beat())
  }

  receive(text: string): void {
    if (!this.#messages.take()) {
      this.#connection.peer.drop()
      return
    }
    const request = parseRequest(text)
    if (request === null) this.#fail('Malformed JSON')
    else if (request['type'] === 'subscribe' || request['type'] === 'unsubscribe')
      this.#change(request)
    else this.#fail('Type has to be either subscribe or unsubscribe')
  }

  #change(request: ExchangeRequest): void {
    const action = String(request['type'])
    const wanted = channelsOf(request)
    const problem = this.#problemOf(wanted)
    if (problem !== null) {
      this.#fail(`Failed to ${action}`, problem)
      return
    }
    for (const { name, products } of wanted)
      for (const product of products) this.#set(name as Channel, product, action === 'subscribe')
    const open = { ticker: this.#connection.products, heartbeat: [...this.#heartbeats] }
    const channels = CHANNELS.filter((name) => open[name].length > 0).map((name) => ({
      name,
      product_ids: open[name],
      account_ids: null,
    }))
    this.#connection.send({ type: 'subscriptions', channels })
  }

  #problemOf(wanted: readonly WantedChannel[]): string | null {
    if (wanted.length === 0) return 'No channels provided'
    for (const { name, products } of wanted) {
      if (!CHANNELS.includes(name as Channel)) return `${name} is not a valid channel`
      if (products.length === 0)
        return `You need to specify at least one product ID for channel ${name}`
      const unknown = products.find((product) => !this.#connection.market.has(product))
      if (unknown !== undefined) return `${unknown} is not a valid product`
    }
    return null
  }

  #set(channel: Channel, product: string, isSubscribed: boolean): void {
    if (channel === 'ticker') this.#connection.set(product, isSubscribed)
    else if (isSubscribed) this.#heartbeats.add(product)
    else this.#heartbeats.delete(product)
  }

  #sendQuote(product: string, { bid, ask, bidSize, askSize, timeMs }: SimulatedQuote): void {
    this.#sequence += 1
    this.#connection.send({
      type: 'ticker',
      sequence: this.#sequence,
      product_id: product,
      price: this.#sequence % 2 === 0 ? bid : ask,
      open_24h: bid,
      volume_24h: '2500.00000000',
      low_24h: bid,
      high_24h: ask,
      volume_30d: '75000.00000000',
      best_bid: bid,
      best_bid_size: bidSize,
      best_ask: ask,
      best_ask_size: askSize,
      side: this.#sequence % 2 === 0 ? 'sell' : 'buy',
      time: timeText(timeMs),
      trade_id: this.#sequence - 89_000_000_000,
      last_size: bidSize,
    })
  }

  #beat(): void {
    for (const product of this.#heartbeats) {
      this.#sequence += 1
      this.#connection.send({
        type: 'heartbeat',
        last_trade_id: this.#sequence - 89_000_000_000,
        product_id: product,
        sequence: this.#sequence,
        time: this.#connection.time,
      })
    }
  }

  #fail(message: string, reason?: string): void {
    this.#connection.send({ type: 'error', message, reason })
  }
}

type WantedChannel = { readonly name: string; readonly products: readonly string[] }

/** A channel is a name, or an object that adds products to those of the request. */
function channelsOf(request: ExchangeRequest): readonly WantedChannel[] {
  const products = stringsOf(request['product_ids'])
  const channels = Array.isArray(request['channels']) ? request['channels'] : []
  return channels.map((channel: unknown) => {
    if (typeof channel === 'string') return { name: channel, products }
    const own = requestObject(channel)
    return {
      name: String(own?.['name']),
      products: [...products, ...stringsOf(own?.['product_ids'])],
    }
  })
}
