import type { Product } from './products.ts'
import type { ExchangeProtocol } from './protocol.ts'

/** Exchanges answer within a second. */
const ANSWER_MS_MAX = 10_000
/** An exchange may list a product later. */
const REFUSED_MS = 21_600_000
const UNANSWERED_MS = 600_000

/** When to ask again for a product that the exchange does not list. Outlives connections. */
export type Refusals = Map<string, number>

/**
 * The subscriptions of one connection. Requests are sent one at a time, so that every answer belongs to the
 * last one. An unknown product costs only itself: if it makes the exchange reject the request, the other
 * products are requested again, and if the exchange does not name the product, each half by itself.
 */
export class Subscriptions {
  readonly #protocol: ExchangeProtocol
  readonly #refusals: Refusals
  readonly #products = new Map<string, Product>()
  readonly #queue: (readonly string[])[] = []
  /** Unanswered products of the last request. */
  #unanswered = new Set<string>()
  #sentMs = 0
  #requests = 0
  readonly #acceptedMs = new Map<string, number>()

  constructor(protocol: ExchangeProtocol, refusals: Refusals) {
    this.#protocol = protocol
    this.#refusals = refusals
  }

  /** Requests new products; products are never unsubscribed. */
  add(products: readonly Product[]): void {
    const added = products.filter(({ product }) => !this.#products.has(product))
    for (const product of added) this.#products.set(product.product, product)
    this.#enqueue(added.map(({ product }) => product))
  }

  product(name: string): Product | undefined {
    return this.#products.get(name)
  }

  /** When the exchange accepted the subscription; undefined if it did not. */
  acceptedMs(name: string): number | undefined {
    return this.#acceptedMs.get(name)
  }

  /** The next request; null while one is unanswered or nothing is left to request. */
  nextRequest(nowMs: number): string | null {
    if (this.#unanswered.size > 0) {
      if (nowMs - this.#sentMs < ANSWER_MS_MAX) return null
      this.#split(nowMs, UNANSWERED_MS)
    }
    this.#retryRefused(nowMs)
    const products = this.#dequeue()
    if (products.length === 0) return null
    this.#unanswered = new Set(products)
    this.#sentMs = nowMs
    this.#requests += 1
    return this.#protocol.subscribe(products, this.#requests)
  }

  /**
   * @param products null: all products of the request
   * @param request the number that the exchange repeats; an answer without products counts only for the last request
   */
  accept(products: readonly string[] | null, nowMs: number, request = this.#requests): void {
    if (products === null && request !== this.#requests) return
    for (const product of products ?? [...this.#unanswered]) {
      this.#unanswered.delete(product)
      if (this.#products.has(product) && !this.#acceptedMs.has(product))
        this.#acceptedMs.set(product, nowMs)
    }
  }

  /**
   * @param product null if the exchange does not name it
   * @param request as of {@link accept}
   */
  refuse(product: string | null, nowMs: number, request = this.#requests): void {
    if (product === null) {
      if (request === this.#requests && this.#protocol.isBatchAtomic) this.#split(nowMs, REFUSED_MS)
      return
    }
    if (!this.#products.has(product)) return
    this.#refusals.set(product, nowMs + REFUSED_MS)
    if (!this.#unanswered.delete(product) || !this.#protocol.isBatchAtomic) return
    this.#queue.unshift([...this.#unanswered])
    this.#unanswered.clear()
  }

  /** Requests each half by itself; a single product is left out for a while. */
  #split(nowMs: number, forMs: number): void {
    const products = [...this.#unanswered]
    this.#unanswered.clear()
    const [only] = products
    if (products.length === 1 && only !== undefined) this.#refusals.set(only, nowMs + forMs)
    else {
      const half = Math.ceil(products.length / 2)
      this.#queue.unshift(products.slice(0, half), products.slice(half))
    }
  }

  #retryRefused(nowMs: number): void {
    const due = [...this.#refusals].filter(([, untilMs]) => untilMs <= nowMs)
    for (const [product] of due) this.#refusals.delete(product)
    this.#enqueue(due.map(([product]) => product).filter((one) => this.#products.has(one)))
  }

  #enqueue(products: readonly string[]): void {
    const { batchMax } = this.#protocol
    for (let from = 0; from < products.length; from += batchMax)
      this.#queue.push(products.slice(from, from + batchMax))
  }

  #dequeue(): readonly string[] {
    for (let batch = this.#queue.shift(); batch !== undefined; batch = this.#queue.shift()) {
      const products = batch.filter(
        (product) => !this.#refusals.has(product) && !this.#acceptedMs.has(product),
      )
      if (products.length > 0) return products
    }
    return []
  }
}
