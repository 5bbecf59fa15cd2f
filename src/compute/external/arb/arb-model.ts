import type { Chain } from '../../../domain/external.ts'

/**
 * Assumptions of the measure across chains. The index follows the CISS of the ECB (working paper 1426); times of
 * inventory and bridges are those of arXiv 2501.17335.
 */

/** Raised with every change of a number or a rule below. */
export const ARB_MODEL_VERSION = '1'

export const ARB_STEP_MS = 10_000

/** USDC is the pair of stablecoins: its price is in USDT. */
export const arbAssets = ['ETH', 'BTC', 'USDC'] as const
export type ArbAsset = (typeof arbAssets)[number]
export const majorAssets = ['ETH', 'BTC'] as const satisfies ArbAsset[]

/** Notional of a trade. */
export const NOTIONAL_USD = 50_000
/** A smaller pool is ignored. */
export const POOL_USD_MIN = 5 * NOTIONAL_USD
/** Required excess over fee, gas and impact. */
export const BAND_MARGIN_BPS = 2
/** Cost of returning inventory. */
export const REBALANCE_BPS = 2
export const BRIDGE_FEE_BPS = 5
export const BRIDGE_SECONDS = 242
/** One-sided 95 % of a normal distribution. */
export const BRIDGE_RISK_Z = 1.65

/** Fewer chains give no reference price. */
export const CHAINS_PER_ASSET_MIN = 3
/** Fewer fresh chains give no answer. */
export const CHAINS_MIN = 5

/** Largest structural gap of a wrapped asset; a larger one is a fault. */
export const STRUCTURAL_BPS_MAX = 100
/** Minutes of 24 hours below which no gap counts as structural. */
export const STRUCTURAL_MINUTES_MIN = 360

/** Smallest gap of a dislocation between two chains. */
export const DISLOCATION_BPS = 10

/** Older opportunities persist; those older than a bridge transfer are structural (arXiv 2501.17335). */
export const PERSISTENT_SECONDS = 60

const FRESH_MS_MIN = 30_000
const FRESH_BLOCKS = 3
const SLOWEST_BLOCK_MS: Readonly<Partial<Record<Chain, number>>> = { ethereum: 12_000 }

/** Age limit of a fresh block. */
export function freshMsMax(chain: Chain): number {
  return Math.max(FRESH_MS_MIN, FRESH_BLOCKS * (SLOWEST_BLOCK_MS[chain] ?? 0))
}

/** Age from which a chain is stale. */
export const STALE_MS = 120_000
