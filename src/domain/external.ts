/** What reaches us from beyond the venue: oracle networks, exchanges, chains, an index, a supply. */

/**
 * Every source, by the name that its status, its option and its simulated URL go by. An order of
 * precedence only within one kind.
 */
export const sourceIds = [
  'pyth-hermes',
  'pyth-solana',
  'pyth-evm',
  'chainlink',
  'redstone',
  'coinbase',
  'kraken',
  'binance',
  'okx',
  'bybit',
  'ethereum',
  'base',
  'arbitrum',
  'optimism',
  'polygon',
  'bsc',
  'avalanche',
  'solana',
  'fear-greed',
  'stablecoin-supply',
] as const
export type SourceId = (typeof sourceIds)[number]

export const oracleNetworks = [
  'pyth-hermes',
  'pyth-solana',
  'pyth-evm',
  'chainlink',
  'redstone',
] as const satisfies SourceId[]
export type OracleNetwork = (typeof oracleNetworks)[number]

export const exchanges = [
  'coinbase',
  'kraken',
  'binance',
  'okx',
  'bybit',
] as const satisfies SourceId[]
export type Exchange = (typeof exchanges)[number]

/** In the order of `/arb`. */
export const chains = [
  'ethereum',
  'arbitrum',
  'base',
  'optimism',
  'polygon',
  'bsc',
  'avalanche',
  'solana',
] as const satisfies SourceId[]
export type Chain = (typeof chains)[number]

/**
 * Both clocks, as with the venue's events: `timeExchangeMs` is when the source says that it happened
 * (publication, block, quote), and our own receive time where it says nothing.
 */
type Stamped = {
  readonly timeExchangeMs: number
  readonly timeReceivedMs: number
}

/**
 * A price of one unit of an asset in USD by one feed of an oracle network. Assets go by the plain
 * upper-case ticker of the unscaled coin: `PEPE`, never `kPEPE`; `BTC`, never `UBTC`.
 */
export type OraclePriceEvent = Stamped & {
  readonly kind: 'oracle-price'
  readonly network: OracleNetwork
  /** Which of the network's places it was read from: a chain's name, or '' where there is one only. */
  readonly place: string
  readonly asset: string
  readonly priceUsd: number
  /** One scale of the network's confidence, USD; null where it gives none. */
  readonly confidenceUsd: number | null
  readonly ema: { readonly priceUsd: number; readonly confidenceUsd: number } | null
  /** How far the true price may be away before the feed publishes again, bps; 0 for a stream. */
  readonly resolutionBps: number
  /** At the latest so often a healthy feed publishes. */
  readonly heartbeatMs: number
}

/** Best bid and ask of one asset on one exchange, per unit of the asset, in its quote currency. */
export type ExchangeQuoteEvent = Stamped & {
  readonly kind: 'exchange-quote'
  readonly exchange: Exchange
  readonly asset: string
  readonly quote: 'USD' | 'USDT' | 'USDC'
  readonly bid: number
  readonly ask: number
  readonly bidSizeBase: number
  readonly askSizeBase: number
}

/** One liquidity pool as of one block; replaces what was known of that pool. */
export type PoolEvent = Stamped & {
  readonly kind: 'pool'
  readonly chain: Chain
  /** Such as `uniswap-v3`. */
  readonly dex: string
  readonly pool: string
  readonly asset: string
  /** The token that stands for the asset there, such as `WBTC` or `BTC.b`. */
  readonly representation: string
  readonly quote: 'USDC' | 'USDT'
  /** Quote units for one unit of the asset, at the margin. */
  readonly price: number
  /** Of the last minute, where the pool remembers it. */
  readonly twapPrice: number | null
  /** What the pool takes of a swap. */
  readonly feeBps: number
  /** Liquidity at the margin as a constant-product reserve of quote units: a swap of dy moves the price by 2 dy over it. */
  readonly reserveQuote: number
  /** Quote units that the pool holds. */
  readonly balanceQuote: number
  readonly blockNumber: number
}

/** The state of one chain as of its newest block. */
export type ChainEvent = Stamped & {
  readonly kind: 'chain'
  readonly chain: Chain
  readonly blockNumber: number
  /** What one swap costs in units of the chain's own coin. */
  readonly swapGasNative: number
  /** The chain's own coin, as an asset: `ETH`, `POL`, `BNB`, `AVAX`, `SOL`. */
  readonly native: string
}

/** The external index of fear and greed, 0 to 100, of one day. */
export type FearGreedEvent = Stamped & {
  readonly kind: 'fear-greed'
  readonly value: number
}

/** How much of a stablecoin circulates, USD, and how much a day and a week before; null where unknown. */
export type StablecoinSupplyEvent = Stamped & {
  readonly kind: 'stablecoin-supply'
  readonly asset: string
  readonly supplyUsd: number
  readonly dayAgoUsd: number | null
  readonly weekAgoUsd: number | null
}

/**
 * In-band word about one source. `degraded`: a part of it is missing; `blocked`: it refuses us here, and
 * is asked again after hours; `off`: nobody configured it.
 */
export type SourceStatusEvent = Stamped & {
  readonly kind: 'source-status'
  readonly source: SourceId
  readonly state: 'up' | 'degraded' | 'down' | 'blocked' | 'off'
  readonly reason: string
}

export type MeasureRow = { readonly timeMs: number; readonly value: number }

/** What our history on disk remembers of one measure of ours, told when the engine starts. Ascending. */
export type MeasureHistoryEvent = Stamped & {
  readonly kind: 'measure-history'
  readonly series: string
  readonly rows: readonly MeasureRow[]
}

export type ExternalEvent =
  | OraclePriceEvent
  | ExchangeQuoteEvent
  | PoolEvent
  | ChainEvent
  | FearGreedEvent
  | StablecoinSupplyEvent
  | SourceStatusEvent
  | MeasureHistoryEvent

const externalKinds: ReadonlySet<string> = new Set<ExternalEvent['kind']>([
  'oracle-price',
  'exchange-quote',
  'pool',
  'chain',
  'fear-greed',
  'stablecoin-supply',
  'source-status',
  'measure-history',
])

export function isExternal(event: { readonly kind: string }): event is ExternalEvent {
  return externalKinds.has(event.kind)
}

const RENAMED: Readonly<Record<string, string>> = {
  UBTC: 'BTC',
  UETH: 'ETH',
  USOL: 'SOL',
  WBTC: 'BTC',
  CBBTC: 'BTC',
  WETH: 'ETH',
  MATIC: 'POL',
  RNDR: 'RENDER',
  FTM: 'S',
}

/**
 * What a coin of the venue is made of: `kPEPE` is 1,000 `PEPE`. The price of an asset times the scale is
 * the price of the coin. Builder dexes have no counterpart outside.
 * @returns null for a coin of a builder dex
 */
export function assetOf(coin: string): { readonly asset: string; readonly scale: number } | null {
  if (coin.includes(':')) return null
  const isThousand = /^k[A-Z]/.test(coin)
  const name = isThousand ? coin.slice(1) : coin.toUpperCase()
  return { asset: RENAMED[name] ?? name, scale: isThousand ? 1_000 : 1 }
}
