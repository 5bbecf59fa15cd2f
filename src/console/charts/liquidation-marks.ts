import type { AnswerOf } from '../live/use-document.ts'

type Liquidations = AnswerOf<'liquidations'>

/** A cluster or a zone of `/liquidations`, as it is drawn. */
export type LiquidationMark = {
  readonly kind: 'cluster' | 'zone'
  readonly side: 'long' | 'short'
  readonly price: number
  readonly distancePct: number
  /** Positions of known accounts, USD; null if unknown. */
  readonly observedUsd: number | null
  /** Without the observed part, USD; null if unknown. */
  readonly estimatedUsd: number | null
  /** Of a zone: its leverage tier. */
  readonly leverage: string | null
  /** A zone without notional on the map: its price is that of a position opened now. */
  readonly isHypothetical: boolean
}

const sides = [
  ['longs', 'long'],
  ['shorts', 'short'],
] as const

/** All clusters and zones, by price. */
export function liquidationMarks({ zones, clusters }: Liquidations): readonly LiquidationMark[] {
  const marks = sides.flatMap(([key, side]): LiquidationMark[] => [
    ...clusters[key].map((cluster) => ({
      ...{ kind: 'cluster' as const, side, leverage: null, isHypothetical: false },
      ...amounts(cluster),
    })),
    ...zones[key].map((zone) => ({
      ...{ kind: 'zone' as const, side, leverage: zone.leverage },
      isHypothetical: zone.holds !== 'on_map',
      ...amounts(zone),
    })),
  ])
  return marks.sort((one, other) => one.price - other.price)
}

/**
 * The place of the mark that stands for one of an earlier answer: the same tier, or the nearest cluster of the side; -1
 * without one.
 */
export function placeOf(chosen: LiquidationMark | null, marks: readonly LiquidationMark[]): number {
  if (chosen === null) return -1
  const { kind, side, leverage, price } = chosen
  const distanceOf = (one: LiquidationMark) => Math.abs(one.price - price)
  const [nearest] = marks
    .filter((one) => one.kind === kind && one.side === side && one.leverage === leverage)
    .sort((one, other) => distanceOf(one) - distanceOf(other))
  return nearest === undefined ? -1 : marks.indexOf(nearest)
}

function amounts(of: Liquidations['clusters']['longs'][number]) {
  const { price, distance_pct, estimated_notional: all, observed_notional: observedUsd } = of
  const estimatedUsd = all === null || observedUsd === null ? all : Math.max(0, all - observedUsd)
  return { price, distancePct: distance_pct, observedUsd, estimatedUsd }
}

export function notionalOf({ observedUsd, estimatedUsd }: LiquidationMark): number {
  return (observedUsd ?? 0) + (estimatedUsd ?? 0)
}

/** Largest notional of a cluster; 0 without one. */
export function largestCluster(marks: readonly LiquidationMark[]): number {
  return Math.max(0, ...marks.filter(({ kind }) => kind === 'cluster').map(notionalOf))
}
