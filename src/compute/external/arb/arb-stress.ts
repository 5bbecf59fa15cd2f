import { percentileOf } from '../../statistics/series-statistics.ts'

/** What the index is made of, in the order of {@link stressNames}. */
export const stressRules = {
  /** Largest over assets of their dispersion. */
  dispersion: { unit: 'bps', low: 2, high: 40, weight: 0.25 },
  /** How far the farthest gap is outside its band. */
  band_excess: { unit: 'bps', low: 0, high: 60, weight: 0.25 },
  /** Assets on chains that are outside their band, of those with a price. */
  breadth: { unit: 'share', low: 0, high: 0.6, weight: 0.2 },
  /** Age of the oldest opportunity. */
  persistence: { unit: 'seconds', low: 60, high: 1_800, weight: 0.15 },
  /** Chains without a fresh price, or with unusual gas. */
  plumbing: { unit: 'share', low: 0, high: 0.5, weight: 0.15 },
} as const

export type StressName = keyof typeof stressRules
export const stressNames = Object.keys(stressRules) as readonly StressName[]

/** How much of a score is rank in the own history once a whole day is known. */
const HISTORY_WEIGHT_MAX = 0.35
const HISTORY_MINUTES = 1_440
/** A rank among fewer says nothing. */
const HISTORY_MINUTES_MIN = 60

/** Of the covariance, a minute: that of the CISS, which it has for weeks. */
const DECAY_PER_MINUTE = 0.93
const MINUTE_MS = 60_000

/**
 * Between 0 and 1: where the measure stands between its anchors and, as far as it is known, among its own
 * last 24 hours. Rises with the measure.
 * @param ascending own values of the last 24 hours, one a minute
 */
export function stressScore(name: StressName, raw: number, ascending: Float64Array): number {
  const { low, high } = stressRules[name]
  const ramp = Math.min(1, Math.max(0, (raw - low) / (high - low)))
  const share = historyShare(ascending.length)
  return share === 0 ? ramp : (1 - share) * ramp + (share * percentileOf(ascending, raw)) / 100
}

/** Weight of the own history, 0 to 0.35. */
export function historyShare(minutes: number): number {
  if (minutes < HISTORY_MINUTES_MIN) return 0
  return HISTORY_WEIGHT_MAX * Math.min(1, minutes / HISTORY_MINUTES)
}

export type StressIndex = {
  /** 0 to 100. */
  readonly index: number
  /** What the index would be were all correlated. */
  readonly weightedAverage: number
  /** Of each component; their sum is the index. */
  readonly contributions: readonly number[]
}

/**
 * 100 sqrt(x' C x) with x = weight times score: like the risk of a portfolio, so that stress counts more where
 * it is common (CISS, ECB working paper 1426).
 * @param correlation rows of a symmetric matrix without negative entries, ones on its diagonal
 */
export function stressIndex(
  scores: readonly number[],
  correlation: readonly (readonly number[])[],
): StressIndex {
  const weighted = scores.map((score, at) => stressRules[nameAt(at)].weight * score)
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

function nameAt(at: number): StressName {
  return stressNames[at] as StressName
}

/**
 * Correlation of the scores about 0.5, newer ones counting more; what moves against each other counts as
 * not correlated.
 */
export class ScoreCorrelation {
  readonly #size = stressNames.length
  readonly #covariance = new Float64Array(this.#size ** 2)
  #lastMs = Number.NaN

  /** One sample of all scores; the same one twice counts once. */
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

  /** @returns false for numbers that {@link save} did not give. */
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
