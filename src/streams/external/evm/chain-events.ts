import type { OraclePriceEvent, PoolEvent } from '../../../domain/external.ts'
import { tradableQuote } from '../../../domain/external.ts'
import { isPlausiblePrice, isPlausibleTime } from '../plausible.ts'
import type { ChainReading, PoolReading } from './chain-query.ts'
import { CHAINLINK_DECIMALS } from './chainlink-feeds.ts'
import type { EvmChainName, PoolAsset } from './evm-chains.ts'
import { pairOrder } from './evm-chains.ts'
import { isSqrtPrice, priceOf, priceOfTick, reserveQuoteOf } from './v3-price.ts'

/** Range of plausible prices of one unit, USD or stablecoins. */
const plausiblePrices: Readonly<Record<PoolAsset, readonly [number, number]>> = {
  ETH: [10, 1e6],
  BTC: [100, 1e8],
  USDC: [0.1, 10],
}
const PLAUSIBLE_BTC_IN_ETH: readonly [number, number] = [1, 10_000]
/** 10 %: no pool charges more. */
const FEE_BPS_MAX = 1_000
const FEE_UNITS_PER_BPS = 100
const SECOND_MS = 1_000

export type OnRefused = (kind: string, detail: string) => void

/** The state of one pool in units of its own quote token. */
type PoolState = Pick<PoolEvent, 'price' | 'twapPrice' | 'feeBps' | 'reserveQuote' | 'balanceQuote'>
type CheckedPool = { readonly reading: PoolReading; readonly state: PoolState }

/**
 * The pools of a chain, priced in stablecoins. A pool of BTC against ETH becomes a route through it and
 * through the chain's deepest pool of ETH, as of the same block. The route has both fees, the reserve with
 * the price impact of both pools, and the balance of the BTC pool.
 */
export function poolEvents(
  chain: EvmChainName,
  { blockNumber, blockTimeMs, pools }: ChainReading,
  nowMs: number,
  onRefused: OnRefused,
): readonly PoolEvent[] {
  const checked = pools.flatMap((reading): CheckedPool[] => {
    const state = stateOf(reading)
    if (typeof state !== 'string') return [{ reading, state }]
    const { asset, quote, dex, address } = reading.pool
    onRefused('pool_refused', `${asset}/${quote} ${dex} ${address}: ${state}`)
    return []
  })
  const bridge = checked
    .filter(({ reading }) => reading.pool.asset === 'ETH')
    .reduce<CheckedPool | null>((best, pool) => (isDeeper(pool, best) ? pool : best), null)
  return checked.flatMap(({ reading: { pool }, state }): PoolEvent[] => {
    const { asset, dex, quote } = pool
    const priced = quote === 'ETH' ? routed(state, bridge) : { ...state, quote }
    if (priced === null) return []
    const identity = { chain, dex, pool: pool.address, asset }
    return [
      {
        kind: 'pool',
        ...identity,
        representation: pool.assetToken.symbol,
        ...priced,
        blockNumber,
        timeExchangeMs: blockTimeMs,
        timeReceivedMs: nowMs,
      },
    ]
  })
}

/** @returns the reason for which the pool is not used, if there is one */
function stateOf({ pool, sqrtPriceX96, liquidity, fee, balance, meanTick }: PoolReading) {
  const order = pairOrder(pool)
  if (!isSqrtPrice(sqrtPriceX96)) return 'slot0 holds no valid price'
  if (liquidity === 0n) return 'no active liquidity'
  const [min, max] = pool.quote === 'ETH' ? PLAUSIBLE_BTC_IN_ETH : plausiblePrices[pool.asset]
  const isPlausible = (price: number) => price >= min && price <= max
  const price = priceOf(sqrtPriceX96, order)
  if (!isPlausible(price)) return `implausible price ${price}`
  const feeBps = fee / FEE_UNITS_PER_BPS
  if (feeBps > FEE_BPS_MAX) return `implausible fee of ${feeBps} bps`
  const twapPrice = meanTick === null ? null : priceOfTick(meanTick, order)
  return {
    price,
    twapPrice: twapPrice !== null && isPlausible(twapPrice) ? twapPrice : null,
    feeBps,
    reserveQuote: reserveQuoteOf(liquidity, sqrtPriceX96, order),
    balanceQuote: Number(balance) / 10 ** order.quoteDecimals,
  }
}

function isDeeper(pool: CheckedPool, than: CheckedPool | null): boolean {
  return than === null || tradableQuote(pool.state) > tradableQuote(than.state)
}

function routed(btc: PoolState, bridge: CheckedPool | null) {
  const quote = bridge?.reading.pool.quote
  if (bridge === null || quote === undefined || quote === 'ETH') return null
  const eth = bridge.state
  const btcReserve = btc.reserveQuote * eth.price
  const hasTwap = btc.twapPrice !== null && eth.twapPrice !== null
  return {
    quote,
    price: btc.price * eth.price,
    twapPrice: hasTwap ? (btc.twapPrice ?? 0) * (eth.twapPrice ?? 0) : null,
    feeBps: btc.feeBps + eth.feeBps,
    reserveQuote: 1 / (1 / btcReserve + 1 / eth.reserveQuote),
    balanceQuote: btc.balanceQuote * eth.price,
  }
}

/**
 * The newest answers of the chain's Chainlink feeds. An unchanged round is emitted again: it is confirmed.
 * @param readMs as of `readMsOf`
 */
export function chainlinkEvents(
  chain: EvmChainName,
  { rounds }: ChainReading,
  readMs: number,
  onRefused: OnRefused,
): readonly OraclePriceEvent[] {
  return rounds.flatMap(({ feed, round }): OraclePriceEvent[] => {
    const { asset, resolutionBps, heartbeatMs } = feed
    const priceUsd = Number(round.answer) / 10 ** CHAINLINK_DECIMALS
    const timeExchangeMs = Number(round.updatedAt) * SECOND_MS
    if (!isPlausiblePrice(priceUsd) || !isPlausibleTime(timeExchangeMs, readMs)) {
      onRefused('price_refused', `${asset}: implausible Chainlink round on ${chain}`)
      return []
    }
    return [
      {
        kind: 'oracle-price',
        network: 'chainlink',
        place: chain,
        asset,
        priceUsd,
        confidenceUsd: null,
        ema: null,
        resolutionBps,
        heartbeatMs,
        timeExchangeMs,
        timeReceivedMs: readMs,
      },
    ]
  })
}
