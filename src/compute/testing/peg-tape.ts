import type {
  Chain,
  Exchange,
  ExchangeQuoteEvent,
  ExternalEvent,
  OracleNetwork,
  OraclePriceEvent,
  PoolEvent,
  SourceId,
} from '../../domain/external.ts'
import { chains } from '../../domain/external.ts'

const HOUR_MS = 3_600_000

type Feed = Pick<OraclePriceEvent, 'network' | 'place' | 'resolutionBps' | 'heartbeatMs'>

const feed = (
  network: OracleNetwork,
  place: string,
  resolutionBps: number,
  heartbeatMs: number,
): Feed => ({
  network,
  place,
  resolutionBps,
  heartbeatMs,
})
const hermes = feed('pyth-hermes', '', 0, 5_000)
const solana = feed('pyth-solana', '', 50, 60_000)
const monad = feed('pyth-evm', 'monad', 20, HOUR_MS)
const redstone = feed('redstone', '', 0, 30_000)
/** Gives no confidence. */
const chainlink = {
  ...feed('chainlink', 'ethereum', 25, 24 * HOUR_MS),
  confidenceUsd: null,
  ema: null,
}

/** What a stablecoin costs by one source, USD. */
export type Quoted = (source: SourceId, asset: 'USDC' | 'USDT') => number

type Told = { readonly source: SourceId; readonly events: readonly ExternalEvent[] }

/** Events of all sources about USDC and USDT at one instant, without those of `dead`. */
export function pegTape(
  atMs: number,
  quoted: Quoted = () => 1,
  dead: ReadonlySet<SourceId> = new Set(),
): ExternalEvent[] {
  return told(atMs, quoted)
    .filter(({ source }) => !dead.has(source))
    .flatMap(({ events }) => events)
}

function told(atMs: number, quoted: Quoted): readonly Told[] {
  const oracle = (source: SourceId, over: Partial<OraclePriceEvent>): readonly ExternalEvent[] =>
    (['USDC', 'USDT'] as const).map((asset) =>
      oraclePrice({ asset, priceUsd: quoted(source, asset), ...over }, atMs),
    )
  const exchange = (
    source: Exchange,
    ...pairs: (readonly ['USDC' | 'USDT', 'USD' | 'USDT'])[]
  ) => ({
    source,
    events: pairs.map(([asset, quote]) => {
      const usdPerQuote = quote === 'USD' ? 1 : quoted(source, 'USDT')
      return exchangeQuote(source, asset, quote, quoted(source, asset) / usdPerQuote, atMs)
    }),
  })
  return [
    { source: 'pyth-hermes', events: oracle('pyth-hermes', hermes) },
    { source: 'pyth-solana', events: oracle('pyth-solana', solana) },
    { source: 'pyth-evm', events: oracle('pyth-evm', monad) },
    { source: 'redstone', events: oracle('redstone', redstone) },
    exchange('kraken', ['USDC', 'USD'], ['USDT', 'USD']),
    exchange('coinbase', ['USDT', 'USD']),
    exchange('binance', ['USDC', 'USDT']),
    exchange('okx', ['USDC', 'USDT']),
    exchange('bybit', ['USDC', 'USDT']),
    ...chains.map((chain) => ({
      source: chain,
      events: [
        usdcPool(chain, quoted(chain, 'USDC') / quoted(chain, 'USDT'), atMs),
        ...(chain === 'solana' ? [] : oracle(chain, { ...chainlink, place: chain })),
      ],
    })),
  ]
}

/** One event of one feed; by default a calm stream of USDC. */
export function oraclePrice(over: Partial<OraclePriceEvent>, atMs: number): OraclePriceEvent {
  return {
    kind: 'oracle-price',
    ...hermes,
    asset: 'USDC',
    priceUsd: 1,
    confidenceUsd: 0.0001,
    ema: { priceUsd: 1, confidenceUsd: 0.0001 },
    timeExchangeMs: atMs,
    timeReceivedMs: atMs,
    ...over,
  }
}

/** A book of one bp around a price. */
export function exchangeQuote(
  exchange: Exchange,
  asset: string,
  quote: ExchangeQuoteEvent['quote'],
  mid: number,
  atMs: number,
): ExchangeQuoteEvent {
  return {
    kind: 'exchange-quote',
    exchange,
    asset,
    quote,
    bid: mid * (1 - 0.5e-4),
    ask: mid * (1 + 0.5e-4),
    bidSizeBase: 1e6,
    askSizeBase: 1e6,
    timeExchangeMs: atMs,
    timeReceivedMs: atMs,
  }
}

/** A deep pool of a chain at a fee of one bp. */
export function usdcPool(
  chain: Chain,
  price: number,
  atMs: number,
  over: Partial<PoolEvent> = {},
): PoolEvent {
  return {
    kind: 'pool',
    chain,
    dex: 'uniswap-v3',
    pool: `${chain}-usdc-usdt`,
    asset: 'USDC',
    representation: 'USDC',
    quote: 'USDT',
    price,
    twapPrice: null,
    feeBps: 1,
    reserveQuote: 1e9,
    balanceQuote: 1e7,
    blockNumber: 1_000,
    timeExchangeMs: atMs,
    timeReceivedMs: atMs,
    ...over,
  }
}

/** Sources that {@link pegTape} can leave out. */
export const pegSourceIds: readonly SourceId[] = told(0, () => 1).map(({ source }) => source)
