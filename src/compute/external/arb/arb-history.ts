import type { Chain } from '../../../domain/external.ts'
import { chains } from '../../../domain/external.ts'
import type { MeasureLog } from '../../market/measure-log.ts'
import { statisticsOf } from '../../statistics/series-statistics.ts'
import type { ArbAsset } from './arb-model.ts'
import { arbAssets, STRUCTURAL_BPS_MAX, STRUCTURAL_MINUTES_MIN } from './arb-model.ts'
import type { StressName } from './arb-stress.ts'
import { stressNames } from './arb-stress.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS
const WEEK_MS = 7 * DAY_MS
const BPS = 10_000
/** What is new in a few minutes does not move a day's median. */
const BLOCK_MS = 5 * MINUTE_MS
/** Of the last hour; with fewer minutes the deviation is unknown. */
const SIGMA_MINUTES_MIN = 20
const SECONDS_PER_MINUTE = 60
/** Gas that hardly moves is not unusual for moving a little: 10 %, as a logarithm. */
const GAS_DEVIATION_MIN = 0.1
const UNUSUAL_Z = 3

export const arbSeries = {
  gap: (asset: ArbAsset, chain: Chain) => `arb/${asset}/${chain}`,
  reference: (asset: ArbAsset) => `arb/${asset}/reference`,
  gas: (chain: Chain) => `arb/${chain}/gas`,
  component: (name: StressName) => `arb/${name}`,
  index: 'arb/index',
} as const

/** What our own log says of the time before a block of minutes. */
export type ArbHistory = {
  /** Which block, in blocks since 1970. */
  readonly block: number
  /** Median gap of 24 hours, by asset and then chain; NaN where the log is too short. */
  readonly structuralBps: Float64Array
  /** Raw values of 24 hours. */
  readonly components: Readonly<Record<StressName, Float64Array>>
  readonly indexOfDay: Float64Array
  readonly indexOfWeek: Float64Array
  /** Deviation of the reference in one second, bps; NaN for unknown. */
  readonly sigmaBps: Readonly<Record<ArbAsset, number>>
  readonly isGasUnusual: (chain: Chain, gasUsd: number) => boolean
}

export function blockOf(nowMs: number): number {
  return Math.floor(nowMs / BLOCK_MS)
}

/** The same for all instants of a block, whatever was logged in it. */
export function readHistory(log: MeasureLog, nowMs: number): ArbHistory {
  const block = blockOf(nowMs)
  const untilMs = block * BLOCK_MS - 1
  const day = (series: string) => log.values(series, untilMs - DAY_MS, untilMs)
  const gaps = arbAssets.flatMap((asset) =>
    chains.map((chain) => structuralGap(day(arbSeries.gap(asset, chain)))),
  )
  const usualGas = new Map(chains.map((chain) => [chain, usualOf(day(arbSeries.gas(chain)))]))
  return {
    block,
    structuralBps: Float64Array.from(gaps),
    components: byName(stressNames, (name) => day(arbSeries.component(name)).toSorted()),
    indexOfDay: day(arbSeries.index).toSorted(),
    indexOfWeek: log.values(arbSeries.index, untilMs - WEEK_MS, untilMs).toSorted(),
    sigmaBps: byName(arbAssets, (asset) =>
      sigmaOf(log.values(arbSeries.reference(asset), untilMs - HOUR_MS, untilMs)),
    ),
    isGasUnusual: (chain, gasUsd) => isUnusual(usualGas.get(chain) ?? null, gasUsd),
  }
}

/** @returns NaN where too little is known */
function structuralGap(gapsBps: Float64Array): number {
  if (gapsBps.length < STRUCTURAL_MINUTES_MIN) return Number.NaN
  const { median } = statisticsOf(gapsBps)
  return Math.max(-STRUCTURAL_BPS_MAX, Math.min(STRUCTURAL_BPS_MAX, median))
}

/** Returns over a hole count as of one minute, so that holes make it larger and never smaller. */
function sigmaOf(prices: Float64Array): number {
  const returns = prices.slice(1).map((price, at) => Math.log(price / (prices[at] as number)))
  if (returns.length < SIGMA_MINUTES_MIN) return Number.NaN
  return (BPS * statisticsOf(returns).deviation) / Math.sqrt(SECONDS_PER_MINUTE)
}

type Usual = { readonly mean: number; readonly deviation: number } | null

/** Of the logarithms: gas moves by factors. */
function usualOf(gasUsd: Float64Array): Usual {
  const known = gasUsd.filter((usd) => usd > 0)
  return known.length < STRUCTURAL_MINUTES_MIN ? null : statisticsOf(known.map(Math.log))
}

function isUnusual(usual: Usual, gasUsd: number): boolean {
  if (usual === null) return false
  const deviation = Math.max(GAS_DEVIATION_MIN, usual.deviation)
  return (Math.log(gasUsd) - usual.mean) / deviation > UNUSUAL_Z
}

function byName<Name extends string, Value>(
  names: readonly Name[],
  of: (name: Name) => Value,
): Readonly<Record<Name, Value>> {
  return Object.fromEntries(names.map((name) => [name, of(name)])) as Record<Name, Value>
}
