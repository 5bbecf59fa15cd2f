import type { Slot } from '../../../domain/document.ts'
import { isoInstant } from '../../../domain/instant.ts'
import type { AssetGaps, Gap } from '../../external/arb/arb-gaps.ts'
import { stressBandOf, stressLevelOf } from '../../external/arb/arb-levels.ts'
import {
  ARB_MODEL_VERSION,
  BAND_MARGIN_BPS,
  BRIDGE_FEE_BPS,
  BRIDGE_SECONDS,
  DISLOCATION_BPS,
  NOTIONAL_USD,
  REBALANCE_BPS,
} from '../../external/arb/arb-model.ts'
import type { Dislocation, Opportunity } from '../../external/arb/arb-opportunities.ts'
import type { ArbMeasurement, ScannedChain, Stress } from '../../external/arb/arb-sample.ts'
import { stressNames, stressRules } from '../../external/arb/arb-stress.ts'
import { percentOf } from '../../render/count-digits.ts'
import { bps, orNull, percent, price, score, usd } from '../../render/significance.ts'
import type { cellStatuses } from './arb-schema.ts'

type Slots = { slot(slot: Slot): number }

const ROWS_MAX = 10

/** All members of the answer except `meta`. */
export function arbBody(slots: Slots, measurement: ArbMeasurement, stress: Stress) {
  const { chains, assets, dislocations, opportunities, history, sampledAtMs } = measurement
  const gross = dislocations.map(({ grossBps }) => grossBps)
  const fresh = chains.filter(({ isFresh }) => isFresh).length
  const measured = assets.filter(({ referenceUsd }) => !Number.isNaN(referenceUsd)).length
  const index = bps(stress.ruledIndex)
  const stressScore = score(stress.ruledIndex / 100)
  const level = stressLevelOf(stressScore)
  return {
    timestamp_iso: isoInstant(sampledAtMs),
    stress_level: level,
    stress_score: stressScore,
    components: byName((_, at) => score(stress.scores[at] as number)),
    dislocations_count: dislocations.length,
    threshold_bps: DISLOCATION_BPS,
    avg_dislocation_bps: orNull(meanOf(gross), bps),
    max_dislocation_bps: gross.length === 0 ? null : bps(Math.max(...gross)),
    chains_scanned: fresh,
    chains_total: chains.length,
    tokens_scanned: measured,
    chains: chains.map((chain) => chainRow(slots, chain)),
    dislocations: dislocations.slice(0, ROWS_MAX).map(dislocationRow),
    baseline: {
      score_percentile_7d: orNull(history.percentile7d, (rank) =>
        percentOf(rank, history.weekMinutes),
      ),
      median_score_7d: orNull(history.median7d / 100, score),
      window_hours: score(history.weekMinutes / 60),
    },
    interpretation: sentence(level, measurement) + gasUnknown(chains),
    index,
    regime: stressBandOf(index),
    override: stress.isMajorOff ? 'MAJOR_ASSET_OFF' : null,
    component_details: byName((name, at) => ({
      raw: percent(stress.raw[at] as number),
      unit: stressRules[name].unit,
      score: score(stress.scores[at] as number),
      weight: stressRules[name].weight,
      contribution: bps(stress.contributions[at] as number),
    })),
    diversification: bps(Math.max(0, stress.weightedAverage - stress.index)),
    trend: {
      change_1h: orNull(history.change1h, bps),
      change_24h: orNull(history.change24h, bps),
      percentile_24h: orNull(history.percentile24h, (rank) => percentOf(rank, history.minutes)),
      window_hours: score(history.minutes / 60),
    },
    assets: assets.map((asset) => assetRow(slots, asset)),
    opportunities: opportunities.slice(0, ROWS_MAX).map(opportunityRow),
    counts: countsOf(opportunities),
    coverage: {
      chains_fresh: fresh,
      chains_total: chains.length,
      assets: measured,
      structural_known: history.structuralKnown,
      prices: history.priced,
    },
    cost_model: {
      version: ARB_MODEL_VERSION,
      notional_usd: NOTIONAL_USD,
      band_margin_bps: BAND_MARGIN_BPS,
      rebalance_bps: REBALANCE_BPS,
      bridge_bps: BRIDGE_FEE_BPS,
      bridge_seconds: BRIDGE_SECONDS,
      gas_usd_by_chain: Object.fromEntries(
        chains.map(({ chain, gasUsd }) => [chain, orNull(gasUsd, percent)]),
      ),
    },
  }
}

function sentence(level: string, { dislocations, assets, history }: ArbMeasurement): string {
  const words = `${level.charAt(0)}${level.slice(1).toLowerCase()} cross-chain stress`
  if (dislocations.length === 0) {
    const beyond = history.structuralKnown === 0 ? '' : ' beyond its usual size'
    return `${words}: no price gap between chains reaches ${DISLOCATION_BPS} bps${beyond}${widestUsual(assets)}.`
  }
  const pairs = `${dislocations.length} dislocation${dislocations.length === 1 ? '' : 's'}`
  const widest = dislocations.reduce((one, other) => (other.grossBps > one.grossBps ? other : one))
  const beyond = widest.isUsualKnown ? ' beyond its usual gap' : ''
  return `${words}: ${pairs}, widest ${bps(widest.grossBps)} bps${beyond}, before costs.`
}

