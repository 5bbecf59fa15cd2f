import type { MarketEvent } from '../../../domain/event.ts'
import type { MarketState, MarketTracker } from '../../market/market-state.ts'
import { marketTracker } from '../../market/market-state.ts'
import { joinSections, splitSections } from '../../market/saved-sections.ts'
import { bps, score } from '../../render/significance.ts'
import { cellsOf, chainStates } from './arb-cells.ts'
import type { AssetGaps } from './arb-gaps.ts'
import { gapsOf } from './arb-gaps.ts'
import type { ArbHistory } from './arb-history.ts'
import { blockOf, readHistory, recordSample, stressHistory } from './arb-history.ts'
import { ARB_STEP_MS, CHAINS_MIN, DISLOCATION_BPS, majorAssets } from './arb-model.ts'
import type { Opportunity } from './arb-opportunities.ts'
import { dislocationOf, opportunityOf } from './arb-opportunities.ts'
import type { ChainPair } from './arb-pairs.ts'
import { CHAIN_PAIRS, chainPairs } from './arb-pairs.ts'
import { externalRates } from './arb-rates.ts'
import type { ArbMeasurement, ScannedChain, Stress } from './arb-sample.ts'
import { confirmedAt, scannedChains, stressComponents } from './arb-sample.ts'
import { OpenSpans } from './arb-spans.ts'
import { ScoreCorrelation, stressIndex, stressNames, stressScore } from './arb-stress.ts'

const VERSION = 1
/** An older sample has no score of the present. */
const SCORE_MS_MAX = 60_000

const MAJOR_OFF_BPS = 100
const MAJOR_OFF_CHAINS = 2
const MAJOR_OFF_MS = 300_000
/** Lower limit of the band `STRESSED`. */
const MAJOR_OFF_INDEX = 55

/** Price gaps of the same assets between chains, their profit, and the stress that they show, every ten seconds. */
class ArbMeasure implements MarketTracker {
  readonly inputs = ['measure-history'] as const
  #correlation = new ScoreCorrelation()
  /** Pairs with a positive net. */
  #paying = new OpenSpans(CHAIN_PAIRS)
  /** Pairs that are dislocated, whatever their net. */
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
    return score(latest.stress.ruledIndex / 100)
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
    // Without a pair of known cost no gap can be judged, and none is not the same as no gap.
    const stress =
      pairs.length === 0
        ? null
        : this.#stressOf({ scanned, assets, opportunities, history }, sampleMs)
    if (stress !== null) recordSample(market.log, sampleMs, { assets, scanned, stress })
    this.#latest = {
      sampledAtMs: sampleMs,
      chains: scanned,
      assets,
      dislocations: pairs
        .filter(isDislocation)
        .map((pair) => dislocationOf(pair, this.#wide.ageMs(pair.at, sampleMs)))
        .toSorted((one, other) => other.netBps - one.netBps),
      opportunities,
      stress,
      history: stressHistory(market.log, sampleMs, {
        history,
        assets,
        index: stress?.ruledIndex ?? Number.NaN,
      }),
      asOfMs: confirmedAt(assets, rates),
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
      this.#wide.observe(at, pair && isDislocation(pair), sampleMs)
    }
    for (const [at, major] of majorAssets.entries()) {
      const measured = assets.find(({ asset }) => asset === major)
      this.#majorOff.observe(at, measured === undefined ? null : isFarOff(measured), sampleMs)
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
    const components = stressComponents(scanned, assets, opportunities)
    const raw = stressNames.map((name) => components[name])
    const scores = stressNames.map((name) =>
      stressScore(name, components[name], history.components[name]),
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

/** By the printed gap, so that a buyer who compares it with the printed threshold comes to the same. */
function isDislocation({ grossBps }: ChainPair): boolean {
  return bps(grossBps) >= DISLOCATION_BPS
}

/** Without regard to structural gaps: a discount of this size is unusual for any asset. null where unknown. */
function isFarOff({ referenceUsd, gaps }: AssetGaps): boolean | null {
  if (Number.isNaN(referenceUsd)) return null
  return gaps.filter(({ gapBps }) => Math.abs(gapBps) >= MAJOR_OFF_BPS).length >= MAJOR_OFF_CHAINS
}

export const arbMeasure = marketTracker('market/arb', () => new ArbMeasure())
