import type { ExchangeQuoteEvent } from '../../../domain/external.ts'

type Quote = ExchangeQuoteEvent['quote']

/** One product of an exchange, and what it is a price of. */
export type Product = {
  /** The exchange's own name. */
  readonly product: string
  readonly asset: string
  readonly quote: Quote
  /** So many units of the asset are one unit of the product: its price over the scale is a unit's. */
  readonly scale: number
}

/** What an exchange calls an asset. */
type Alias = { readonly name: string; readonly scale?: number }

/** How an exchange names its products, and which of them are of use. */
export type Naming = {
  readonly join: (base: string, quote: Quote) => string
  /** What all assets are quoted in there. */
  readonly quote: Quote
  /** Assets that have a second, liquid book in USDC. */
  readonly inUsdc: readonly string[]
  /** Pairs of stablecoins, for conversion and for the peg. */
  readonly stable: readonly (readonly [asset: 'USDC' | 'USDT', quote: Quote])[]
  /** Where the exchange's name is not the asset's. */
  readonly aliases: Readonly<Record<string, Alias>>
}

/** Renamed by their projects; the venue keeps the old name. */
export const renamed: Readonly<Record<string, Alias>> = {
  EOS: { name: 'A' },
}

/**
 * At most so many assets of each exchange: some hundred messages a second are worth it for what trades
 * much, and a quote of what does not is seldom fresh.
 */
export const ASSETS_MAX = 60

/** Trade much, and were listed too late to be among the venue's first. */
const LATE_MAJORS = [
  ...['HYPE', 'ZEC', 'NEAR', 'TAO', 'ENA', 'ONDO', 'HBAR', 'XLM', 'FIL', 'RENDER', 'POL'],
  ...['BONK', 'WIF', 'JUP', 'PENDLE', 'TRUMP', 'PUMP', 'FARTCOIN', 'ASTER', 'WLFI', 'XPL'],
] as const
/** The venue's first, ahead of the late ones. */
const EARLY_MAX = 10

/**
 * What to ask an exchange for, most important first: pairs of stablecoins, then assets in the venue's
 * order, but for a few that were listed late, then books in USDC. Whether it has them is for it to say.
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
