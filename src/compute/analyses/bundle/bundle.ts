import type { AnswerInputs, Input, NoAnswer } from '../../../domain/document.ts'
import { isoInstant } from '../../../domain/instant.ts'
import { usdcDecimal } from '../../../domain/usdc.ts'
import type { CoinAnalysis, Component, Rendering } from '../../analysis.ts'
import { fundingVote } from '../../confluence/votes.ts'
import { depegMeasure } from '../../external/depeg/depeg-measure.ts'
import type { FundingTilt } from '../../funding/funding-tilt.ts'
import type { CoinMarket } from '../../market/coin-market.ts'
import type { MarketState } from '../../market/market-state.ts'
import { answerMeta } from '../../render/answer-meta.ts'
import type { Fragment, Written } from '../../render/document-builder.ts'
import { answerInputsOf, DocumentBuilder } from '../../render/document-builder.ts'
import { score } from '../../render/significance.ts'
import { compactRecordOmits } from '../../track-record-statistics/record-member.ts'
import { volatilitySeries } from '../../volatility/volatility-series.ts'
import { bundleAnswer } from './bundle-schema.ts'
import { riskFlagsOf } from './risk-flags.ts'
import type { Bias } from './summary.ts'
import { summaryOf, voteOf } from './summary.ts'

/** Its slowest component is rendered as often. */
const PERIOD_MS = 5_000
const PRICE_USDC_ATOMIC = 50_000n

/** In the order of the answer. */
const componentNames = ['pulse', 'sentiment', 'funding', 'spread'] as const

/** Members of the components that repeat the bundle's own, and detailed figures. */
const compactOmits = [
  ...compactRecordOmits('pulse.confluence.track_record'),
  ...compactRecordOmits('funding.funding.track_record'),
  ...compactRecordOmits('funding.funding.reverting_track_record'),
  ...compactRecordOmits('spread.spread.track_record'),
  ...componentNames.flatMap((name) =>
    [
      'timestamp_iso',
      'meta.provider',
      'meta.execution_ms',
      'meta.as_of',
      'meta.answer_id',
      'meta.snapshot_id',
      'meta.engine_version',
      'meta.valid_until_iso',
    ].map((path) => `${name}.${path}`),
  ),
  'pulse.regime.drivers',
  'pulse.confluence.weights',
  'pulse.confluence.per_timeframe',
  'sentiment.sentiment.components',
  'sentiment.sentiment.history_3h',
  'sentiment.sentiment.distribution',
  'sentiment.sentiment.external_index',
  'funding.funding.windows',
  'funding.venues',
  'spread.spread.slippage',
  'spread.spread.trade_costs',
  'spread.spread.calibration',
]

/** Components of a bundle, with the facts that the summary reads of each. */
export type BundleParts = {
  readonly pulse: CoinAnalysis & Component<PulseFacts>
  readonly sentiment: Component<SentimentFacts>
  readonly funding: CoinAnalysis & Component<FundingFacts>
  readonly spread: CoinAnalysis & Component<SpreadFacts>
}

type PulseFacts = {
  readonly bias: Bias
  readonly biasSupported: Bias | null
  readonly atrPct1h: number | null
}
type SentimentFacts = { readonly overall: Bias }
type FundingFacts = { readonly tilt: FundingTilt }
type SpreadFacts = { readonly isThin: boolean }

/** The four components, written. */
type WrittenParts = {
  readonly pulse: Written<PulseFacts>
  readonly sentiment: Written<SentimentFacts>
  readonly funding: Written<FundingFacts>
  readonly spread: Written<SpreadFacts>
}

