import type { Batch, MarketEvent } from '../../domain/event.ts'
import type {
  Exchange,
  ExchangeQuoteEvent,
  OracleNetwork,
  OraclePriceEvent,
  PoolEvent,
  SourceId,
} from '../../domain/external.ts'

const stampedAt = (timeMs: number) => ({ timeExchangeMs: timeMs, timeReceivedMs: timeMs })

/** Events of external sources about an asset at one instant: a stream, a push feed, exchanges, a pool, stablecoins. */
export function externalEvents(asset: string, priceUsd: number, timeMs: number): Batch {
  const rates: MarketEvent[] = (['USDT', 'USDC'] as const).flatMap((stablecoin) => [
    exchangeQuote('kraken', stablecoin, 0.9998, timeMs),
    exchangeQuote('coinbase', stablecoin, 1.0001, timeMs),
  ])
  return [
    sourceUp('pyth-hermes', timeMs),
    sourceUp('kraken', timeMs),
    ...rates,
    oraclePrice('pyth-hermes', asset, priceUsd, timeMs),
    oraclePrice('chainlink', asset, priceUsd * 1.001, timeMs, {
      place: 'ethereum',
      confidenceUsd: null,
      ema: null,
      resolutionBps: 50,
      heartbeatMs: 3_600_000,
    }),
    exchangeQuote('coinbase', asset, priceUsd * 1.0002, timeMs),
    exchangeQuote('kraken', asset, priceUsd, timeMs),
    exchangeQuote('binance', asset, priceUsd * 1.0004, timeMs, { quote: 'USDT' }),
    poolOf(asset, priceUsd * 0.9997, timeMs),
  ]
}

export function sourceUp(source: SourceId, timeMs: number): MarketEvent {
  return { kind: 'source-status', source, state: 'up', reason: 'open', ...stampedAt(timeMs) }
}

export function oraclePrice(
  network: OracleNetwork,
  asset: string,
  priceUsd: number,
  timeMs: number,
  changes: Partial<OraclePriceEvent> = {},
): OraclePriceEvent {
  return {
    kind: 'oracle-price',
    network,
    place: '',
    asset,
    priceUsd,
    confidenceUsd: priceUsd * 3e-4,
    ema: { priceUsd, confidenceUsd: priceUsd * 3e-4 },
    resolutionBps: 0,
    heartbeatMs: 1_000,
    ...stampedAt(timeMs),
    ...changes,
  }
}

/** One basis point wide. */
export function exchangeQuote(
  exchange: Exchange,
  asset: string,
  mid: number,
  timeMs: number,
  changes: Partial<ExchangeQuoteEvent> = {},
): ExchangeQuoteEvent {
  return {
    kind: 'exchange-quote',
    exchange,
    asset,
    quote: 'USD',
    bid: mid * (1 - 5e-5),
    ask: mid * (1 + 5e-5),
    bidSizeBase: 3,
    askSizeBase: 2,
    ...stampedAt(timeMs),
    ...changes,
  }
}

export function poolOf(
  asset: string,
  price: number,
  timeMs: number,
  changes: Partial<PoolEvent> = {},
): PoolEvent {
  return {
    kind: 'pool',
    chain: 'ethereum',
    dex: 'uniswap-v3',
    pool: '0x01',
    asset,
    representation: `W${asset}`,
    quote: 'USDC',
    price,
    twapPrice: null,
    feeBps: 5,
    reserveQuote: 2e8,
    balanceQuote: 5e7,
    blockNumber: 1,
    ...stampedAt(timeMs),
    ...changes,
  }
}
