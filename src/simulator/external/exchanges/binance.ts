import type { Clock } from '../../../domain/clock.ts'
import type { Upstream, UpstreamPeer, UpstreamSession } from '../upstream.ts'
import type { World } from '../world.ts'
import { Allowance } from './allowance.ts'
import type { Quote } from './exchange-market.ts'
import { ExchangeMarket } from './exchange-market.ts'
import { QuoteStream } from './quote-stream.ts'
import type { RequestObject } from './request-object.ts'
import { parseRequest, textsOf } from './request-object.ts'

/** The exchange's own limits. */
const CONNECTIONS = { most: 300, windowMs: 300_000 }
const MESSAGES_A_SECOND = 5
const STREAMS_MAX = 1_024
const PING_MS = 20_000
const PONG_MS_MAX = 60_000
const LIFE_MS = 86_400_000

const STREAM = /^([a-z0-9]+)@bookTicker$/

/**
 * Binance spot: `bookTicker`, raw at `/ws` and wrapped at `/stream`. It acknowledges every name, and is
 * silent about those that it does not know.
 */
export function simulatedBinance(world: World, clock: Clock): Upstream {
  const market = new ExchangeMarket(world, {
    exchange: 'binance',
    join: (base, currency) => `${base}${currency}`,
    currencies: ['USDT', 'USDC'],
    stable: [['USDC', 'USDT']],
    names: {},
    unlisted: ['HYPE', 'KAS', 'BSV', 'MNT'],
  })
  const connections = new Allowance(clock, CONNECTIONS.most, CONNECTIONS.windowMs)
  return {
    connect: (path, peer) => {
      if (!connections.take()) peer.drop()
      return new BinanceSession(market, clock, peer, path)
    },
  }
}

class BinanceSession implements UpstreamSession {
  readonly #clock: Clock
  readonly #peer: UpstreamPeer
  readonly #isCombined: boolean
  readonly #messages: Allowance
  readonly #tickers: QuoteStream
  /** Also of symbols that do not exist. */
  readonly #streams = new Set<string>()
  readonly #market: ExchangeMarket
  readonly #stops: readonly (() => void)[]
  #pongedMs: number
  #updates = 400_900_217

  constructor(market: ExchangeMarket, clock: Clock, peer: UpstreamPeer, path: string) {
    this.#market = market
    this.#clock = clock
    this.#peer = peer
    this.#isCombined = path.startsWith('/stream')
    this.#pongedMs = clock.nowMs()
    this.#messages = new Allowance(clock, MESSAGES_A_SECOND, 1_000)
    this.#tickers = new QuoteStream(clock, market, (symbol, quote) => this.#tick(symbol, quote))
    this.#stops = [
      clock.after(LIFE_MS, () => peer.drop()),
      clock.every(PING_MS, () => this.#ping()),
    ]
    const [, , named] = path.split('/')
    if (!this.#isCombined && named !== undefined && STREAM.test(named)) this.#add(named)
  }

  receive(text: string): void {
    if (!this.#messages.take()) {
      this.#peer.drop()
      return
    }
    const request = parseRequest(text)
    if (request === null) this.#fail(3, 'Invalid JSON: expected value at line 1 column 1')
    else this.#answer(request)
  }

  ponged(): void {
    this.#pongedMs = this.#clock.nowMs()
  }

  close(): void {
    this.#tickers.close()
    for (const stop of this.#stops) stop()
  }

  #answer({ method, params, id }: RequestObject): void {
    const streams = textsOf(params)
    switch (method) {
      case 'SUBSCRIBE':
        this.#subscribe(streams, id)
        break
      case 'UNSUBSCRIBE':
        for (const stream of streams) this.#remove(stream)
        this.#send({ result: null, id: id ?? null })
        break
      case 'LIST_SUBSCRIPTIONS':
        this.#send({ result: [...this.#streams], id: id ?? null })
        break
      default:
        this.#fail(2, `Invalid request: unknown variant \`${String(method)}\``, id)
    }
  }

  #subscribe(streams: readonly string[], id: unknown): void {
    if (streams.length === 0) this.#fail(2, 'Invalid request: no streams', id)
    else if (this.#streams.size + streams.length > STREAMS_MAX) this.#peer.drop()
    else {
      this.#send({ result: null, id: id ?? null })
      for (const stream of streams) this.#add(stream)
    }
  }

  #add(stream: string): void {
    this.#streams.add(stream)
    const symbol = symbolOf(stream)
    if (symbol !== null && this.#market.has(symbol)) this.#tickers.add(symbol)
  }

  #remove(stream: string): void {
    this.#streams.delete(stream)
    const symbol = symbolOf(stream)
    if (symbol !== null) this.#tickers.remove(symbol)
  }

  #tick(symbol: string, { bid, ask, bidSize, askSize }: Quote): void {
    this.#updates += 1
    const data = { u: this.#updates, s: symbol, b: bid, B: bidSize, a: ask, A: askSize }
    const stream = `${symbol.toLowerCase()}@bookTicker`
    this.#send(this.#isCombined ? { stream, data } : data)
  }

  #ping(): void {
    if (this.#clock.nowMs() - this.#pongedMs > PONG_MS_MAX) this.#peer.drop()
    else this.#peer.ping?.()
  }

  #fail(code: number, msg: string, id?: unknown): void {
    this.#send({ error: { code, msg }, ...(id !== undefined && { id }) })
  }

  #send(message: object): void {
    this.#peer.send(JSON.stringify(message))
  }
}

function symbolOf(stream: string): string | null {
  return STREAM.exec(stream)?.[1]?.toUpperCase() ?? null
}
