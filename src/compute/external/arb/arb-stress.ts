import { percentileOf } from '../../statistics/series-statistics.ts'

/** Components of the index, in the order of {@link stressNames}. */
export const stressRules = {
  /** Largest dispersion of any asset. */
  dispersion: { unit: 'bps', low: 2, high: 40, weight: 0.25 },
  /** Largest distance of a gap beyond its band. */
  band_excess: { unit: 'bps', low: 0, high: 60, weight: 0.25 },
  /** Share of prices beyond their band. */
  breadth: { unit: 'share', low: 0, high: 0.6, weight: 0.2 },
  /** Age of the oldest opportunity. */
  persistence: { unit: 'seconds', low: 60, high: 1_800, weight: 0.15 },
  /** Chains without a fresh price, or with unusual gas. */
  plumbing: { unit: 'share', low: 0, high: 0.5, weight: 0.15 },
} as const

export type StressName = keyof typeof stressRules
export const stressNames = Object.keys(stressRules) as readonly StressName[]

/** Weight of the rank in a score with a whole day of history. */
const HISTORY_WEIGHT_MAX = 0.35
const HISTORY_MINUTES = 1_440
/** With fewer minutes a rank has no meaning. */
const HISTORY_MINUTES_MIN = 60

/** Decay of the covariance per minute, the value that the CISS uses per week. */
const DECAY_PER_MINUTE = 0.93
const MINUTE_MS = 60_000

/**
 * Score of a component, 0 to 1: its position between two anchors and its rank in the last 24 hours. Rises with the
 * value.
 * @param ascending values of the last 24 hours, one a minute
 */
export function stressScore(name: StressName, raw: number, ascending: Float64Array): number {
  const { low, high } = stressRules[name]
  const ramp = Math.min(1, Math.max(0, (raw - low) / (high - low)))
  const share = historyShare(ascending.length)
  return share === 0 ? ramp : (1 - share) * ramp + (share * percentileOf(ascending, raw)) / 100
}

/** Weight of history, 0 to 0.35. */
export function historyShare(minutes: number): number {
  if (minutes < HISTORY_MINUTES_MIN) return 0
  return HISTORY_WEIGHT_MAX * Math.min(1, minutes / HISTORY_MINUTES)
}

export type StressIndex = {
  /** 0 to 100. */
  readonly index: number
  /** The index if all components were fully correlated. */
  readonly weightedAverage: number
  /** Contribution of each component; their sum is the index. */
  readonly contributions: readonly number[]
}

/**
 * 100 sqrt(x' C x) with x = weight times score, as the risk of a portfolio: common stress counts more (CISS, ECB
 * working paper 1426).
 * @param correlation rows of a symmetric matrix without negative entries, ones on its diagonal
 */
export function stressIndex(
  scores: readonly number[],
  correlation: readonly (readonly number[])[],
): StressIndex {
  const weighted = scores.map(
    (score, at) => stressRules[stressNames[at] as StressName].weight * score,
  )
  const pulls = correlation.map((row) =>
    row.reduce((sum, entry, at) => sum + entry * (weighted[at] as number), 0),
  )
  const square = weighted.reduce((sum, each, at) => sum + each * (pulls[at] as number), 0)
  const root = Math.sqrt(square)
  return {
    index: 100 * root,
    weightedAverage: 100 * weighted.reduce((sum, each) => sum + each, 0),
    contributions: weighted.map((each, at) =>
      root === 0 ? 0 : (100 * each * (pulls[at] as number)) / root,
    ),
  }
}

/** Exponentially weighted correlation of the scores about 0.5; negative correlation counts as none. */
export class ScoreCorrelation {
  readonly #size = stressNames.length
  readonly #covariance = new Float64Array(this.#size ** 2)
  #lastMs = Number.NaN

  /** Adds a sample; a repeated one counts once. */
  take(scores: readonly number[], sampleMs: number): void {
    if (sampleMs === this.#lastMs) return
    const minutes = Math.abs(sampleMs - this.#lastMs) / MINUTE_MS
    const decay = Number.isNaN(minutes) ? 0 : DECAY_PER_MINUTE ** minutes
    for (let at = 0; at < this.#covariance.length; at += 1) {
      const product =
        ((scores[Math.floor(at / this.#size)] as number) - 0.5) *
        ((scores[at % this.#size] as number) - 0.5)
      this.#covariance[at] = decay * (this.#covariance[at] as number) + (1 - decay) * product
    }
    this.#lastMs = sampleMs
  }

  rows(): readonly (readonly number[])[] {
    return stressNames.map((_, row) => stressNames.map((__, column) => this.#entry(row, column)))
  }

  save(): readonly number[] {
    return [this.#lastMs, ...this.#covariance]
  }

  /** @returns false for numbers that {@link save} did not produce */
  restore(saved: Float64Array): boolean {
    if (saved.length !== 1 + this.#covariance.length) return false
    if (!saved.subarray(1).every(Number.isFinite)) return false
    this.#lastMs = saved[0] as number
    this.#covariance.set(saved.subarray(1))
    return true
  }

  #entry(row: number, column: number): number {
    if (row === column) return 1
    const at = (one: number, other: number) => this.#covariance[one * this.#size + other] as number
    const scale = Math.sqrt(at(row, row) * at(column, column))
    return scale > 0 ? Math.min(1, Math.max(0, at(row, column) / scale)) : 0
  }
}
