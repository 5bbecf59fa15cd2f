import type { MarketEvent } from '../../../domain/event.ts'
import type { MarketState, MarketTracker } from '../../market/market-state.ts'
import { marketTracker } from '../../market/market-state.ts'
import { joinSections, splitSections } from '../../market/saved-sections.ts'
import { medianOfSorted } from '../../statistics/median.ts'
import { percentileOf } from '../../statistics/series-statistics.ts'
import type { ChainState } from './arb-cells.ts'
import { cellsOf, chainStates } from './arb-cells.ts'
import type { AssetGaps } from './arb-gaps.ts'
import { gapsOf } from './arb-gaps.ts'
import type { ArbHistory } from './arb-history.ts'
import { arbSeries, blockOf, readHistory } from './arb-history.ts'
import { ARB_STEP_MS, CHAINS_MIN, DISLOCATION_BPS, majorAssets } from './arb-model.ts'
import type { Dislocation, Opportunity } from './arb-opportunities.ts'
import { dislocationOf, opportunityOf } from './arb-opportunities.ts'
import type { ChainPair } from './arb-pairs.ts'
import { CHAIN_PAIRS, chainPairs } from './arb-pairs.ts'
import type { ExternalRates } from './arb-rates.ts'
import { externalRates } from './arb-rates.ts'
import { OpenSpans } from './arb-spans.ts'
import type { StressIndex, StressName } from './arb-stress.ts'
import {
  historyShare,
  ScoreCorrelation,
  stressIndex,
  stressNames,
  stressScore,
} from './arb-stress.ts'

/** A chain as of a sample. */
export type ScannedChain = ChainState & {
  /** It has a price that speaks of now. */
  readonly isFresh: boolean
  readonly isGasUnusual: boolean
}

export type Stress = StressIndex & {
  /** Of the components, in their order. */
  readonly raw: readonly number[]
  readonly scores: readonly number[]
  /** The index, or what a rule of its own makes of it: see {@link isMajorOff}. 0 to 100. */
  readonly ruledIndex: number
  /** An asset that matters has been far off on two chains for minutes. */
  readonly isMajorOff: boolean
}

/** The index now against its own history; NaN where that is too short. */
type StressHistory = {
  readonly change1h: number
  readonly change24h: number
  readonly percentile24h: number
  readonly percentile7d: number
  readonly median7d: number
  /** Minutes of the last 24 hours that are known. */
  readonly minutes: number
  /** How many assets on chains have a known structural gap, of all that have a price. */
  readonly structuralKnown: number
  readonly priced: number
}

/** One sample of everything. Plain objects: they cross a thread. */
export type ArbMeasurement = {
  readonly sampledAtMs: number
  readonly chains: readonly ScannedChain[]
  readonly assets: readonly AssetGaps[]
  /** All that are wide enough, the largest net first. */
  readonly dislocations: readonly Dislocation[]
  readonly opportunities: readonly Opportunity[]
  /** null with fewer than five fresh chains. */
  readonly stress: Stress | null
  readonly history: StressHistory
  readonly asOfMs: {
    /** Of the oldest block that is used; NaN for none, as below. */
    readonly dex: number
    readonly stablecoins: number
    readonly exchanges: number
  }
}

const VERSION = 1
const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS
/** How far a minute may be from the instant that is asked for. */
const NEAR_MS = 5 * MINUTE_MS
const WEEK_MINUTES_MIN = 2 * 1_440
/** So old, a sample says nothing about now. */
const SCORE_MS_MAX = 60_000

const MAJOR_OFF_BPS = 100
const MAJOR_OFF_CHAINS = 2
const MAJOR_OFF_MS = 300_000
/** Where `stressed` begins. */
const MAJOR_OFF_INDEX = 55

/** Gaps of the same assets between chains, what they would pay, and how stressed that is, every ten seconds. */
class ArbMeasure implements MarketTracker {
  readonly hears = ['measure-history'] as const
  #correlation = new ScoreCorrelation()
  /** Pairs that would pay, ... */
  #paying = new OpenSpans(CHAIN_PAIRS)
  /** ... and pairs that are dislocated, whatever that would pay. */
  #wide = new OpenSpans(CHAIN_PAIRS)
  #majorOff = new OpenSpans(majorAssets.length)
  #history: ArbHistory | null = null
  #latest: ArbMeasurement | null = null

