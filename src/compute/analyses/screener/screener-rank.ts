import { confluenceOf } from '../../confluence/confluence.ts'
import type { CandleVotes, DerivativeVotes } from '../../confluence/votes.ts'
import { candleVotes } from '../../confluence/votes.ts'
import type { FundingBias } from '../../funding/funding-tilt.ts'
import {
  annualizedPctOf,
  FUNDING_INTERVAL_HOURS,
  fundingBiases,
} from '../../funding/funding-tilt.ts'
import type { PulseIndicators } from '../../indicators/pulse-indicators.ts'
import { hasNotMoved, pulseIndicators } from '../../indicators/pulse-indicators.ts'
import type { RsiZone } from '../../indicators/rsi-zone.ts'
import type { TrendDirection, TrendLabel } from '../../indicators/trend.ts'
import { isAbove } from '../../indicators/trend.ts'
import type { CascadeLevel } from '../../liquidation/cascade.ts'
import { cascadeLevels } from '../../liquidation/cascade.ts'
import type { InterestTrend } from '../../open-interest/positioning.ts'
import { interestTrends } from '../../open-interest/positioning.ts'
import { rate, score } from '../../render/significance.ts'
import type { VolatilityRegime } from '../../volatility/volatility-regime.ts'
import { volatilityRegimeOf } from '../../volatility/volatility-regime.ts'
import type { ScreenerColumns } from './screener-columns.ts'
import { VALUES_PER_COIN } from './screener-columns.ts'

/** Shares of the signal strength; they add up to 1. */
const strengthWeights = { net: 0.6, rsi: 0.15, zscore: 0.15, alignment: 0.1 } as const
const ZSCORE_SCALE = 3
const RSI_MIDDLE = 50

/** One scanned coin. Numbers are unrounded, except `signalStrength`, by which the list is sorted. */
export type Ranked = {
  readonly coin: string
  /** Quote unit of its price; null if its name is unknown. */
  readonly unit: string | null
  readonly price: number
  readonly change24hPct: number | null
  readonly signalStrength: number
  /** Of the parts whose record supports them; null without any. */
  readonly strengthSupported: number | null
  readonly bias: TrendLabel
  readonly confluenceScore: number
  readonly rsi: number
  readonly rsiZone: RsiZone
  readonly trend: TrendLabel
  readonly isAboveEma50: boolean
  readonly volatilityHours: number
  readonly volatilityPercentile: number
  readonly volatilityRegime: VolatilityRegime
  readonly fundingBias: FundingBias
  readonly fundingPercentile: number
  readonly fundingVote: TrendDirection | undefined
  readonly fundingAnnualizedPct: number
  readonly interestTrend: InterestTrend
  readonly openInterestUsd: number
  readonly dayNotionalUsd: number
  readonly cascadeLevel: CascadeLevel | null
  readonly liquidatedUsd: number
  /** NaN if /cex-dex has no answer for the coin. */
  readonly cexDexBps: number
  readonly cexDexNoiseBps: number
  /** Last confirmation of candles, price or context, the oldest of them. */
  readonly confirmedAtMs: number
}

/** All scanned coins by signal strength, ties by name. */
export function rankedCoins(columns: ScreenerColumns): readonly Ranked[] {
  return columns.coins
    .map((coin, row) => rankedCoin(columns, coin, row))
    .sort(
      (one, other) => other.signalStrength - one.signalStrength || (one.coin < other.coin ? -1 : 1),
    )
}

