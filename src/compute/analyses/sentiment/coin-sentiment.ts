import type { ContextEvent } from '../../../domain/event.ts'
import type { CoinBucket } from '../../../domain/sectors.ts'
import { coinBucketOf } from '../../../domain/sectors.ts'
import type { FundingSeries } from '../../funding/funding-series.ts'
import { fundingSeries, MONTH_HOURS } from '../../funding/funding-series.ts'
import { areTradesReceived } from '../../liquidation/realised-liquidations.ts'
import { COIN_AGE_MS_MAX } from '../../market/cadence.ts'
import type { CoinMarket } from '../../market/coin-market.ts'
import type { MarketState } from '../../market/market-state.ts'
import { takerFlow } from '../../market/taker-flow.ts'
import { interestSeries } from '../../open-interest/interest-series.ts'
import { openInterestUsdOf } from '../../open-interest/open-interest-usd.ts'
import { decimals } from '../../render/significance.ts'
import { percentileOf } from '../../statistics/series-statistics.ts'
import { hourlyCloses } from '../../volatility/hourly-closes.ts'
import type { SentimentHours } from './sentiment-hours.ts'

const BPS = 10_000
const HOUR_MS = 3_600_000
const FLOW_MS = 4 * HOUR_MS
const FUNDING_HOURS = 8
/** Finer than any rate of the venue; without rounding, the mean of equal rates may differ from them and miss its ties. */
const MEAN_RATE_DECIMALS = 12
/** Hours of funding needed for a percentile. */
const RANKED_HOURS_MIN = 168
/** Clamp, so that one coin with a stale oracle price does not dominate. */
const PREMIUM_BPS_MAX = 50

/** Sentiment measures of one coin. NaN: unknown. */
export type CoinSentiment = {
  readonly coin: string
  readonly bucket: CoinBucket
  readonly openInterestUsd: number
  readonly dayNotionalUsd: number
  /** Mean hourly rate of the last eight hours, as a fraction. */
  readonly fundingRateHourly: number
  /** Percentile of that mean among the coin's hours of 30 days, 0 to 100. */
  readonly fundingPercentile: number
  /** Mark against oracle price, clamped to 50 bps on both sides. */
  readonly premiumBps: number
  /** Returns of the mark price, as fractions. */
  readonly return24h: number
  readonly return7d: number
  /** 1 above the exponential average, 0 below, 0.5 on it. */
  readonly isAboveDay: number
  readonly isAboveWeek: number
  /** -1 (new shorts) to 1 (new longs), over four hours; see {@link interestFlowOf}. */
  readonly interestFlow: number
  readonly volatilityPercentile: number
  readonly downsideShare: number
  /** Taker volume of four hours, USD, and the number of their 48 five-minute steps with a trade. */
  readonly buyUsd: number
  readonly sellUsd: number
  readonly takerSteps: number
  /** Trades of these hours are missing, or trades are not received. */
  readonly lacksTrades: boolean
  /** Last confirmation of figures and candles by the venue, by our clock. */
  readonly contextAtMs: number
  readonly candlesAtMs: number
}

/** @param nowMs by our clock; figures older than COIN_AGE_MS_MAX are unknown */
export function coinSentiment(
  coin: CoinMarket,
  market: MarketState,
  hours: SentimentHours,
  nowMs: number,
): CoinSentiment {
  const { context } = coin
  const isFresh = context !== null && nowMs - context.timeReceivedMs <= COIN_AGE_MS_MAX
  const isCandleFresh = isFresh && nowMs - coin.candlesConfirmedAtMs <= COIN_AGE_MS_MAX
  const name = coin.listing.coin
  return {
    coin: name,
    bucket: coinBucketOf(name),
    ...(isFresh ? figures(coin, context) : noFigures),
    ...(isCandleFresh ? ofCandles(coin, market, context, hours) : noCandles),
  }
}

