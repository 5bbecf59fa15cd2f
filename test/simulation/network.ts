import { Observable, Subscription } from 'rxjs'
import { OperatingError } from '../../src/domain/errors.ts'
import { isRecord } from '../../src/domain/json.ts'
import { infoWeight } from '../../src/simulator/venue/info.ts'
import type { Session } from '../../src/simulator/venue/session.ts'
import type { Venue } from '../../src/simulator/venue/venue.ts'
import type { Connect, HttpReply, Post } from '../../src/streams/runtime.ts'
import type { Chance } from './chance.ts'
import type { Kernel } from './kernel.ts'
import type { Process } from './machine.ts'

const LATENCY_MS_MIN = 2
const LATENCY_MS_MAX = 60
const JITTER_MS_MAX = 6
/** Share of slow REST requests. */
const SLOW_SHARE = 0.08
const SLOW_MS_MAX = 2_500
/** Timeout of the service's own client. */
const HEADERS_MS_MAX = 10_000
const TOO_MANY_REQUESTS = 429
const CANDLES_A_WEIGHT = 60

/** Use of the venue by one address. Checkers compare it with the venue's limits. */
export type Usage = {
  /** Connection attempts, messages, and REST weight as counted by the venue. */
  readonly connected: Cost[]
  readonly messages: Cost[]
  readonly weights: Cost[]
  readonly sessions: Set<Session>
  connectionsMost: number
  subscriptionsMost: number
  requestsOpen: number
  requestsOpenMost: number
}

/** A cost at a true instant. */
type Cost = { readonly atMs: number; readonly cost: number }

/** Observes traffic, for stories, checkers and tests that alter it. */
export type NetworkTap = {
  /** @returns the message that reaches the venue instead. */
  readonly onMessage?: (text: string, address: string) => string
  /** @returns the frame that arrives instead; null drops it. */
  readonly onFrame?: (text: string, address: string) => string | null
  /** The venue refused a connection. */
  readonly onRefused?: (address: string) => void
  readonly onRequest?: (body: unknown, address: string) => void
  /** The venue answered 429. */
  readonly onTooMany?: (body: unknown) => void
}

/** Simulated WebSockets and requests, with latency and in order. */
export class Network {
  readonly #kernel: Kernel
  readonly #venue: Venue
  readonly #chance: Chance
  readonly #tap: NetworkTap
  readonly #usage = new Map<string, Usage>()

  constructor(options: {
    readonly kernel: Kernel
    readonly venue: Venue
    readonly chance: Chance
    readonly tap: NetworkTap
  }) {
    this.#kernel = options.kernel
    this.#venue = options.venue
    this.#chance = options.chance
    this.#tap = options.tap
  }

  usageOf(address: string): Usage {
    const known = this.#usage.get(address)
    if (known !== undefined) return known
    const usage: Usage = {
      connected: [],
      messages: [],
      weights: [],
      sessions: new Set(),
      connectionsMost: 0,
      subscriptionsMost: 0,
      requestsOpen: 0,
      requestsOpenMost: 0,
    }
    this.#usage.set(address, usage)
    return usage
  }

  connectOf(process: Process, address: string): Connect {
    return (url, outbound) =>
      new Observable<string>((subscriber) => {
        const usage = this.usageOf(address)
        const sending = new Subscription()
        const [up, down] = [this.#lane(), this.#lane()]
        let session: Session | undefined
        let isClosed = false
        const fail = (code: string, message: string) =>
          subscriber.error(new OperatingError(code, message))
        const toClient = (task: () => void) =>
          process.arrive(down(), () => {
            if (!isClosed) task()
          })
        const toVenue = (task: () => void) => this.#kernel.at(up(), null, task)

        toVenue(() => {
          usage.connected.push({ atMs: this.#kernel.nowMs, cost: 1 })
          session = this.#venue.connect(address, {
            send: (text) => {
              const arriving = this.#tap.onFrame ? this.#tap.onFrame(text, address) : text
              if (arriving !== null) toClient(() => subscriber.next(arriving))
            },
            drop: () => {
              if (session !== undefined) usage.sessions.delete(session)
              toClient(() => fail('socket_closed', `${url} closed with 1006`))
            },
            queuedBytes: () => 0,
          })
          if (session === undefined) {
            this.#tap.onRefused?.(address)
            toClient(() => fail('socket_failed', `${url}: refused`))
            return
          }
          usage.sessions.add(session)
          usage.connectionsMost = Math.max(usage.connectionsMost, session.use.connections)
          toClient(() => {
            sending.add(
              outbound.subscribe((text) =>
                toVenue(() => {
                  if (session?.isOpen !== true) return
                  usage.messages.push({ atMs: this.#kernel.nowMs, cost: 1 })
                  session.receive(this.#tap.onMessage?.(text, address) ?? text)
                  const { subscriptions } = session.use
                  usage.subscriptionsMost = Math.max(usage.subscriptionsMost, subscriptions)
                }),
              ),
            )
          })
        })

        const close = () => {
          if (isClosed) return
          isClosed = true
          forget()
          toVenue(() => {
            if (session === undefined) return
            usage.sessions.delete(session)
            session.close()
          })
        }
        // As an operating system closes the connections of a killed process.
        const forget = process.onEnd(close)
        return () => {
          sending.unsubscribe()
          close()
        }
      })
  }

  postOf(process: Process, address: string): Post {
    return (url, body) =>
      new Observable<HttpReply>((subscriber) => {
        const usage = this.usageOf(address)
        const lane = this.#lane()
        let isOver = false
        const over = () => {
          if (isOver) return
          isOver = true
          forget()
          usage.requestsOpen -= 1
        }
        const forget = process.onEnd(over)
        usage.requestsOpen += 1
        usage.requestsOpenMost = Math.max(usage.requestsOpenMost, usage.requestsOpen)
        const slowMs = this.#chance.is(SLOW_SHARE) ? this.#chance.integer(0, SLOW_MS_MAX) : 0
        const stopWaiting = process.startTimer(HEADERS_MS_MAX, () =>
          subscriber.error(new OperatingError('request_failed', `${url}: no answer`)),
        )
        this.#kernel.at(lane(), null, () => {
          this.#tap.onRequest?.(body, address)
          const answer = this.#venue.info(address, JSON.stringify(body))
          const cost = infoWeight(body) + rowWeight(body, answer?.body)
          usage.weights.push({ atMs: this.#kernel.nowMs, cost })
          if (answer === undefined) return
          const reply: HttpReply = { status: answer.status, body: answer.body }
          if (reply.status === TOO_MANY_REQUESTS) this.#tap.onTooMany?.(body)
          process.arrive(lane() + slowMs, () => {
            if (isOver) return
            stopWaiting()
            over()
            subscriber.next(reply)
            subscriber.complete()
          })
        })
        return () => {
          stopWaiting()
          over()
        }
      })
  }

  /** @returns arrival times in the order of sending. */
  #lane(): () => number {
    const latencyMs = this.#chance.integer(LATENCY_MS_MIN, LATENCY_MS_MAX)
    let lastMs = 0
    return () => {
      const atMs = this.#kernel.nowMs + latencyMs + this.#chance.integer(0, JITTER_MS_MAX)
      lastMs = Math.max(lastMs, atMs)
      return lastMs
    }
  }
}

/** Additional weight of candle rows in a reply. */
function rowWeight(body: unknown, reply: string | undefined): number {
  const isCandles = isRecord(body) && body['type'] === 'candleSnapshot'
  if (!isCandles || reply === undefined) return 0
  return Math.floor((reply.split('"t":').length - 1) / CANDLES_A_WEIGHT)
}
