import type { Timeframe } from '../../../domain/timeframe.ts'
import { barsNeeded, isWarm } from '../../candles/warm.ts'
import { derivativeVotesOf } from '../../confluence/votes.ts'
import { arbMeasure } from '../../external/arb/arb-measure.ts'
import { readCexDex } from '../../external/cex-dex-reading.ts'
import { fundingBiases, fundingTilt } from '../../funding/funding-tilt.ts'
import { pulseValue } from '../../indicators/pulse-layout.ts'
import type { CascadeLevel } from '../../liquidation/cascade.ts'
import { cascadeLevelOf, cascadeLevels, MARK_AGE_MS_MAX } from '../../liquidation/cascade.ts'
import { liquidationCoverage } from '../../liquidation/liquidation-coverage.ts'
import {
  areTradesReceived,
  REALISED_MS,
  realisedLiquidations,
} from '../../liquidation/realised-liquidations.ts'
import { COIN_AGE_MS_MAX } from '../../market/cadence.ts'
import type { CoinMarket } from '../../market/coin-market.ts'
import type { MarketState } from '../../market/market-state.ts'
import { openInterestUsdOf } from '../../open-interest/open-interest-usd.ts'
import { interestTrends, positioningOf } from '../../open-interest/positioning.ts'
import { regimeTracker } from '../../regime/regime.ts'
import type { Regime } from '../../regime/regime-rule.ts'
import { recordOfCoin, shownRules } from '../../track-record-statistics/record-member.ts'
import { volatilitySeries } from '../../volatility/volatility-series.ts'

export const skipReasons = ['insufficient_candles', 'stale_data', 'delisted'] as const
type SkipReason = (typeof skipReasons)[number]

const numberNames = [
  'price',
  'prevDayPrice',
  /** Closes of the forming bars. */
  'close1h',
  'close4h',
  'volatilityPercentile',
  /** Hours of history behind the percentile. */
  'volatilityHours',
  /** Index into `fundingBiases`. */
  'fundingBias',
  'fundingPercentile',
  'fundingRateHourly',
  /** -1, 0 or 1. */
  'fundingVote',
  'interestVote',
  /** Index into `interestTrends`. */
  'interestTrend',
  'openInterestUsd',
  'dayNotionalUsd',
  /** Index into `cascadeLevels`. */
  'cascadeLevel',
  /** Both sides, last 24 h; NaN unless these are observed. */
  'liquidatedUsd',
  /** As in /cex-dex. */
  'cexDexBps',
  'cexDexNoiseBps',
  /** Parts of the signal strength with a supporting record: 1 confluence, 2 RSI, 4 z-score, added up. */
  'supportedParts',
  'candlesConfirmedAtMs',
  'priceConfirmedAtMs',
  'contextReceivedAtMs',
] as const

type Numbers<Value> = Readonly<Record<(typeof numberNames)[number], Value>>

/** Number of fields in `pulseValue`. */
export const VALUES_PER_COIN = Object.keys(pulseValue).length

export type Skipped = { readonly coin: string; readonly reason: SkipReason }

/** State of the market at one instant; each column has one row per scanned coin. NaN: unknown. */
export type ScreenerColumns = {
  /** In the venue's order. */
  readonly coins: readonly string[]
  /** Quote unit of each coin's prices; null if its name is unknown. */
  readonly units: readonly (string | null)[]
  readonly numbers: Numbers<Float64Array>
  /** Indicators, coin after coin. */
  readonly values1h: Float64Array
  readonly values4h: Float64Array
  readonly skipped: readonly Skipped[]
  /** Listed coins, without delisted ones. */
  readonly coinsTotal: number
  readonly regime: Regime | null
  /** stress_score of /arb; null while it has none. */
  readonly stressScore: number | null
}

/** Reads every coin once, in the engine thread; a worker ranks them. */
export function screenerColumns(market: MarketState, nowMs: number): ScreenerColumns {
  const scanned: CoinMarket[] = []
  const skipped: Skipped[] = []
  for (const coin of market.coins()) {
    const reason = skipReasonOf(coin, nowMs)
    if (reason === null) scanned.push(coin)
    else skipped.push({ coin: coin.listing.coin, reason })
  }
  const coinsTotal = scanned.length + skipped.length
  for (const { coin, isDelisted } of market.listings)
    if (isDelisted) skipped.push({ coin, reason: 'delisted' })
  const numbers = Object.fromEntries(
    numberNames.map((name) => [name, new Float64Array(scanned.length)]),
  ) as Numbers<Float64Array>
  const values1h = new Float64Array(scanned.length * VALUES_PER_COIN)
  const values4h = new Float64Array(scanned.length * VALUES_PER_COIN)
  for (const [row, coin] of scanned.entries()) {
    const closes = {
      close1h: peekInto(coin, '1h', values1h, row),
      close4h: peekInto(coin, '4h', values4h, row),
    }
    const atr1h = values1h[row * VALUES_PER_COIN + pulseValue.atr14] as number
    const atrPct = (atr1h / closes.close1h) * 100
    const isMarked = nowMs - coin.priceConfirmedAtMs <= MARK_AGE_MS_MAX
    const cascade = isMarked ? cascadeLevelOf(coin) : null
    const found = {
      ...closes,
      ...numbersOf(coin, { atrPct, cascade }, nowMs),
      liquidatedUsd: liquidatedUsdOf(coin, market),
      ...divergenceOf(coin, market, nowMs),
      supportedParts: supportedPartsOf(coin, market),
    }
    for (const name of numberNames) numbers[name][row] = found[name]
  }
  return {
    coins: scanned.map(({ listing }) => listing.coin),
    units: scanned.map(({ collateral }) => collateral.unit),
    numbers,
    values1h,
    values4h,
    skipped,
    coinsTotal,
    regime: market.of(regimeTracker).current(nowMs),
    stressScore: market.of(arbMeasure).stressScore(nowMs) ?? null,
  }
}

