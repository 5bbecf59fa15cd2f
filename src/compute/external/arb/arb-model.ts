import type { Chain } from '../../../domain/external.ts'

/**
 * What the measure across chains assumes. Sources: the method is our own, after the CISS of the ECB (working
 * paper 1426); the times of inventory and bridges are those of arXiv 2501.17335.
 */

/** Raised with every change of a number or a rule below. */
export const ARB_MODEL_VERSION = '1'

export const ARB_STEP_MS = 10_000

/** USDC stands for the pair of stablecoins: its price is that in USDT. */
export const arbAssets = ['ETH', 'BTC', 'USDC'] as const
export type ArbAsset = (typeof arbAssets)[number]
export const majorAssets = ['ETH', 'BTC'] as const satisfies ArbAsset[]

/** What one trade is worth on each side. */
export const NOTIONAL_USD = 50_000
/** A pool that holds less is no market for that. */
export const POOL_USD_MIN = 5 * NOTIONAL_USD
/** Of what a gap must exceed, beside fee, gas and impact. */
export const BAND_MARGIN_BPS = 2
/** To bring inventory back to where it was. */
export const REBALANCE_BPS = 2
export const BRIDGE_FEE_BPS = 5
export const BRIDGE_SECONDS = 242
/** One-sided 95 % of a normal distribution. */
export const BRIDGE_RISK_Z = 1.65

/** Below this no asset has a middle, ... */
export const CHAINS_PER_ASSET_MIN = 3
/** ... and below this nothing is said. */
export const CHAINS_MIN = 5

/** What a wrapped asset may stand off for good; beyond, something is wrong with it. */
export const STRUCTURAL_BPS_MAX = 100
/** Of our own 24 hours: below it no gap is taken for structural. */
export const STRUCTURAL_MINUTES_MIN = 360

/** Between chains at least so much makes a dislocation. */
export const DISLOCATION_BPS = 10

/** Older than this an opportunity persists; older than a bridge takes, it is structural (arXiv 2501.17335). */
export const PERSISTENT_SECONDS = 60

const FRESH_MS_MIN = 30_000
const FRESH_BLOCKS = 3
const SLOWEST_BLOCK_MS: Readonly<Partial<Record<Chain, number>>> = { ethereum: 12_000 }

/** Up to this age a block speaks of now. */
export function freshMsMax(chain: Chain): number {
  return Math.max(FRESH_MS_MIN, FRESH_BLOCKS * (SLOWEST_BLOCK_MS[chain] ?? 0))
}

/** From this age on a chain is called stale. */
export const STALE_MS = 120_000