function rankedCoin(columns: ScreenerColumns, coin: string, row: number): Ranked {
  const at = (name: keyof ScreenerColumns['numbers']) => columns.numbers[name][row] as number
  const hour = indicatorsAt(columns.values1h, row, at('close1h'))
  const four = indicatorsAt(columns.values4h, row, at('close4h'))
  const votes1h = candleVotes(hour, at('close1h'))
  const derivatives = derivativeVotesAt(at('fundingVote'), at('interestVote'))
  const confluence = confluenceOf(new Map([['1h', votes1h]]), derivatives)
  const rsi = hour.rsi_14 ?? Number.NaN
  const parts = strengthParts({
    net: confluence.net,
    rsi: hasNotMoved(hour.bollinger) ? null : rsi,
    zscore: hour.zscore_100,
    isAligned: isAligned(votes1h, candleVotes(four, at('close4h'))),
  })
  const supportedParts = parts.filter((_, part) => (at('supportedParts') & (2 ** part)) !== 0)
  return {
    coin,
    unit: columns.units[row] ?? null,
    price: at('price'),
    change24hPct: changePct(at('price'), at('prevDayPrice')),
    signalStrength: score(sumOf(parts)),
    strengthSupported: supportedParts.length === 0 ? null : score(sumOf(supportedParts)),
    bias: confluence.bias,
    confluenceScore: confluence.score,
    rsi,
    rsiZone: hour.rsi_zone ?? 'neutral',
    trend: four.trend.label ?? 'neutral',
    volatilityHours: at('volatilityHours'),
    isAboveEma50: four.ema_50 !== null && isAbove(at('close4h'), four.ema_50),
    volatilityPercentile: at('volatilityPercentile'),
    volatilityRegime: volatilityRegimeOf(at('volatilityPercentile')),
    fundingBias: fundingBiases[at('fundingBias')] ?? 'UNKNOWN',
    fundingPercentile: at('fundingPercentile'),
    fundingVote: derivatives.funding,
    // From the rounded rate, so that /funding shows the same number.
    fundingAnnualizedPct: annualizedPctOf(rate(at('fundingRateHourly')), FUNDING_INTERVAL_HOURS),
    interestTrend: interestTrends[at('interestTrend')] ?? 'UNKNOWN',
    openInterestUsd: at('openInterestUsd'),
    dayNotionalUsd: at('dayNotionalUsd'),
    cascadeLevel: cascadeLevels[at('cascadeLevel')] ?? null,
    liquidatedUsd: at('liquidatedUsd'),
    cexDexBps: at('cexDexBps'),
    cexDexNoiseBps: at('cexDexNoiseBps'),
    confirmedAtMs: Math.min(
      at('candlesConfirmedAtMs'),
      at('priceConfirmedAtMs'),
      at('contextReceivedAtMs'),
    ),
  }
}

/**
 * Parts of the signal strength, which is from 0 to 1: agreement of the signals on 1h, with that of 1h and 4h; distance of
 * RSI from 50; distance of the close from its mean.
 */
function strengthParts(of: {
  readonly net: number
  /** null while the last 20 closes are equal. */
  readonly rsi: number | null
  /** null in a flat window. */
  readonly zscore: number | null
  readonly isAligned: boolean
}): readonly [confluence: number, rsi: number, zscore: number] {
  const { net, rsi, alignment, zscore } = strengthWeights
  return [
    net * Math.abs(of.net) + alignment * (of.isAligned ? 1 : 0),
    rsi * Math.min(Math.abs((of.rsi ?? RSI_MIDDLE) - RSI_MIDDLE) / RSI_MIDDLE, 1),
    zscore * Math.min(Math.abs(of.zscore ?? 0) / ZSCORE_SCALE, 1),
  ]
}

function sumOf(parts: readonly number[]): number {
  return parts.reduce((sum, part) => sum + part, 0)
}

/** Whether the candle signals of 1h and 4h have the same bias, not neutral. */
function isAligned(hour: CandleVotes, four: CandleVotes): boolean {
  const { perTimeframe } = confluenceOf(
    new Map([
      ['1h', hour],
      ['4h', four],
    ]),
  )
  const bias = perTimeframe['1h']?.bias
  return bias !== 'neutral' && bias === perTimeframe['4h']?.bias
}

function indicatorsAt(values: Float64Array, row: number, close: number): PulseIndicators {
  const from = row * VALUES_PER_COIN
  return pulseIndicators(values.subarray(from, from + VALUES_PER_COIN), close)
}

/** NaN: the vote is absent. */
function derivativeVotesAt(funding: number, oi: number): DerivativeVotes {
  return {
    ...(!Number.isNaN(funding) && { funding: funding as TrendDirection }),
    ...(!Number.isNaN(oi) && { oi: oi as TrendDirection }),
  }
}

/** null without a price from 24 h ago. */
function changePct(price: number, before: number): number | null {
  return before > 0 ? (price / before - 1) * 100 : null
}
