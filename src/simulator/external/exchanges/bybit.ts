import type { Clock } from '../../../domain/clock.ts'
import type { Upstream, UpstreamPeer, UpstreamSession } from '../upstream.ts'
import type { World } from '../world.ts'
import { Allowance } from './allowance.ts'
import type { Quote } from './exchange-market.ts'
import { ExchangeMarket } from './exchange-market.ts'
import { QuoteStream } from './quote-stream.ts'
import { parseRequest, textsOf } from './request-object.ts'

/** The exchange's own limits. */
const CONNECTIONS = { most: 500, windowMs: 300_000 }
const TOPICS_A_REQUEST = 10
/** Without a ping and without a word of its own it ends a connection after that long. */
const IDLE_MS_MAX = 600_000
const IDLE_CHECK_MS = 10_000

const TOPIC = 'orderbook.1.'
const CONNECTION_ID = '2324d924-aa4d-45b0-a858-7b8be29ab52b'

/** Bybit v5 spot: `orderbook.1`. One unknown topic fails a request; it answers pings in JSON. */
export function simulatedBybit(world: World, clock: Clock): Upstream {
  const market = new ExchangeMarket(world, {
    exchange: 'bybit',
    join: (base, currency) => `${base}${currency}`,
    currencies: ['USDT', 'USDC'],
    stable: [['USDC', 'USDT']],
    names: { NEIRO: 'NEIROCTO' },
    unlisted: ['BSV', 'GAS', 'ARK', 'NEO'],
  })
  const connections = new Allowance(clock, CONNECTIONS.most, CONNECTIONS.windowMs)
  return {
    connect: (_, peer) => {
      if (!connections.take()) peer.drop()
      return new BybitSession(market, clock, peer)
    },
  }
}

class BybitSession implements UpstreamSession {
  readonly #market: ExchangeMarket
  readonly #clock: Clock
  readonly #peer: UpstreamPeer
  readonly #books: QuoteStream
  readonly #stopIdling: () => void
  #busyMs: number
  #updates = 18_521_288

  constructor(market: ExchangeMarket, clock: Clock, peer: UpstreamPeer) {
    this.#market = market
    this.#clock = clock
    this.#peer = peer
    this.#busyMs = clock.nowMs()
    this.#books = new QuoteStream(clock, market, (symbol, quote) => this.#tick(symbol, quote))
    this.#stopIdling = clock.every(IDLE_CHECK_MS, () => {
      if (clock.nowMs() - this.#busyMs >= IDLE_MS_MAX) peer.drop()
    })
  }

  receive(text: string): void {
    this.#busyMs = this.#clock.nowMs()
    const { op, args, req_id: id } = parseRequest(text) ?? {}
    switch (op) {
      case 'ping':
        this.#answer('ping', id, 'pong')
        return
      case 'subscribe':
      case 'unsubscribe':
        this.#change(op, textsOf(args), id)
        return
      default:
        this.#answer(String(op ?? ''), id, 'error:invalid op', false)
    }
  }

  close(): void {
    this.#books.close()
    this.#stopIdling()
  }

  #change(op: 'subscribe' | 'unsubscribe', topics: readonly string[], id: unknown): void {
    const problem = this.#problemOf(topics)
    if (problem !== null) {
      this.#answer(op, id, problem, false)
      return
    }
    this.#answer(op, id, '')
    for (const topic of topics) {
      const symbol = topic.slice(TOPIC.length)
      if (op === 'subscribe') this.#books.add(symbol)
      else this.#books.remove(symbol)
    }
  }

  #problemOf(topics: readonly string[]): string | null {
    if (topics.length > TOPICS_A_REQUEST) return `args size >${TOPICS_A_REQUEST}`
    const unknown = topics.find(
      (topic) => !topic.startsWith(TOPIC) || !this.#market.has(topic.slice(TOPIC.length)),
    )
    return unknown === undefined ? null : `error:handler not found,topic:${unknown}`
  }

  #tick(symbol: string, { bid, ask, bidSize, askSize }: Quote): void {
    this.#updates += 1
    const nowMs = this.#clock.nowMs()
    this.#send({
      topic: `${TOPIC}${symbol}`,
      ts: nowMs,
      type: 'snapshot',
      data: {
        s: symbol,
        b: [[bid, bidSize]],
        a: [[ask, askSize]],
        u: this.#updates,
        seq: 7_961_638_724 + this.#updates,
      },
      cts: nowMs - 3,
    })
  }

  #answer(op: string, id: unknown, words: string, success = true): void {
    const request = { req_id: typeof id === 'string' ? id : '' }
    this.#send({ success, ret_msg: words, conn_id: CONNECTION_ID, ...request, op })
  }

  #send(message: object): void {
    this.#busyMs = this.#clock.nowMs()
    this.#peer.send(JSON.stringify(message))
  }
}
