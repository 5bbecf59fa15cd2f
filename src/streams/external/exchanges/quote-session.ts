import { OperatingError } from '../../../domain/errors.ts'
import type { SourceContext } from '../source.ts'
import type { ProductQuote } from './exchange-frame.ts'
import type { Product } from './products.ts'
import { productsOf } from './products.ts'
import type { ExchangeProtocol } from './protocol.ts'
import type { QuoteBook } from './quote-book.ts'
import type { Refusals } from './subscriptions.ts'
import { Subscriptions } from './subscriptions.ts'

/** Every exchange sends a frame at least every three seconds: quotes, heartbeats or pongs. */
const FRAME_GAP_MS_MAX = 15_000
/** Heartbeats alone are not enough. */
const QUOTE_GAP_MS_MAX = 60_000
/** Exchanges close connections after 24 hours: https://developers.binance.com/docs/binance-spot-api-docs/web-socket-streams */
const LIFE_MS_MIN = 82_800_000
const LIFE_MS_SPAN = 1_800_000

const ASSETS_PERIOD_MS = 60_000
/** While the venue's list of coins is not known. */
const NO_ASSETS_PERIOD_MS = 1_000

/** Age of a quote at its arrival. Half of the gap of quotes, because clocks differ. */
const QUOTE_AGE_MS_MAX = 30_000

/** The first assets of the list trade every few seconds on every exchange. */
const LEADING = 10
const LEADING_GAP_MS_MAX = 30_000

/** Code of the error that ends a connection because of its age. */
export const RENEWAL = 'renewal'
/** Code of the error that ends a connection that delivers no quotes. */
export const QUOTES_MISSING = 'quotes_missing'

type Health = { readonly state: 'up' | 'degraded'; readonly reason: string }

/** State that outlives a connection. */
export type ExchangeState = {
  readonly protocol: ExchangeProtocol
  readonly context: SourceContext
  readonly quotes: QuoteBook
  readonly refusals: Refusals
}

/** Subscriptions and quotes of one connection. */
export class QuoteSession {
  readonly #exchange: ExchangeState
  readonly #subscriptions: Subscriptions
  readonly #openedMs: number
  readonly #renewMs: number
  #leading: readonly string[] = []
  #assetsDueMs: number
  #lastFrameMs: number
  #lastQuoteMs: number
  readonly #lastQuoteMsOf = new Map<string, number>()

  /** @param chance uniform in [0, 1), so that connections are not renewed at the same time */
  constructor(exchange: ExchangeState, nowMs: number, chance: number) {
    this.#exchange = exchange
    this.#subscriptions = new Subscriptions(exchange.protocol, exchange.refusals)
    this.#openedMs = nowMs
    this.#renewMs = nowMs + LIFE_MS_MIN + chance * LIFE_MS_SPAN
    this.#assetsDueMs = nowMs
    this.#lastFrameMs = nowMs
    this.#lastQuoteMs = nowMs
  }

  /** From the start of the connection to its last quote. */
  get quotingMs(): number {
    return this.#lastQuoteMs - this.#openedMs
  }

  /** The next request to send, if any. */
  nextRequest(nowMs: number): string | null {
    if (nowMs >= this.#assetsDueMs) this.#addProducts(nowMs)
    return this.#subscriptions.nextRequest(nowMs)
  }

  /** @throws OperatingError if the exchange announces the end of the connection */
  receive(text: string, nowMs: number): void {
    const { protocol } = this.#exchange
    this.#lastFrameMs = nowMs
    const frame = protocol.decode(text)
    switch (frame.kind) {
      case 'quotes':
        for (const quote of frame.quotes) this.#addQuote(quote, nowMs)
        if (frame.dropped > 0) this.#note('undecodable', 'bad_quote')
        return
      case 'accepted':
        this.#subscriptions.accept(frame.products, nowMs, frame.request)
        return
      case 'refused':
        this.#subscriptions.refuse(frame.product, nowMs, frame.request)
        this.#note('product_refused', frame.product ?? frame.reason)
        return
      case 'heartbeat':
        return
      case 'closing':
        throw new OperatingError(
          'server_leaving',
          `${protocol.exchange} announced a shutdown or a halt`,
        )
      case 'error':
        this.#note('complaint', frame.reason)
        return
      case 'undecodable':
        this.#note('undecodable', frame.reason)
        return
      default:
        frame satisfies never
    }
  }

  /** @throws OperatingError if the connection has to be replaced */
  check(nowMs: number): void {
    const { exchange } = this.#exchange.protocol
    const end = (code: string, what: string) => {
      throw new OperatingError(code, `WebSocket of ${exchange} ${what}`)
    }
    if (nowMs - this.#lastFrameMs >= FRAME_GAP_MS_MAX)
      end('feed_silent', `sent no frame for ${FRAME_GAP_MS_MAX / 1_000} s`)
    if (nowMs - this.#lastQuoteMs >= QUOTE_GAP_MS_MAX)
      end(QUOTES_MISSING, `sent no quote for ${QUOTE_GAP_MS_MAX / 1_000} s`)
    if (nowMs >= this.#renewMs) end(RENEWAL, 'is renewed before its limit of 24 h')
  }

  /** null before the first quote. */
  health(nowMs: number): Health | null {
    if (this.#lastQuoteMsOf.size === 0) return null
    const isRecent = (ms: number | undefined) =>
      ms !== undefined && nowMs - ms <= LEADING_GAP_MS_MAX
    const due = this.#leading.filter((product) => {
      const acceptedMs = this.#subscriptions.acceptedMs(product)
      return acceptedMs !== undefined && !isRecent(acceptedMs)
    })
    const stale = due.filter((product) => !isRecent(this.#lastQuoteMsOf.get(product)))
    return stale.length * 2 > due.length
      ? { state: 'degraded', reason: `no quotes of ${stale.join(', ')}` }
      : { state: 'up', reason: '' }
  }

  #addProducts(nowMs: number): void {
    const { context, protocol } = this.#exchange
    const assets = context.assets()
    const products = productsOf(protocol.naming, assets)
    this.#leading = leadingOf(products, protocol.naming.quote)
    this.#subscriptions.add(products)
    this.#assetsDueMs = nowMs + (assets.length === 0 ? NO_ASSETS_PERIOD_MS : ASSETS_PERIOD_MS)
  }

  #addQuote(quote: ProductQuote, nowMs: number): void {
    const product = this.#subscriptions.product(quote.product)
    if (product === undefined) {
      this.#note('unknown_product', quote.product)
      return
    }
    this.#subscriptions.accept([quote.product], nowMs)
    const { timeMs } = quote
    const isOld = timeMs !== null && nowMs - timeMs > QUOTE_AGE_MS_MAX
    const refusal = this.#exchange.quotes.add(quote, product, isOld ? timeMs : nowMs)
    if (refusal !== null) {
      this.#note('quote_refused', `${quote.product}: ${refusal}`)
      return
    }
    // From before a halt, or of a product that rarely trades: it shows that the product is listed, not that it is traded.
    if (isOld) return
    this.#lastQuoteMs = nowMs
    this.#lastQuoteMsOf.set(quote.product, nowMs)
  }

  #note(kind: string, detail: string): void {
    const { context, protocol } = this.#exchange
    context.onNotice({ source: protocol.exchange, kind, detail })
  }
}

function leadingOf(products: readonly Product[], currency: Product['quote']): readonly string[] {
  return products
    .filter(({ asset, quote }) => quote === currency && asset !== 'USDC' && asset !== 'USDT')
    .slice(0, LEADING)
    .map(({ product }) => product)
}
