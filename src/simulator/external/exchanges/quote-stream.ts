import type { Clock } from '../../../domain/clock.ts'
import type { ExchangeMarket, Quote } from './exchange-market.ts'

const TICK_MS = 250
/** These move with every tick, the others each second, spread over its ticks. */
const LEADING = 8
const TICKS_A_SECOND = 4

/** Pushes the quotes of what one connection has subscribed. */
export class QuoteStream {
  readonly #clock: Clock
  readonly #market: ExchangeMarket
  readonly #push: (product: string, quote: Quote, isFirst: boolean) => void
  readonly #products = new Set<string>()
  readonly #stop: () => void
  #ticks = 0

  constructor(
    clock: Clock,
    market: ExchangeMarket,
    push: (product: string, quote: Quote, isFirst: boolean) => void,
  ) {
    this.#clock = clock
    this.#market = market
    this.#push = push
    this.#stop = clock.every(TICK_MS, () => this.#tick())
  }

  get products(): readonly string[] {
    return [...this.#products]
  }

  has(product: string): boolean {
    return this.#products.has(product)
  }

  /** Quotes it at once. */
  add(product: string): void {
    this.#products.add(product)
    this.#quote(product, true)
  }

  remove(product: string): void {
    this.#products.delete(product)
  }

  close(): void {
    this.#stop()
  }

  #tick(): void {
    this.#ticks += 1
    for (const product of this.#products) {
      const rank = this.#market.rank(product)
      if (rank < LEADING || (rank + this.#ticks) % TICKS_A_SECOND === 0) this.#quote(product, false)
    }
  }

  #quote(product: string, isFirst: boolean): void {
    const quote = this.#market.quote(product, this.#clock.nowMs())
    if (quote !== undefined) this.#push(product, quote, isFirst)
  }
}
