import type { PoolEvent } from '../../domain/external.ts'
import { chains } from '../../domain/external.ts'
import type { ExternalState } from '../market/external-state.ts'
import { isSameAsset } from './exchange-reference.ts'
import { expectedErrorBps } from './source-error.ts'
import { stableUsd } from './stable-usd.ts'

/** One pool's price of one unit of an asset, in USD. */
export type PoolLeg = {
  readonly pool: PoolEvent
  readonly priceUsd: number
  readonly reserveUsd: number
  /** Cost of a swap of {@link SWAP_USD} over the marginal price, without gas, bps. */
  readonly swapCostBps: number
  /** Time of the block, by our clock. */
  readonly asOfMs: number
  readonly ageMs: number
  /**
   * Standard deviation of its price's error now, bps: arbitrage stops at the fee, and the price moved since the block.
   */
  readonly expectedErrorBps: number
  /** null for a pool that can be used. */
  readonly fault: 'too_old' | 'no_usd_rate' | 'wrong_scale' | 'thin' | null
}

export const SWAP_USD = 10_000
/** Age of the block. */
export const POOL_MS_MAX = 60_000
const SWAP_COST_BPS_MAX = 50
const BPS = 10_000

/**
 * Pools of an asset on all chains: usable ones first, then by cost, including the price move since the block.
 * @param driftBps standard deviation of the asset's price over one second
 */
export function poolLegs(
  asset: string,
  external: ExternalState,
  expectedUsd: number,
  { nowMs, driftBps }: { readonly nowMs: number; readonly driftBps: number },
): readonly PoolLeg[] {
  const pools = chains.flatMap((chain) =>
    external.poolsOf(chain).filter((pool) => pool.asset === asset),
  )
  if (pools.length === 0) return []
  const usdPer = {
    USDT: stableUsd('USDT', external, nowMs)?.priceUsd ?? Number.NaN,
    USDC: stableUsd('USDC', external, nowMs)?.priceUsd ?? Number.NaN,
  }
  const costBps = ({ swapCostBps, ageMs }: PoolLeg) =>
    expectedErrorBps(swapCostBps, driftBps, byTime(ageMs))
  return pools
    .map((pool) => legOf(pool, usdPer[pool.quote], expectedUsd, { nowMs, driftBps }))
    .toSorted(
      (a, b) =>
        Number(a.fault !== null) - Number(b.fault !== null) ||
        costBps(a) - costBps(b) ||
        (a.pool.pool < b.pool.pool ? -1 : 1),
    )
}

/** Mean impact of a swap on a constant-product reserve: half of the price move. */
function impactBps(notionalUsd: number, reserveUsd: number): number {
  return (notionalUsd / reserveUsd) * BPS
}

/** A pool has no trigger: its price changes with trades only. */
function byTime(ageMs: number) {
  return { ageMs, unreadMs: 0, triggerBps: 0, delayMs: 0 }
}

function legOf(
  pool: PoolEvent,
  usdPerQuote: number,
  expectedUsd: number,
  { nowMs, driftBps }: { readonly nowMs: number; readonly driftBps: number },
): PoolLeg {
  const reserveUsd = pool.reserveQuote * usdPerQuote
  const asOfMs = Math.min(pool.timeExchangeMs, pool.timeReceivedMs)
  const ageMs = Math.max(0, nowMs - asOfMs)
  const leg = {
    pool,
    priceUsd: pool.price * usdPerQuote,
    reserveUsd,
    swapCostBps: pool.feeBps + impactBps(SWAP_USD, reserveUsd),
    asOfMs,
    ageMs,
    expectedErrorBps: expectedErrorBps(pool.feeBps, driftBps, byTime(ageMs)),
  }
  return { ...leg, fault: faultOf(leg, expectedUsd) }
}

function faultOf(
  { ageMs, priceUsd, swapCostBps }: Omit<PoolLeg, 'fault'>,
  expectedUsd: number,
): PoolLeg['fault'] {
  if (ageMs > POOL_MS_MAX) return 'too_old'
  if (Number.isNaN(priceUsd)) return 'no_usd_rate'
  if (!(priceUsd > 0) || !isSameAsset(priceUsd, expectedUsd)) return 'wrong_scale'
  return swapCostBps <= SWAP_COST_BPS_MAX ? null : 'thin'
}
