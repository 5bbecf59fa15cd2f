import type { RuleId } from '../../../domain/track-record.ts'
import { hourlyAtrPct } from '../../liquidation/cascade.ts'
import { sideMap } from '../../liquidation/heatmap.ts'
import { liquidationCoverage } from '../../liquidation/liquidation-coverage.ts'
import { LiquidationExposure } from '../../liquidation/liquidation-exposure.ts'
import { realisedLiquidations } from '../../liquidation/realised-liquidations.ts'
import { median } from '../../statistics/median.ts'
import type { RecentBar } from '../recent-bars.ts'
import type { Moment, Rule } from '../rule.ts'
import { DAY_MS } from '../rule.ts'
import { balancingDistance, dayDeviation, touchProbability } from '../touch-probability.ts'

/** Distance of a claimed zone, in standard deviations of the price over the 24 hours. */
const DEVIATIONS_MIN = 0.25
const DEVIATIONS_MAX = 2
/** How much nearer the near control level is. */
const NEARER_SHARE = 0.25
const NEARER_DEVIATIONS_MAX = 0.3

/** A bar reacts if volume and range are this many times the medians of the day before the claim. */
const VOLUME_TIMES = 2
const RANGE_TIMES = 1.5
/** Assumed share of touches with a reaction. */
const REACTION_SHARE = 0.5

/** Liquidations at a level are enough if they are this share of the turnover of the day before the claim. */
const TURNOVER_SHARE = 1e-4
/** Assumed share of touches with enough liquidations. */
const LIQUIDATED_SHARE = 0.5

const REACTION = 'zone.reaction@2'

type Levels = {
  readonly side: 1 | -1
  readonly level: number
  readonly controlLevel: number
  /** In log price; the way to the nearer control level, so that a range and its control never overlap. */
  readonly width: number
  readonly touchProbability: number
}

/**
 * A cluster of the published map, drawn from one side. Its control is a level at random on the same side, either nearer
 * or further: the two distances are such that a random walk reaches one of them as often as the cluster. (A mirrored
 * level on the other side would measure momentum.)
 */
export const zoneRules: readonly Rule[] = [
  zoneRule(
    'zone.touch@1',
    ({ touchProbability: p }) => p,
    (bars, at) => at < bars.length,
  ),
  zoneRule(
    REACTION,
    ({ touchProbability: p }) => p * REACTION_SHARE,
    (bars, at, [volumeBase, range]) =>
      bars
        .slice(at, at + 2)
        .some((bar) => bar.volumeBase >= volumeBase && bar.high - bar.low >= range),
  ),
  liquidatedRule(),
]

/**
 * @param isHit whether the claim is right, from the bars of the horizon, the number of the first bar that reached the
 * level (all of them if none), and the volume and range of a reaction
 */
function zoneRule(
  id: RuleId,
  probabilityOf: (levels: Levels) => number,
  isHit: (bars: readonly RecentBar[], at: number, reaction: readonly [number, number]) => boolean,
): Rule {
  return {
    id,
    form: 'event',
    horizonMs: () => DAY_MS,
    make(moment, item) {
      const levels = levelsOf(moment, item)
      if (levels === null) return null
      const { side, level, controlLevel } = levels
      const dayBars = moment.dayBars()
      const volumes = dayBars.map(({ volumeBase }) => volumeBase)
      const ranges = dayBars.map(({ high, low }) => high - low)
      const reaction = [VOLUME_TIMES * median(volumes), RANGE_TIMES * median(ranges)]
      // Without trades in half of the bars every bar would react.
      if (id === REACTION && !reaction.every((least) => least > 0)) return null
      return {
        statement: { form: 'event', probability: probabilityOf(levels), control: null },
        reference: [side, level, controlLevel, ...reaction],
      }
    },
    outcome({ madeAtMs, horizonMs, reference }, { bars }) {
      const following = bars.between(madeAtMs, madeAtMs + horizonMs)
      if (following === null) return null
      const [side = 0, level = 0, controlLevel = 0, volumeBase = 0, range = 0] = reference
      const isReached = (price: number) => {
        const at = following.findIndex((bar) => (side === 1 ? bar.high >= price : bar.low <= price))
        return at >= 0 && isHit(following, at, [volumeBase, range])
      }
      return { kind: 'event', happened: isReached(level), controlHappened: isReached(controlLevel) }
    },
  }
}

