import type { Exchange, ExchangeQuoteEvent } from '../../../domain/external.ts'
import type { ProductQuote } from './exchange-frame.ts'
import type { Product } from './products.ts'

const SPREAD_BPS_MAX = 200
/** Tolerated clock difference. A quote from further ahead would look newer than all later ones. */
const AHEAD_MS_MAX = 10_000
/** Log change of the mid price from one quote to the next: a larger one has to be confirmed. */
const JUMP_MAX = 0.2
/** Log distance between quotes at the same new level. */
const SAME_LEVEL = 0.05
/** A new level is accepted after it was quoted for this long. */
const CONFIRMATION_MS = 2_000
/** After this long the last level is no reference for a jump. */
const REFERENCE_MS_MAX = 600_000

/** Why a quote was refused. Stable: part of a notice. */
type QuoteRefusal = 'crossed' | 'wide_spread' | 'ahead_of_time' | 'jump'

type Level = { readonly mid: number; readonly atMs: number }

/** The newest plausible quote of each product of one exchange since the last {@link drain}. */
export class QuoteBook {
  readonly #exchange: Exchange
  /** By product. */
  readonly #pending = new Map<string, ExchangeQuoteEvent>()
  /** The last accepted quote of each product. */
  readonly #accepted = new Map<string, Level>()
  /** The first quote at a new level that is not confirmed yet. */
  readonly #unconfirmed = new Map<string, Level>()

  constructor(exchange: Exchange) {
    this.#exchange = exchange
  }

  /**
   * @param timeReceivedMs the quote's own time if it was old at its arrival: it confirms nothing later
   * @returns the reason of a refusal; null for an accepted quote
   */
  add(quote: ProductQuote, product: Product, timeReceivedMs: number): QuoteRefusal | null {
    const refusal = refusalOf(quote, timeReceivedMs) ?? this.#jump(quote, timeReceivedMs)
    if (refusal !== null) return refusal
    const { scale } = product
    this.#pending.set(quote.product, {
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

  drain(): readonly ExchangeQuoteEvent[] {
    const quotes = [...this.#pending.values()]
    this.#pending.clear()
    return quotes
  }

  #jump({ product, bid, ask }: ProductQuote, atMs: number): 'jump' | null {
    const mid = (bid + ask) / 2
    const last = this.#accepted.get(product)
    const isJump =
      last !== undefined &&
      atMs - last.atMs < REFERENCE_MS_MAX &&
      !isWithin(JUMP_MAX, mid, last.mid)
    if (isJump && !this.#isConfirmed(product, mid, atMs)) return 'jump'
    this.#unconfirmed.delete(product)
    this.#accepted.set(product, { mid, atMs })
    return null
  }

  #isConfirmed(product: string, mid: number, atMs: number): boolean {
    const level = this.#unconfirmed.get(product)
    if (level !== undefined && isWithin(SAME_LEVEL, mid, level.mid))
      return atMs - level.atMs >= CONFIRMATION_MS
    this.#unconfirmed.set(product, { mid, atMs })
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

function isWithin(logDistance: number, one: number, other: number): boolean {
  return Math.abs(Math.log(one / other)) <= logDistance
}
