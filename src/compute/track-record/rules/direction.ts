import type { Timeframe } from '../../../domain/timeframe.ts'
import type { RuleId } from '../../../domain/track-record.ts'
import { isWarm } from '../../candles/warm.ts'
import type { Confluence, SignalName } from '../../confluence/confluence.ts'
import { confluenceOf, signalNames } from '../../confluence/confluence.ts'
import type { CandleVotes } from '../../confluence/votes.ts'
import { candleVotes, derivativeVotesOf } from '../../confluence/votes.ts'
import { fundingTilt } from '../../funding/funding-tilt.ts'
import { pulseIndicators } from '../../indicators/pulse-indicators.ts'
import type { TrendLabel } from '../../indicators/trend.ts'
import { positioningOf } from '../../open-interest/positioning.ts'
import type { HourlyCloses } from '../../volatility/hourly-closes.ts'
import { hourlyCloses } from '../../volatility/hourly-closes.ts'
import type { Moment, Rule } from '../rule.ts'
import { HOUR_MS } from '../rule.ts'

/** A claim is about one of them. */
const HORIZON_HOURS = [1, 4, 24] as const
const DAY_HOURS = 24

/** Timeframes of the default view of `/pulse`. */
const TIMEFRAMES: readonly Timeframe[] = ['1h', '4h']

/** A label has no probability of its own. This one has skill only if the direction is right in more than 52.5 %. */
const PROBABILITY = 0.55

/** Days of the base rate, as far as every coin's closes reach. */
const BASE_RATE_DAYS = 36
/** Weight of even odds in the base rate, in days. */
const EVEN_DAYS = 100

/** The bias of the confluence, and each of its combined signals. */
export const directionRules: readonly Rule[] = [
  directionRule('confluence.bias@2', ({ bias }) => bias),
  ...signalNames.map((name: SignalName) =>
    directionRule(`vote.${name}@2`, ({ signals }) => signals[name]),
  ),
]

/** The price is higher, or lower, at the horizon than at the instant of the claim, by the closes of 15m bars. */
function directionRule(
  id: RuleId,
  labelOf: (confluence: Confluence) => TrendLabel | undefined,
): Rule {
  return {
    id,
    form: 'event',
    horizonMs,
    make(moment, item) {
      const confluence = confluenceAt(moment)
      const label = confluence === null ? undefined : labelOf(confluence)
      if (label === undefined || label === 'neutral') return null
      const direction = label === 'bullish' ? 1 : -1
      const { coin, atMs } = moment
      const control = baseRate(coin.of(hourlyCloses), atMs, horizonMs(item) / HOUR_MS, direction)
      return {
        statement: { form: 'event', probability: PROBABILITY, control },
        reference: [direction],
      }
    },
    outcome({ madeAtMs, horizonMs: lengthMs, reference: [direction = 0] }, { bars }) {
      const change = bars.closeAt(madeAtMs + lengthMs) - bars.closeAt(madeAtMs)
      if (Number.isNaN(change)) return null
      return { kind: 'event', happened: direction * change > 0, controlHappened: null }
    },
  }
}

function horizonMs(item: number): number {
  return (HORIZON_HOURS[item % HORIZON_HOURS.length] as number) * HOUR_MS
}

/** Of the moments whose claims are being made: several rules read the confluence. */
const confluences = new WeakMap<Moment, Confluence | null>()

function confluenceAt(moment: Moment): Confluence | null {
  const known = confluences.get(moment)
  if (known !== undefined) return known
  const confluence = newConfluence(moment)
  confluences.set(moment, confluence)
  return confluence
}

/** As `/pulse` computes it; null before its timeframes are warm. */
function newConfluence({ coin, nowMs }: Moment): Confluence | null {
  const votes = new Map<Timeframe, CandleVotes>()
  for (const timeframe of TIMEFRAMES) {
    const bar = isWarm(coin, timeframe, nowMs) ? coin.ladder.peek(timeframe) : null
    if (bar === null) return null
    votes.set(timeframe, candleVotes(pulseIndicators(coin.ladder.values, bar.close), bar.close))
  }
  const { context } = coin
  const derivatives = derivativeVotesOf(
    { context, tilt: fundingTilt(coin), positioning: positioningOf(coin) },
    nowMs,
  )
  return confluenceOf(votes, derivatives)
}

/**
 * Share of the coin's last days on which the price moved in a direction over the same hours of the day, shrunk to even
 * odds: the closes of a month say little about it. An unchanged close is a move in neither direction, for a claim as
 * well, so the odds are half of the share of known days with a change. Without any, one day is taken as changed: no
 * number of days shows that a price cannot move.
 */
function baseRate(
  closes: HourlyCloses,
  atMs: number,
  horizonHours: number,
  direction: number,
): number {
  const lastHour = Math.floor(atMs / HOUR_MS) - 1
  let [days, changed, moved] = [0, 0, 0]
  for (let day = 1; day <= BASE_RATE_DAYS; day += 1) {
    const hour = lastHour - day * DAY_HOURS
    const change = closes.close(hour + horizonHours) - closes.close(hour)
    if (Number.isNaN(change)) continue
    days += 1
    if (change !== 0) changed += 1
    if (direction * change > 0) moved += 1
  }
  const even = Math.max(1, changed) / Math.max(1, days) / 2
  return (moved + EVEN_DAYS * even) / (days + EVEN_DAYS)
}
