import type { Input, NoAnswer } from '../../../domain/document.ts'
import { fearGreedClass } from '../../../domain/fear-greed.ts'
import { isoInstant } from '../../../domain/instant.ts'
import type { Component, MarketAnalysis, Rendering } from '../../analysis.ts'
import {
  annualizedPctOf,
  FUNDING_INTERVAL_HOURS,
  fundingBiasOf,
} from '../../funding/funding-tilt.ts'
import { COIN_AGE_MS_MAX, CONTEXT_CADENCE_MS } from '../../market/cadence.ts'
import type { MarketState } from '../../market/market-state.ts'
import { answerMeta } from '../../render/answer-meta.ts'
import { completenessWarnings } from '../../render/completeness.ts'
import { belowFloor, lowCoverage } from '../../render/coverage-floor.ts'
import type { Written } from '../../render/document-builder.ts'
import { DocumentBuilder } from '../../render/document-builder.ts'
import { bps, orNull, percent, score } from '../../render/significance.ts'
import { volatilityRegimeOf } from '../../volatility/volatility-regime.ts'
import type { BucketView } from './bucket-parameter.ts'
import { bucketParameter, bucketViews, defaultBucketView } from './bucket-parameter.ts'
import type { Direction } from './sentiment-labels.ts'
import {
  breadthLabel,
  bucketOf,
  momentumOf,
  scoreBuckets,
  sentimentDirection,
} from './sentiment-labels.ts'
import type { MarketSentiment, SectorSentiment } from './sentiment-measure.ts'
import { SENTIMENT_SERIES, SENTIMENT_STEP_MS, sentimentMeasure } from './sentiment-measure.ts'
import { SentimentAnswer } from './sentiment-schema.ts'
import type { SentimentComponent, SentimentScore } from './sentiment-score.ts'
import { LIVE_SHARE_MIN } from './sentiment-score.ts'

const PERIOD_MS = 10_000
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** Tolerance for the recorded value of 24 h ago. */
const DAY_OFF_MS_MAX = HOUR_MS / 2
const HISTORY_STEP_MS = 3 * HOUR_MS
const HISTORY_POINTS = 8
const HISTORY_OFF_MS_MAX = HOUR_MS / 6

/** Cadence of the venue, plus the time until the next measurement and the next rendering. */
const VENUE_CADENCE_MS = CONTEXT_CADENCE_MS + SENTIMENT_STEP_MS + PERIOD_MS
/** The index is requested every half hour. */
const INDEX_CADENCE_MS = 35 * 60_000

/** Printed dispersion above which the answer is `conflicted` (`docs/numbers/sentiment.md`). */
const CONFLICTED_DISPERSION = 0.5

/** Sentiment at one instant and its history. */
export type GatheredSentiment = {
  readonly sentiment: MarketSentiment | null
  /** 0 to 100; NaN: unknown. */
  readonly dayAgoScore: number
  /** At the last eight multiples of three hours, oldest first, likewise. */
  readonly history: readonly number[]
}

/** What a bundle reads from this answer. */
export type SentimentFacts = { readonly overall: Direction; readonly confidence: number }

/** Sentiment of the market, of its sectors and its coins, from seven sources. */
export const sentiment: MarketAnalysis<GatheredSentiment> & Component<SentimentFacts> = {
  contract: {
    id: 'sentiment',
    offering: 'service_sentiment',
    scope: 'market',
    summary: 'Market sentiment, fear to greed, from seven sources, with sectors and history',
    guide: {
      title: 'Market sentiment from seven sources',
      useWhen:
        'you want one fear-and-greed score with its components, or the sentiment of one sector.',
      notWhen: 'you want the technical state of one coin (pulse).',
      returns:
        'score, bucket and confidence, each source with weight and age, sector scores, change over 24 h.',
    },
    priceUsdcAtomic: 10_000n,
    document: SentimentAnswer,
    defaultView: defaultBucketView,
    viewParameters: [bucketParameter],
    viewOmits: (view) => (view === defaultBucketView ? ['sentiment.sectors'] : []),
    // Coins with older data are left out, so an older answer means that the engine has stopped.
    inputAgeMsMax: COIN_AGE_MS_MAX + 60_000,
    coverageFloor: {
      counts: 'coins with fresh data',
      least: `half of the listed coins, and sources with ${100 * LIVE_SHARE_MIN} % of the total weight`,
    },
  },
  periodMs: PERIOD_MS,
  trackers: [sentimentMeasure],

  gather: gatherSentiment,

  render(gathered, rendering) {
    const builder = new DocumentBuilder()
    const write = writerOf(builder, gathered, rendering)
    for (const view of bucketViews) builder.settle(view, write(view))
    return builder.build({ ...rendering, nextUpdateMs: rendering.renderedAtMs + PERIOD_MS })
  },

  write(builder, _coin, rendering, market) {
    const gathered = gatherSentiment(market, rendering.renderedAtMs)
    return writerOf(builder, gathered, rendering)(defaultBucketView)
  },
}

