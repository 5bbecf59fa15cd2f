import type { ChainState } from './arb-cells.ts'
import type { AssetGaps } from './arb-gaps.ts'
import type { ArbHistory, StressHistory } from './arb-history.ts'
import type { Dislocation, Opportunity } from './arb-opportunities.ts'
import type { ExternalRates } from './arb-rates.ts'
import type { StressIndex, StressName } from './arb-stress.ts'

/** A chain as of a sample. */
export type ScannedChain = ChainState & {
  /** It has a fresh price of some asset. */
  readonly isFresh: boolean
  readonly isGasUnusual: boolean
}

export type Stress = StressIndex & {
  /** Values of the components, in their order. */
  readonly raw: readonly number[]
  readonly scores: readonly number[]
  /** The index, at least 55 while {@link isMajorOff}. 0 to 100. */
  readonly ruledIndex: number
  /** ETH or BTC is 100 bps off on two chains for five minutes. */
  readonly isMajorOff: boolean
}

/** Result of one sample. Plain objects, because they cross a thread. */
export type ArbMeasurement = {
  readonly sampledAtMs: number
  readonly chains: readonly ScannedChain[]
  readonly assets: readonly AssetGaps[]
  /** Every pair of chains that is wide enough, largest net first. */
  readonly dislocations: readonly Dislocation[]
  readonly opportunities: readonly Opportunity[]
  /** null with fewer than five fresh chains, without an asset on three of them, or without a known gas cost on two. */
  readonly stress: Stress | null
  readonly history: StressHistory
  readonly asOfMs: {
    /** Oldest block that is used; NaN for none, as below. */
    readonly dex: number
    readonly stablecoins: number
    readonly exchanges: number
  }
}

export function scannedChains(
  states: readonly ChainState[],
  assets: readonly AssetGaps[],
  history: ArbHistory,
): readonly ScannedChain[] {
  return states.map((state, at) => ({
    ...state,
    isFresh: assets.some(({ gaps }) => gaps[at]?.cell.status === 'ok'),
    isGasUnusual: history.isGasUnusual(state.chain, state.gasUsd),
  }))
}

/** Values of the components of the stress index, of at least one price whose band is known. */
export function stressComponents(
  scanned: readonly ScannedChain[],
  assets: readonly AssetGaps[],
  opportunities: readonly Opportunity[],
): Readonly<Record<StressName, number>> {
  const judged = assets
    .flatMap(({ gaps }) => gaps)
    .map(({ excessBps, bandBps }) => Math.abs(excessBps) - bandBps)
    .filter((beyondBps) => !Number.isNaN(beyondBps))
  const beyond = judged.filter((beyondBps) => beyondBps > 0)
  const dispersions = assets.map((asset) => asset.dispersionBps).filter((bps) => !Number.isNaN(bps))
  const troubled = scanned.filter(({ isFresh, isGasUnusual }) => !isFresh || isGasUnusual)
  return {
    dispersion: Math.max(0, ...dispersions),
    band_excess: Math.max(0, ...beyond),
    breadth: beyond.length / judged.length,
    persistence: Math.max(0, ...opportunities.map(({ ageMs }) => ageMs)) / 1_000,
    plumbing: troubled.length / scanned.length,
  }
}

/** Confirmation times of what a sample uses. */
export function confirmedAt(
  assets: readonly AssetGaps[],
  rates: ExternalRates,
): ArbMeasurement['asOfMs'] {
  const used = assets.flatMap(({ gaps }) =>
    gaps.filter(({ gapBps }) => !Number.isNaN(gapBps)).map(({ cell }) => cell.confirmedAtMs),
  )
  return {
    dex: used.length === 0 ? Number.NaN : Math.min(...used),
    stablecoins: rates.stablesAsOfMs,
    exchanges: rates.exchangesAsOfMs,
  }
}
