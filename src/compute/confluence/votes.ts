import type { ContextEvent } from '../../domain/event.ts'
import type { Crowding, FundingTilt } from '../funding/funding-tilt.ts'
import type { PulseIndicators } from '../indicators/pulse-indicators.ts'
import { hasNotMoved } from '../indicators/pulse-indicators.ts'
import type { TrendDirection } from '../indicators/trend.ts'
import type { Positioning, PositioningLabel } from '../open-interest/positioning.ts'
import { percent } from '../render/significance.ts'

/** Signals from the candles of one timeframe. */
export type CandleSignal = 'rsi' | 'trend' | 'bollinger' | 'zscore' | 'vwap'

/** Signals without a timeframe. */
export type DerivativeSignal = 'funding' | 'oi'

/** Votes of one timeframe. `vwap` is missing without volume in its window, and without ATR. */
export type CandleVotes = Readonly<Partial<Record<CandleSignal, TrendDirection>>>

/** A vote is missing where its input is late or its history too short. */
export type DerivativeVotes = Readonly<Partial<Record<DerivativeSignal, TrendDirection>>>

const ZSCORE_EXTREME = 1.5
const BAND_EDGE = 0.2
const VWAP_DISTANCE_ATR = 0.25
/** Age limit of the inputs, as for open interest in `/liquidations`. */
const DERIVATIVE_AGE_MS_MAX = 300_000
/** Paying shorts are rare and paying longs are normal, so longs must be more crowded to count. */
const crowdedShorts: readonly Crowding[] = ['MODERATE', 'HIGH', 'EXTREME']
const crowdedLongs: readonly Crowding[] = ['HIGH', 'EXTREME']

/**
 * Votes of all signals on one timeframe. RSI in the overbought or oversold zone votes 0, because an exhausted trend is
 * not a stronger one. While the last 20 closes are equal all vote 0: averages then reflect older moves only.
 */
export function candleVotes(indicators: PulseIndicators, close: number): CandleVotes {
  const { rsi_zone, trend, bollinger, vwap_20, atr_14 } = indicators
  // As printed, so that a reader of the answer gets the same vote.
  const zscore = indicators.zscore_100 === null ? null : percent(indicators.zscore_100)
  if (hasNotMoved(bollinger))
    return { rsi: 0, trend: 0, bollinger: 0, zscore: 0, ...(vwap_20 !== null && { vwap: 0 }) }
  const position = bollinger.position_pct === null ? null : percent(bollinger.position_pct)
  const votes: Partial<Record<CandleSignal, TrendDirection>> = {
    rsi: rsi_zone === 'bullish' ? 1 : rsi_zone === 'bearish' ? -1 : 0,
    trend: trend.direction ?? 0,
    bollinger: position === null ? 0 : position < BAND_EDGE ? 1 : position > 1 - BAND_EDGE ? -1 : 0,
    zscore: zscore === null ? 0 : zscore <= -ZSCORE_EXTREME ? 1 : zscore >= ZSCORE_EXTREME ? -1 : 0,
  }
  if (vwap_20 !== null && atr_14 !== null)
    votes.vwap = voteBeyond(close - vwap_20, VWAP_DISTANCE_ATR * atr_14)
  return votes
}

/** Votes of funding and open interest, each with enough history; none with a context older than {@link DERIVATIVE_AGE_MS_MAX}. */
export function derivativeVotesOf(
  {
    context,
    tilt,
    positioning,
  }: {
    readonly context: ContextEvent | null
    readonly tilt: FundingTilt | null
    readonly positioning: Positioning | null
  },
  nowMs: number,
): DerivativeVotes {
  if (context === null || nowMs - context.timeReceivedMs > DERIVATIVE_AGE_MS_MAX) return {}
  const funding = tilt === null ? null : fundingVote(tilt)
  const oi = positioning === null ? null : interestVote(positioning.positioning)
  return { ...(funding !== null && { funding }), ...(oi !== null && { oi }) }
}

/** Contrarian: the side that pays an unusual rate is crowded. null where unknown. */
export function fundingVote({
  bias,
  crowding,
}: Pick<FundingTilt, 'bias' | 'crowding'>): TrendDirection | null {
  if (crowding === 'UNKNOWN') return null
  if (bias === 'SHORT_PAYING' && crowdedShorts.includes(crowding)) return 1
  if (bias === 'LONG_PAYING' && crowdedLongs.includes(crowding)) return -1
  return 0
}

/** New positions vote, closed ones do not. null while the change over 4 h is unknown. */
export function interestVote(positioning: PositioningLabel): TrendDirection | null {
  if (positioning === 'UNKNOWN') return null
  if (positioning === 'LONG_BUILDUP') return 1
  return positioning === 'SHORT_BUILDUP' ? -1 : 0
}

function voteBeyond(distance: number, threshold: number): TrendDirection {
  return distance > threshold ? 1 : distance < -threshold ? -1 : 0
}
