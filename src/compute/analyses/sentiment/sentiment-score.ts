import type { FearGreedEvent } from '../../../domain/external.ts'
import { annualizedPctOf, FUNDING_INTERVAL_HOURS } from '../../funding/funding-tilt.ts'
import { TAKER_WINDOW_STEPS } from '../../market/taker-flow.ts'
import type { CoinSentiment } from './coin-sentiment.ts'

/** In the order of the answer. The last one is external and concerns the whole market only. */
export const sentimentSources = [
  'funding',
  'premium',
  'breadth',
  'oi_flow',
  'volatility',
  'taker_flow',
  'fear_greed_index',
] as const
export type SentimentSource = (typeof sentimentSources)[number]

/** Sum to 1 (`docs/numbers/sentiment.md`). */
export const sentimentWeights: Readonly<Record<SentimentSource, number>> = {
  funding: 0.2,
  premium: 0.15,
  breadth: 0.2,
  oi_flow: 0.15,
  volatility: 0.1,
  taker_flow: 0.1,
  fear_greed_index: 0.1,
}

/** Share of the total weight that must be live for a score. */
export const LIVE_SHARE_MIN = 0.5
/** Share of a group's coins that a source must cover. */
const COINS_SHARE_MIN = 0.5
/** Share of coins that may be late before a source counts as late. */
const LATE_SHARE = 0.1
/** Steps with trades needed: one hour of the four. */
const TAKER_STEPS_MIN = TAKER_WINDOW_STEPS / 4
/**
 * Share of the 24 h volume whose coins need them. After a subscription the venue repeats the last trades of each coin:
 * hours of a thin coin, seconds of a busy one.
 */
const TAKER_VOLUME_SHARE_MIN = 0.5

const FUNDING_APR_PCT = [-20, 60] as const
const PREMIUM_BPS = [-10, 10] as const
const BUY_SHARE = [0.42, 0.58] as const

const HOUR_MS = 3_600_000
/** The index keeps its weight for a day, then loses it over half a day. */
const INDEX_FRESH_MS = 24 * HOUR_MS
const INDEX_GONE_MS = 36 * HOUR_MS

/** `stale`: late, with reduced weight. */
export const sentimentStatuses = ['live', 'stale', 'missing'] as const
type SentimentStatus = (typeof sentimentStatuses)[number]

export type SentimentComponent = {
  readonly name: SentimentSource
  /** 0 fear to 100 greed; NaN if missing, like `raw` and `confirmedAtMs`. */
  readonly score: number
  /** Raw measure: APR %, bps, %, -1 to 1, percentile, buy share, index. */
  readonly raw: number
  /** Reduced if stale, 0 if missing. */
  readonly weight: number
  readonly status: SentimentStatus
  /** Last confirmation by its source, by our clock. */
  readonly confirmedAtMs: number
}

/** Sentiment of the market, a sector or a coin. */
export type SentimentScore = {
  /** Weighted mean of the live components, 0 to 100; NaN below half of the weight. */
  readonly score: number
  /** Live weight over the weight of all applicable components, 0 to 1. */
  readonly liveShare: number
  /** Weighted standard deviation of the live components around the score, 0 to 50. */
  readonly deviation: number
  readonly components: readonly SentimentComponent[]
}

/** Inputs that do not come from single coins. */
export type SentimentSurroundings = {
  /** Percentile of the premium in its own history, 0 to 100; NaN if history is short. */
  readonly premiumPercentile: number
  /** null for a sector or a coin, to which the index does not apply. */
  readonly index: { readonly event: FearGreedEvent | null; readonly nowMs: number } | null
}

export const noSurroundings: SentimentSurroundings = { premiumPercentile: Number.NaN, index: null }

/** Sentiment of a group of coins; independent of their order except for rounding. */
export function sentimentOf(
  coins: readonly CoinSentiment[],
  surroundings: SentimentSurroundings,
): SentimentScore {
  const { premiumPercentile, index } = surroundings
  const components = [
    component('funding', coins, fundingOf(coins)),
    component('premium', coins, premiumOf(coins, premiumPercentile)),
    component('breadth', coins, breadthOf(coins)),
    component('oi_flow', coins, interestOf(coins)),
    component('volatility', coins, volatilityOf(coins)),
    component('taker_flow', coins, takersOf(coins)),
    ...(index === null ? [] : [indexComponent(index)]),
  ]
  return combined(components)
}

