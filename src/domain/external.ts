/** Events of the external sources: oracle networks, exchanges, chains, an index, a supply. */

/** Identifiers of all sources. The order is a precedence within one kind only. */
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

/** As with the venue's events: `timeExchangeMs` is the source's time (publication, block, quote), else the receive time. */
type Stamped = {
  readonly timeExchangeMs: number
  readonly timeReceivedMs: number
}

/** USD price of one unit of an asset by one oracle feed. Assets have the unscaled upper-case ticker: `PEPE`, `BTC`. */
export type OraclePriceEvent = Stamped & {
  readonly kind: 'oracle-price'
  readonly network: OracleNetwork
  /** Chain from which it was read; '' if the network has one place only. */
  readonly place: string
  readonly asset: string
  readonly priceUsd: number
  /** The network's confidence interval, USD; null if it gives none. */
  readonly confidenceUsd: number | null
  readonly ema: { readonly priceUsd: number; readonly confidenceUsd: number } | null
  /** Deviation threshold at which the feed publishes again, bps; 0 for a stream. */
  readonly resolutionBps: number
  /** Maximum publication interval of a healthy feed. */
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

/** One liquidity pool at one block; replaces its previous state. */
export type PoolEvent = Stamped & {
  readonly kind: 'pool'
  readonly chain: Chain
  /** Such as `uniswap-v3`. */
  readonly dex: string
  readonly pool: string
  readonly asset: string
  /** Token that represents the asset, such as `WBTC` or `BTC.b`. */
  readonly representation: string
  readonly quote: 'USDC' | 'USDT'
  /** Marginal price, quote units per unit of the asset. */
  readonly price: number
  /** TWAP of the last minute; null if the pool records none. */
  readonly twapPrice: number | null
  /** Swap fee. */
  readonly feeBps: number
  /** Marginal liquidity as a constant-product quote reserve: a swap of dy moves the price by 2 dy / reserve. */
  readonly reserveQuote: number
  /** Quote balance of the pool. */
  readonly balanceQuote: number
  readonly blockNumber: number
}

/**
 * Quote units that can be traded around the price. A balance alone says little: liquidity may lie in ranges that do not
 * hold the price.
 */
export function tradableQuote({
  balanceQuote,
  reserveQuote,
}: Pick<PoolEvent, 'balanceQuote' | 'reserveQuote'>): number {
  return Math.min(balanceQuote, reserveQuote)
}

/** State of one chain at its newest block. */
export type ChainEvent = Stamped & {
  readonly kind: 'chain'
  readonly chain: Chain
  readonly blockNumber: number
  /** Gas cost of one swap, in the native coin. */
  readonly swapGasNative: number
  /** Native coin: `ETH`, `POL`, `BNB`, `AVAX`, `SOL`. */
  readonly native: string
}

/** Fear & Greed Index of alternative.me, 0 to 100, daily. */
export type FearGreedEvent = Stamped & {
  readonly kind: 'fear-greed'
  readonly value: number
}

/** Circulating supply of a stablecoin, USD; null if unknown. */
export type StablecoinSupplyEvent = Stamped & {
  readonly kind: 'stablecoin-supply'
  readonly asset: string
  readonly supplyUsd: number
  readonly dayAgoUsd: number | null
  readonly weekAgoUsd: number | null
}

/** State of one source. `degraded`: partly missing; `blocked`: it refuses this client, retried after hours; `off`: not configured. */
export type SourceStatusEvent = Stamped & {
  readonly kind: 'source-status'
  readonly source: SourceId
  readonly state: 'up' | 'degraded' | 'down' | 'blocked' | 'off'
  readonly reason: string
}

export type MeasureRow = { readonly timeMs: number; readonly value: number }

/** One measure from history on disk, once at the start. Ascending. */
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

/** The source that sent an event; null for one of our own, or about a source. */
export function sourceOf(event: ExternalEvent): SourceId | null {
  switch (event.kind) {
    case 'oracle-price':
      return event.network
    case 'exchange-quote':
      return event.exchange
    case 'pool':
    case 'chain':
      return event.chain
    case 'fear-greed':
    case 'stablecoin-supply':
      return event.kind
    case 'source-status':
    case 'measure-history':
      return null
    default:
      return event satisfies never
  }
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
 * The asset of a coin and its scale: `kPEPE` is 1,000 `PEPE`.
 * @returns null for a coin of a builder dex, which has no external counterpart
 */
export function assetOf(coin: string): { readonly asset: string; readonly scale: number } | null {
  if (coin.includes(':')) return null
  const isThousand = /^k[A-Z]/.test(coin)
  const name = isThousand ? coin.slice(1) : coin.toUpperCase()
  return { asset: RENAMED[name] ?? name, scale: isThousand ? 1_000 : 1 }
}
