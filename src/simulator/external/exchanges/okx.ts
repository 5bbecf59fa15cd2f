import type { Clock } from '../../../domain/clock.ts'
import type { Upstream, UpstreamPeer, UpstreamSession } from '../upstream.ts'
import type { World } from '../world.ts'
import { Allowance } from './allowance.ts'
import type { Quote } from './exchange-market.ts'
import { ExchangeMarket } from './exchange-market.ts'
import { QuoteStream } from './quote-stream.ts'
import { parseRequest, requestObject } from './request-object.ts'

/** The exchange's own limits. */
const CONNECTIONS_A_SECOND = 3
const REQUESTS = { most: 480, windowMs: 3_600_000 }
const REQUEST_BYTES_MAX = 64 * 1024
/** A connection on which nothing is said for that long ends. */
const IDLE_MS_MAX = 30_000
const IDLE_CHECK_MS = 1_000

const CHANNEL = 'bbo-tbt'
const CONNECTION_ID = 'a4d3ae55'

/** OKX v5: `bbo-tbt`, each argument of a request answered by itself, and `ping` as plain text. */
export function simulatedOkx(world: World, clock: Clock): Upstream {
  const market = new ExchangeMarket(world, {
    exchange: 'okx',
    join: (base, currency) => `${base}-${currency}`,
    currencies: ['USDT', 'USDC'],
    stable: [['USDC', 'USDT']],
    names: {},
    unlisted: ['KAS', 'XMR', 'ZEC', 'MNT'],
  })
  const connections = new Allowance(clock, CONNECTIONS_A_SECOND, 1_000)
  return {
    connect: (_, peer) => {
      if (!connections.take()) peer.drop()
      return new OkxSession(market, clock, peer)
    },
  }
}

class OkxSession implements UpstreamSession {
  readonly #market: ExchangeMarket
  readonly #clock: Clock
  readonly #peer: UpstreamPeer
  readonly #requests: Allowance
  readonly #books: QuoteStream
  readonly #stopIdling: () => void
  #busyMs: number
  #sequence = 363_996_337

  constructor(market: ExchangeMarket, clock: Clock, peer: UpstreamPeer) {
    this.#market = market
    this.#clock = clock
    this.#peer = peer
    this.#busyMs = clock.nowMs()
    this.#requests = new Allowance(clock, REQUESTS.most, REQUESTS.windowMs)
    this.#books = new QuoteStream(clock, market, (instrument, quote) =>
      this.#tick(instrument, quote),
    )
    this.#stopIdling = clock.every(IDLE_CHECK_MS, () => {
      if (clock.nowMs() - this.#busyMs >= IDLE_MS_MAX) peer.drop()
    })
  }

  receive(text: string): void {
    this.#busyMs = this.#clock.nowMs()
    if (text === 'ping') {
      this.#peer.send('pong')
      return
    }
    const request = parseRequest(text)
    const { op, args, id } = request ?? {}
    const isKnown = op === 'subscribe' || op === 'unsubscribe'
    if (!isKnown || !Array.isArray(args) || text.length > REQUEST_BYTES_MAX)
      this.#fail('60012', `Illegal request: ${text.slice(0, 200)}`, id)
    else if (!this.#requests.take())
      this.#fail('60014', `${op} requests too frequent. Please try again later.`, id)
    else for (const arg of args) this.#change(op, arg, id)
  }

  close(): void {
    this.#books.close()
    this.#stopIdling()
  }

  #change(op: 'subscribe' | 'unsubscribe', arg: unknown, id: unknown): void {
    const { channel, instId } = requestObject(arg) ?? {}
    if (channel !== CHANNEL || typeof instId !== 'string' || !this.#market.has(instId)) {
      const named = `Wrong URL or channel:${String(channel)},instId:${String(instId)} doesn't exist.`
      const advice = 'Please use the correct URL, channel and parameters referring to API document.'
      this.#fail('60018', `${named} ${advice}`, id)
      return
    }
    const answer = { event: op, arg: { channel, instId }, connId: CONNECTION_ID }
    this.#send({ ...answer, ...(id !== undefined && { id }) })
    if (op === 'subscribe') this.#books.add(instId)
    else this.#books.remove(instId)
  }

  #tick(instrument: string, { bid, ask, bidSize, askSize }: Quote): void {
    this.#sequence += 1
    const book = {
      asks: [[ask, askSize, '0', '3']],
      bids: [[bid, bidSize, '0', '4']],
      ts: String(this.#clock.nowMs()),
      seqId: this.#sequence,
    }
    this.#send({ arg: { channel: CHANNEL, instId: instrument }, data: [book] })
  }

  #fail(code: string, msg: string, id: unknown): void {
    const answer = { event: 'error', msg, code, connId: CONNECTION_ID }
    this.#send({ ...answer, ...(id !== undefined && { id }) })
  }

  #send(message: object): void {
    this.#busyMs = this.#clock.nowMs()
    this.#peer.send(JSON.stringify(message))
  }
}
