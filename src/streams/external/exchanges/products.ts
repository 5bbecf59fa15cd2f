import type { ExchangeQuoteEvent } from '../../../domain/external.ts'

type Quote = ExchangeQuoteEvent['quote']

/** One product of an exchange and the asset that it prices. */
export type Product = {
  /** The name that the exchange uses. */
  readonly product: string
  readonly asset: string
  readonly quote: Quote
  /** Units of the asset per unit of the product: a price divided by it is per unit of the asset. */
  readonly scale: number
}

type Alias = { readonly name: string; readonly scale?: number }

/** Product names of an exchange, and the products to subscribe. */
export type Naming = {
  readonly join: (base: string, quote: Quote) => string
  /** The quote currency of all assets. */
  readonly quote: Quote
  /** Assets with a second liquid book, in USDC. */
  readonly inUsdc: readonly string[]
  /** Pairs of stablecoins, for conversion and for the peg. */
  readonly stable: readonly (readonly [asset: 'USDC' | 'USDT', quote: Quote])[]
  /** Assets to which the exchange gives another name. */
  readonly aliases: Readonly<Record<string, Alias>>
}

/** Renamed by their projects; the venue keeps the old name. */
export const renamed: Readonly<Record<string, Alias>> = {
  EOS: { name: 'A' },
}

/** Per exchange. Quotes of rarely traded assets are seldom fresh and not worth their messages. */
export const ASSETS_MAX = 60

/** Assets with much trading that are late in the venue's order, which is the order of listing. */
const LATE_MAJORS = [
  ...['HYPE', 'ZEC', 'NEAR', 'TAO', 'ENA', 'ONDO', 'HBAR', 'XLM', 'FIL', 'RENDER', 'POL'],
  ...['BONK', 'WIF', 'JUP', 'PENDLE', 'TRUMP', 'PUMP', 'FARTCOIN', 'ASTER', 'WLFI', 'XPL'],
] as const
/** Assets in the venue's order before the late ones. */
const EARLY_MAX = 10

/**
 * The products to subscribe, most important first: stablecoin pairs, assets in the venue's order with a few
 * late majors moved forward, then books in USDC. The exchange refuses those that it does not list.
 */
export function productsOf(naming: Naming, assets: readonly string[]): readonly Product[] {
  const followed = followedOf(assets)
  const products: readonly Product[] = [
    ...naming.stable.map(([asset, quote]) => productOf(naming, asset, quote)),
    ...followed.map((asset) => productOf(naming, asset, naming.quote)),
    ...naming.inUsdc
      .filter((asset) => followed.includes(asset))
      .map((asset) => productOf(naming, asset, 'USDC')),
  ]
  return [...new Map(products.map((product) => [product.product, product])).values()]
}

function followedOf(assets: readonly string[]): readonly string[] {
  const coins = assets.filter((asset) => asset !== 'USDC' && asset !== 'USDT')
  const late = LATE_MAJORS.filter((asset) => coins.includes(asset))
  const ordered = [...coins.slice(0, EARLY_MAX), ...late, ...coins.slice(EARLY_MAX)]
  return [...new Set(ordered)].slice(0, ASSETS_MAX)
}

function productOf(naming: Naming, asset: string, quote: Quote): Product {
  const { name, scale = 1 } = naming.aliases[asset] ?? { name: asset }
  return { product: naming.join(name, quote), asset, quote, scale }
}