function figures(coin: CoinMarket, context: ContextEvent) {
  const { markPrice, oraclePrice, prevDayPrice } = context
  const change = coin.of(interestSeries).change(context, FLOW_MS)
  const premiumBps = (markPrice / oraclePrice - 1) * BPS
  return {
    openInterestUsd: openInterestUsdOf(coin),
    dayNotionalUsd: context.dayNotional * coin.collateral.usdPerUnit,
    ...funding(coin.of(fundingSeries), context),
    premiumBps: Math.max(-PREMIUM_BPS_MAX, Math.min(PREMIUM_BPS_MAX, premiumBps)),
    return24h: markPrice / (prevDayPrice ?? Number.NaN) - 1,
    interestFlow: change === null ? Number.NaN : interestFlowOf(change),
    contextAtMs: context.timeReceivedMs,
  }
}

/** With the taker volumes: trades and candles share a connection, contexts arrive over another. */
function ofCandles(
  coin: CoinMarket,
  market: MarketState,
  { markPrice, timeExchangeMs }: ContextEvent,
  hours: SentimentHours,
) {
  const lastHour = Math.floor(timeExchangeMs / HOUR_MS) - 1
  const hourly = hours.of(coin.of(hourlyCloses), lastHour)
  const taken = coin.of(takerFlow).volume(timeExchangeMs)
  const { usdPerUnit } = coin.collateral
  return {
    return7d: markPrice / hourly.weekAgoPrice - 1,
    isAboveDay: aboveOf(markPrice, hourly.dayAverage),
    isAboveWeek: aboveOf(markPrice, hourly.weekAverage),
    volatilityPercentile: hourly.volatilityPercentile,
    downsideShare: hourly.downsideShare,
    buyUsd: taken.buyUsd * usdPerUnit,
    sellUsd: taken.sellUsd * usdPerUnit,
    takerSteps: taken.steps,
    lacksTrades: !taken.isWhole || !areTradesReceived(coin, market),
    candlesAtMs: coin.candlesConfirmedAtMs,
  }
}

function funding(series: FundingSeries, context: ContextEvent) {
  const windows = series.windows(context.timeExchangeMs)
  const records = windows.records(FUNDING_HOURS)
  const sum = records.reduce((total, { rateHourly }) => total + rateHourly, 0)
  // Without records, the running estimate.
  const fundingRateHourly =
    records.length === 0
      ? context.fundingRateHourly
      : decimals(sum / records.length, MEAN_RATE_DECIMALS)
  const month = windows.over(MONTH_HOURS)
  const isRanked = month.count >= RANKED_HOURS_MIN
  return {
    fundingRateHourly,
    fundingPercentile: isRanked ? percentileOf(month.ascending, fundingRateHourly) : Number.NaN,
  }
}

/** Price up with rising open interest 1, with falling 0.5, with constant 0.75; price down the negatives. */
export function interestFlowOf(change: { interestPct: number; pricePct: number }): number {
  return Math.sign(change.pricePct) * (0.75 + 0.25 * Math.sign(change.interestPct))
}

function aboveOf(price: number, average: number): number {
  return Number.isNaN(average) ? Number.NaN : (Math.sign(price - average) + 1) / 2
}

const unknown = Number.NaN

const noFigures = {
  openInterestUsd: unknown,
  dayNotionalUsd: unknown,
  fundingRateHourly: unknown,
  fundingPercentile: unknown,
  premiumBps: unknown,
  return24h: unknown,
  interestFlow: unknown,
  contextAtMs: unknown,
}

const noCandles = {
  return7d: unknown,
  isAboveDay: unknown,
  isAboveWeek: unknown,
  volatilityPercentile: unknown,
  downsideShare: unknown,
  buyUsd: unknown,
  sellUsd: unknown,
  takerSteps: unknown,
  // It is not in the taker flow, so it does not make it partial.
  lacksTrades: false,
  candlesAtMs: unknown,
}
