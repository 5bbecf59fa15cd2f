import type {
  Chain,
  ChainEvent,
  ExchangeQuoteEvent,
  ExternalEvent,
  OraclePriceEvent,
  PoolEvent,
} from '../../domain/external.ts'
import { chains } from '../../domain/external.ts'
import type { ArbAsset } from '../external/arb/arb-model.ts'
import { arbAssets } from '../external/arb/arb-model.ts'

/** Default prices, USD. */
export const chainPricesUsd = { ETH: 3_000, BTC: 60_000, USDC: 1 } as const

/** The coins that chains count gas in. */
const natives: Readonly<Record<Chain, string>> = {
  ethereum: 'ETH',
  arbitrum: 'ETH',
  base: 'ETH',
  optimism: 'ETH',
  polygon: 'POL',
  bsc: 'BNB',
  avalanche: 'AVAX',
  solana: 'SOL',
}

/** One pool of an asset on a chain, as of now: large, and with a fee of 5 bps (a stablecoin's: 1). */
export function pool(
  chain: Chain,
  asset: ArbAsset,
  timeMs: number,
  over: Partial<PoolEvent> = {},
): PoolEvent {
  return {
    kind: 'pool',
    chain,
    dex: 'uniswap-v3',
    pool: `${chain}-${asset}`,
    asset,
    representation: asset,
    quote: asset === 'USDC' ? 'USDT' : 'USDC',
    price: chainPricesUsd[asset],
    twapPrice: null,
    feeBps: asset === 'USDC' ? 1 : 5,
    reserveQuote: 1e9,
    balanceQuote: 1e7,
    blockNumber: 1_000,
    timeExchangeMs: timeMs,
    timeReceivedMs: timeMs,
    ...over,
  }
}

/** The newest block of a chain; a swap costs ten cents at a native price of 100 USD. */
export function block(chain: Chain, timeMs: number, over: Partial<ChainEvent> = {}): ChainEvent {
  return {
    kind: 'chain',
    chain,
    blockNumber: 1_000,
    swapGasNative: 0.001,
    native: natives[chain],
    timeExchangeMs: timeMs,
    timeReceivedMs: timeMs,
    ...over,
  }
}

/** A network's price of one unit. */
export function oraclePrice(asset: string, priceUsd: number, timeMs: number): OraclePriceEvent {
  return {
    kind: 'oracle-price',
    network: 'pyth-hermes',
    place: '',
    asset,
    priceUsd,
    confidenceUsd: null,
    ema: null,
    resolutionBps: 0,
    heartbeatMs: 1_000,
    timeExchangeMs: timeMs,
    timeReceivedMs: timeMs,
  }
}

/** A quote in USD, with a spread of 1 bp. */
export function exchangeQuote(
  exchange: ExchangeQuoteEvent['exchange'],
  asset: string,
  priceUsd: number,
  timeMs: number,
): ExchangeQuoteEvent {
  return {
    kind: 'exchange-quote',
    exchange,
    asset,
    quote: 'USD',
    bid: priceUsd * 0.99995,
    ask: priceUsd * 1.00005,
    bidSizeBase: 1,
    askSizeBase: 1,
    timeExchangeMs: timeMs,
    timeReceivedMs: timeMs,
  }
}

/** Prices of stablecoins, of the coins that gas is paid in, and of two exchanges, all of now. */
export function rateEvents(
  timeMs: number,
  pricesUsd: Readonly<Record<ArbAsset, number>> = chainPricesUsd,
  nativeUsd = 100,
): ExternalEvent[] {
  return [
    oraclePrice('USDC', pricesUsd.USDC, timeMs),
    oraclePrice('USDT', 1, timeMs),
    ...Array.from(new Set(Object.values(natives)), (name) => oraclePrice(name, nativeUsd, timeMs)),
    ...(['ETH', 'BTC'] as const).flatMap((asset) => [
      exchangeQuote('coinbase', asset, pricesUsd[asset], timeMs),
      exchangeQuote('kraken', asset, pricesUsd[asset], timeMs),
    ]),
  ]
}

/** All assets on all chains with these gaps, as of now. */
export function poolEvents(
  timeMs: number,
  gapBps: (asset: ArbAsset, chain: Chain) => number = () => 0,
  pricesUsd: Readonly<Record<ArbAsset, number>> = chainPricesUsd,
): ExternalEvent[] {
  return chains.flatMap((chain) => [
    block(chain, timeMs),
    ...arbAssets.map((asset) =>
      pool(chain, asset, timeMs, {
        price: pricesUsd[asset] * Math.exp(gapBps(asset, chain) / 10_000),
      }),
    ),
  ])
}
