import type { Input } from '../../../domain/document.ts'
import type { MarketAnalysis } from '../../analysis.ts'
import { arbMeasure } from '../../external/arb/arb-measure.ts'
import { ARB_STEP_MS, CHAINS_MIN, CHAINS_PER_ASSET_MIN } from '../../external/arb/arb-model.ts'
import type { ArbMeasurement } from '../../external/arb/arb-sample.ts'
import { completenessWarnings, coveragePct } from '../../render/completeness.ts'
import { lowCoverage } from '../../render/coverage-floor.ts'
import { oneAnswer } from '../../render/one-answer.ts'
import type { RecordMember } from '../../track-record-statistics/record-member.ts'
import {
  compactRecordOmits,
  recordOfMarket,
  shownRules,
} from '../../track-record-statistics/record-member.ts'
import { arbBody } from './arb-body.ts'
import { ArbAnswer } from './arb-schema.ts'

const HISTORY_MINUTES = 1_440
/** An Ethereum block (12 s) plus the polling interval. */
const DEX_CADENCE_MS = 20_000
const DEX_MS_MAX = 120_000
/** Cadence of a streaming feed. Push feeds of stablecoins publish on a price move or once a day only. */
const STABLECOINS_CADENCE_MS = 60_000
const EXCHANGE_CADENCE_MS = 10_000

type GatheredArb = {
  readonly measurement: ArbMeasurement | null
  readonly record: RecordMember
}

/** Price gaps of the same assets between eight chains, and a stress index of them. */
export const arb: MarketAnalysis<GatheredArb> = {
  contract: {
    id: 'arb',
    offering: 'service_arb',
    scope: 'market',
    summary:
      'Cross-chain stress: price gaps of ETH, BTC and USDC on eight chains against costs, with opportunities',
    guide: {
      title: 'Cross-chain price gaps and stress on eight chains',
      useWhen:
        'you want to know whether prices on different chains are out of line, how wide the gaps are and how long they last.',
      notWhen: 'you want exchange prices of one token against on-chain pools (cex-dex).',
      returns:
        'stress score and level with components, status of each chain, and the widest gaps net of costs.',
    },
    priceUsdcAtomic: 20_000n,
    document: ArbAnswer,
    defaultView: '',
    viewParameters: [],
    compactOmits: [
      ...['assets', 'cost_model', 'component_details'],
      ...compactRecordOmits('track_record'),
    ],
    inputAgeMsMax: Number.POSITIVE_INFINITY,
    coverageFloor: {
      counts: 'chains with fresh prices',
      least: `${CHAINS_MIN} of the eight chains with fresh prices`,
    },
  },
  periodMs: ARB_STEP_MS,

  gather: (market) => ({
    measurement: market.of(arbMeasure).latest,
    record: recordOfMarket(market, shownRules.arb),
  }),

  render: ({ measurement, record }, rendering) =>
    oneAnswer(arb.contract, rendering, (builder) => {
      const fresh = measurement?.chains.filter(({ isFresh }) => isFresh).length ?? 0
      if (fresh < CHAINS_MIN) return lowCoverage(arb.contract, { have: fresh, need: CHAINS_MIN })
      // Enough chains may still have no asset in common, or no known gas cost: then there is nothing to compare.
      if (measurement?.stress == null)
        return lowCoverage(arb.contract, { have: 0, need: 1, missing: missingIn(measurement) })
      const inputs = inputsOf(measurement)
      const nextUpdateMs = measurement.sampledAtMs + ARB_STEP_MS
      const members = {
        ...arbBody(builder, measurement, measurement.stress),
        track_record: record,
      }
      const chains = { have: fresh, need: measurement.chains.length }
      return {
        members,
        sources: inputs.map(({ name }) => sourceNames[name] ?? name),
        nextUpdateMs,
        inputs,
        coveragePct: coveragePct(chains),
        warnings: [
          'model_estimate',
          ...completenessWarnings({
            history: { have: measurement.history.minutes, need: HISTORY_MINUTES },
            records: { have: measurement.history.priced, need: pricesOf(measurement) },
            members: chains,
          }),
        ],
      }
    }),
}

function missingIn(measurement: ArbMeasurement | null): string {
  const isMeasured = measurement?.assets.some(({ referenceUsd }) => !Number.isNaN(referenceUsd))
  return isMeasured
    ? 'pairs of chains with known gas costs'
    : `assets with fresh prices on ${CHAINS_PER_ASSET_MIN} chains`
}

/** Number of prices if every chain had every asset. */
function pricesOf({ assets }: ArbMeasurement): number {
  return assets.reduce((sum, { gaps }) => sum + gaps.length, 0)
}

function inputsOf({ asOfMs }: ArbMeasurement): Input[] {
  const inputs: Input[] = [
    {
      name: 'dex',
      confirmedAtMs: asOfMs.dex,
      cadenceMs: DEX_CADENCE_MS,
      isLoadBearing: true,
      ageMsMax: DEX_MS_MAX,
    },
  ]
  // Needed only where a pool is quoted in the other stablecoin.
  if (!Number.isNaN(asOfMs.stablecoins))
    inputs.push({
      name: 'stablecoins',
      confirmedAtMs: asOfMs.stablecoins,
      cadenceMs: STABLECOINS_CADENCE_MS,
      isLoadBearing: false,
    })
  // One vote of several in the reference price.
  if (!Number.isNaN(asOfMs.exchanges))
    inputs.push({
      name: 'exchange',
      confirmedAtMs: asOfMs.exchanges,
      cadenceMs: EXCHANGE_CADENCE_MS,
      isLoadBearing: false,
    })
  return inputs
}

const sourceNames: Readonly<Record<string, string>> = {
  dex: 'chain_pools',
  stablecoins: 'stablecoin_rates',
  exchange: 'exchanges',
}