/**
 * Positions of the cluster's side are liquidated at mark prices at it or just beyond. Claimed while a source of all liquidations is
 * received, and known if it was received for the whole horizon.
 */
function liquidatedRule(): Rule {
  return {
    id: 'zone.liquidated@1',
    form: 'event',
    horizonMs: () => DAY_MS,
    make(moment, item) {
      const { market } = moment
      if (!market.of(liquidationCoverage).isCurrent(market.venueMs)) return null
      const levels = levelsOf(moment, item)
      if (levels === null) return null
      const { side, level, controlLevel, width } = levels
      let turnover = 0
      for (const { volumeBase, close } of moment.dayBars()) turnover += volumeBase * close
      if (!(turnover > 0)) return null
      const probability = levels.touchProbability * LIQUIDATED_SHARE
      return {
        statement: { form: 'event', probability, control: null },
        reference: [side, level, controlLevel, width, TURNOVER_SHARE * turnover],
      }
    },
    outcome({ madeAtMs, horizonMs, reference }, { coin, market }) {
      const times = { fromMs: madeAtMs, untilMs: madeAtMs + horizonMs }
      const realised = coin.of(realisedLiquidations)
      const share = market.of(liquidationCoverage).marketShare(times.fromMs, times.untilMs)
      if (share < 1 || !realised.hasAll(times.fromMs, times.untilMs)) return null
      const [side = 0, level = 0, controlLevel = 0, width = 0, least = 0] = reference
      // From the level away from the price: a range before it would be reached more often than the control's.
      const isLiquidated = (price: number) => {
        const beyond = price * Math.exp(side * width)
        const [fromPrice, untilPrice] = side === 1 ? [price, beyond] : [beyond, price]
        const of = side === 1 ? 'short' : 'long'
        return realised.notional({ side: of, fromPrice, untilPrice, ...times }) >= least
      }
      return {
        kind: 'event',
        happened: isLiquidated(level),
        controlHappened: isLiquidated(controlLevel),
      }
    },
  }
}

/** null without a cluster at a distance that the price may reach. */
function levelsOf({ coin }: Moment, item: number): Levels | null {
  const exposure = LiquidationExposure.of(coin)
  const atrPct = hourlyAtrPct(coin)
  const current = coin.midPrice
  if (exposure === null || atrPct === null || !(current > 0)) return null
  const deviation = dayDeviation(atrPct)
  const [side, of] = item % 2 === 0 ? ([-1, 'long'] as const) : ([1, 'short'] as const)
  const { clusters } = sideMap(exposure, of, current)
  const deviationsOf = (price: number) => (side * Math.log(price / current)) / deviation
  const near = clusters.filter(({ price }) => {
    const deviations = deviationsOf(price)
    return deviations >= DEVIATIONS_MIN && deviations <= DEVIATIONS_MAX
  })
  const drawn = near[Math.floor(item / 2) % near.length]
  if (drawn === undefined) return null
  const deviations = deviationsOf(drawn.price)
  const step = Math.min(NEARER_SHARE * deviations, NEARER_DEVIATIONS_MAX)
  const nearer = deviations - step
  const further = balancingDistance(deviations, nearer)
  if (further === null) return null
  const control = Math.floor(item / 2 ** 16) % 2 === 0 ? nearer : further
  return {
    side,
    level: drawn.price,
    controlLevel: current * Math.exp(side * control * deviation),
    width: step * deviation,
    touchProbability: touchProbability(deviations),
  }
}
