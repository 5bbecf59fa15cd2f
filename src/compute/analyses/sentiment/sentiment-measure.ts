import type { FearGreedEvent } from '../../../domain/external.ts'
import type { CoinBucket } from '../../../domain/sectors.ts'
import { coinBuckets } from '../../../domain/sectors.ts'
import { dexKindOf } from '../../funding/premium.ts'
import type { CoinMarket } from '../../market/coin-market.ts'
import type { MarketState, MarketTracker } from '../../market/market-state.ts'
import { marketTracker } from '../../market/market-state.ts'
import { MEASURE_DAYS_MAX } from '../../market/measure-log.ts'
import type { CoinSentiment } from './coin-sentiment.ts'
import { coinSentiment } from './coin-sentiment.ts'
import { SentimentHours } from './sentiment-hours.ts'
import type { SentimentScore } from './sentiment-score.ts'
import { interestWeighted, noSurroundings, premiumBpsOf, sentimentOf } from './sentiment-score.ts'

/** The inputs change by minutes and hours. */
export const SENTIMENT_STEP_MS = 10_000
export const SENTIMENT_SERIES = 'sentiment/score'
const PREMIUM_SERIES = 'sentiment/premium'

const DAY_MS = 86_400_000
/** Minutes needed for a percentile of the premium: a day. */
const RANKED_MINUTES_MIN = 1_440
/** Coins needed for a sector score. */
const SECTOR_COINS_MIN = 2
const EXTREMES = 2
/** With 25 advances a second, the 500 coins of the largest market are read within two seconds. */
const COINS_PER_ADVANCE = 10

export type SectorSentiment = {
  readonly sector: CoinBucket
  readonly coins: number
  /** null for a sector with one coin. */
  readonly sentiment: SentimentScore | null
  /** NaN without coins with fresh figures, or if the quote unit of one has no USD price. */
  readonly openInterestUsd: number
  /** OI-weighted, as fractions; NaN: unknown. */
  readonly fundingRateHourly: number
  readonly return24h: number
  /** Highest and lowest 24 h returns, the most extreme first. */
  readonly leaders: readonly string[]
  readonly laggards: readonly string[]
}

/** Sentiment of the whole market, unrounded. NaN: unknown. */
export type MarketSentiment = {
  /** When the last coin was read. */
  readonly measuredAtMs: number
  readonly coinsTotal: number
  /** Coins with fresh figures. */
  readonly coinsKnown: number
  readonly market: SentimentScore
  /** OI-weighted, as fractions. The rate is of the main dex: other baselines are unknown. */
  readonly fundingRateHourly: number
  readonly return24h: number
  readonly return7d: number
  readonly volatilityPercentile: number
  /** Trades of some coin are missing in the taker flow, or are not received. */
  readonly lacksTrades: boolean
  /** Sectors with at least one coin, in the order of `coinBuckets`. */
  readonly sectors: readonly SectorSentiment[]
  /** Scores of the coins with a score. */
  readonly coinScores: readonly number[]
  readonly index: FearGreedEvent | null
}

/**
 * Measures the sentiment every ten seconds and records it every minute. The first measurement reads all coins in one
 * turn; later ones read {@link COINS_PER_ADVANCE} per turn, to keep turns of the engine short.
 */
class SentimentMeasure implements MarketTracker {
  readonly #hours = new SentimentHours()
  #step = Number.NaN
  #sentiment: MarketSentiment | null = null
  /** Measurement in progress. */
  #unread: CoinMarket[] = []
  #sentiments: CoinSentiment[] = []
  #scores: number[] = []

  /** null before the first measurement. */
  get sentiment(): MarketSentiment | null {
    return this.#sentiment
  }

