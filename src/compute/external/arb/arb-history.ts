import type { Chain } from '../../../domain/external.ts'
import { chains } from '../../../domain/external.ts'
import type { MeasureLog } from '../../market/measure-log.ts'
import { medianOfSorted } from '../../statistics/median.ts'
import { percentileOf, statisticsOf } from '../../statistics/series-statistics.ts'
import type { AssetGaps } from './arb-gaps.ts'
import type { ArbAsset } from './arb-model.ts'
import { arbAssets, STRUCTURAL_BPS_MAX, STRUCTURAL_MINUTES_MIN } from './arb-model.ts'
import type { StressName } from './arb-stress.ts'
import { historyShare, stressNames } from './arb-stress.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS
const WEEK_MS = 7 * DAY_MS
const BPS = 10_000
/** Maximum distance of a reading from the requested instant. */
const NEAR_MS = 5 * MINUTE_MS
/** Two days: with less the statistics of the week are unknown. */
const WEEK_MINUTES_MIN = 2 * 1_440
/** History is read once a block: a few minutes do not move a day's median. */
const BLOCK_MS = 5 * MINUTE_MS
/** Minutes of the last hour below which the deviation is unknown. */
const SIGMA_MINUTES_MIN = 20
const SECONDS_PER_MINUTE = 60
/** Floor of the standard deviation of log gas prices, about 10 %: else any change of a flat price is unusual. */
const GAS_DEVIATION_MIN = 0.1
const UNUSUAL_Z = 3

/** Names of the minute series in the measure log. */
export const arbSeries = {
  gap: (asset: ArbAsset, chain: Chain) => `arb/${asset}/${chain}`,
  reference: (asset: ArbAsset) => `arb/${asset}/reference`,
  gas: (chain: Chain) => `arb/${chain}/gas`,
  component: (name: StressName) => `arb/${name}`,
  index: 'arb/index',
} as const

/** The log up to the beginning of a block of minutes. */
export type ArbHistory = {
  /** Number of the block since 1970. */
  readonly block: number
  /** Median gap of 24 hours, by asset and then chain; NaN where the log is too short. */
  readonly structuralBps: Float64Array
  /** Values of 24 hours, ascending. */
  readonly components: Readonly<Record<StressName, Float64Array>>
  readonly indexOfDay: Float64Array
  readonly indexOfWeek: Float64Array
  /** Standard deviation of the reference over one second, bps; NaN where unknown. */
  readonly sigmaBps: Readonly<Record<ArbAsset, number>>
  readonly isGasUnusual: (chain: Chain, gasUsd: number) => boolean
}

/** The index now against its own history; NaN where that is too short. */
export type StressHistory = {
  readonly change1h: number
  readonly change24h: number
  readonly percentile24h: number
  readonly percentile7d: number
  readonly median7d: number
  /** Known minutes of the last 24 hours. */
  readonly minutes: number
  /** Known minutes of the last 7 days. */
  readonly weekMinutes: number
  /** Prices with a known structural gap, of all {@link priced} ones. */
  readonly structuralKnown: number
  readonly priced: number
}

export function blockOf(nowMs: number): number {
  return Math.floor(nowMs / BLOCK_MS)
}

/** Gives the same result for all instants of a block. */
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

export function stressHistory(
  log: MeasureLog,
  sampleMs: number,
  known: {
    readonly history: ArbHistory
    readonly assets: readonly AssetGaps[]
    readonly index: number
  },
): StressHistory {
  const { index } = known
  const { indexOfDay, indexOfWeek } = known.history
  const before = (ms: number) => log.near(arbSeries.index, sampleMs - ms, NEAR_MS)
  const isWeekKnown = indexOfWeek.length >= WEEK_MINUTES_MIN
  const priced = known.assets
    .flatMap(({ gaps }) => gaps)
    .filter(({ gapBps }) => !Number.isNaN(gapBps))
  return {
    change1h: index - before(HOUR_MS),
    change24h: index - before(DAY_MS),
    percentile24h:
      historyShare(indexOfDay.length) > 0 ? percentileOf(indexOfDay, index) : Number.NaN,
    percentile7d: isWeekKnown ? percentileOf(indexOfWeek, index) : Number.NaN,
    median7d: isWeekKnown ? medianOfSorted(indexOfWeek) : Number.NaN,
    minutes: indexOfDay.length,
    weekMinutes: indexOfWeek.length,
    structuralKnown: priced.filter(({ isStructuralKnown }) => isStructuralKnown).length,
    priced: priced.length,
  }
}

/** Records the values of a sample for {@link readHistory}. */
export function recordSample(
  log: MeasureLog,
  sampleMs: number,
  sample: {
    readonly assets: readonly AssetGaps[]
    readonly scanned: readonly { readonly chain: Chain; readonly gasUsd: number }[]
    readonly stress: { readonly ruledIndex: number; readonly raw: readonly number[] }
  },
): void {
  const { assets, scanned, stress } = sample
  log.record(arbSeries.index, sampleMs, stress.ruledIndex)
  for (const [at, name] of stressNames.entries())
    log.record(arbSeries.component(name), sampleMs, stress.raw[at] as number)
  for (const { chain, gasUsd } of scanned) log.record(arbSeries.gas(chain), sampleMs, gasUsd)
  for (const { asset, referenceUsd, gaps } of assets) {
    log.record(arbSeries.reference(asset), sampleMs, referenceUsd)
    for (const { cell, gapBps } of gaps)
      log.record(arbSeries.gap(asset, cell.chain), sampleMs, gapBps)
  }
}

/** NaN for too few minutes. */
function structuralGap(gapsBps: Float64Array): number {
  if (gapsBps.length < STRUCTURAL_MINUTES_MIN) return Number.NaN
  const { median } = statisticsOf(gapsBps)
  return Math.max(-STRUCTURAL_BPS_MAX, Math.min(STRUCTURAL_BPS_MAX, median))
}

/** A return across missing minutes counts as one minute, so missing data raises sigma and never lowers it. */
function sigmaOf(prices: Float64Array): number {
  const returns = prices.slice(1).map((price, at) => Math.log(price / (prices[at] as number)))
  if (returns.length < SIGMA_MINUTES_MIN) return Number.NaN
  return (BPS * statisticsOf(returns).deviation) / Math.sqrt(SECONDS_PER_MINUTE)
}

type Usual = { readonly mean: number; readonly deviation: number } | null

/** Statistics of the logarithms, because gas moves by factors. */
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
