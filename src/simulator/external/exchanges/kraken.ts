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
const CONNECTIONS = { most: 150, windowMs: 600_000 }
/** Sent when nothing else was for that long. */
const HEARTBEAT_MS = 1_000
/** Without a subscription, and without a word, a connection ends. */
const IDLE_MS_MAX = 60_000

/** Kraken v2: `ticker`, each symbol of a request answered by itself, a snapshot first. */
export function simulatedKraken(world: World, clock: Clock): Upstream {
  const market = new ExchangeMarket(world, {
    exchange: 'kraken',
    join: (base, currency) => `${base}/${currency}`,
    currencies: ['USD', 'USDC'],
    stable: [
      ['USDT', 'USD'],
      ['USDC', 'USD'],
      ['USDC', 'USDT'],
    ],
    names: { LUNC: 'LUNA' },
    unlisted: ['KAS', 'MNT', 'ARK', 'GAS'],
  })
  const connections = new Allowance(clock, CONNECTIONS.most, CONNECTIONS.windowMs)
  return {
    connect: (_, peer) => {
      if (!connections.take()) peer.drop()
      return new KrakenSession(market, clock, peer)
    },
  }
}

class KrakenSession implements UpstreamSession {
  readonly #market: ExchangeMarket
  readonly #clock: Clock
  readonly #peer: UpstreamPeer
  readonly #tickers: QuoteStream
  readonly #stopHeartbeat: () => void
  #sentMs: number
  #receivedMs: number

  constructor(market: ExchangeMarket, clock: Clock, peer: UpstreamPeer) {
    this.#market = market
    this.#clock = clock
    this.#peer = peer
    this.#sentMs = clock.nowMs()
    this.#receivedMs = clock.nowMs()
    this.#tickers = new QuoteStream(clock, market, (symbol, quote, isFirst) =>
      this.#tick(symbol, quote, isFirst),
    )
    this.#stopHeartbeat = clock.every(HEARTBEAT_MS, () => this.#beat())
    const system = { api_version: 'v2', connection_id: 13_834_774_380_200, system: 'online' }
    this.#send({ channel: 'status', type: 'update', data: [{ ...system, version: '2.0.10' }] })
  }

  receive(text: string): void {
    this.#receivedMs = this.#clock.nowMs()
    const request = parseRequest(text)
    if (request === null) {
      this.#answer({}, { error: 'Malformed request', success: false })
      return
    }
    switch (request['method']) {
      case 'ping':
        this.#answer(request, { method: 'pong' })
        return
      case 'subscribe':
      case 'unsubscribe':
        this.#change(request)
        return
      default:
        this.#answer(request, { error: 'Unsupported method', success: false })
    }
  }

  close(): void {
    this.#tickers.close()
    this.#stopHeartbeat()
  }

  #change(request: RequestObject): void {
    const method = String(request['method'])
    const params = requestObject(request['params'])
    if (params?.['channel'] !== 'ticker') {
      const error = `Unsupported field: '${String(params?.['channel'])}' for the given msg type: ${method}`
      this.#answer(request, { error, method, success: false })
      return
    }
    for (const symbol of textsOf(params['symbol'])) {
      const error = this.#problemOf(method, symbol)
      if (error !== null) {
        this.#answer(request, { error, method, success: false, symbol })
        continue
      }
      const result = { channel: 'ticker', snapshot: params['snapshot'] ?? true, symbol }
      this.#answer(request, { method, result, success: true })
      if (method === 'subscribe') this.#tickers.add(symbol)
      else this.#tickers.remove(symbol)
    }
  }

  #problemOf(method: string, symbol: string): string | null {
    if (!this.#market.has(symbol)) return `Currency pair not supported ${symbol}`
    if (method === 'unsubscribe') return this.#tickers.has(symbol) ? null : 'Subscription Not Found'
    return this.#tickers.has(symbol) ? 'Already subscribed' : null
  }

  #tick(symbol: string, { bid, ask, bidSize, askSize }: Quote, isFirst: boolean): void {
    const [low, high] = [Number(bid), Number(ask)]
    const row = {
      symbol,
      bid: low,
      bid_qty: Number(bidSize),
      ask: high,
      ask_qty: Number(askSize),
      last: low,
      volume: 2158.32,
      vwap: low,
      low,
      high,
      change: 0,
      change_pct: 0,
      timestamp: this.#time(),
    }
    this.#send({ channel: 'ticker', type: isFirst ? 'snapshot' : 'update', data: [row] })
  }

  #beat(): void {
    const nowMs = this.#clock.nowMs()
    const isSubscribed = this.#tickers.products.length > 0
    if (!isSubscribed && nowMs - this.#receivedMs >= IDLE_MS_MAX) this.#peer.drop()
    else if (isSubscribed && nowMs - this.#sentMs >= HEARTBEAT_MS)
      this.#send({ channel: 'heartbeat' })
  }

  #answer(request: RequestObject, answer: object): void {
    const id = request['req_id']
    const times = { time_in: this.#time(), time_out: this.#time() }
    this.#send({ ...answer, ...times, ...(typeof id === 'number' && { req_id: id }) })
  }

  /** Microseconds. */
  #time(): string {
    return new Date(this.#clock.nowMs()).toISOString().replace('Z', '000Z')
  }

  #send(message: object): void {
    this.#sentMs = this.#clock.nowMs()
    this.#peer.send(JSON.stringify(message))
  }
}
