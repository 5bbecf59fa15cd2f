import { pulseValue } from '../indicators/pulse-layout.ts'
import type { CoinMarket } from '../market/coin-market.ts'
import { score as roundedScore } from '../render/significance.ts'
import type { Heatmap } from './heatmap.ts'
import { heatmapOf, RISK_DISTANCES_PCT } from './heatmap.ts'
import { LiquidationExposure } from './liquidation-exposure.ts'

export const cascadeLevels = ['LOW', 'MODERATE', 'HIGH', 'EXTREME'] as const

export type CascadeLevel = (typeof cascadeLevels)[number]

/** Each from 0 to 1; a higher one makes a cascade more likely. */
export type CascadeComponents = {
  readonly proximity: number
  readonly size: number
  readonly leverageSkew: number
  readonly volatility: number
}

/** With an older mark price `/liquidations` is refused, so there is no level. */
export const MARK_AGE_MS_MAX = 60_000

/** They add up to 1. */
export const cascadeWeights: CascadeComponents = {
  proximity: 0.35,
  size: 0.3,
  leverageSkew: 0.15,
  volatility: 0.2,
}

/** Lowest score of each level from MODERATE up. */
const LEVEL_STARTS = [0.35, 0.65, 0.85] as const

/** Values at which a component reaches 1 - 1/e. */
const PROXIMITY_SCALE_PCT = 5
const SIZE_SCALE = 0.2
const VOLATILITY_SCALE_PCT = 1.5

const NEAR_AT = RISK_DISTANCES_PCT.indexOf(5)

export type CascadeRisk = {
  readonly score: number
  readonly level: CascadeLevel
  readonly components: CascadeComponents
}

/**
 * A cascade needs large positions near the price, on one side, and a price that moves that far. Each component
 * saturates, and the score is their weighted sum.
 * @param openInterestUsd at the mark price
 * @param atrPct average true range of 14 hourly bars, percent of price
 */
export function cascadeRisk(map: Heatmap, openInterestUsd: number, atrPct: number): CascadeRisk {
  const longUsd = map.long.withinUsd[NEAR_AT] ?? 0
  const shortUsd = map.short.withinUsd[NEAR_AT] ?? 0
  const nearUsd = Math.max(longUsd, shortUsd)
  const components = {
    proximity:
      map.nearestCluster.notionalUsd === 0
        ? 0
        : Math.exp(-map.nearestCluster.distancePct / PROXIMITY_SCALE_PCT),
    size: openInterestUsd > 0 ? saturating(nearUsd / openInterestUsd / SIZE_SCALE) : 0,
    leverageSkew: nearUsd > 0 ? Math.abs(longUsd - shortUsd) / (longUsd + shortUsd) : 0,
    volatility: saturating(atrPct / VOLATILITY_SCALE_PCT),
  }
  // Rounded first, so that the limits applied to the published score give the published level.
  const score = roundedScore(cascadeScore(components))
  return { score, level: cascadeLevel(score), components }
}

/** 0 to 1. */
export function cascadeScore(components: CascadeComponents): number {
  return (
    cascadeWeights.proximity * components.proximity +
    cascadeWeights.size * components.size +
    cascadeWeights.leverageSkew * components.leverageSkew +
    cascadeWeights.volatility * components.volatility
  )
}

export function cascadeLevel(score: number): CascadeLevel {
  const begun = LEVEL_STARTS.filter((start) => score >= start).length
  return cascadeLevels[begun] as CascadeLevel
}

/** Level of the last answer for each coin. */
const answered = new WeakMap<CoinMarket, CascadeLevel | null>()

/** Call with every answer of `/liquidations`; null without a level. */
export function noteCascadeLevel(coin: CoinMarket, level: CascadeLevel | null): void {
  answered.set(coin, level)
}

/**
 * Level of the last answer of `/liquidations`; null if it had none. Computed only for a coin without an answer yet,
 * because a map is expensive.
 */
export function cascadeLevelOf(coin: CoinMarket): CascadeLevel | null {
  const level = answered.get(coin)
  return level === undefined ? currentLevelOf(coin) : level
}

function currentLevelOf(coin: CoinMarket): CascadeLevel | null {
  const exposure = LiquidationExposure.of(coin)
  const atrPct = hourlyAtrPct(coin)
  if (exposure === null || atrPct === null || !(coin.midPrice > 0)) return null
  const map = heatmapOf(exposure, coin.midPrice)
  return cascadeRisk(map, exposure.openInterestBase * exposure.markPrice, atrPct).level
}

/** Average true range of 14 hourly bars, the open one included, percent of its price; null while unknown. */
export function hourlyAtrPct({ ladder }: CoinMarket): number | null {
  const bar = ladder.peek('1h')
  if (bar === null) return null
  const atr = ladder.values[pulseValue.atr14] as number
  return Number.isNaN(atr) ? null : (atr / bar.close) * 100
}

function saturating(value: number): number {
  return 1 - Math.exp(-value)
}