  advance(market: MarketState, nowMs: number): void {
    if (this.#unread.length === 0) {
      const step = Math.floor(nowMs / SENTIMENT_STEP_MS)
      if (step === this.#step) return
      this.#begin(step, market)
    }
    const isFirst = (this.#sentiment?.coinsKnown ?? 0) === 0
    const share = isFirst ? this.#unread.length : COINS_PER_ADVANCE
    for (const coin of this.#unread.splice(0, share)) this.#read(coin, market, nowMs)
    if (this.#unread.length === 0) this.#measure(market, nowMs)
  }

  #begin(step: number, market: MarketState): void {
    this.#step = step
    this.#unread = [...market.coins()]
    this.#sentiments = []
    this.#scores = []
  }

  #read(coin: CoinMarket, market: MarketState, nowMs: number): void {
    const sentiment = coinSentiment(coin, market, this.#hours, nowMs)
    this.#sentiments.push(sentiment)
    const { score } = sentimentOf([sentiment], noSurroundings)
    if (!Number.isNaN(score)) this.#scores.push(score)
  }

  #measure(market: MarketState, nowMs: number): void {
    const coins = this.#sentiments
    const premiumBps = premiumBpsOf(coins)
    const premiumPercentile = rankOf(premiumBps, premiumsOf(market, nowMs))
    const index = { event: market.external.fearGreed, nowMs }
    const whole = sentimentOf(coins, { premiumPercentile, index })
    this.#sentiment = marketSentiment(coins, this.#scores, whole, index)
    market.log.record(SENTIMENT_SERIES, nowMs, whole.score)
    market.log.record(PREMIUM_SERIES, nowMs, premiumBps)
  }
}

function marketSentiment(
  coins: readonly CoinSentiment[],
  coinScores: readonly number[],
  market: SentimentScore,
  { event, nowMs }: { readonly event: FearGreedEvent | null; readonly nowMs: number },
): MarketSentiment {
  return {
    measuredAtMs: nowMs,
    coinsTotal: coins.length,
    coinsKnown: coins.filter(({ contextAtMs }) => !Number.isNaN(contextAtMs)).length,
    market,
    fundingRateHourly: interestWeighted(
      coins.filter(({ coin }) => dexKindOf(coin) === 'main'),
      ({ fundingRateHourly }) => fundingRateHourly,
    ),
    return24h: interestWeighted(coins, ({ return24h }) => return24h),
    return7d: interestWeighted(coins, ({ return7d }) => return7d),
    volatilityPercentile: interestWeighted(coins, (coin) => coin.volatilityPercentile),
    lacksTrades: coins.some(({ lacksTrades }) => lacksTrades),
    sectors: coinBuckets.flatMap((sector) => {
      const members = coins.filter(({ bucket }) => bucket === sector)
      return members.length === 0 ? [] : [sectorSentiment(sector, members)]
    }),
    coinScores,
    index: event,
  }
}

function sectorSentiment(sector: CoinBucket, coins: readonly CoinSentiment[]): SectorSentiment {
  const ranked = coins
    .filter(({ return24h }) => !Number.isNaN(return24h))
    .sort((one, other) => other.return24h - one.return24h)
  // A coin is not both leader and laggard.
  const shown = Math.min(EXTREMES, ranked.length >> 1)
  const names = ranked.map(({ coin }) => coin)
  return {
    sector,
    coins: coins.length,
    sentiment: coins.length < SECTOR_COINS_MIN ? null : sentimentOf(coins, noSurroundings),
    openInterestUsd: sumOfInterestUsd(coins),
    fundingRateHourly: interestWeighted(coins, ({ fundingRateHourly }) => fundingRateHourly),
    return24h: interestWeighted(coins, ({ return24h }) => return24h),
    leaders: names.slice(0, shown),
    laggards: names.slice(names.length - shown).reverse(),
  }
}

/** Over the coins with fresh figures; NaN without any. */
function sumOfInterestUsd(coins: readonly CoinSentiment[]): number {
  const known = coins.filter(({ contextAtMs }) => !Number.isNaN(contextAtMs))
  if (known.length === 0) return Number.NaN
  return known.reduce((sum, coin) => sum + coin.openInterestUsd, 0)
}

function premiumsOf(market: MarketState, nowMs: number): Float64Array {
  return market.log.values(PREMIUM_SERIES, nowMs - MEASURE_DAYS_MAX * DAY_MS, nowMs)
}

/** Percentile, equal values counted half; NaN below {@link RANKED_MINUTES_MIN}. */
function rankOf(value: number, values: Float64Array): number {
  if (values.length < RANKED_MINUTES_MIN || Number.isNaN(value)) return Number.NaN
  let [below, equal] = [0, 0]
  for (const other of values) {
    if (other < value) below += 1
    else if (other === value) equal += 1
  }
  return (100 * (below + equal / 2)) / values.length
}

export const sentimentMeasure = marketTracker('sentiment/measure', () => new SentimentMeasure())