/** Weighted mean of the live components. */
export function combined(components: readonly SentimentComponent[]): SentimentScore {
  const whole = components.reduce((sum, { name }) => sum + sentimentWeights[name], 0)
  const live = components.filter(({ weight }) => weight > 0)
  const weight = live.reduce((sum, one) => sum + one.weight, 0)
  const mean = live.reduce((sum, one) => sum + one.weight * one.score, 0) / weight
  const squares = live.reduce((sum, one) => sum + one.weight * (one.score - mean) ** 2, 0)
  const liveShare = weight / whole
  // Tolerance for rounding of the sum of weights.
  const isEnough = liveShare > LIVE_SHARE_MIN - 1e-9
  return {
    score: isEnough ? Math.max(0, Math.min(100, mean)) : Number.NaN,
    liveShare,
    deviation: isEnough ? Math.sqrt(squares / weight) : Number.NaN,
    components,
  }
}

/** OI-weighted, in bps; NaN for none. */
export function premiumBpsOf(coins: readonly CoinSentiment[]): number {
  return interestWeighted(coins, ({ premiumBps }) => premiumBps)
}

/** OI-weighted mean over the coins with a value; unweighted without open interest. */
export function interestWeighted(
  coins: readonly CoinSentiment[],
  figureOf: (coin: CoinSentiment) => number,
): number {
  return weightedMean(coins, figureOf, byInterest)
}

/** Share of its weight that the index keeps at an age: 1 up to 24 h, 0 from 36 h. */
export function indexDecay(ageMs: number): number {
  return Math.max(0, Math.min(1, (INDEX_GONE_MS - ageMs) / (INDEX_GONE_MS - INDEX_FRESH_MS)))
}

/** Reading of one source, with the coins that it covers. */
type SourceReading = {
  readonly score: number
  readonly raw: number
  readonly isKnown: (coin: CoinSentiment) => boolean
  readonly confirmedAtMs: (coin: CoinSentiment) => number
}

const byInterest = ({ openInterestUsd }: CoinSentiment) => openInterestUsd
const byNotional = ({ dayNotionalUsd }: CoinSentiment) => dayNotionalUsd
const alike = () => 1
const byContext = ({ contextAtMs }: CoinSentiment) => contextAtMs
const byCandles = ({ candlesAtMs }: CoinSentiment) => candlesAtMs

function component(
  name: SentimentSource,
  coins: readonly CoinSentiment[],
  reading: SourceReading,
): SentimentComponent {
  const known = coins.filter(reading.isKnown)
  const isLive =
    known.length > 0 &&
    known.length >= COINS_SHARE_MIN * coins.length &&
    !Number.isNaN(reading.score)
  if (!isLive) return missing(name)
  const instants = Float64Array.from(known, reading.confirmedAtMs).sort()
  return {
    name,
    score: reading.score,
    raw: reading.raw,
    weight: sentimentWeights[name],
    status: 'live',
    confirmedAtMs: instants[Math.floor(LATE_SHARE * instants.length)] as number,
  }
}

function missing(name: SentimentSource): SentimentComponent {
  const unknown = { score: Number.NaN, raw: Number.NaN, confirmedAtMs: Number.NaN }
  return { name, ...unknown, weight: 0, status: 'missing' }
}

function indexComponent({
  event,
  nowMs,
}: NonNullable<SentimentSurroundings['index']>): SentimentComponent {
  const decay = event === null ? 0 : indexDecay(nowMs - event.timeExchangeMs)
  if (event === null || decay === 0) return missing('fear_greed_index')
  return {
    name: 'fear_greed_index',
    score: event.value,
    raw: event.value,
    weight: sentimentWeights.fear_greed_index * decay,
    status: decay < 1 ? 'stale' : 'live',
    confirmedAtMs: event.timeReceivedMs,
  }
}

/** Half by the rate, a quarter each by its percentile and by the share of coins with a positive rate. */
function fundingOf(coins: readonly CoinSentiment[]): SourceReading {
  const rate = interestWeighted(coins, ({ fundingRateHourly }) => fundingRateHourly)
  const aprPct = annualizedPctOf(rate, FUNDING_INTERVAL_HOURS)
  const paying = mean(coins, ({ fundingRateHourly }) => (Math.sign(fundingRateHourly) + 1) / 2)
  const score = meanOf([
    [between(aprPct, FUNDING_APR_PCT), 2],
    [interestWeighted(coins, ({ fundingPercentile }) => fundingPercentile), 1],
    [100 * paying, 1],
  ])
  return {
    score,
    raw: aprPct,
    isKnown: ({ fundingRateHourly }) => !Number.isNaN(fundingRateHourly),
    confirmedAtMs: byContext,
  }
}

