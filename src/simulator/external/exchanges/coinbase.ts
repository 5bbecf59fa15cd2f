import type { Clock } from '../../../domain/clock.ts'
import type { Upstream, UpstreamPeer, UpstreamSession } from '../upstream.ts'
import type { World } from '../world.ts'
import { Allowance } from './allowance.ts'
import type { Quote } from './exchange-market.ts'
import { ExchangeMarket } from './exchange-market.ts'
import { QuoteStream } from './quote-stream.ts'
import type { RequestObject } from './request-object.ts'
import { parseRequest, requestObject, textsOf } from './request-object.ts'

/** The exchange's own limits. */
const CONNECTIONS_BURST = 20
const MESSAGES_A_SECOND = 100
const SUBSCRIBE_WITHIN_MS = 5_000
const HEARTBEAT_MS = 1_000
const CHANNELS = ['ticker', 'heartbeat'] as const
type Channel = (typeof CHANNELS)[number]

/** Coinbase Exchange: `ticker` with every trade, `heartbeat`. One unknown product fails a request. */
export function simulatedCoinbase(world: World, clock: Clock): Upstream {
  const market = new ExchangeMarket(world, {
    exchange: 'coinbase',
    join: (base, currency) => `${base}-${currency}`,
    currencies: ['USD'],
    stable: [['USDT', 'USD']],
    names: { CELO: 'CGLD' },
    unlisted: ['TRX', 'KAS', 'BSV', 'GAS'],
  })
  const connections = new Allowance(clock, CONNECTIONS_BURST, 1_000)
  return {
    connect: (_, peer) => {
      if (!connections.take()) peer.drop()
      return new CoinbaseSession(market, clock, peer)
    },
  }
}

class CoinbaseSession implements UpstreamSession {
  readonly #market: ExchangeMarket
  readonly #clock: Clock
  readonly #peer: UpstreamPeer
  readonly #messages: Allowance
  readonly #tickers: QuoteStream
  readonly #heartbeats = new Set<string>()
  readonly #stops: readonly (() => void)[]
  #sequence = 90_000_000_000

  constructor(market: ExchangeMarket, clock: Clock, peer: UpstreamPeer) {
    this.#market = market
    this.#clock = clock
    this.#peer = peer
    this.#messages = new Allowance(clock, MESSAGES_A_SECOND, 1_000)
    this.#tickers = new QuoteStream(clock, market, (product, quote) => this.#tick(product, quote))
    this.#stops = [
      clock.after(SUBSCRIBE_WITHIN_MS, () => {
        if (this.#heartbeats.size + this.#tickers.products.length === 0) peer.drop()
      }),
      clock.every(HEARTBEAT_MS, () => this.#beat()),
    ]
  }

  receive(text: string): void {
    if (!this.#messages.take()) {
      this.#peer.drop()
      return
    }
    const request = parseRequest(text)
    if (request === null) this.#fail('Malformed JSON')
    else if (request['type'] === 'subscribe' || request['type'] === 'unsubscribe')
      this.#change(request)
    else this.#fail('Type has to be either subscribe or unsubscribe')
  }

  close(): void {
    this.#tickers.close()
    for (const stop of this.#stops) stop()
  }

  #change(request: RequestObject): void {
    const action = String(request['type'])
    const wanted = channelsOf(request)
    const problem = this.#problemOf(wanted)
    if (problem !== null) {
      this.#fail(`Failed to ${action}`, problem)
      return
    }
    for (const { name, products } of wanted)
      for (const product of products) this.#set(name as Channel, product, action === 'subscribe')
    const open = { ticker: this.#tickers.products, heartbeat: [...this.#heartbeats] }
    const channels = CHANNELS.filter((name) => open[name].length > 0).map((name) => ({
      name,
      product_ids: open[name],
      account_ids: null,
    }))
    this.#send({ type: 'subscriptions', channels })
  }

  #problemOf(wanted: readonly Wanted[]): string | null {
    if (wanted.length === 0) return 'No channels provided'
    for (const { name, products } of wanted) {
      if (!CHANNELS.includes(name as Channel)) return `${name} is not a valid channel`
      if (products.length === 0)
        return `You need to specify at least one product ID for channel ${name}`
      const unknown = products.find((product) => !this.#market.has(product))
      if (unknown !== undefined) return `${unknown} is not a valid product`
    }
    return null
  }

  #set(channel: Channel, product: string, isOn: boolean): void {
    const products =
      channel === 'ticker'
        ? { add: () => this.#tickers.add(product), remove: () => this.#tickers.remove(product) }
        : {
            add: () => this.#heartbeats.add(product),
            remove: () => this.#heartbeats.delete(product),
          }
    if (isOn) products.add()
    else products.remove()
  }

  #tick(product: string, { bid, ask, bidSize, askSize }: Quote): void {
    this.#sequence += 1
    this.#send({
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
      time: this.#time(),
      trade_id: this.#sequence - 89_000_000_000,
      last_size: bidSize,
    })
  }

  #beat(): void {
    for (const product of this.#heartbeats) {
      this.#sequence += 1
      this.#send({
        type: 'heartbeat',
        last_trade_id: this.#sequence - 89_000_000_000,
        product_id: product,
        sequence: this.#sequence,
        time: this.#time(),
      })
    }
  }

  /** Microseconds. */
  #time(): string {
    return new Date(this.#clock.nowMs()).toISOString().replace('Z', '000Z')
  }

  #fail(message: string, reason?: string): void {
    this.#send({ type: 'error', message, reason })
  }

  #send(message: object): void {
    this.#peer.send(JSON.stringify(message))
  }
}

type Wanted = { readonly name: string; readonly products: readonly string[] }

/** Channels are names, which take the products of the request, or have products of their own. */
function channelsOf(request: RequestObject): readonly Wanted[] {
  const products = textsOf(request['product_ids'])
  const channels = Array.isArray(request['channels']) ? request['channels'] : []
  return channels.map((channel: unknown) => {
    if (typeof channel === 'string') return { name: channel, products }
    const own = requestObject(channel)
    const named = [...products, ...textsOf(own?.['product_ids'])]
    return { name: String(own?.['name']), products: named }
  })
}
