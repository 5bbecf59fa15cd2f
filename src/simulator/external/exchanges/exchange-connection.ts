import type { Clock } from '../../../domain/clock.ts'
import type { ReferencePrices } from '../reference-prices.ts'
import type { Upstream, UpstreamPeer, UpstreamSession } from '../upstream.ts'
import type { ExchangeListing, SimulatedQuote } from './exchange-market.ts'
import { ExchangeMarket } from './exchange-market.ts'
import { RateWindow } from './rate-window.ts'

const TICK_MS = 250
const TICKS_PER_SECOND = 4
/** These products are quoted at every tick, the others once a second. */
const LEADING = 8

type OnQuote = (product: string, quote: SimulatedQuote, isFirst: boolean) => void

/** The parts of a session that differ between exchanges. */
type ExchangeSession = Omit<UpstreamSession, 'close'>

/** A simulated exchange with a limit of connections per window of time. */
export function exchangeUpstream(
  { reference, clock }: { readonly reference: ReferencePrices; readonly clock: Clock },
  listing: ExchangeListing,
  limit: { readonly max: number; readonly windowMs: number },
  open: (connection: ExchangeConnection, target: string) => ExchangeSession,
): Upstream {
  const market = new ExchangeMarket(reference, listing)
  const connections = new RateWindow(clock, limit.max, limit.windowMs)
  return {
    connect: (target, peer) => {
      if (!connections.take()) peer.drop()
      const connection = new ExchangeConnection(market, clock, peer)
      const session = open(connection, target)
      return {
        receive: (text) => {
          connection.touch()
          session.receive(text)
        },
        ponged: () => session.ponged?.(),
        close: () => connection.close(),
      }
    },
  }
}

/** RFC 3339 with microseconds. */
export function timeText(ms: number): string {
  return new Date(ms).toISOString().replace('Z', '000Z')
}

/** One connection: its subscribed products, its timers and its idle time. */
export class ExchangeConnection {
  readonly market: ExchangeMarket
  readonly clock: Clock
  readonly peer: UpstreamPeer
  readonly #products = new Set<string>()
  readonly #stops: (() => void)[] = []
  #onQuote: OnQuote = () => {}
  #activeMs: number
  #sentMs: number
  #ticks = 0

  constructor(market: ExchangeMarket, clock: Clock, peer: UpstreamPeer) {
    this.market = market
    this.clock = clock
    this.peer = peer
    this.#activeMs = clock.nowMs()
    this.#sentMs = clock.nowMs()
    this.every(TICK_MS, () => this.#tick())
  }

  /** Since the last frame in either direction. */
  get idleMs(): number {
    return this.clock.nowMs() - this.#activeMs
  }

  get sinceSentMs(): number {
    return this.clock.nowMs() - this.#sentMs
  }

  get products(): readonly string[] {
    return [...this.#products]
  }

  get time(): string {
    return timeText(this.clock.nowMs())
  }

  /** Whether nothing is traded: products keep their last quote. */
  get isHalted(): boolean {
    const nowMs = this.clock.nowMs()
    return this.market.newestMs(nowMs) < nowMs
  }

  onQuote(onQuote: OnQuote): void {
    this.#onQuote = onQuote
  }

  has(product: string): boolean {
    return this.#products.has(product)
  }

  /** Subscribes a product or ends its subscription; a new one is quoted at once. */
  set(product: string, isSubscribed: boolean): void {
    if (isSubscribed) {
      this.#products.add(product)
      this.#quote(product, true)
    } else this.#products.delete(product)
  }

  /** Quotes every product again. */
  repeat(): void {
    for (const product of this.#products) this.#quote(product, false)
  }

  send(message: object): void {
    this.touch()
    this.#sentMs = this.clock.nowMs()
    this.peer.send(JSON.stringify(message))
  }

  touch(): void {
    this.#activeMs = this.clock.nowMs()
  }

  every(periodMs: number, task: () => void): void {
    this.#stops.push(this.clock.every(periodMs, task))
  }

  after(delayMs: number, task: () => void): void {
    this.#stops.push(this.clock.after(delayMs, task))
  }

  close(): void {
    for (const stop of this.#stops) stop()
  }

  #tick(): void {
    this.#ticks += 1
    if (this.isHalted) return
    for (const product of this.#products) {
      const rank = this.market.rank(product)
      if (rank < LEADING || (rank + this.#ticks) % TICKS_PER_SECOND === 0)
        this.#quote(product, false)
    }
  }

  #quote(product: string, isFirst: boolean): void {
    const quote = this.market.quote(product, this.clock.nowMs())
    if (quote !== undefined) this.#onQuote(product, quote, isFirst)
  }
}