function gatherSentiment(market: MarketState, nowMs: number): GatheredSentiment {
  const { log } = market
  const newestMs = Math.floor(nowMs / HISTORY_STEP_MS) * HISTORY_STEP_MS
  return {
    sentiment: market.of(sentimentMeasure).sentiment,
    dayAgoScore: log.near(SENTIMENT_SERIES, nowMs - DAY_MS, DAY_OFF_MS_MAX),
    history: Array.from({ length: HISTORY_POINTS }, (_, at) => {
      const timeMs = newestMs - (HISTORY_POINTS - 1 - at) * HISTORY_STEP_MS
      return log.near(SENTIMENT_SERIES, timeMs, HISTORY_OFF_MS_MAX)
    }),
  }
}

/** Writes the parts that views share once. */
function writerOf(
  builder: DocumentBuilder,
  gathered: GatheredSentiment,
  rendering: Rendering,
): (view: BucketView) => Written<SentimentFacts> | NoAnswer {
  const { sentiment: measured } = gathered
  if (measured === null || Number.isNaN(measured.market.score)) return () => whyNone(measured)
  const { components, liveShare } = measured.market
  const inputs = inputsOf(components)
  const live = components.filter(({ status }) => status !== 'missing')
  const isTakerFlowPartial = measured.lacksTrades && live.some(({ name }) => name === 'taker_flow')
  const summary = summaryOf(measured.market)
  const sentimentText = JSON.stringify({
    ...summary,
    labels: labelsOf(measured, summary.bucket),
    components: components.map(shownComponent),
    sources_live: live.length,
    sources_total: components.length,
    change_24h: orNull(changeOf(measured, gathered), score),
    history_3h: gathered.history.map((past) => orNull(past, unit)),
    return_24h_pct: orNull(measured.return24h * 100, percent),
    return_7d_pct: orNull(measured.return7d * 100, percent),
    sector_scores: Object.fromEntries(
      measured.sectors.map((one) => [one.sector, sectorScoreOf(one)]),
    ),
    distribution: distributionOf(measured.coinScores),
    coins_scored: measured.coinScores.length,
    coins_total: measured.coinsTotal,
    external_index: externalIndex(measured),
  })
  const head = builder.text(
    `{"timestamp_iso":"${isoInstant(rendering.renderedAtMs)}","sentiment":${sentimentText.slice(0, -1)}`,
  )
  return (view) => {
    const rows = measured.sectors.filter(({ sector }) => view === 'all' || view === sector)
    const sectors =
      view === defaultBucketView ? '' : `,"sectors":${JSON.stringify(rows.map(shownSector))}`
    const meta = answerMeta(builder, {
      offering: sentiment.contract.offering,
      rendering,
      view: view === defaultBucketView ? '' : view,
      inputs,
      sources: measured.index === null ? ['venue'] : ['venue', 'alternative.me'],
      nextUpdateMs: rendering.renderedAtMs + PERIOD_MS,
    })
    return {
      kind: 'written',
      fragments: [head, builder.text(`${sectors}},"meta":${JSON.stringify(meta)}}`)],
      inputs,
      coveragePct: percent(100 * liveShare),
      warnings: completenessWarnings({
        records: { have: live.length - (isTakerFlowPartial ? 1 : 0), need: components.length },
        members: { have: measured.coinsKnown, need: measured.coinsTotal },
      }),
      facts: { overall: summary.overall, confidence: summary.confidence },
    }
  }
}

function whyNone(measured: MarketSentiment | null): NoAnswer {
  const have = measured?.coinsKnown ?? 0
  const need = Math.max(1, Math.ceil((measured?.coinsTotal ?? 0) / 2))
  const live = Math.floor(100 * (measured?.market.liveShare ?? 0))
  const missing = 'percent of the total weight of the sources'
  return (
    belowFloor(sentiment.contract, { have, need }) ??
    lowCoverage(sentiment.contract, { have: live, need: 100 * LIVE_SHARE_MIN, missing })
  )
}

function summaryOf(market: SentimentScore) {
  const shown = unit(market.score)
  // As printed, so that `confidence` can be recomputed.
  const dispersion = score(Math.min(1, market.deviation / 50))
  const weight = market.components.reduce((sum, component) => sum + score(component.weight), 0)
  return {
    overall: sentimentDirection(shown),
    bucket: bucketOf(shown),
    score: shown,
    confidence: score(weight * (1 - dispersion)),
    dispersion,
    conflicted: dispersion > CONFLICTED_DISPERSION,
  }
}

