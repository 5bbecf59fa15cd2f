import type { Exchange } from '../../../domain/external.ts'
import { isDuring } from '../happening.ts'
import type { World } from '../world.ts'

const HALF_SPREAD_BPS_MIN = 0.5
const HALF_SPREAD_BPS_SPAN = 2.5
/** From this rank on nothing gets worse. */
const RANK_MAX = 60
const DEPTH_USD = 60_000
const SIGNIFICANT_DIGITS = 6
const SIZE_DECIMALS = 6
const DECIMALS_MAX = 16

type Currency = 'USD' | 'USDC' | 'USDT'

/** How one exchange lists assets. */
export type Listing = {
  readonly exchange: Exchange
  readonly join: (base: string, currency: Currency) => string
  readonly currencies: readonly Currency[]
  readonly stable: readonly (readonly [asset: 'USDC' | 'USDT', currency: Currency])[]
  /** What the exchange calls an asset, where that is not its name. */
  readonly names: Readonly<Record<string, string>>
  readonly unlisted: readonly string[]
}

type Product = { readonly asset: string; readonly currency: Currency; readonly rank: number }

/** In the currency of the product, as decimals that the exchange would write. */
export type Quote = {
  readonly bid: string
  readonly ask: string
  readonly bidSize: string
  readonly askSize: string
}

/** The books of one exchange in a world: a best bid and ask of each product at any instant. */
export class ExchangeMarket {
  readonly #world: World
  readonly #exchange: Exchange
  readonly #products = new Map<string, Product>()

  constructor(world: World, listing: Listing) {
    this.#world = world
    this.#exchange = listing.exchange
    const add = (asset: string, currency: Currency, rank: number) => {
      const name = listing.join(listing.names[asset] ?? asset, currency)
      this.#products.set(name, { asset, currency, rank })
    }
    for (const [asset, currency] of listing.stable) add(asset, currency, 0)
    const coins = world.assets.filter((asset) => asset !== 'USDC' && asset !== 'USDT')
    for (const [rank, asset] of coins.entries()) {
      if (listing.unlisted.includes(asset)) continue
      for (const currency of listing.currencies) add(asset, currency, rank)
    }
  }

  has(product: string): boolean {
    return this.#products.has(product)
  }

  /** Position in the list, from 0 for what trades most; stablecoins are among the first. */
  rank(product: string): number {
    return this.#products.get(product)?.rank ?? RANK_MAX
  }

  /** undefined for what is not listed, or does not trade at that instant. */
  quote(name: string, atMs: number): Quote | undefined {
    const product = this.#products.get(name)
    if (product === undefined) return undefined
    const seenMs = this.#seenMs(atMs)
    const usd = this.#world.seenUsd(this.#exchange, product.asset, atMs)
    const unitUsd = this.#unitUsd(product.currency, seenMs)
    if (usd === undefined || unitUsd === undefined) return undefined
    const mid = usd / unitUsd
    const worse = Math.min(1, product.rank / RANK_MAX)
    const calm = HALF_SPREAD_BPS_MIN + HALF_SPREAD_BPS_SPAN * worse
    const half = calm * this.#world.stress(seenMs) * 1e-4
    const size = (DEPTH_USD / (1 + product.rank) / usd).toFixed(SIZE_DECIMALS)
    const [bid, ask] = rounded(mid * (1 - half), mid * (1 + half))
    return { bid, ask, bidSize: size, askSize: size }
  }

  #unitUsd(currency: Currency, atMs: number): number | undefined {
    return currency === 'USD' ? 1 : this.#world.priceUsd(currency, atMs)
  }

  /** Of a source that is frozen, everything it says is. */
  #seenMs(atMs: number): number {
    const frozen = this.#world.happenings.find(
      (happening) =>
        happening.kind === 'frozen' &&
        happening.source === this.#exchange &&
        isDuring(happening, atMs),
    )
    return frozen?.fromMs ?? atMs
  }
}

/** Onto the tick of that price, away from the middle. */
function rounded(bid: number, ask: number): readonly [string, string] {
  const digits = SIGNIFICANT_DIGITS - 1 - Math.floor(Math.log10(ask))
  const decimals = Math.min(DECIMALS_MAX, Math.max(0, digits))
  const ticks = 10 ** decimals
  return [
    (Math.floor(bid * ticks) / ticks).toFixed(decimals),
    (Math.ceil(ask * ticks) / ticks).toFixed(decimals),
  ]
}
