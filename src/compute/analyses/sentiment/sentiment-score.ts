import type { FearGreedEvent } from '../../../domain/external.ts'
import { annualizedPctOf, FUNDING_INTERVAL_HOURS } from '../../funding/funding-tilt.ts'
import { TAKER_WINDOW_STEPS } from '../../market/taker-flow.ts'
import type { CoinSentiment } from './coin-sentiment.ts'

/** In the order of answers. The last one is not of the venue, and of no single coin. */
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

/** They sum to 1 (`docs/numbers/sentiment.md`). */
export const sentimentWeights: Readonly<Record<SentimentSource, number>> = {
  funding: 0.2,
  premium: 0.15,
  breadth: 0.2,
  oi_flow: 0.15,
  volatility: 0.1,
  taker_flow: 0.1,
  fear_greed_index: 0.1,
}

/** Less weight than this is no sentiment of the whole. */
export const LIVE_SHARE_MIN = 0.5
/** Of a group's coins those that a source must know. */
const COINS_SHARE_MIN = 0.5
/** A source counts as confirmed when all but this share of its coins are. */
const LATE_SHARE = 0.1
/** An hour of taker volume, of the four. */
const TAKER_STEPS_MIN = TAKER_WINDOW_STEPS / 4

const FUNDING_APR_PCT = [-20, 60] as const
const PREMIUM_BPS = [-10, 10] as const
const BUY_SHARE = [0.42, 0.58] as const

const HOUR_MS = 3_600_000
/** The index speaks of one day, and of half a day more the less the later. */
const INDEX_FRESH_MS = 24 * HOUR_MS
const INDEX_GONE_MS = 36 * HOUR_MS

/** `stale`: it is late, and weighs less for it. */
export const sentimentStatuses = ['live', 'stale', 'missing'] as const
type SentimentStatus = (typeof sentimentStatuses)[number]

export type SentimentComponent = {
  readonly name: SentimentSource
  /** 0 fear to 100 greed; NaN where it is missing, as are the next and the last. */
  readonly score: number
  /** What the score is made of: APR %, bps, %, -1 to 1, percentile, buy share, index. */
  readonly raw: number
  /** What it weighs beside the others: less where it is stale, 0 where it is missing. */
  readonly weight: number
  readonly status: SentimentStatus
  /** When its source last confirmed it, by our clock. */
  readonly confirmedAtMs: number
}

/** Of the market, a sector or a coin. */
export type SentimentScore = {
  /** Weighted mean of the live components, 0 to 100; NaN below half of the weight. */
  readonly score: number
  /** Weight of the live components of the weight of all that apply, 0 to 1. */
  readonly liveShare: number
  /** Weighted standard deviation of the live components around the score, 0 to 50. */
  readonly deviation: number
  readonly components: readonly SentimentComponent[]
}

/** What is known beside the coins. */
export type SentimentSurroundings = {
  /** Rank of the premium in its own past, 0 to 100; NaN while that is short. */
  readonly premiumPercentile: number
  /** null for what the index says nothing about: a sector or a coin. */
  readonly index: { readonly event: FearGreedEvent | null; readonly nowMs: number } | null
}

export const noSurroundings: SentimentSurroundings = { premiumPercentile: Number.NaN, index: null }

/** The sentiment of some coins together. The same coins in another order give the same, to rounding. */
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

/** Missing components are left out, and the weights of the others stand for all. */
export function combined(components: readonly SentimentComponent[]): SentimentScore {
  const whole = components.reduce((sum, { name }) => sum + sentimentWeights[name], 0)
  const live = components.filter(({ weight }) => weight > 0)
  const weight = live.reduce((sum, one) => sum + one.weight, 0)
  const mean = live.reduce((sum, one) => sum + one.weight * one.score, 0) / weight
  const squares = live.reduce((sum, one) => sum + one.weight * (one.score - mean) ** 2, 0)
  const liveShare = weight / whole
  // Sums of weights are off by rounding: exactly half is half.
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

/** OI-weighted mean of a figure over the coins that have one; the plain one where nothing is open. */
export function interestWeighted(
  coins: readonly CoinSentiment[],
  figureOf: (coin: CoinSentiment) => number,
): number {
  return weightedMean(coins, figureOf, byInterest)
}

/** How much of its weight the index has at that age: all for a day, none from 36 h on. */
export function indexDecay(ageMs: number): number {
  return Math.max(0, Math.min(1, (INDEX_GONE_MS - ageMs) / (INDEX_GONE_MS - INDEX_FRESH_MS)))
}

/** What one source says, and of which coins. */
type Said = {
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
  said: Said,
): SentimentComponent {
  const known = coins.filter(said.isKnown)
  const isLive =
    known.length > 0 && known.length >= COINS_SHARE_MIN * coins.length && !Number.isNaN(said.score)
  if (!isLive) return missing(name)
  const instants = Float64Array.from(known, said.confirmedAtMs).sort()
  return {
    name,
    score: said.score,
    raw: said.raw,
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

/** Half by how much is paid, a quarter each by how unusual that is and by how many coins pay. */
function fundingOf(coins: readonly CoinSentiment[]): Said {
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

/** Half by how much, half by how unusual that is. */
function premiumOf(coins: readonly CoinSentiment[], percentile: number): Said {
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

/** A third each: coins above their day, above their week, and volume of those that rose in 24 h. */
function breadthOf(coins: readonly CoinSentiment[]): Said {
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

function interestOf(coins: readonly CoinSentiment[]): Said {
  const raw = interestWeighted(coins, ({ interestFlow }) => interestFlow)
  return {
    score: 50 * (raw + 1),
    raw,
    isKnown: ({ interestFlow }) => !Number.isNaN(interestFlow),
    confirmedAtMs: byContext,
  }
}

/** Seven tenths by how calm the day was, three by how much of it went up. */
function volatilityOf(coins: readonly CoinSentiment[]): Said {
  const percentile = interestWeighted(coins, (coin) => coin.volatilityPercentile)
  const downside = interestWeighted(coins, ({ downsideShare }) => downsideShare)
  return {
    score: 0.7 * (100 - percentile) + 0.3 * 100 * (1 - downside),
    raw: percentile,
    isKnown: ({ volatilityPercentile }) => !Number.isNaN(volatilityPercentile),
    confirmedAtMs: byCandles,
  }
}

function takersOf(coins: readonly CoinSentiment[]): Said {
  const sum = (of: (coin: CoinSentiment) => number) =>
    coins.reduce((total, coin) => total + (of(coin) || 0), 0)
  const buyUsd = sum((coin) => coin.buyUsd)
  const share = buyUsd / (buyUsd + sum(({ sellUsd }) => sellUsd))
  const steps = coins.reduce((most, { takerSteps }) => Math.max(most, takerSteps || 0), 0)
  const raw = steps < TAKER_STEPS_MIN ? Number.NaN : share
  return {
    score: between(raw, BUY_SHARE),
    raw,
    // In most coins nobody may trade for hours; that is known too.
    isKnown: ({ takerSteps }) => !Number.isNaN(takerSteps),
    confirmedAtMs: byContext,
  }
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
 * Of the values that are known. Where all weights are 0 or unknown they count alike. Without lists of its own: every
 * coin's sentiment takes a dozen of them, all within one turn of the loop.
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