/** Four answers about one coin from one state of the market, and a summary of them. */
export function bundleOf(parts: BundleParts): CoinAnalysis {
  const components = componentNames.map((name) => parts[name])
  const listPriceAtomic = components.reduce(
    (sum, { contract }) => sum + contract.priceUsdcAtomic,
    0n,
  )
  const price = {
    bundle: true,
    components: componentNames,
    price_usdc: usdcDecimal(PRICE_USDC_ATOMIC),
    list_price_usdc: usdcDecimal(listPriceAtomic),
    discount_pct: discountPct(PRICE_USDC_ATOMIC, listPriceAtomic),
  }
  return {
    contract: {
      id: 'bundle',
      offering: 'service_bundle',
      scope: 'coin',
      summary:
        'Pulse, sentiment, funding and spread of a coin from one snapshot, with a summary of conflicts',
      guide: {
        title: 'Pulse, sentiment, funding and spread of one coin at one instant',
        useWhen:
          'you decide about one coin and need pulse, sentiment, funding and spread: the bundle costs less and is one snapshot.',
        notWhen: 'you need only one of the four.',
        returns: 'the four answers unchanged, and a summary with bias, conflicts and risk flags.',
      },
      priceUsdcAtomic: PRICE_USDC_ATOMIC,
      document: bundleAnswer({
        pulse: parts.pulse.contract.document,
        sentiment: parts.sentiment.contract.document,
        funding: parts.funding.contract.document,
        spread: parts.spread.contract.document,
      }),
      defaultView: '',
      viewParameters: [],
      compactOmits,
      // The components are in their default views.
      viewOmits: () =>
        componentNames.flatMap((name) => {
          const { viewOmits, defaultView } = parts[name].contract
          return (viewOmits?.(defaultView) ?? []).map((path) => `${name}.${path}`)
        }),
      // Each input has the age limit of its own component.
      inputAgeMsMax: Number.POSITIVE_INFINITY,
      coverageFloor: {
        counts: 'components',
        least: `all components, each above its own floor: ${componentNames.join(', ')}`,
      },
    },
    trackers: components.flatMap(({ trackers = [] }) => trackers),
    inputs: [
      ...new Set([parts.pulse, parts.funding, parts.spread].flatMap(({ inputs }) => inputs)),
    ],
    periodMs: PERIOD_MS,

    render(coin, rendering, market) {
      const builder = new DocumentBuilder()
      const written = writeParts(builder, parts, { coin, rendering, market })
      if ('kind' in written) builder.noAnswer('', written)
      else writeBundle(builder, written, { coin, rendering, market }, price)
      return builder.build(rendering)
    },
  }
}

type Asked = {
  readonly coin: CoinMarket
  readonly rendering: Rendering
  readonly market: MarketState
}

/** All or nothing: the first component without an answer says why there is no bundle. */
function writeParts(
  builder: DocumentBuilder,
  parts: BundleParts,
  { coin, rendering, market }: Asked,
): WrittenParts | NoAnswer {
  const write = <Facts>(name: (typeof componentNames)[number], component: Component<Facts>) =>
    builder.within(componentNames.indexOf(name), () =>
      component.write(builder, coin, rendering, market),
    )
  const pulse = write('pulse', parts.pulse)
  if (pulse.kind !== 'written') return pulse
  const sentiment = write('sentiment', parts.sentiment)
  if (sentiment.kind !== 'written') return sentiment
  const funding = write('funding', parts.funding)
  if (funding.kind !== 'written') return funding
  const spread = write('spread', parts.spread)
  if (spread.kind !== 'written') return spread
  return {
    pulse: limited(pulse, parts.pulse),
    sentiment: limited(sentiment, parts.sentiment),
    funding: limited(funding, parts.funding),
    spread: limited(spread, parts.spread),
  }
}

/** Applies the age limit of the component's own contract to its load-bearing inputs. */
function limited<Facts>(written: Written<Facts>, { contract }: Component<Facts>): Written<Facts> {
  if (contract.inputAgeMsMax === Number.POSITIVE_INFINITY) return written
  const inputs = written.inputs.map((input) =>
    input.isLoadBearing
      ? {
          ...input,
          ageMsMax: Math.min(input.ageMsMax ?? contract.inputAgeMsMax, contract.inputAgeMsMax),
        }
      : input,
  )
  return { ...written, inputs }
}

