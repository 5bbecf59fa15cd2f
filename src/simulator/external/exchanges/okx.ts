import type { Clock } from '../../../domain/clock.ts'
import type { ReferencePrices } from '../reference-prices.ts'
import type { Upstream } from '../upstream.ts'
import type { ExchangeConnection } from './exchange-connection.ts'
import { exchangeUpstream } from './exchange-connection.ts'
import type { SimulatedQuote } from './exchange-market.ts'
import { parseRequest, requestObject } from './exchange-request.ts'
import { RateWindow } from './rate-window.ts'

/** Documented limits. */
const CONNECTIONS = { max: 3, windowMs: 1_000 }
const REQUESTS = { max: 480, windowMs: 3_600_000 }
const REQUEST_BYTES_MAX = 64 * 1024
const IDLE_MS_MAX = 30_000
const IDLE_CHECK_MS = 1_000

const CHANNEL = 'bbo-tbt'
const CONNECTION_ID = 'a4d3ae55'

/** OKX v5: `bbo-tbt`. Each argument of a request is acknowledged by itself. Pings are plain text. */
export function simulatedOkx(reference: ReferencePrices, clock: Clock): Upstream {
  return exchangeUpstream(
    { reference, clock },
    {
      exchange: 'okx',
      join: (base, currency) => `${base}-${currency}`,
      currencies: ['USDT', 'USDC'],
      stable: [['USDC', 'USDT']],
      names: {},
      unlisted: ['KAS', 'XMR', 'ZEC', 'MNT'],
    },
    CONNECTIONS,
    (connection) => new OkxSession(connection),
  )
}

class OkxSession {
  readonly #connection: ExchangeConnection
  readonly #requests: RateWindow
  #sequence = 363_996_337

  constructor(connection: ExchangeConnection) {
    this.#connection = connection
    this.#requests = new RateWindow(connection.clock, REQUESTS.max, REQUESTS.windowMs)
    connection.onQuote((instrument, quote) => this.#sendQuote(instrument, quote))
    connection.every(IDLE_CHECK_MS, () => {
      if (connection.idleMs >= IDLE_MS_MAX) connection.peer.drop()
    })
  }

  receive(text: string): void {
    if (text === 'ping') {
      this.#connection.peer.send('pong')
      return
    }
    const { op, args, id } = parseRequest(text) ?? {}
    const isKnown = op === 'subscribe' || op === 'unsubscribe'
    if (!isKnown || !Array.isArray(args) || text.length > REQUEST_BYTES_MAX)
      this.#fail('60012', `Illegal request: ${text.slice(0, 200)}`, id)
    else if (!this.#requests.take())
      this.#fail('60014', `${op} requests too frequent. Please try again later.`, id)
    else for (const arg of args) this.#change(op, arg, id)
  }

  #change(op: 'subscribe' | 'unsubscribe', arg: unknown, id: unknown): void {
    const { channel, instId } = requestObject(arg) ?? {}
    const { market } = this.#connection
    if (channel !== CHANNEL || typeof instId !== 'string' || !market.has(instId)) {
      const named = `Wrong URL or channel:${String(channel)},instId:${String(instId)} doesn't exist.`
      const advice = 'Please use the correct URL, channel and parameters referring to API document.'
      this.#fail('60018', `${named} ${advice}`, id)
      return
    }
    const answer = { event: op, arg: { channel, instId }, connId: CONNECTION_ID }
    this.#connection.send({ ...answer, ...(id !== undefined && { id }) })
    this.#connection.set(instId, op === 'subscribe')
  }

  #sendQuote(instrument: string, { bid, ask, bidSize, askSize, timeMs }: SimulatedQuote): void {
    this.#sequence += 1
    const book = {
      asks: [[ask, askSize, '0', '3']],
      bids: [[bid, bidSize, '0', '4']],
      ts: String(timeMs),
      seqId: this.#sequence,
    }
    this.#connection.send({ arg: { channel: CHANNEL, instId: instrument }, data: [book] })
  }

  #fail(code: string, msg: string, id: unknown): void {
    const answer = { event: 'error', msg, code, connId: CONNECTION_ID }
    this.#connection.send({ ...answer, ...(id !== undefined && { id }) })
  }
}