/** The costs of their pairs are unknown, so none of their gaps is a dislocation. Empty without such a chain. */
function gasUnknown(chains: readonly ScannedChain[]): string {
  const names = chains
    .filter(({ isFresh, gasUsd }) => isFresh && Number.isNaN(gasUsd))
    .map(({ chain }) => chain)
  return names.length === 0
    ? ''
    : ` Not judged as dislocations, gas cost unknown: ${names.join(', ')}.`
}

/** A usual gap is no dislocation, but it stands beside the sentence. Empty below the size of a dislocation. */
function widestUsual(assets: readonly AssetGaps[]): string {
  const usual = assets
    .flatMap(({ gaps }) => gaps)
    .filter(({ gapBps, isStructuralKnown }) => isStructuralKnown && !Number.isNaN(gapBps))
    .toSorted((one, other) => Math.abs(other.structuralBps) - Math.abs(one.structuralBps))
  const [widest] = usual
  const offBps = bps(widest?.structuralBps ?? 0)
  if (widest === undefined || Math.abs(offBps) < DISLOCATION_BPS) return ''
  const side = offBps > 0 ? 'above' : 'below'
  return `; the widest usual gap is ${widest.cell.asset} on ${widest.cell.chain}, ${Math.abs(offBps)} bps ${side}`
}

function chainRow(slots: Slots, { chain, status, blockTimeMs, isFresh, gasUsd }: ScannedChain) {
  return {
    chain,
    status,
    data_age_seconds: ageSlot(slots, blockTimeMs),
    is_fresh: isFresh,
    gas_usd: orNull(gasUsd, percent),
  }
}

function dislocationRow(dislocation: Dislocation) {
  return {
    token: dislocation.asset,
    buy_chain: dislocation.buyChain,
    sell_chain: dislocation.sellChain,
    gross_bps: bps(dislocation.grossBps),
    est_cost_bps: bps(dislocation.costBps),
    net_bps: dislocation.netBps,
    persistence_seconds: dislocation.ageMs / 1_000,
  }
}

function opportunityRow(opportunity: Opportunity) {
  return {
    asset: opportunity.asset,
    buy_chain: opportunity.buyChain,
    sell_chain: opportunity.sellChain,
    gross_bps: bps(opportunity.grossBps),
    net_inventory_bps: opportunity.netBps,
    net_bridge_bps: orNull(opportunity.netBridgeBps, bps),
    notional_usd: opportunity.notionalUsd,
    net_usd: usd(opportunity.netUsd),
    age_seconds: opportunity.ageMs / 1_000,
    class: opportunity.kind,
    confidence: score(opportunity.confidence),
  }
}

function countsOf(opportunities: readonly Opportunity[]) {
  const count = (kind: Opportunity['kind']) =>
    opportunities.filter((opportunity) => opportunity.kind === kind).length
  return {
    transient: count('TRANSIENT'),
    persistent: count('PERSISTENT'),
    structural: count('STRUCTURAL'),
  }
}

function assetRow(slots: Slots, asset: AssetGaps) {
  const used = asset.gaps.filter(({ gapBps }) => !Number.isNaN(gapBps))
  const ascending = used.toSorted((one, other) => one.cell.priceUsd - other.cell.priceUsd)
  return {
    asset: asset.asset,
    reference_usd: orNull(asset.referenceUsd, price),
    exchanges_usd: orNull(asset.exchangesUsd, price),
    dispersion_bps: orNull(asset.dispersionBps, bps),
    arbitrage_index: orNull(asset.arbitrageIndex, price),
    min: extremeRow(ascending[0]),
    max: extremeRow(ascending.at(-1)),
    chains: asset.gaps.map((gap) => gapRow(slots, gap)),
  }
}

function extremeRow(gap: Gap | undefined) {
  if (gap === undefined) return null
  return { chain: gap.cell.chain, price_usd: price(gap.cell.priceUsd) }
}

function gapRow(slots: Slots, gap: Gap) {
  const { cell, gapBps, structuralBps, isStructuralKnown, bandBps } = gap
  const { pool, status } = cell
  return {
    chain: cell.chain,
    status: status.toUpperCase() as (typeof cellStatuses)[number],
    venue: pool?.dex ?? null,
    pool: pool?.pool ?? null,
    representation: pool?.representation ?? null,
    quote: pool?.quote ?? null,
    price_usd: status === 'ok' ? price(cell.priceUsd) : null,
    gap_bps: orNull(gapBps, bps),
    structural_bps: isStructuralKnown ? bps(structuralBps) : null,
    band_bps: orNull(bandBps, bps),
    fee_bps: orNull(cell.feeBps, bps),
    impact_bps: status === 'ok' ? bps(cell.impactBps) : null,
    gas_usd: orNull(cell.gasUsd, percent),
    liquidity_usd: orNull(cell.liquidityUsd, usd),
    block: pool?.blockNumber ?? null,
    age_seconds: ageSlot(slots, cell.blockTimeMs),
  }
}

function ageSlot(slots: Slots, confirmedAtMs: number): number | null {
  return Number.isNaN(confirmedAtMs) ? null : slots.slot({ kind: 'age', confirmedAtMs })
}

function meanOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}

function byName<Value>(of: (name: (typeof stressNames)[number], at: number) => Value) {
  return Object.fromEntries(stressNames.map((name, at) => [name, of(name, at)]))
}
