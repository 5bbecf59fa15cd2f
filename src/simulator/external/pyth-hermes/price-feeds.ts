import { sha256, stringToBytes } from 'viem'

/** A feed with its metadata and the asset that it prices. */
export type PriceFeed = {
  readonly id: string
  readonly attributes: Readonly<Record<string, string>>
  readonly asset: string
  /** Price relative to the asset: 1 for the feed itself, another factor for a namesake. */
  readonly factor: number
}

/** Published ids; the ids of other feeds are derived from their symbols. */
const KNOWN_IDS: Readonly<Record<string, string>> = {
  'Crypto.BTC/USD': 'e62df6c8b4a85fe1a67db44dc12de5db330f7ac66b72dc658afedf0f4a415b43',
  'Crypto.ETH/USD': 'ff61491a931112ddf1bd8147cd1b641375f79f5825126d665480874634fd0ace',
  'Crypto.SOL/USD': 'ef0d8b6fda2ceba41da15d4095d1da392a0d2f8ed0c6c7bc0f4cfac8c280b56d',
  'Crypto.USDC/USD': 'eaa020c61cc479712813461ce153894a96a6c00b21ed0cfc2798d1f9a9e9c94a',
  'Crypto.USDT/USD': '2b89b9dc8fdf9f34709a5b106b472f0f39bb6ca9ce04b0fd7f2e971688e2e53b',
}

/** Staked, wrapped and deprecated tokens that a substring search also finds, a few percent apart. */
const NAMESAKES: readonly (readonly [asset: string, symbol: string, factor: number])[] = [
  ['BTC', 'MBTC', 1.03],
  ['BTC', 'SOLVBTC', 0.98],
  ['ETH', 'WSTETH', 1.21],
  ['SOL', 'JITOSOL', 1.24],
  ['USDC', 'SUSDC', 1.08],
]
const DEPRECATED: readonly (readonly [asset: string, factor: number])[] = [
  ['SOL', 0.93],
  ['BTC', 1.07],
]

/** All feeds of the simulated network, namesakes and deprecated ones first as in the real search. */
export function priceFeedsOf(assets: readonly string[]): readonly PriceFeed[] {
  const listed = new Set(assets)
  const namesakes = NAMESAKES.filter(([asset]) => listed.has(asset)).map(([asset, name, factor]) =>
    feed(`Crypto.${name}/USD`, name, { asset, factor }),
  )
  const deprecated = DEPRECATED.filter(([asset]) => listed.has(asset)).map(([asset, factor]) => ({
    ...feed(`Crypto.${asset}/USD`, asset, { asset, factor }, 'DEPRECATED FEED - '),
    id: derivedId(`Crypto.${asset}/USD deprecated`),
  }))
  const real = assets.map((asset) => feed(`Crypto.${asset}/USD`, asset, { asset, factor: 1 }))
  return [...namesakes, ...deprecated, ...real]
}

function feed(
  symbol: string,
  base: string,
  { asset, factor }: { readonly asset: string; readonly factor: number },
  prefix = '',
): PriceFeed {
  return {
    id: KNOWN_IDS[symbol] ?? derivedId(symbol),
    attributes: {
      asset_type: 'Crypto',
      base,
      description: `${prefix}${base} / US DOLLAR`,
      display_symbol: `${base}/USD`,
      generic_symbol: `${base}USD`,
      quote_currency: 'USD',
      schedule: 'America/New_York;O,O,O,O,O,O,O;',
      symbol,
    },
    asset,
    factor,
  }
}

function derivedId(name: string): string {
  return sha256(stringToBytes(name)).slice(2)
}
