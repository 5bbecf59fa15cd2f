import { median, weightedMedian } from '../../statistics/median.ts'
import type { ArbCell } from './arb-cells.ts'
import type { ArbAsset } from './arb-model.ts'
import { arbAssets, BAND_MARGIN_BPS, CHAINS_PER_ASSET_MIN, NOTIONAL_USD } from './arb-model.ts'

/** Price gap of one asset on one chain, bps as log differences. NaN where unknown. */
export type Gap = {
  readonly cell: ArbCell
  /** Against the reference. */
  readonly gapBps: number
  /** Permanent gap, by its own history; 0 where unknown. */
  readonly structuralBps: number
  readonly isStructuralKnown: boolean
  /** Gap minus structural gap. */
  readonly excessBps: number
  /** Half width of the band in which no trade pays. */
  readonly bandBps: number
  /** Gas cost relative to the notional. */
  readonly gasBps: number
}

/** One asset on all chains. Nothing is measured with a price on too few chains. */
export type AssetGaps = {
  readonly asset: ArbAsset
  /** NaN where not measured; then all gaps are NaN. */
  readonly referenceUsd: number
  /** NaN for none. */
  readonly exchangesUsd: number
  /** Dispersion of the excess over chains: 1.4826 times the median absolute deviation. */
  readonly dispersionBps: number
  /** Highest over lowest price (Makarov and Schoar 2020). */
  readonly arbitrageIndex: number
  /** All chains, in their order. */
  readonly gaps: readonly Gap[]
}

const BPS = 10_000
/** Factor from the median absolute deviation to the standard deviation of normal noise. */
const MAD_SCALE = 1.4826
/** Limit of a pool's weight, in medians, so that no pool alone determines the reference. */
const WEIGHT_TIMES_MAX = 2

/**
 * @param structuralBps by position of the cell; NaN where unknown
 * @param exchangesUsd by asset; NaN where unknown
 */
export function gapsOf(
  cells: readonly ArbCell[],
  structuralBps: ArrayLike<number>,
  exchangesUsd: (asset: ArbAsset) => number,
): readonly AssetGaps[] {
  const perAsset = cells.length / arbAssets.length
  return arbAssets.map((asset, at) => {
    const own = cells.slice(at * perAsset, (at + 1) * perAsset)
    const structural = own.map((_, chain) => structuralBps[at * perAsset + chain] ?? Number.NaN)
    return assetGaps(asset, own, structural, exchangesUsd(asset))
  })
}

function assetGaps(
  asset: ArbAsset,
  cells: readonly ArbCell[],
  structuralBps: readonly number[],
  exchangesUsd: number,
): AssetGaps {
  const priced = cells.filter(({ status }) => status === 'ok')
  const referenceUsd =
    priced.length < CHAINS_PER_ASSET_MIN ? Number.NaN : referenceOf(priced, exchangesUsd)
  const gaps = cells.map((cell, at) => gapOf(cell, referenceUsd, structuralBps[at] as number))
  const excess = gaps.map(({ excessBps }) => excessBps).filter((bps) => !Number.isNaN(bps))
  const middle = median(excess)
  const prices = priced.map(({ priceUsd }) => priceUsd)
  const isMeasured = !Number.isNaN(referenceUsd)
  return {
    asset,
    referenceUsd,
    exchangesUsd,
    dispersionBps: MAD_SCALE * median(excess.map((bps) => Math.abs(bps - middle))),
    arbitrageIndex: isMeasured ? Math.max(...prices) / Math.min(...prices) : Number.NaN,
    gaps,
  }
}

/** Median of the pools' prices weighted by balance; the exchanges are one more vote of median weight. */
function referenceOf(priced: readonly ArbCell[], exchangesUsd: number): number {
  const usual = median(priced.map(({ liquidityUsd }) => liquidityUsd))
  const votes = priced.map(({ priceUsd, liquidityUsd }) => ({
    value: priceUsd,
    weight: Math.min(liquidityUsd, WEIGHT_TIMES_MAX * usual),
  }))
  if (exchangesUsd > 0) votes.push({ value: exchangesUsd, weight: usual })
  return weightedMedian(votes)
}

function gapOf(cell: ArbCell, referenceUsd: number, ownBps: number): Gap {
  const isStructuralKnown = !Number.isNaN(ownBps)
  const structuralBps = isStructuralKnown ? ownBps : 0
  const isPriced = cell.status === 'ok'
  const gapBps = isPriced ? BPS * Math.log(cell.priceUsd / referenceUsd) : Number.NaN
  const gasBps = (BPS * cell.gasUsd) / NOTIONAL_USD
  const fixedBps = cell.feeBps + gasBps + BAND_MARGIN_BPS
  return {
    cell,
    gapBps,
    structuralBps,
    isStructuralKnown,
    excessBps: gapBps - structuralBps,
    // Impact at most doubles the band; otherwise a pool that dries up would hide its own gap.
    bandBps: fixedBps + Math.min(cell.impactBps, fixedBps),
    gasBps,
  }
}
