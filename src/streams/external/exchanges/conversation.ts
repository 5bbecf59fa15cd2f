import { OperatingError } from '../../../domain/errors.ts'
import type { SourceContext } from '../source.ts'
import type { ProductQuote } from './exchange-frame.ts'
import type { Product } from './products.ts'
import { productsOf } from './products.ts'
import type { ExchangeProtocol } from './protocol.ts'
import type { QuoteBook } from './quote-book.ts'
import type { Refusals } from './subscriptions.ts'
import { Subscriptions } from './subscriptions.ts'

/** Every exchange here speaks at least every three seconds, if only to say that it lives. */
const SILENCE_MS_MAX = 15_000
/** It lives, but its market does not. */
const QUIET_MS_MAX = 60_000
/** Exchanges end connections after a day. */
const LIFE_MS_MIN = 82_800_000
const LIFE_MS_SPAN = 1_800_000

const ASK_PERIOD_MS = 60_000
/** While the venue's list is not known yet. */
const ASK_EMPTY_PERIOD_MS = 1_000

/** The first assets of the list trade every few seconds, anywhere. */
const LEADING = 10
const LEADING_QUIET_MS = 30_000

export type Health = { readonly state: 'up' | 'degraded'; readonly reason: string }

/** What lives longer than a connection. */
export type Shared = {
  readonly protocol: ExchangeProtocol
  readonly context: SourceContext
  readonly quotes: QuoteBook
  readonly refusals: Refusals
}

/** What was said and heard on one connection. It is born with the socket and dies with it. */
export class Conversation {
  readonly #shared: Shared
  readonly #subscriptions: Subscriptions
  readonly #renewMs: number
  #leading: readonly string[] = []
  #askAssetsMs: number
  #heardMs: number
  #quotedMs: number
  /** When each product was quoted last. */
  readonly #lastQuoteMs = new Map<string, number>()

  /** @param chance uniform in [0, 1), so that connections of one start do not end together */
  constructor(shared: Shared, nowMs: number, chance: number) {
    this.#shared = shared
    this.#subscriptions = new Subscriptions(shared.protocol, shared.refusals)
    this.#renewMs = nowMs + LIFE_MS_MIN + chance * LIFE_MS_SPAN
    this.#askAssetsMs = nowMs
    this.#heardMs = nowMs
    this.#quotedMs = nowMs
  }

  /** The next request to send, if any. */
  next(nowMs: number): string | null {
    if (nowMs >= this.#askAssetsMs) this.#askAssets(nowMs)
    return this.#subscriptions.next(nowMs)
  }

  /** @throws OperatingError when the exchange says that it is about to hang up */
  hear(text: string, nowMs: number): void {
    this.#heardMs = nowMs
    const frame = this.#shared.protocol.decode(text)
    switch (frame.kind) {
      case 'quotes':
        for (const quote of frame.quotes) this.#take(quote, nowMs)
        if (frame.dropped > 0) this.#notice('undecodable', 'bad_quote')
        return
      case 'accepted':
        this.#subscriptions.accepted(frame.products, nowMs, frame.request)
        return
      case 'refused':
        this.#subscriptions.refused(frame.product, nowMs, frame.request)
        this.#notice('product_refused', frame.product ?? frame.reason)
        return
      case 'alive':
        return
      case 'leaving':
        throw new OperatingError('server_leaving', this.#shared.protocol.exchange)
      case 'complaint':
      case 'undecodable':
        this.#notice(frame.kind, frame.reason)
        return
      default:
        frame satisfies never
    }
  }

  /** @throws OperatingError when this connection is worth nothing any more */
  check(nowMs: number): void {
    const fault = this.#fault(nowMs)
    if (fault !== null) throw new OperatingError(fault, this.#shared.protocol.exchange)
  }

  /** null before the first quote. */
  health(nowMs: number): Health | null {
    if (this.#lastQuoteMs.size === 0) return null
    const accepted = this.#leading.filter((product) => this.#isAcceptedBefore(product, nowMs))
    const quiet = accepted.filter((product) => {
      const lastMs = this.#lastQuoteMs.get(product)
      return lastMs === undefined || nowMs - lastMs > LEADING_QUIET_MS
    })
    return quiet.length * 2 > accepted.length
      ? { state: 'degraded', reason: `no quotes of ${quiet.join(', ')}` }
      : { state: 'up', reason: '' }
  }

  #fault(nowMs: number): string | null {
    if (nowMs - this.#heardMs >= SILENCE_MS_MAX) return 'feed_silent'
    if (nowMs - this.#quotedMs >= QUIET_MS_MAX) return 'quotes_missing'
    return nowMs >= this.#renewMs ? RENEWAL : null
  }

  #askAssets(nowMs: number): void {
    const { context, protocol } = this.#shared
    const assets = context.assets()
    const products = productsOf(protocol.naming, assets)
    this.#leading = leadingOf(products, protocol.naming.quote)
    this.#subscriptions.want(products)
    this.#askAssetsMs = nowMs + (assets.length === 0 ? ASK_EMPTY_PERIOD_MS : ASK_PERIOD_MS)
  }

  #take(quote: ProductQuote, nowMs: number): void {
    const product = this.#subscriptions.product(quote.product)
    if (product === undefined) {
      this.#notice('unknown_product', quote.product)
      return
    }
    this.#subscriptions.accepted([quote.product], nowMs)
    const refusal = this.#shared.quotes.take(quote, product, nowMs)
    if (refusal !== null) {
      this.#notice('quote_refused', `${quote.product}: ${refusal}`)
      return
    }
    this.#quotedMs = nowMs
    this.#lastQuoteMs.set(quote.product, nowMs)
  }

  #isAcceptedBefore(product: string, nowMs: number): boolean {
    const acceptedMs = this.#subscriptions.acceptedMs(product)
    return acceptedMs !== undefined && nowMs - acceptedMs > LEADING_QUIET_MS
  }

  #notice(kind: string, detail: string): void {
    const { context, protocol } = this.#shared
    context.onNotice({ source: protocol.exchange, kind, detail })
  }
}

function leadingOf(products: readonly Product[], currency: Product['quote']): readonly string[] {
  return products
    .filter(({ asset, quote }) => quote === currency && asset !== 'USDC' && asset !== 'USDT')
    .slice(0, LEADING)
    .map(({ product }) => product)
}

/** The code of the error that ends a connection which did nothing wrong. */
export const RENEWAL = 'renewal'
