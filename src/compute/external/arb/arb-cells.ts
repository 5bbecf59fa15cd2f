import type { Chain, ChainEvent, PoolEvent } from '../../../domain/external.ts'
import { chains, tradableQuote } from '../../../domain/external.ts'
import type { ExternalState } from '../../market/external-state.ts'
import type { ArbAsset } from './arb-model.ts'
import { arbAssets, freshMsMax, NOTIONAL_USD, POOL_USD_MIN, STALE_MS } from './arb-model.ts'

/** USD price of one unit; NaN where unknown. */
export type Rates = {
  readonly quote: (quote: PoolEvent['quote']) => number
  /** Native coin of a chain, for its gas. */
  readonly native: (asset: string) => number
}

/** `absent`: no pool; `late`: old block; `thin`: too small; `unpriced`: no USD rate. */
type CellStatus = 'ok' | 'late' | 'thin' | 'unpriced' | 'absent'

/** Price of one asset on one chain. NaN where unknown. */
export type ArbCell = {
  readonly asset: ArbAsset
  readonly chain: Chain
  readonly status: CellStatus
  readonly pool: PoolEvent | null
  readonly priceUsd: number
  /** Average of the last minute. */
  readonly twapUsd: number
  readonly feeBps: number
  /** Average price move of a trade of the notional. */
  readonly impactBps: number
  readonly gasUsd: number
  readonly liquidityUsd: number
  readonly blockTimeMs: number
  /** By our clock: a chain's clock may be ahead. */
  readonly confirmedAtMs: number
}

/** `down`: no block, or a status that says so and an old block; `stale`: an old block. */
export type ChainState = {
  readonly chain: Chain
  readonly status: 'ok' | 'stale' | 'down'
  /** Time of the newest block; NaN for none. */
  readonly blockTimeMs: number
  readonly gasUsd: number
}

const BPS = 10_000
/** Gas is one cost of several: an old gas price is better than none. */
const GAS_MS_MAX = 600_000

/** All assets on all chains, assets outer, in fixed order and number. */
export function cellsOf(external: ExternalState, rates: Rates, nowMs: number): readonly ArbCell[] {
  const gas = new Map(chains.map((chain) => [chain, gasUsd(external.chain(chain), rates, nowMs)]))
  const pools = new Map(chains.map((chain) => [chain, external.poolsOf(chain).map(asUsdcInUsdt)]))
  return arbAssets.flatMap((asset) =>
    chains.map((chain) => {
      const pool = deepest(pools.get(chain) ?? [], asset, nowMs)
      return cellOf({ asset, chain, gasUsd: gas.get(chain) ?? Number.NaN }, pool, rates, nowMs)
    }),
  )
}

export function chainStates(
  external: ExternalState,
  rates: Rates,
  nowMs: number,
): readonly ChainState[] {
  return chains.map((chain) => {
    const event = external.chain(chain)
    const times = external.poolsOf(chain).map(({ timeExchangeMs }) => timeExchangeMs)
    if (event !== null) times.push(event.timeExchangeMs)
    const blockTimeMs = times.length === 0 ? Number.NaN : Math.max(...times)
    return {
      chain,
      status: chainStatus(external, chain, nowMs - blockTimeMs),
      blockTimeMs,
      gasUsd: gasUsd(event, rates, nowMs),
    }
  })
}

function chainStatus(external: ExternalState, chain: Chain, ageMs: number): ChainState['status'] {
  if (Number.isNaN(ageMs)) return 'down'
  const isOff = ['down', 'blocked', 'off'].includes(external.source(chain)?.state ?? 'up')
  if (isOff && ageMs > freshMsMax(chain)) return 'down'
  return ageMs > STALE_MS ? 'stale' : 'ok'
}

function gasUsd(event: ChainEvent | null, rates: Rates, nowMs: number): number {
  if (event === null || nowMs - event.timeExchangeMs > GAS_MS_MAX) return Number.NaN
  const usd = event.swapGasNative * rates.native(event.native)
  return usd >= 0 && usd < Number.POSITIVE_INFINITY ? usd : Number.NaN
}

/** The pool with the most to trade, of those with a fresh block if there are any. */
function deepest(pools: readonly PoolEvent[], asset: ArbAsset, nowMs: number): PoolEvent | null {
  let best: PoolEvent | null = null
  for (const pool of pools) {
    if (pool.asset !== asset) continue
    const isBetter =
      best === null ||
      (isFresh(pool, nowMs) === isFresh(best, nowMs)
        ? tradableQuote(pool) > tradableQuote(best) ||
          (tradableQuote(pool) === tradableQuote(best) && pool.pool < best.pool)
        : isFresh(pool, nowMs))
    if (isBetter) best = pool
  }
  return best
}

function cellOf(
  at: Pick<ArbCell, 'asset' | 'chain' | 'gasUsd'>,
  pool: PoolEvent | null,
  rates: Rates,
  nowMs: number,
): ArbCell {
  const usd = pool === null ? Number.NaN : rates.quote(pool.quote)
  const cell = {
    ...at,
    pool,
    priceUsd: (pool?.price ?? Number.NaN) * usd,
    twapUsd: (pool?.twapPrice ?? Number.NaN) * usd,
    feeBps: pool?.feeBps ?? Number.NaN,
    impactBps: (BPS * NOTIONAL_USD) / ((pool?.reserveQuote ?? Number.NaN) * usd),
    liquidityUsd: (pool?.balanceQuote ?? Number.NaN) * usd,
    blockTimeMs: pool?.timeExchangeMs ?? Number.NaN,
    confirmedAtMs: Math.min(pool?.timeExchangeMs ?? Number.NaN, pool?.timeReceivedMs ?? Number.NaN),
  }
  return { ...cell, status: statusOf(cell, nowMs) }
}

function statusOf(cell: Omit<ArbCell, 'status'>, nowMs: number): CellStatus {
  if (cell.pool === null) return 'absent'
  if (!isFresh(cell.pool, nowMs)) return 'late'
  if (!(cell.priceUsd > 0 && cell.priceUsd < Number.POSITIVE_INFINITY)) return 'unpriced'
  const isDeep = cell.liquidityUsd >= POOL_USD_MIN && cell.impactBps < BPS && cell.impactBps >= 0
  return isDeep ? 'ok' : 'thin'
}

/** A block time in the future means a wrong clock, and is not fresh. */
function isFresh({ chain, timeExchangeMs }: PoolEvent, nowMs: number): boolean {
  return Math.abs(nowMs - timeExchangeMs) <= freshMsMax(chain)
}

/** Pools of the two stablecoins are quoted either way round. */
function asUsdcInUsdt(pool: PoolEvent): PoolEvent {
  if (pool.asset !== 'USDT' || pool.quote !== 'USDC') return pool
  const { price, twapPrice, reserveQuote, balanceQuote } = pool
  return {
    ...pool,
    asset: 'USDC',
    quote: 'USDT',
    price: 1 / price,
    twapPrice: twapPrice === null ? null : 1 / twapPrice,
    // The same trade, in the other coin.
    reserveQuote: reserveQuote / price,
    balanceQuote: balanceQuote / price,
  }
}
