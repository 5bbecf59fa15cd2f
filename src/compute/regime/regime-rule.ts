import type { EmaStack, TrendDirection } from '../indicators/trend.ts'
import { decimals, score } from '../render/significance.ts'

/** RISK_ON, RISK_OFF and NEUTRAL come from the composite; STRESS and UNKNOWN override it. */
export const regimeLabels = ['RISK_ON', 'RISK_OFF', 'NEUTRAL', 'STRESS', 'UNKNOWN'] as const
type RegimeLabel = (typeof regimeLabels)[number]

/** Raised with every change of a weight, a limit or a measure below. */
export const REGIME_RULE_VERSION = '2'

export const REGIME_STEP_MS = 300_000
/** After a longer gap the previous regime is discarded. */
export const REGIME_GAP_MS_MAX = 2 * 3_600_000

export const driverRules = {
  btc_trend_4h: { weight: 0.4 },
  breadth: { weight: 0.3 },
  momentum_7d: { weight: 0.15 },
  btc_volatility: { weight: 0.15 },
} as const

export type DriverName = keyof typeof driverRules
export const driverNames = Object.keys(driverRules) as readonly DriverName[]

/** Limits of the absolute composite score (docs/numbers/regime.md). */
const ENTER = 0.25
const LEAVE = 0.1
const EVALUATIONS_NEEDED = 2

const MOMENTUM_SCALE = 0.1
const STRESS_VOLATILITY_PERCENTILE = 95
const STRESS_CHANGE_24H_PCT = -5
const STRESS_ARB_SCORE = 0.75

/** Inputs of one evaluation. */
export type RegimeInputs = {
  /** BTC on 4h, as in `/pulse/BTC`. */
  readonly btcStack: EmaStack
  readonly btcDirection: TrendDirection
  /** Share of coins whose 4h close is above their EMA 50, 0 to 1. */
  readonly aboveEma50Share: number
  /** Median over the coins of price now / price 7 days ago - 1. */
  readonly medianReturn7d: number
  /** Percentile of BTC's ATR % on 1h among its own 30 days, 0 to 100. */
  readonly btcVolatilityPercentile: number
  readonly btcChange24hPct: number
  /** From `/arb`, 0 to 1; absent where not measured. */
  readonly arbStressScore?: number | undefined
  /** `/depeg` has WARNING or CRITICAL; absent where not measured. */
  readonly isPegBroken?: boolean | undefined
}

/** Each driver between -1 (risk off) and 1 (risk on). */
export type Drivers = Readonly<Record<DriverName, number>>

export type Regime = {
  readonly label: RegimeLabel
  /** The label before this one; null when this is the first. */
  readonly previous: RegimeLabel | null
  /** When the label began. */
  readonly sinceMs: number
  /** Time of the last evaluation, on a grid of the venue's time. */
  readonly asOfMs: number
  /** Drivers of the last evaluation; null when its inputs were missing. */
  readonly drivers: Drivers | null
  /** Consecutive evaluations with a composite of +0.25 or more. */
  readonly onCount: number
  /** Consecutive evaluations with a composite of -0.25 or less. */
  readonly offCount: number
  /** Consecutive evaluations without a reason for STRESS. */
  readonly calmCount: number
}

export function driversOf(inputs: RegimeInputs): Drivers {
  return {
    btc_trend_4h: trendScore(inputs.btcStack, inputs.btcDirection),
    breadth: 2 * inputs.aboveEma50Share - 1,
    momentum_7d: Math.tanh(inputs.medianReturn7d / MOMENTUM_SCALE),
    btc_volatility: 1 - (2 * inputs.btcVolatilityPercentile) / 100,
  }
}

/** Weight times value, both as printed; in thousandths, where the product of a half is exact (0.15 x 190 = 28.5). */
export function contributionOf(drivers: Drivers, name: DriverName): number {
  const thousandths = Math.round(1_000 * score(drivers[name]))
  return decimals(driverRules[name].weight * thousandths, 0) / 1_000
}