  /** The newest sample; null before the first. */
  get latest(): ArbMeasurement | null {
    return this.#latest
  }

  /** 0 to 1; undefined where the newest sample has none, or is too old. @param nowMs by our clock */
  stressScore(nowMs: number): number | undefined {
    const latest = this.#latest
    if (latest?.stress == null || nowMs - latest.sampledAtMs > SCORE_MS_MAX) return undefined
    return latest.stress.ruledIndex / 100
  }

  apply(event: MarketEvent): void {
    if (event.kind === 'measure-history' && event.series.startsWith('arb/')) this.#history = null
  }

  advance(market: MarketState, nowMs: number): void {
    const sampleMs = Math.floor(nowMs / ARB_STEP_MS) * ARB_STEP_MS
    if (sampleMs === this.#latest?.sampledAtMs) return
    const history = this.#historyAt(market, nowMs)
    const rates = externalRates(market, nowMs)
    const cells = cellsOf(market.external, rates, nowMs)
    const assets = gapsOf(cells, history.structuralBps, rates.exchanges)
    const pairs = chainPairs(assets, (asset) => history.sigmaBps[asset])
    this.#observe(assets, pairs, sampleMs)
    const scanned = scannedChains(chainStates(market.external, rates, nowMs), assets, history)
    const opportunities = pairs
      .filter(({ at }) => this.#paying.isConfirmed(at, sampleMs))
      .map((pair) => opportunityOf(pair, this.#paying.ageMs(pair.at, sampleMs), nowMs))
      .toSorted((one, other) => other.netBps - one.netBps)
    const stress = this.#stressOf({ scanned, assets, opportunities, history }, sampleMs)
    if (stress !== null) record(market, sampleMs, { assets, scanned, stress })
    this.#latest = {
      sampledAtMs: sampleMs,
      chains: scanned,
      assets,
      dislocations: pairs
        .filter(({ grossBps }) => grossBps >= DISLOCATION_BPS)
        .map((pair) => dislocationOf(pair, this.#wide.ageMs(pair.at, sampleMs)))
        .toSorted((one, other) => other.netBps - one.netBps),
      opportunities,
      stress,
      history: stressHistory(market, sampleMs, { history, assets, stress }),
      asOfMs: asOf(assets, rates),
    }
  }

  save(): Float64Array {
    const spans = [this.#paying, this.#wide, this.#majorOff].map((each) => each.save())
    return joinSections([[VERSION], this.#correlation.save(), ...spans])
  }

  restore(saved: Float64Array): boolean {
    const [version, ...sections] = splitSections(saved) ?? []
    const correlation = new ScoreCorrelation()
    const [paying, wide] = [new OpenSpans(CHAIN_PAIRS), new OpenSpans(CHAIN_PAIRS)]
    const majorOff = new OpenSpans(majorAssets.length)
    const parts = [correlation, paying, wide, majorOff]
    const isOwn =
      version?.[0] === VERSION &&
      sections.length === parts.length &&
      parts.every((part, at) => part.restore(sections[at] as Float64Array))
    if (!isOwn) return false
    this.#correlation = correlation
    this.#paying = paying
    this.#wide = wide
    this.#majorOff = majorOff
    return true
  }

  #historyAt(market: MarketState, nowMs: number): ArbHistory {
    if (this.#history?.block !== blockOf(nowMs)) this.#history = readHistory(market.log, nowMs)
    return this.#history
  }

  #observe(assets: readonly AssetGaps[], pairs: readonly ChainPair[], sampleMs: number): void {
    const judged: (ChainPair | null)[] = Array(CHAIN_PAIRS).fill(null)
    for (const pair of pairs) judged[pair.at] = pair
    for (const [at, pair] of judged.entries()) {
      this.#paying.observe(at, pair && pair.netBps > 0, sampleMs)
      this.#wide.observe(at, pair && pair.grossBps >= DISLOCATION_BPS, sampleMs)
    }
    for (const [at, major] of majorAssets.entries()) {
      const measured = assets.find(({ asset }) => asset === major)
      const isOff = measured === undefined ? null : isFarOff(measured)
      this.#majorOff.observe(at, isOff, sampleMs)
    }
  }

  #stressOf(
    sample: {
      readonly scanned: readonly ScannedChain[]
      readonly assets: readonly AssetGaps[]
      readonly opportunities: readonly Opportunity[]
      readonly history: ArbHistory
    },
    sampleMs: number,
  ): Stress | null {
    const { scanned, assets, opportunities, history } = sample
    if (scanned.filter(({ isFresh }) => isFresh).length < CHAINS_MIN) return null
    const measures = rawMeasures(scanned, assets, opportunities)
    const raw = stressNames.map((name) => measures[name])
    const scores = stressNames.map((name) =>
      stressScore(name, measures[name], history.components[name]),
    )
    this.#correlation.take(scores, sampleMs)
    const result = stressIndex(scores, this.#correlation.rows())
    const isMajorOff = majorAssets.some(
      (_, at) => this.#majorOff.ageMs(at, sampleMs) >= MAJOR_OFF_MS,
    )
    const ruledIndex = isMajorOff ? Math.max(result.index, MAJOR_OFF_INDEX) : result.index
    return { ...result, raw, scores, ruledIndex: Math.min(100, ruledIndex), isMajorOff }
  }
}

/** As it stands, whatever is usual: a discount of that size is trouble. null where nobody can say. */
function isFarOff({ referenceUsd, gaps }: AssetGaps): boolean | null {
  if (Number.isNaN(referenceUsd)) return null
  return gaps.filter(({ gapBps }) => Math.abs(gapBps) >= MAJOR_OFF_BPS).length >= MAJOR_OFF_CHAINS
}

function scannedChains(
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

function rawMeasures(
  scanned: readonly ScannedChain[],
  assets: readonly AssetGaps[],
  opportunities: readonly Opportunity[],
): Readonly<Record<StressName, number>> {
  const judged = assets
    .flatMap(({ gaps }) => gaps)
    .map(({ excessBps, bandBps }) => Math.abs(excessBps) - bandBps)
    .filter((outsideBps) => !Number.isNaN(outsideBps))
  const outside = judged.filter((outsideBps) => outsideBps > 0)
  const dispersions = assets.map((asset) => asset.dispersionBps).filter((bps) => !Number.isNaN(bps))
  const troubled = scanned.filter(({ isFresh, isGasUnusual }) => !isFresh || isGasUnusual)
  return {
    dispersion: Math.max(0, ...dispersions),
    band_excess: Math.max(0, ...outside),
    breadth: judged.length === 0 ? 0 : outside.length / judged.length,
    persistence: Math.max(0, ...opportunities.map(({ ageMs }) => ageMs)) / 1_000,
    plumbing: troubled.length / scanned.length,
  }
}

function record(
  { log }: MarketState,
  sampleMs: number,
  sample: {
    readonly assets: readonly AssetGaps[]
    readonly scanned: readonly ScannedChain[]
    readonly stress: Stress
  },
): void {
  const { assets, scanned, stress } = sample
  log.record(arbSeries.index, sampleMs, stress.ruledIndex)
  for (const [at, name] of stressNames.entries())
    log.record(arbSeries.component(name), sampleMs, stress.raw[at] as number)
  for (const { chain, gasUsd } of scanned) log.record(arbSeries.gas(chain), sampleMs, gasUsd)
  for (const { asset, referenceUsd, gaps } of assets) {
    log.record(arbSeries.reference(asset), sampleMs, referenceUsd)
    for (const { cell, gapBps } of gaps) {
      log.record(arbSeries.gap(asset, cell.chain), sampleMs, gapBps)
    }
  }
}

function stressHistory(
  { log }: MarketState,
  sampleMs: number,
  known: {
    readonly history: ArbHistory
    readonly assets: readonly AssetGaps[]
    readonly stress: Stress | null
  },
): StressHistory {
  const { indexOfDay, indexOfWeek } = known.history
  const index = known.stress?.ruledIndex ?? Number.NaN
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
    structuralKnown: priced.filter(({ isStructuralKnown }) => isStructuralKnown).length,
    priced: priced.length,
  }
}

function asOf(assets: readonly AssetGaps[], rates: ExternalRates): ArbMeasurement['asOfMs'] {
  const used = assets.flatMap(({ gaps }) =>
    gaps.filter(({ gapBps }) => !Number.isNaN(gapBps)).map(({ cell }) => cell.confirmedAtMs),
  )
  return {
    dex: used.length === 0 ? Number.NaN : Math.min(...used),
    stablecoins: rates.stablesAsOfMs,
    exchanges: rates.exchangesAsOfMs,
  }
}

export const arbMeasure = marketTracker('market/arb', () => new ArbMeasure())
