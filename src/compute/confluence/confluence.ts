import type { Timeframe } from '../../domain/timeframe.ts'
import { timeframes } from '../../domain/timeframe.ts'
import type { TrendDirection, TrendLabel } from '../indicators/trend.ts'
import { trendLabel } from '../indicators/trend.ts'
import type { CandleSignal, CandleVotes, DerivativeSignal, DerivativeVotes } from './votes.ts'

export type SignalName = CandleSignal | DerivativeSignal

/** Trading idea of a signal: opposite families may disagree in one market. */
export const families = ['trend_following', 'mean_reversion', 'contrarian', 'flow'] as const
export type Family = (typeof families)[number]

export const signalRules = {
  rsi: { weight: 1, family: 'trend_following' },
  trend: { weight: 1.5, family: 'trend_following' },
  bollinger: { weight: 0.75, family: 'mean_reversion' },
  zscore: { weight: 0.75, family: 'mean_reversion' },
  vwap: { weight: 0.75, family: 'trend_following' },
  funding: { weight: 0.75, family: 'contrarian' },
  oi: { weight: 1, family: 'flow' },
} as const satisfies Record<SignalName, { weight: number; family: Family }>

export const signalNames = Object.keys(signalRules) as readonly SignalName[]
const candleSignals: readonly CandleSignal[] = ['rsi', 'trend', 'bollinger', 'zscore', 'vwap']

/** Longer bars weigh more. */
const timeframeWeights: Readonly<Record<Timeframe, number>> = { '15m': 1, '1h': 2, '4h': 3 }

const SIGNAL_THRESHOLD = 0.5
const BIAS_THRESHOLD = 0.25

type Cast = Readonly<Partial<Record<SignalName, TrendDirection>>>

export type Confluence = {
  readonly score: number
  readonly bias: TrendLabel
  readonly signals: Readonly<Partial<Record<SignalName, TrendLabel>>>
  readonly bullishCount: number
  readonly bearishCount: number
  readonly net: number
  /** Unweighted mean: bullish 1, neutral 0.5, bearish 0. */
  readonly voteShare: number
  /** null for a family without a signal. */
  readonly families: Readonly<Record<Family, number | null>>
  /** Candle signals only: the others have no timeframe. */
  readonly perTimeframe: Readonly<Partial<Record<Timeframe, { net: number; bias: TrendLabel }>>>
  readonly isAligned: boolean
  /** Pairs of families with opposite votes. */
  readonly conflicts: readonly (readonly [Family, Family])[]
}

/**
 * Combines the votes of the requested timeframes with those of funding and open interest. A candle signal is the
 * weighted mean of its votes, labelled at half; `net` is the weighted mean of the labels, so a reader can recompute
 * bias and score from the answer. `score` is the strength of agreement, 0 to 1; the direction is in `bias` only.
 */
export function confluenceOf(
  votes: ReadonlyMap<Timeframe, CandleVotes>,
  derivatives: DerivativeVotes = {},
): Confluence {
  const requested = timeframes.filter((timeframe) => votes.has(timeframe))
  const combined: Cast = {
    ...Object.fromEntries(
      candleSignals.flatMap((signal) => {
        const vote = combinedVote(signal, requested, votes)
        return vote === null ? [] : [[signal, vote]]
      }),
    ),
    ...derivatives,
  }
  const perTimeframe = requested.map((timeframe) => {
    const net = netOf(votes.get(timeframe) ?? {}) ?? 0
    return [timeframe, { net, bias: biasOf(net) }] as const
  })
  const cast = Object.values(combined)
  const net = netOf(combined) ?? 0
  const familyNets = Object.fromEntries(
    families.map((family) => [family, netOf(combined, family)]),
  ) as Record<Family, number | null>
  return {
    score: Math.abs(net),
    bias: biasOf(net),
    signals: Object.fromEntries(
      Object.entries(combined).map(([name, vote]) => [name, trendLabel(vote)]),
    ),
    bullishCount: cast.filter((vote) => vote === 1).length,
    bearishCount: cast.filter((vote) => vote === -1).length,
    net,
    voteShare: cast.reduce<number>((sum, vote) => sum + (vote + 1) / 2, 0) / cast.length,
    families: familyNets,
    perTimeframe: Object.fromEntries(perTimeframe),
    isAligned: new Set(perTimeframe.map(([, { bias }]) => bias)).size === 1,
    conflicts: conflictsOf(familyNets),
  }
}

/** null where a requested timeframe lacks the signal. */
function combinedVote(
  signal: CandleSignal,
  requested: readonly Timeframe[],
  votes: ReadonlyMap<Timeframe, CandleVotes>,
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

/** Weighted mean of the votes, or of one family's; null without any. */
function netOf(votes: Cast, family?: Family): number | null {
  let sum = 0
  let weights = 0
  for (const signal of signalNames) {
    const vote = votes[signal]
    const rule = signalRules[signal]
    if (vote === undefined || (family !== undefined && rule.family !== family)) continue
    sum += rule.weight * vote
    weights += rule.weight
  }
  return weights === 0 ? null : sum / weights
}

function biasOf(net: number): TrendLabel {
  return net >= BIAS_THRESHOLD ? 'bullish' : net <= -BIAS_THRESHOLD ? 'bearish' : 'neutral'
}

function conflictsOf(nets: Readonly<Record<Family, number | null>>): (readonly [Family, Family])[] {
  return families.flatMap((one, at) =>
    families
      .slice(at + 1)
      .filter((other) => (nets[one] ?? 0) * (nets[other] ?? 0) < 0)
      .map((other) => [one, other] as const),
  )
}
