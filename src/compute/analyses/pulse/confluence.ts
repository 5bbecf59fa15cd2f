import type { Timeframe } from '../../../domain/timeframe.ts'
import { timeframes } from '../../../domain/timeframe.ts'
import type { PulseIndicators } from '../../indicators/pulse-indicators.ts'
import type { TrendDirection, TrendLabel } from '../../indicators/trend.ts'
import { trendLabel } from '../../indicators/trend.ts'

export type SignalName = 'rsi' | 'trend' | 'bollinger' | 'zscore' | 'vwap'

/** The votes of one timeframe. `vwap` is missing while nothing was traded in its window. */
export type Votes = Readonly<Partial<Record<SignalName, TrendDirection>>>

const ZSCORE_EXTREME = 1.5
const BAND_EDGE = 0.2
const VWAP_DISTANCE_ATR = 0.25

/** Each signal's weight, and the idea that it belongs to: opposite families may disagree in one market. */
export const signalRules = {
  rsi: { weight: 1, family: 'trend_following' },
  trend: { weight: 1.5, family: 'trend_following' },
  bollinger: { weight: 0.75, family: 'mean_reversion' },
  zscore: { weight: 0.75, family: 'mean_reversion' },
  vwap: { weight: 0.75, family: 'trend_following' },
} as const satisfies Record<SignalName, { weight: number; family: string }>

const signalNames = Object.keys(signalRules) as readonly SignalName[]

/** Longer bars say more. */
const timeframeWeights: Readonly<Record<Timeframe, number>> = { '15m': 1, '1h': 2, '4h': 3 }

const SIGNAL_THRESHOLD = 0.5
const BIAS_THRESHOLD = 0.25

export type Confluence = {
  readonly score: number
  readonly bias: TrendLabel
  readonly signals: Readonly<Partial<Record<SignalName, TrendLabel>>>
  readonly bullishCount: number
  readonly bearishCount: number
  readonly net: number
  readonly families: { readonly trend_following: number; readonly mean_reversion: number }
  readonly perTimeframe: Readonly<Partial<Record<Timeframe, { net: number; bias: TrendLabel }>>>
  readonly isAligned: boolean
}

/**
 * The vote of every signal on one timeframe. RSI beyond its bullish or bearish zone abstains: an
 * exhausted trend is not a stronger one.
 */
export function votesOf(indicators: PulseIndicators, close: number): Votes {
  const { rsi_zone, trend, bollinger, zscore_100, vwap_20, atr_14 } = indicators
  const position = bollinger.position_pct
  const votes: Partial<Record<SignalName, TrendDirection>> = {
    rsi: rsi_zone === 'bullish' ? 1 : rsi_zone === 'bearish' ? -1 : 0,
    trend: trend.direction ?? 0,
    bollinger: position === null ? 0 : position < BAND_EDGE ? 1 : position > 1 - BAND_EDGE ? -1 : 0,
    zscore:
      zscore_100 === null
        ? 0
        : zscore_100 <= -ZSCORE_EXTREME
          ? 1
          : zscore_100 >= ZSCORE_EXTREME
            ? -1
            : 0,
  }
  if (vwap_20 !== null && atr_14 !== null)
    votes.vwap = voteBeyond(close - vwap_20, VWAP_DISTANCE_ATR * atr_14)
  return votes
}

/**
 * Joins the votes of the requested timeframes. A signal is the weighted mean of its votes, labelled at
 * half; `net` is the weighted mean of those labels, so a reader can recompute bias and score from the
 * answer alone. `score` is the strength of agreement, 0 to 1; the direction is in `bias` only.
 */
export function confluenceOf(votes: ReadonlyMap<Timeframe, Votes>): Confluence {
  const requested = timeframes.filter((timeframe) => votes.has(timeframe))
  const combined: Votes = Object.fromEntries(
    signalNames.flatMap((signal) => {
      const vote = combinedVote(signal, requested, votes)
      return vote === null ? [] : [[signal, vote]]
    }),
  )
  const perTimeframe = requested.map((timeframe) => {
    const net = netOf(votes.get(timeframe) ?? {})
    return [timeframe, { net, bias: biasOf(net) }] as const
  })
  const cast = Object.values(combined)
  const net = netOf(combined)
  return {
    score: Math.abs(net),
    bias: biasOf(net),
    signals: Object.fromEntries(
      Object.entries(combined).map(([name, vote]) => [name, trendLabel(vote)]),
    ),
    bullishCount: cast.filter((vote) => vote === 1).length,
    bearishCount: cast.filter((vote) => vote === -1).length,
    net,
    families: {
      trend_following: netOf(combined, 'trend_following'),
      mean_reversion: netOf(combined, 'mean_reversion'),
    },
    perTimeframe: Object.fromEntries(perTimeframe),
    isAligned: new Set(perTimeframe.map(([, { bias }]) => bias)).size === 1,
  }
}

/** null when a requested timeframe does not have the signal. */
function combinedVote(
  signal: SignalName,
  requested: readonly Timeframe[],
  votes: ReadonlyMap<Timeframe, Votes>,
): TrendDirection | null {
  let sum = 0
  let weights = 0
  for (const timeframe of requested) {
    const vote = votes.get(timeframe)?.[signal]
    if (vote === undefined) return null
    sum += timeframeWeights[timeframe] * vote
    weights += timeframeWeights[timeframe]
  }
  const mean = sum / weights
  return mean >= SIGNAL_THRESHOLD ? 1 : mean <= -SIGNAL_THRESHOLD ? -1 : 0
}

/** Weighted mean of the votes present, or of one family of them; 0 when there are none. */
function netOf(votes: Votes, family?: 'trend_following' | 'mean_reversion'): number {
  let sum = 0
  let weights = 0
  for (const signal of signalNames) {
    const vote = votes[signal]
    const rule = signalRules[signal]
    if (vote === undefined || (family !== undefined && rule.family !== family)) continue
    sum += rule.weight * vote
    weights += rule.weight
  }
  return weights === 0 ? 0 : sum / weights
}

function biasOf(net: number): TrendLabel {
  return net >= BIAS_THRESHOLD ? 'bullish' : net <= -BIAS_THRESHOLD ? 'bearish' : 'neutral'
}

function voteBeyond(distance: number, threshold: number): TrendDirection {
  return distance > threshold ? 1 : distance < -threshold ? -1 : 0
}
