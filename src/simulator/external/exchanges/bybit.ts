import type { Clock } from '../../../domain/clock.ts'
import type { ReferencePrices } from '../reference-prices.ts'
import type { Upstream } from '../upstream.ts'
import type { ExchangeConnection } from './exchange-connection.ts'
import { exchangeUpstream } from './exchange-connection.ts'
import type { SimulatedQuote } from './exchange-market.ts'
import { parseRequest, stringsOf } from './exchange-request.ts'

/** Limits: https://bybit-exchange.github.io/docs/v5/ws/connect */
const CONNECTIONS = { max: 500, windowMs: 300_000 }
const TOPICS_PER_REQUEST = 10
const IDLE_MS_MAX = 600_000

const IDLE_CHECK_MS = 10_000
const REPEAT_MS = 3_000

const TOPIC = 'orderbook.1.'
const CONNECTION_ID = '2324d924-aa4d-45b0-a858-7b8be29ab52b'

/**
 * Bybit v5 spot: `orderbook.1`. One unknown topic fails a request. Pings and pongs are JSON. While it is halted the last
 * quotes are repeated.
 */
export function simulatedBybit(reference: ReferencePrices, clock: Clock): Upstream {
  return exchangeUpstream(
    { reference, clock },
    {
      exchange: 'bybit',
      join: (base, currency) => `${base}${currency}`,
      currencies: ['USDT', 'USDC'],
      stable: [['USDC', 'USDT']],
      names: { NEIRO: 'NEIROCTO' },
      unlisted: ['BSV', 'GAS', 'ARK', 'NEO'],
    },
    CONNECTIONS,
    (connection) => new BybitSession(connection),
  )
}

class BybitSession {
  readonly #connection: ExchangeConnection
  #updates = 18_521_288

  constructor(connection: ExchangeConnection) {
    this.#connection = connection
    connection.onQuote((symbol, quote) => this.#sendQuote(symbol, quote))
    connection.every(IDLE_CHECK_MS, () => {
      if (connection.idleMs >= IDLE_MS_MAX) connection.peer.drop()
    })
    connection.every(REPEAT_MS, () => {
      if (connection.isHalted) connection.repeat()
    })
  }

  receive(text: string): void {
    const { op, args, req_id: id } = parseRequest(text) ?? {}
    switch (op) {
      case 'ping':
        this.#answer('ping', id, 'pong')
        return
      case 'subscribe':
      case 'unsubscribe':
        this.#change(op, stringsOf(args), id)
        return
      default:
        this.#answer(String(op ?? ''), id, 'error:invalid op', false)
    }
  }

  #change(op: 'subscribe' | 'unsubscribe', topics: readonly string[], id: unknown): void {
    const problem = this.#problemOf(topics)
    if (problem !== null) {
      this.#answer(op, id, problem, false)
      return
    }
    this.#answer(op, id, '')
    for (const topic of topics) this.#connection.set(topic.slice(TOPIC.length), op === 'subscribe')
  }

  #problemOf(topics: readonly string[]): string | null {
    if (topics.length > TOPICS_PER_REQUEST) return `args size >${TOPICS_PER_REQUEST}`
    const { market } = this.#connection
    const unknown = topics.find(
      (topic) => !topic.startsWith(TOPIC) || !market.has(topic.slice(TOPIC.length)),
    )
    return unknown === undefined ? null : `error:handler not found,topic:${unknown}`
  }

  #sendQuote(symbol: string, { bid, ask, bidSize, askSize, timeMs }: SimulatedQuote): void {
    if (!this.#connection.isHalted) this.#updates += 1
    this.#connection.send({
      topic: `${TOPIC}${symbol}`,
      ts: this.#connection.clock.nowMs(),
      type: 'snapshot',
      data: {
        s: symbol,
        b: [[bid, bidSize]],
        a: [[ask, askSize]],
        u: this.#updates,
        seq: 7_961_638_724 + this.#updates,
      },
      cts: timeMs - 3,
    })
  }

  #answer(op: string, id: unknown, text: string, success = true): void {
    const request = { req_id: typeof id === 'string' ? id : '' }
    this.#connection.send({ success, ret_msg: text, conn_id: CONNECTION_ID, ...request, op })
  }
}
