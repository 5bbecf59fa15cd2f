import type { Clock } from '../../../domain/clock.ts'
import type { ReferencePrices } from '../reference-prices.ts'
import type { Upstream } from '../upstream.ts'
import type { ExchangeConnection } from './exchange-connection.ts'
import { exchangeUpstream, timeText } from './exchange-connection.ts'
import type { SimulatedQuote } from './exchange-market.ts'
import type { ExchangeRequest } from './exchange-request.ts'
import { parseRequest, requestObject, stringsOf } from './exchange-request.ts'

/** Documented limits. */
const CONNECTIONS = { max: 150, windowMs: 600_000 }
/** Sent after this long without another frame. */
const HEARTBEAT_MS = 1_000
/** Without subscriptions a connection ends after this long without a frame of the client. */
const IDLE_MS_MAX = 60_000

/** Kraken v2: `ticker`. Each symbol of a request is acknowledged by itself and starts with a snapshot. */
export function simulatedKraken(reference: ReferencePrices, clock: Clock): Upstream {
  return exchangeUpstream(
    { reference, clock },
    {
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
    },
    CONNECTIONS,
    (connection) => new KrakenSession(connection),
  )
}

class KrakenSession {
  readonly #connection: ExchangeConnection
  #receivedMs: number
  #isHalted: boolean

  constructor(connection: ExchangeConnection) {
    this.#connection = connection
    this.#receivedMs = connection.clock.nowMs()
    connection.onQuote((symbol, quote, isFirst) => this.#sendQuote(symbol, quote, isFirst))
    connection.every(HEARTBEAT_MS, () => this.#beat())
    this.#isHalted = connection.isHalted
    this.#sendStatus()
  }

  receive(text: string): void {
    this.#receivedMs = this.#connection.clock.nowMs()
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

  #change(request: ExchangeRequest): void {
    const method = String(request['method'])
    const params = requestObject(request['params'])
    if (params?.['channel'] !== 'ticker') {
      const error = `Unsupported field: '${String(params?.['channel'])}' for the given msg type: ${method}`
      this.#answer(request, { error, method, success: false })
      return
    }
    for (const symbol of stringsOf(params['symbol'])) {
      const error = this.#problemOf(method, symbol)
      if (error !== null) {
        this.#answer(request, { error, method, success: false, symbol })
        continue
      }
      const result = { channel: 'ticker', snapshot: params['snapshot'] ?? true, symbol }
      this.#answer(request, { method, result, success: true })
      this.#connection.set(symbol, method === 'subscribe')
    }
  }

  #problemOf(method: string, symbol: string): string | null {
    if (!this.#connection.market.has(symbol)) return `Currency pair not supported ${symbol}`
    const isSubscribed = this.#connection.has(symbol)
    if (method === 'unsubscribe') return isSubscribed ? null : 'Subscription Not Found'
    return isSubscribed ? 'Already subscribed' : null
  }

  #sendQuote(
    symbol: string,
    { bid, ask, bidSize, askSize, timeMs }: SimulatedQuote,
    isFirst: boolean,
  ): void {
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
      timestamp: timeText(timeMs),
    }
    this.#connection.send({ channel: 'ticker', type: isFirst ? 'snapshot' : 'update', data: [row] })
  }

  #sendStatus(): void {
    const system = this.#isHalted ? 'maintenance' : 'online'
    const service = { api_version: 'v2', connection_id: 13_834_774_380_200, version: '2.0.10' }
    this.#connection.send({ channel: 'status', type: 'update', data: [{ ...service, system }] })
  }

  #beat(): void {
    const { clock, isHalted, peer, products, sinceSentMs } = this.#connection
    if (isHalted !== this.#isHalted) {
      this.#isHalted = isHalted
      this.#sendStatus()
    }
    const isSubscribed = products.length > 0
    if (!isSubscribed && clock.nowMs() - this.#receivedMs >= IDLE_MS_MAX) peer.drop()
    else if (isSubscribed && sinceSentMs >= HEARTBEAT_MS)
      this.#connection.send({ channel: 'heartbeat' })
  }

  #answer(request: ExchangeRequest, answer: object): void {
    const id = request['req_id']
    const { time } = this.#connection
    const times = { time_in: time, time_out: time }
    this.#connection.send({ ...answer, ...times, ...(typeof id === 'number' && { req_id: id }) })
  }
}
