import type { Product } from './products.ts'
import type { ExchangeProtocol } from './protocol.ts'

/** An exchange answers within a second. */
const ANSWER_MS_MAX = 10_000
/** An exchange may list tomorrow what it does not know today. */
const REFUSED_MS = 21_600_000
const UNANSWERED_MS = 600_000

/** Which products an exchange does not know, and when to ask again. Outlives connections. */
export type Refusals = Map<string, number>

/**
 * Gets products subscribed on one connection, a request at a time, so that every answer is to the last
 * one. A name that the exchange does not know costs only itself: where it spoils its request, the others
 * are asked for again; where the exchange does not say which it was, each half by itself.
 */
export class Subscriptions {
  readonly #protocol: ExchangeProtocol
  readonly #refusals: Refusals
  readonly #products = new Map<string, Product>()
  readonly #unsent: (readonly string[])[] = []
  /** Sent last and not answered yet. */
  #asked = new Set<string>()
  #askedMs = 0
  #requests = 0
  readonly #acceptedMs = new Map<string, number>()

  constructor(protocol: ExchangeProtocol, refusals: Refusals) {
    this.#protocol = protocol
    this.#refusals = refusals
  }

  /** Those that are not known yet are asked for; nothing is ever taken back. */
  want(products: readonly Product[]): void {
    const added = products.filter(({ product }) => !this.#products.has(product))
    for (const product of added) this.#products.set(product.product, product)
    this.#queue(added.map(({ product }) => product))
  }

  product(name: string): Product | undefined {
    return this.#products.get(name)
  }

  /** When the exchange agreed to quote it; undefined if it did not. */
  acceptedMs(name: string): number | undefined {
    return this.#acceptedMs.get(name)
  }

  /** The next request, if it is time for one. */
  next(nowMs: number): string | null {
    if (this.#asked.size > 0) {
      if (nowMs - this.#askedMs < ANSWER_MS_MAX) return null
      this.#split(nowMs, UNANSWERED_MS)
    }
    this.#forgive(nowMs)
    const products = this.#dequeue()
    if (products.length === 0) return null
    this.#asked = new Set(products)
    this.#askedMs = nowMs
    this.#requests += 1
    return this.#protocol.subscribe(products, this.#requests)
  }

  /**
   * @param products null: all that were asked for last
   * @param request which one is answered, where the exchange repeats its number: without a product's name, only the
   *   answer to the last one says whose it is
   */
  accepted(products: readonly string[] | null, nowMs: number, request = this.#requests): void {
    if (products === null && request !== this.#requests) return
    for (const product of products ?? [...this.#asked]) {
      this.#asked.delete(product)
      if (this.#products.has(product) && !this.#acceptedMs.has(product))
        this.#acceptedMs.set(product, nowMs)
    }
  }

  /**
   * @param product null if the exchange does not say which it was
   * @param request as of {@link accepted}
   */
  refused(product: string | null, nowMs: number, request = this.#requests): void {
    if (product === null) {
      if (request === this.#requests && this.#protocol.isBatchAtomic) this.#split(nowMs, REFUSED_MS)
      return
    }
    if (!this.#products.has(product)) return
    this.#refusals.set(product, nowMs + REFUSED_MS)
    if (!this.#asked.delete(product) || !this.#protocol.isBatchAtomic) return
    this.#unsent.unshift([...this.#asked])
    this.#asked.clear()
  }

  /** One alone that fails is left out for a while. */
  #split(nowMs: number, forMs: number): void {
    const products = [...this.#asked]
    this.#asked.clear()
    const [only] = products
    if (products.length === 1 && only !== undefined) this.#refusals.set(only, nowMs + forMs)
    else {
      const half = Math.ceil(products.length / 2)
      this.#unsent.unshift(products.slice(0, half), products.slice(half))
    }
  }

  #forgive(nowMs: number): void {
    const forgiven = [...this.#refusals].filter(([, untilMs]) => untilMs <= nowMs)
    for (const [product] of forgiven) this.#refusals.delete(product)
    this.#queue(forgiven.map(([product]) => product).filter((one) => this.#products.has(one)))
  }

  #queue(products: readonly string[]): void {
    const { batchMax } = this.#protocol
    for (let from = 0; from < products.length; from += batchMax)
      this.#unsent.push(products.slice(from, from + batchMax))
  }

  #dequeue(): readonly string[] {
    for (let batch = this.#unsent.shift(); batch !== undefined; batch = this.#unsent.shift()) {
      const products = batch.filter(
        (product) => !this.#refusals.has(product) && !this.#acceptedMs.has(product),
      )
      if (products.length > 0) return products
    }
    return []
  }
}
