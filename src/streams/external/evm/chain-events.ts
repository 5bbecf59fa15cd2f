import type { OraclePriceEvent, PoolEvent } from '../../../domain/external.ts'
import { isSanePrice, isSaneTime } from '../sane.ts'
import type { ChainWord, PoolWord } from './chain-reading.ts'
import { CHAINLINK_DECIMALS } from './chainlink-feeds.ts'
import type { EvmChain, PoolAsset } from './evm-chains.ts'
import { isAssetFirst } from './evm-chains.ts'
import { isSqrtPrice, priceOf, priceOfTick, reserveQuoteOf } from './v3-price.ts'

/** Prices beyond these are a broken pool, or none of the pair: USD or stablecoins for one unit. */
const sanePrices: Readonly<Record<PoolAsset, readonly [number, number]>> = {
  ETH: [10, 1e6],
  BTC: [100, 1e8],
  USDC: [0.1, 10],
}
/** BTC in ETH. */
const SANE_BTC_IN_ETH: readonly [number, number] = [1, 10_000]
/** No pool takes more than a tenth. */
const FEE_BPS_MAX = 1_000
const FEE_UNITS_PER_BPS = 100
const SECOND_MS = 1_000

export type Refused = (kind: string, detail: string) => void

/** What one pool means, in units of its own quote token. */
type PoolState = Pick<PoolEvent, 'price' | 'twapPrice' | 'feeBps' | 'reserveQuote' | 'balanceQuote'>
type ReadPool = { readonly word: PoolWord; readonly state: PoolState }

/**
 * The pools of a chain, priced in stablecoins. A pool of BTC against ETH is told as a route: through it and
 * through the chain's deepest pool of ETH, as of the same block. The route takes both fees, its reserve is
 * the one that moves as much as both together, and it is as quick to empty as the pool of BTC.
 */
export function poolEvents(
  chain: EvmChain,
  word: ChainWord,
  nowMs: number,
  refused: Refused,
): readonly PoolEvent[] {
  const read = word.pools.flatMap((pool): ReadPool[] => {
    const state = stateOf(pool)
    if (typeof state === 'string') refused('pool_refused', `${pool.seat.pool}: ${state}`)
    return typeof state === 'string' ? [] : [{ word: pool, state }]
  })
  const bridge = read
    .filter(({ word: { seat } }) => seat.asset === 'ETH')
    .reduce<ReadPool | null>((deepest, pool) => (isDeeper(pool, deepest) ? pool : deepest), null)
  return read.flatMap(({ word: { seat }, state }): PoolEvent[] => {
    const told = seat.quote === 'ETH' ? routed(state, bridge) : { ...state, quote: seat.quote }
    if (told === null) return []
    return [
      {
        kind: 'pool',
        chain,
        dex: seat.dex,
        pool: seat.pool,
        asset: seat.asset,
        representation: seat.assetToken.symbol,
        ...told,
        blockNumber: word.blockNumber,
        timeExchangeMs: word.blockTimeMs,
        timeReceivedMs: nowMs,
      },
    ]
  })
}

/** @returns why it is not believed, where it is not */
function stateOf(word: PoolWord): PoolState | string {
  const { seat, liquidity, balance } = word
  const order = {
    isAssetFirst: isAssetFirst(seat),
    assetDecimals: seat.assetToken.decimals,
    quoteDecimals: seat.quoteToken.decimals,
  }
  if (!isSqrtPrice(word.sqrtPriceX96)) return 'no price'
  if (liquidity === 0n) return 'no liquidity'
  const [min, max] = seat.quote === 'ETH' ? SANE_BTC_IN_ETH : sanePrices[seat.asset]
  const isSane = (price: number | null) => price !== null && price >= min && price <= max
  const price = priceOf(word.sqrtPriceX96, order)
  if (!isSane(price)) return 'absurd price'
  const feeBps = word.fee / FEE_UNITS_PER_BPS
  if (feeBps > FEE_BPS_MAX) return 'absurd fee'
  const twapPrice = word.meanTick === null ? null : priceOfTick(word.meanTick, order)
  return {
    price,
    twapPrice: isSane(twapPrice) ? twapPrice : null,
    feeBps,
    reserveQuote: reserveQuoteOf(liquidity, word.sqrtPriceX96, order),
    balanceQuote: Number(balance) / 10 ** order.quoteDecimals,
  }
}

function isDeeper(pool: ReadPool, than: ReadPool | null): boolean {
  return pool.state.balanceQuote > (than?.state.balanceQuote ?? Number.NEGATIVE_INFINITY)
}

function routed(btc: PoolState, bridge: ReadPool | null) {
  const quote = bridge?.word.seat.quote
  if (bridge === null || quote === undefined || quote === 'ETH') return null
  const eth = bridge.state
  const btcReserve = btc.reserveQuote * eth.price
  const areTwaps = btc.twapPrice !== null && eth.twapPrice !== null
  return {
    quote,
    price: btc.price * eth.price,
    twapPrice: areTwaps ? (btc.twapPrice ?? 0) * (eth.twapPrice ?? 0) : null,
    feeBps: btc.feeBps + eth.feeBps,
    reserveQuote: 1 / (1 / btcReserve + 1 / eth.reserveQuote),
    balanceQuote: btc.balanceQuote * eth.price,
  }
}

/** What the chain's Chainlink feeds said last. A round that stands unchanged is told again: it is confirmed. */
export function chainlinkEvents(
  chain: EvmChain,
  { rounds }: ChainWord,
  nowMs: number,
  refused: Refused,
): readonly OraclePriceEvent[] {
  return rounds.flatMap(({ feed, round }): OraclePriceEvent[] => {
    const { asset, resolutionBps, heartbeatMs } = feed
    const priceUsd = Number(round.answer) / 10 ** CHAINLINK_DECIMALS
    const timeExchangeMs = Number(round.updatedAt) * SECOND_MS
    if (!isSanePrice(priceUsd) || !isSaneTime(timeExchangeMs, nowMs)) {
      refused('price_refused', `chainlink ${chain} ${asset}`)
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
        timeReceivedMs: nowMs,
      },
    ]
  })
}