/** Half by the premium, half by its percentile. */
function premiumOf(coins: readonly CoinSentiment[], percentile: number): SourceReading {
  const raw = premiumBpsOf(coins)
  return {
    score: meanOf([
      [between(raw, PREMIUM_BPS), 1],
      [percentile, 1],
    ]),
    raw,
    isKnown: ({ premiumBps }) => !Number.isNaN(premiumBps),
    confirmedAtMs: byContext,
  }
}

/** A third each: coins above their day average, above their week average, and volume of coins that rose in 24 h. */
function breadthOf(coins: readonly CoinSentiment[]): SourceReading {
  const advanced = ({ return24h }: CoinSentiment) => (Math.sign(return24h) + 1) / 2
  const score = meanOf([
    [100 * mean(coins, ({ isAboveDay }) => isAboveDay), 1],
    [100 * mean(coins, ({ isAboveWeek }) => isAboveWeek), 1],
    [100 * weightedMean(coins, advanced, byNotional), 1],
  ])
  return {
    score,
    raw: score,
    isKnown: ({ isAboveDay }) => !Number.isNaN(isAboveDay),
    confirmedAtMs: byCandles,
  }
}

function interestOf(coins: readonly CoinSentiment[]): SourceReading {
  const raw = interestWeighted(coins, ({ interestFlow }) => interestFlow)
  return {
    score: 50 * (raw + 1),
    raw,
    isKnown: ({ interestFlow }) => !Number.isNaN(interestFlow),
    confirmedAtMs: byContext,
  }
}

/** 0.7 by low volatility of the day, 0.3 by the share of its variance from rising hours. */
function volatilityOf(coins: readonly CoinSentiment[]): SourceReading {
  const percentile = interestWeighted(coins, (coin) => coin.volatilityPercentile)
  const downside = interestWeighted(coins, ({ downsideShare }) => downsideShare)
  return {
    score: 0.7 * (100 - percentile) + 0.3 * 100 * (1 - downside),
    raw: percentile,
    isKnown: ({ volatilityPercentile }) => !Number.isNaN(volatilityPercentile),
    confirmedAtMs: byCandles,
  }
}

function takersOf(coins: readonly CoinSentiment[]): SourceReading {
  const sum = (of: (coin: CoinSentiment) => number) =>
    coins.reduce((total, coin) => total + (of(coin) || 0), 0)
  const buyUsd = sum((coin) => coin.buyUsd)
  const share = buyUsd / (buyUsd + sum(({ sellUsd }) => sellUsd))
  const raw =
    weightedMean(coins, hasTakerHour, byNotional) >= TAKER_VOLUME_SHARE_MIN ? share : Number.NaN
  return {
    score: between(raw, BUY_SHARE),
    raw,
    // Hours without trades are known data.
    isKnown: ({ takerSteps }) => !Number.isNaN(takerSteps),
    confirmedAtMs: byCandles,
  }
}

function hasTakerHour({ takerSteps }: CoinSentiment): number {
  return Number.isNaN(takerSteps) ? Number.NaN : Number(takerSteps >= TAKER_STEPS_MIN)
}

/** 0 at the lower anchor and below, 100 at the upper one and above, linear between them. */
function between(value: number, [low, high]: readonly [number, number]): number {
  return Math.max(0, Math.min(100, (100 * (value - low)) / (high - low)))
}

function mean(coins: readonly CoinSentiment[], figureOf: (coin: CoinSentiment) => number): number {
  return weightedMean(coins, figureOf, alike)
}

function meanOf(parts: readonly (readonly [value: number, weight: number])[]): number {
  return weightedMean(
    parts,
    ([value]) => value,
    ([, weight]) => weight,
  )
}

/**
 * Weighted mean of the known values; unweighted if all weights are 0 or unknown. Allocates nothing, because each coin
 * needs a dozen of them within one turn of the engine.
 */
function weightedMean<Item>(
  items: readonly Item[],
  figureOf: (item: Item) => number,
  weightOf: (item: Item) => number,
): number {
  let [count, total, plain] = [0, 0, 0]
  for (const item of items) {
    const value = figureOf(item)
    if (Number.isNaN(value)) continue
    count += 1
    total += weightOf(item) || 0
    plain += value
  }
  if (total === 0) return plain / count
  let sum = 0
  for (const item of items) {
    const value = figureOf(item)
    if (!Number.isNaN(value)) sum += (value * (weightOf(item) || 0)) / total
  }
  return sum
}