function writeBundle(
  builder: DocumentBuilder,
  written: WrittenParts,
  { coin, rendering, market }: Asked,
  price: Readonly<Record<string, unknown>>,
): void {
  const components = componentNames.map((name) => written[name])
  const basis = unionOf(components)
  const meta = answerMeta(builder, {
    offering: 'service_bundle',
    rendering,
    view: '',
    inputs: basis.inputs,
    asOf: Object.fromEntries(
      componentNames.map((name) => [name, isoInstant(oldestMs(written[name]))]),
    ),
    sources: [...new Set(['venue', ...(market.external.fearGreed ? ['alternative.me'] : [])])],
    more: price,
  })
  const head = JSON.stringify({
    coin: coin.listing.coin,
    ...builder.memberSlot({ kind: 'requested-coin' }),
    timestamp_iso: isoInstant(rendering.renderedAtMs),
  })
  const fragments = componentNames.flatMap((name, at): Fragment[] => [
    builder.text(`${at === 0 ? head.slice(0, -1) : ''},"${name}":`),
    ...written[name].fragments,
  ])
  const summary = JSON.stringify(shownSummary(written, { coin, rendering, market }))
  const tail = builder.text(`,"summary":${summary},"meta":${JSON.stringify(meta)}}`)
  builder.answer('', [...fragments, tail], { ...basis, components: components.map(answerInputsOf) })
}

function shownSummary({ pulse, sentiment, funding, spread }: WrittenParts, asked: Asked) {
  const fundingDirection = fundingVote(funding.facts.tilt)
  const summary = summaryOf({
    pulse: voteOf(pulse.facts.bias),
    sentiment: voteOf(sentiment.facts.overall),
    funding: fundingDirection,
  })
  const { coin, rendering, market } = asked
  return {
    bias: summary.bias,
    bias_supported: pulse.facts.biasSupported,
    confidence: score(summary.confidence),
    agree_count: summary.agreeCount,
    conflicts: summary.conflicts,
    risk_flags: riskFlagsOf({
      fundingDirection,
      isThin: spread.facts.isThin,
      volatilityPercentile: coin
        .of(volatilitySeries)
        .presentPercentile(pulse.facts.atrPct1h ?? Number.NaN),
      inputs: [pulse, sentiment, funding, spread].flatMap(({ inputs }) => inputs),
      isPegBroken: market.of(depegMeasure).isBroken(rendering.renderedAtMs) ?? false,
      nowMs: rendering.renderedAtMs,
    }),
  }
}

/** Age of the oldest load-bearing input. */
function oldestMs({ inputs }: AnswerInputs): number {
  const instants = inputs.filter(({ isLoadBearing }) => isLoadBearing)
  return Math.min(...instants.map(({ confirmedAtMs }) => confirmedAtMs))
}

/** Inputs of all components. A shared input keeps its older confirmation and its stricter limits. */
function unionOf(components: readonly AnswerInputs[]): AnswerInputs {
  const byName = new Map<string, Input>()
  for (const { inputs } of components)
    for (const input of inputs) {
      const known = byName.get(input.name)
      byName.set(input.name, known === undefined ? input : stricterOf(known, input))
    }
  return {
    inputs: [...byName.values()],
    coveragePct: Math.min(...components.map(({ coveragePct }) => coveragePct)),
    warnings: [...new Set(components.flatMap(({ warnings }) => warnings))],
  }
}

function stricterOf(one: Input, other: Input): Input {
  const ageMsMax = Math.min(
    one.ageMsMax ?? Number.POSITIVE_INFINITY,
    other.ageMsMax ?? Number.POSITIVE_INFINITY,
  )
  return {
    name: one.name,
    confirmedAtMs: Math.min(one.confirmedAtMs, other.confirmedAtMs),
    cadenceMs: Math.min(one.cadenceMs, other.cadenceMs),
    isLoadBearing: one.isLoadBearing || other.isLoadBearing,
    ...(ageMsMax < Number.POSITIVE_INFINITY && { ageMsMax }),
  }
}

/** Discount of the bundle against its components, percent. */
function discountPct(priceAtomic: bigint, listPriceAtomic: bigint): number {
  return Math.round(10_000 * (1 - Number(priceAtomic) / Number(listPriceAtomic))) / 100
}