/** Sum of the contributions, -1 to 1, as printed, so that the limits applied to it give the published label. */
export function compositeOf(drivers: Drivers): number {
  return score(driverNames.reduce((sum, name) => sum + contributionOf(drivers, name), 0))
}

/**
 * One evaluation. RISK_ON and RISK_OFF begin after two consecutive evaluations beyond ENTER and end within LEAVE, which
 * prevents flicker. STRESS begins at once and ends after two calm evaluations; UNKNOWN begins and ends at once.
 * @param inputs null when too little of the market is known
 */
export function nextRegime(
  before: Regime | null,
  inputs: RegimeInputs | null,
  asOfMs: number,
): Regime {
  const drivers = inputs === null ? null : driversOf(inputs)
  const composite = drivers === null ? Number.NaN : compositeOf(drivers)
  const isCalm = inputs !== null && !isStressed(inputs)
  const elapsedMs = before === null ? Number.NaN : asOfMs - before.asOfMs
  const isInRow = elapsedMs > 0 && elapsedMs <= REGIME_STEP_MS
  const count = (was: number | undefined, holds: boolean) =>
    holds ? (isInRow ? (was ?? 0) : 0) + 1 : 0
  const counts = {
    onCount: count(before?.onCount, composite >= ENTER),
    offCount: count(before?.offCount, composite <= -ENTER),
    calmCount: count(before?.calmCount, isCalm),
  }
  const last = before && lastLabel(before, asOfMs)
  const label =
    inputs === null ? 'UNKNOWN' : labelOf(last?.label ?? 'UNKNOWN', composite, isCalm, counts)
  const isSame = last?.label === label
  return {
    label,
    previous: isSame ? last.previous : (last?.label ?? null),
    sinceMs: isSame ? last.sinceMs : asOfMs,
    asOfMs,
    drivers,
    ...counts,
  }
}

/** The label before an evaluation: UNKNOWN after a longer gap, as published in it. */
function lastLabel(before: Regime, asOfMs: number): Pick<Regime, 'label' | 'previous' | 'sinceMs'> {
  const isForgotten = Math.abs(asOfMs - before.asOfMs) > REGIME_GAP_MS_MAX
  if (!isForgotten || before.label === 'UNKNOWN') return before
  const sinceMs = Math.min(asOfMs, before.asOfMs + REGIME_GAP_MS_MAX)
  return { label: 'UNKNOWN', previous: before.label, sinceMs }
}

function labelOf(
  from: RegimeLabel,
  composite: number,
  isCalm: boolean,
  counts: Pick<Regime, 'onCount' | 'offCount' | 'calmCount'>,
): RegimeLabel {
  if (!isCalm) return 'STRESS'
  if (from === 'STRESS' && counts.calmCount < EVALUATIONS_NEEDED) return 'STRESS'
  if (counts.onCount >= EVALUATIONS_NEEDED) return 'RISK_ON'
  if (counts.offCount >= EVALUATIONS_NEEDED) return 'RISK_OFF'
  if (from === 'RISK_ON' && composite >= LEAVE) return 'RISK_ON'
  if (from === 'RISK_OFF' && composite <= -LEAVE) return 'RISK_OFF'
  return 'NEUTRAL'
}

/** Aligned averages count fully; with mixed ones the direction counts half. */
function trendScore(stack: EmaStack, direction: TrendDirection): number {
  if (stack === 'bull_aligned') return 1
  if (stack === 'bear_aligned') return -1
  return stack === 'flat' ? 0 : direction / 2
}

function isStressed(inputs: RegimeInputs): boolean {
  const { btcVolatilityPercentile, btcChange24hPct, arbStressScore = 0 } = inputs
  const isFalling =
    btcVolatilityPercentile >= STRESS_VOLATILITY_PERCENTILE &&
    btcChange24hPct <= STRESS_CHANGE_24H_PCT
  return isFalling || arbStressScore >= STRESS_ARB_SCORE || inputs.isPegBroken === true
}
