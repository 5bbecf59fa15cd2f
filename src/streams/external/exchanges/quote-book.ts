import type { Exchange, ExchangeQuoteEvent } from '../../../domain/external.ts'
import type { ProductQuote } from './exchange-frame.ts'
import type { Product } from './products.ts'

const SPREAD_BPS_MAX = 200
/** Clocks differ; a quote from further ahead would outlive all that come after it. */
const AHEAD_MS_MAX = 10_000
/** Of the middle, from one quote to the next: more is a mistake until it was said for a while. */
const JUMP_MAX = 0.2
/** How close to each other quotes at a new level are. */
const SAME_LEVEL = 0.05
/** How long a new level must have been told before it is believed. */
const NEW_LEVEL_MS = 2_000
/** What was known so long ago is no measure of a jump. */
const FORGOTTEN_MS = 600_000

/** Why a quote was not believed. Stable, for metrics. */
export type QuoteRefusal = 'crossed' | 'wide_spread' | 'ahead_of_time' | 'jump'

type Level = { readonly mid: number; readonly atMs: number }

/**
 * What one exchange quotes, one event a product at a time: whoever drains it gets the newest of each that
 * was told since. Only what can be an honest best bid and ask enters.
 */
export class QuoteBook {
  readonly #exchange: Exchange
  /** By product. */
  readonly #untold = new Map<string, ExchangeQuoteEvent>()
  /** Of the last quote that was believed. */
  readonly #believed = new Map<string, Level>()
  /** Where quotes went that were too far away, and since when. */
  readonly #doubted = new Map<string, Level>()

  constructor(exchange: Exchange) {
    this.#exchange = exchange
  }

  /** @returns why it was refused; null if it was not */
  take(quote: ProductQuote, product: Product, timeReceivedMs: number): QuoteRefusal | null {
    const refusal = refusalOf(quote, timeReceivedMs) ?? this.#jump(quote, timeReceivedMs)
    if (refusal !== null) return refusal
    const { scale } = product
    this.#untold.set(quote.product, {
      kind: 'exchange-quote',
      exchange: this.#exchange,
      asset: product.asset,
      quote: product.quote,
      bid: quote.bid / scale,
      ask: quote.ask / scale,
      bidSizeBase: quote.bidSize * scale,
      askSizeBase: quote.askSize * scale,
      timeExchangeMs: quote.timeMs ?? timeReceivedMs,
      timeReceivedMs,
    })
    return null
  }

  /** The newest quote of every product that was quoted since the last time. */
  drain(): readonly ExchangeQuoteEvent[] {
    const quotes = [...this.#untold.values()]
    this.#untold.clear()
    return quotes
  }

  /** A level that is far from the last one is believed once it was told for a while. */
  #jump({ product, bid, ask }: ProductQuote, atMs: number): 'jump' | null {
    const mid = (bid + ask) / 2
    const believed = this.#believed.get(product)
    if (believed !== undefined && atMs - believed.atMs < FORGOTTEN_MS) {
      if (!isWithin(JUMP_MAX, mid, believed.mid) && !this.#isSettled(product, mid, atMs))
        return 'jump'
    }
    this.#doubted.delete(product)
    this.#believed.set(product, { mid, atMs })
    return null
  }

  #isSettled(product: string, mid: number, atMs: number): boolean {
    const doubted = this.#doubted.get(product)
    if (doubted !== undefined && isWithin(SAME_LEVEL, mid, doubted.mid))
      return atMs - doubted.atMs >= NEW_LEVEL_MS
    this.#doubted.set(product, { mid, atMs })
    return false
  }
}

function refusalOf(
  { bid, ask, timeMs }: ProductQuote,
  timeReceivedMs: number,
): QuoteRefusal | null {
  if (bid >= ask) return 'crossed'
  if ((ask - bid) / ((ask + bid) / 2) > SPREAD_BPS_MAX / 1e4) return 'wide_spread'
  return timeMs !== null && timeMs > timeReceivedMs + AHEAD_MS_MAX ? 'ahead_of_time' : null
}

function isWithin(share: number, one: number, other: number): boolean {
  return Math.abs(Math.log(one / other)) <= share
}
