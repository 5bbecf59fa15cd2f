import type { Exchange } from '../../../domain/external.ts'
import type { ReferencePrices } from '../reference-prices.ts'

const HALF_SPREAD_BPS_MIN = 0.5
const HALF_SPREAD_BPS_SPAN = 2.5
/** Spread and depth get worse up to this rank. */
const RANK_MAX = 60
const DEPTH_USD = 60_000
const SIGNIFICANT_DIGITS = 6
const SIZE_DECIMALS = 6
const DECIMALS_MAX = 16

type Currency = 'USD' | 'USDC' | 'USDT'

/** The products of one exchange. */
export type ExchangeListing = {
  readonly exchange: Exchange
  readonly join: (base: string, currency: Currency) => string
  readonly currencies: readonly Currency[]
  readonly stable: readonly (readonly [asset: 'USDC' | 'USDT', currency: Currency])[]
  /** Assets to which the exchange gives another name. */
  readonly names: Readonly<Record<string, string>>
  readonly unlisted: readonly string[]
}

type Product = { readonly asset: string; readonly currency: Currency; readonly rank: number }

/** In the quote currency, as decimal strings. */
export type SimulatedQuote = {
  readonly bid: string
  readonly ask: string
  readonly bidSize: string
  readonly askSize: string
  /** Of the last change. */
  readonly timeMs: number
}

/** The best bid and ask of every product of one exchange at any time. */
export class ExchangeMarket {
  readonly #reference: ReferencePrices
  readonly #exchange: Exchange
  readonly #products = new Map<string, Product>()

  constructor(reference: ReferencePrices, listing: ExchangeListing) {
    this.#reference = reference
    this.#exchange = listing.exchange
    const add = (asset: string, currency: Currency, rank: number) => {
      const name = listing.join(listing.names[asset] ?? asset, currency)
      this.#products.set(name, { asset, currency, rank })
    }
    for (const [asset, currency] of listing.stable) add(asset, currency, 0)
    const coins = reference.assets.filter((asset) => asset !== 'USDC' && asset !== 'USDT')
    for (const [rank, asset] of coins.entries()) {
      if (listing.unlisted.includes(asset)) continue
      for (const currency of listing.currencies) add(asset, currency, rank)
    }
  }

  has(product: string): boolean {
    return this.#products.has(product)
  }

  /** Position by trading volume, from 0; stablecoins have 0. */
  rank(product: string): number {
    return this.#products.get(product)?.rank ?? RANK_MAX
  }

  /** undefined for a product that is not listed or does not trade. */
  quote(name: string, atMs: number): SimulatedQuote | undefined {
    const product = this.#products.get(name)
    if (product === undefined) return undefined
    const seenMs = this.#reference.seenMs(this.#exchange, atMs)
    const usd = this.#reference.seenUsd(this.#exchange, product.asset, atMs)
    const unitUsd =
      product.currency === 'USD' ? 1 : this.#reference.priceUsd(product.currency, seenMs)
    if (usd === undefined || unitUsd === undefined) return undefined
    const mid = usd / unitUsd
    const worse = Math.min(1, product.rank / RANK_MAX)
    const calm = HALF_SPREAD_BPS_MIN + HALF_SPREAD_BPS_SPAN * worse
    const half = calm * this.#reference.stress(seenMs) * 1e-4
    const size = (DEPTH_USD / (1 + product.rank) / usd).toFixed(SIZE_DECIMALS)
    const [bid, ask] = rounded(mid * (1 - half), mid * (1 + half))
    return { bid, ask, bidSize: size, askSize: size, timeMs: this.newestMs(atMs) }
  }

  /** Now, or the start of a halt. */
  newestMs(atMs: number): number {
    return this.#reference.newestMs(this.#exchange, atMs)
  }
}

/** Rounds to the tick size, away from the mid price. */
function rounded(bid: number, ask: number): readonly [string, string] {
  const digits = SIGNIFICANT_DIGITS - 1 - Math.floor(Math.log10(ask))
  const decimals = Math.min(DECIMALS_MAX, Math.max(0, digits))
  const ticks = 10 ** decimals
  return [
    (Math.floor(bid * ticks) / ticks).toFixed(decimals),
    (Math.ceil(ask * ticks) / ticks).toFixed(decimals),
  ]
}
