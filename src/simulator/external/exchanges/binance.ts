import type { Clock } from '../../../domain/clock.ts'
import type { ReferencePrices } from '../reference-prices.ts'
import type { Upstream } from '../upstream.ts'
import type { ExchangeConnection } from './exchange-connection.ts'
import { exchangeUpstream } from './exchange-connection.ts'
import type { SimulatedQuote } from './exchange-market.ts'
import type { ExchangeRequest } from './exchange-request.ts'
import { parseRequest, stringsOf } from './exchange-request.ts'
import { RateWindow } from './rate-window.ts'

/** Documented limits. */
const CONNECTIONS = { max: 300, windowMs: 300_000 }
const MESSAGES_PER_SECOND = 5
const STREAMS_MAX = 1_024
const PING_MS = 20_000
const PONG_MS_MAX = 60_000
const LIFE_MS = 86_400_000

const STREAM = /^([a-z0-9]+)@bookTicker$/

/**
 * Binance spot: `bookTicker`, raw at `/ws` and combined at `/stream`. The address may name streams (`/ws/a/b`,
 * `/stream?streams=a/b`). It acknowledges unknown symbols and sends nothing for them.
 */
export function simulatedBinance(reference: ReferencePrices, clock: Clock): Upstream {
  return exchangeUpstream(
    { reference, clock },
    {
      exchange: 'binance',
      join: (base, currency) => `${base}${currency}`,
      currencies: ['USDT', 'USDC'],
      stable: [['USDC', 'USDT']],
      names: {},
      unlisted: ['HYPE', 'KAS', 'BSV', 'MNT'],
    },
    CONNECTIONS,
    (connection, target) => new BinanceSession(connection, target),
  )
}

class BinanceSession {
  readonly #connection: ExchangeConnection
  readonly #isCombined: boolean
  readonly #messages: RateWindow
  /** Also of symbols that do not exist. */
  readonly #streams = new Set<string>()
  #pongedMs: number
  #updates = 400_900_217

  constructor(connection: ExchangeConnection, target: string) {
    const { clock, peer } = connection
    const [path = '', query] = target.split('?')
    this.#connection = connection
    this.#isCombined = path.startsWith('/stream')
    this.#pongedMs = clock.nowMs()
    this.#messages = new RateWindow(clock, MESSAGES_PER_SECOND, 1_000)
    connection.onQuote((symbol, quote, isFirst) => {
      // It sends changes only.
      if (!isFirst || !connection.isHalted) this.#sendQuote(symbol, quote)
    })
    connection.after(LIFE_MS, () => peer.drop())
    connection.every(PING_MS, () => this.#ping())
    const named = this.#isCombined
      ? (new URLSearchParams(query).get('streams') ?? '').split('/')
      : path.split('/').slice(2)
    for (const stream of named) if (stream !== '') this.#set(stream, true)
  }

  receive(text: string): void {
    if (!this.#messages.take()) {
      this.#connection.peer.drop()
      return
    }
    const request = parseRequest(text)
    if (request === null) this.#fail(3, 'Invalid JSON: expected value at line 1 column 1')
    else this.#answer(request)
  }

  ponged(): void {
    this.#pongedMs = this.#connection.clock.nowMs()
  }

  #answer({ method, params, id }: ExchangeRequest): void {
    const streams = stringsOf(params)
    switch (method) {
      case 'SUBSCRIBE':
        this.#subscribe(streams, id)
        break
      case 'UNSUBSCRIBE':
        for (const stream of streams) this.#set(stream, false)
        this.#connection.send({ result: null, id: id ?? null })
        break
      case 'LIST_SUBSCRIPTIONS':
        this.#connection.send({ result: [...this.#streams], id: id ?? null })
        break
      default:
        this.#fail(2, `Invalid request: unknown variant \`${String(method)}\``, id)
    }
  }

  #subscribe(streams: readonly string[], id: unknown): void {
    if (streams.length === 0) this.#fail(2, 'Invalid request: no streams', id)
    else if (this.#streams.size + streams.length > STREAMS_MAX) this.#connection.peer.drop()
    else {
      this.#connection.send({ result: null, id: id ?? null })
      for (const stream of streams) this.#set(stream, true)
    }
  }

  #set(stream: string, isSubscribed: boolean): void {
    if (isSubscribed) this.#streams.add(stream)
    else this.#streams.delete(stream)
    const symbol = STREAM.exec(stream)?.[1]?.toUpperCase()
    if (symbol !== undefined && this.#connection.market.has(symbol))
      this.#connection.set(symbol, isSubscribed)
  }

  #sendQuote(symbol: string, { bid, ask, bidSize, askSize }: SimulatedQuote): void {
    this.#updates += 1
    const data = { u: this.#updates, s: symbol, b: bid, B: bidSize, a: ask, A: askSize }
    const stream = `${symbol.toLowerCase()}@bookTicker`
    this.#connection.send(this.#isCombined ? { stream, data } : data)
  }

  #ping(): void {
    const { clock, peer } = this.#connection
    if (clock.nowMs() - this.#pongedMs > PONG_MS_MAX) peer.drop()
    else peer.ping?.()
  }

  #fail(code: number, msg: string, id?: unknown): void {
    this.#connection.send({ error: { code, msg }, ...(id !== undefined && { id }) })
  }
}