/** null for a coin whose default /pulse and volatility percentile are available. */
function skipReasonOf(coin: CoinMarket, nowMs: number): SkipReason | null {
  const { context, ladder } = coin
  const isShort = (timeframe: Timeframe) =>
    ladder.barCount(timeframe) < barsNeeded(ladder, timeframe)
  if (isShort('1h') || isShort('4h')) return 'insufficient_candles'
  const isLate = (confirmedAtMs: number) => !(nowMs - confirmedAtMs <= COIN_AGE_MS_MAX)
  // Marks and candles arrive over other channels than the context.
  if (context === null || isLate(context.timeReceivedMs)) return 'stale_data'
  if (isLate(coin.candlesConfirmedAtMs) || isLate(coin.priceConfirmedAtMs)) return 'stale_data'
  if (!isWarm(coin, '1h', nowMs) || !isWarm(coin, '4h', nowMs)) return 'stale_data'
  return coin.of(volatilitySeries).percentile(0) === null ? 'insufficient_candles' : null
}

/** @returns the close of the forming bar. */
function peekInto(
  { ladder }: CoinMarket,
  timeframe: '1h' | '4h',
  values: Float64Array,
  row: number,
): number {
  const close = ladder.peek(timeframe)?.close ?? Number.NaN
  values.set(ladder.values, row * VALUES_PER_COIN)
  return close
}

function numbersOf(
  coin: CoinMarket,
  { atrPct, cascade }: { readonly atrPct: number; readonly cascade: CascadeLevel | null },
  nowMs: number,
): Omit<
  Numbers<number>,
  'close1h' | 'close4h' | 'liquidatedUsd' | 'cexDexBps' | 'cexDexNoiseBps' | 'supportedParts'
> {
  const { context } = coin
  const tilt = fundingTilt(coin)
  const positioning = positioningOf(coin)
  const votes = derivativeVotesOf({ context, tilt, positioning }, nowMs)
  const unknown = Number.NaN
  return {
    price: coin.midPrice,
    prevDayPrice: context?.prevDayPrice ?? unknown,
    volatilityPercentile: coin.of(volatilitySeries).presentPercentile(atrPct) ?? unknown,
    volatilityHours: coin.of(volatilitySeries).hours,
    fundingBias: tilt === null ? unknown : fundingBiases.indexOf(tilt.bias),
    fundingPercentile: tilt?.percentile ?? unknown,
    fundingRateHourly: tilt?.rateHourly ?? unknown,
    fundingVote: votes.funding ?? unknown,
    interestVote: votes.oi ?? unknown,
    interestTrend: interestTrends.indexOf(positioning?.trend ?? 'UNKNOWN'),
    openInterestUsd: openInterestUsdOf(coin),
    dayNotionalUsd: (context?.dayNotional ?? unknown) * coin.collateral.usdPerUnit,
    cascadeLevel: cascade === null ? unknown : cascadeLevels.indexOf(cascade),
    candlesConfirmedAtMs: coin.candlesConfirmedAtMs,
    priceConfirmedAtMs: coin.priceConfirmedAtMs,
    contextReceivedAtMs: context?.timeReceivedMs ?? unknown,
  }
}

/** A coin that is observed for an hour would look calm beside one that is observed for a day. */
function liquidatedUsdOf(coin: CoinMarket, market: MarketState): number {
  const { venueMs } = market
  const realised = coin.of(realisedLiquidations)
  const isObserved =
    (realised.observedFromMs <= venueMs - REALISED_MS && areTradesReceived(coin, market)) ||
    (realised.isWhole(venueMs) && market.of(liquidationCoverage).at(venueMs).marketShare === 1)
  return isObserved ? realised.total(venueMs) * coin.collateral.usdPerUnit : Number.NaN
}

function supportedPartsOf(coin: CoinMarket, market: MarketState): number {
  const rules = [shownRules.confluence, shownRules.rsi, shownRules.zscore]
  return rules.reduce((sum, rule, part) => {
    const { status } = recordOfCoin(coin, market, rule)
    return status === 'supported' ? sum + 2 ** part : sum
  }, 0)
}

function divergenceOf(coin: CoinMarket, market: MarketState, nowMs: number) {
  const reading = readCexDex(coin, market, nowMs)
  const isRead = typeof reading !== 'string'
  return {
    cexDexBps: isRead ? reading.divergenceBps : Number.NaN,
    cexDexNoiseBps: isRead ? reading.noiseBps : Number.NaN,
  }
}
