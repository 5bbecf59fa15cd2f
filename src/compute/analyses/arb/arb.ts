import type { Input } from '../../../domain/document.ts'
import type { MarketAnalysis } from '../../analysis.ts'
import type { ArbMeasurement } from '../../external/arb/arb-measure.ts'
import { arbMeasure } from '../../external/arb/arb-measure.ts'
import { ARB_STEP_MS, CHAINS_MIN } from '../../external/arb/arb-model.ts'
import { answerMeta } from '../../render/answer-meta.ts'
import { completenessWarnings, coveragePct } from '../../render/completeness.ts'
import { belowFloor } from '../../render/coverage-floor.ts'
import { DocumentBuilder } from '../../render/document-builder.ts'
import { arbBody } from './arb-body.ts'
import { ArbAnswer } from './arb-schema.ts'

const HISTORY_MINUTES = 1_440
/** A block of Ethereum and the time until we ask again. */
const DEX_CADENCE_MS = 20_000
const DEX_MS_MAX = 120_000
/** Feeds of stablecoins publish on a move of their own, or after a day: this is what one that streams does. */
const STABLECOINS_CADENCE_MS = 60_000
const EXCHANGE_CADENCE_MS = 10_000

/** How far the same assets are apart on eight chains, and how stressed that makes them together. */
export const arb: MarketAnalysis<ArbMeasurement | null> = {
  contract: {
    id: 'arb',
    offering: 'service_arb',
    scope: 'market',
    summary:
      'Stress across eight chains: price gaps of ETH, BTC and stablecoins against costs, with opportunities',
    guide: {
      title: 'Stress across eight chains from price gaps between them',
      useWhen:
        'you want to know whether markets on chains are out of line, how wide the gaps are and how long they stay open.',
      notWhen: 'you want one token on exchanges against pools (cex-dex).',
      returns:
        'stress score and level with components, the state of each chain, and the widest gaps net of costs.',
    },
    priceUsdcAtomic: 20_000n,
    document: ArbAnswer,
    defaultView: '',
    viewParameters: [],
    compactOmits: ['assets', 'cost_model', 'component_details'],
    inputAgeMsMax: Number.POSITIVE_INFINITY,
    coverageFloor: {
      counts: 'chains with fresh prices',
      least: `${CHAINS_MIN} of the eight chains with fresh prices`,
    },
  },
  periodMs: ARB_STEP_MS,

  gather: (market) => market.of(arbMeasure).latest,

  render(measurement, rendering) {
    const builder = new DocumentBuilder()
    const fresh = measurement?.chains.filter(({ isFresh }) => isFresh).length ?? 0
    const below = belowFloor(arb.contract, { have: fresh, need: CHAINS_MIN })
    if (below !== null || measurement?.stress == null) {
      const detail = 'No two of the chains have a fresh price of the same asset.'
      builder.noAnswer('', below ?? { kind: 'missing-input', input: 'dex', detail })
      return builder.build(rendering)
    }
    const inputs = inputsOf(measurement)
    const nextUpdateMs = measurement.sampledAtMs + ARB_STEP_MS
    const body = builder.value({
      ...arbBody(builder, measurement, measurement.stress),
      meta: answerMeta(builder, {
        offering: arb.contract.offering,
        rendering,
        view: '',
        inputs,
        sources: sourcesOf(inputs),
        nextUpdateMs,
      }),
    })
    const members = { have: fresh, need: measurement.chains.length }
    builder.answer('', [body], {
      inputs,
      coveragePct: coveragePct(members),
      warnings: [
        'model_estimate',
        ...completenessWarnings({
          history: { have: measurement.history.minutes, need: HISTORY_MINUTES },
          records: { have: measurement.history.priced, need: pricesOf(measurement) },
          members,
        }),
      ],
    })
    return builder.build({ ...rendering, nextUpdateMs })
  },
}

/** Prices that there would be if every chain had all assets. */
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
  // A chain that is quoted in the other one is measured without it.
  if (!Number.isNaN(asOfMs.stablecoins))
    inputs.push({
      name: 'stablecoins',
      confirmedAtMs: asOfMs.stablecoins,
      cadenceMs: STABLECOINS_CADENCE_MS,
      isLoadBearing: false,
    })
  // One vote among many.
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

function sourcesOf(inputs: readonly Input[]): string[] {
  return inputs.map(({ name }) => sourceNames[name] ?? name)
}