function labelsOf(sentiment: MarketSentiment, bucket: string) {
  // As printed; NaN where the component is missing.
  const rawOf = (wanted: string) =>
    percent(sentiment.market.components.find(({ name }) => name === wanted)?.raw ?? Number.NaN)
  const [breadth, volatility] = [rawOf('breadth'), rawOf('volatility')]
  const { return7d, fundingRateHourly } = sentiment
  return {
    fear_greed: bucket,
    momentum: Number.isNaN(return7d) ? null : momentumOf(return7d),
    funding_bias: Number.isNaN(fundingRateHourly) ? null : fundingBiasOf(fundingRateHourly),
    volatility: Number.isNaN(volatility) ? null : volatilityRegimeOf(volatility),
    breadth: Number.isNaN(breadth) ? null : breadthLabel(breadth / 100),
  }
}

const units = {
  funding: 'apr_pct',
  premium: 'bps',
  breadth: 'pct',
  oi_flow: 'balance',
  volatility: 'percentile',
  taker_flow: 'buy_share',
  fear_greed_index: 'index',
} as const satisfies Record<SentimentComponent['name'], string>

function shownComponent(component: SentimentComponent) {
  const { name, weight, status, raw, confirmedAtMs } = component
  const isMissing = status === 'missing'
  return {
    name,
    score: isMissing ? null : score(component.score / 50 - 1),
    weight: score(weight),
    raw: orNull(raw, name === 'premium' ? bps : percent),
    unit: units[name],
    status,
    as_of: isMissing ? null : isoInstant(confirmedAtMs),
  }
}

function sectorScoreOf({ sentiment }: SectorSentiment): number | null {
  return sentiment === null ? null : orNull(sentiment.score, unit)
}

function shownSector(of: SectorSentiment) {
  const { sector, coins, sentiment, ...figures } = of
  const shown = sectorScoreOf(of)
  const breadth = sentiment?.components.find(({ name }) => name === 'breadth')?.raw ?? Number.NaN
  return {
    sector,
    score: shown,
    bucket: shown === null ? null : bucketOf(shown),
    coins,
    oi_usd: orNull(figures.openInterestUsd, Math.round),
    funding_apr_pct: orNull(
      annualizedPctOf(figures.fundingRateHourly, FUNDING_INTERVAL_HOURS),
      percent,
    ),
    breadth_pct: orNull(breadth, percent),
    return_24h_pct: orNull(figures.return24h * 100, percent),
    leaders: figures.leaders,
    laggards: figures.laggards,
  }
}

function distributionOf(scores: readonly number[]) {
  const buckets = scores.map((one) => bucketOf(unit(one)))
  return Object.fromEntries(
    scoreBuckets.map((bucket) => [bucket, buckets.filter((one) => one === bucket).length]),
  )
}

/** With the index's own classes, whose limits differ from `scoreBuckets`. */
function externalIndex({ index }: MarketSentiment) {
  return (
    index && {
      name: 'Crypto Fear & Greed Index',
      value: index.value,
      label: fearGreedClass(index.value),
      as_of: isoInstant(index.timeExchangeMs),
      attribution: 'Source: alternative.me',
    }
  )
}

function changeOf({ market }: MarketSentiment, { dayAgoScore }: GatheredSentiment): number {
  return (market.score - dayAgoScore) / 100
}

/** Inputs of the components, each with the oldest confirmation of its components. */
function inputsOf(components: readonly SentimentComponent[]): readonly Input[] {
  const live = components.filter(({ status }) => status !== 'missing')
  return (['figures', 'candles', 'index'] as const).flatMap((of): Input[] => {
    const instants = live
      .filter(({ name }) => inputOf[name] === of)
      .map(({ confirmedAtMs }) => confirmedAtMs)
    if (instants.length === 0) return []
    return [
      {
        name: `sentiment_${of}`,
        confirmedAtMs: Math.min(...instants),
        cadenceMs: of === 'index' ? INDEX_CADENCE_MS : VENUE_CADENCE_MS,
        isLoadBearing: of !== 'index',
      },
    ]
  })
}

const inputOf = {
  funding: 'figures',
  premium: 'figures',
  breadth: 'candles',
  oi_flow: 'figures',
  volatility: 'candles',
  taker_flow: 'candles',
  fear_greed_index: 'index',
} as const satisfies Record<SentimentComponent['name'], string>

/** Scales 0 to 100 to 0 to 1. */
function unit(hundredths: number): number {
  return score(hundredths / 100)
}
