import { seededNormal } from '../../../../../test/golden/seeded-normal.ts'

/**
 * Two series of returns whose variance follows GARCH(1,1), h' = 1 - alpha - beta + alpha x^2 + beta h: volatility
 * comes in clusters, and the innovations of both are correlated.
 */
export type PairModel = {
  readonly name: string
  readonly alpha: number
  readonly beta: number
  /** One variance for both, moved by the mean of both squares; else each has its own. */
  readonly isCommon: boolean
  /** Degrees of freedom of innovations that are bivariate Student's t; null: normal ones. */
  readonly freedom: number | null
}

/** All have a fourth moment, so that a correlation of n returns comes nearer to the true one by the root of n. */
export const pairModels: readonly PairModel[] = [
  { name: 'independent, normal', alpha: 0, beta: 0, isCommon: false, freedom: null },
  { name: 'independent, t5', alpha: 0, beta: 0, isCommon: false, freedom: 5 },
  { name: 'GARCH each, normal', alpha: 0.1, beta: 0.85, isCommon: false, freedom: null },
  { name: 'GARCH each, t6', alpha: 0.08, beta: 0.88, isCommon: false, freedom: 6 },
  { name: 'GARCH common, normal', alpha: 0.1, beta: 0.85, isCommon: true, freedom: null },
  { name: 'GARCH common, t5', alpha: 0.1, beta: 0.85, isCommon: true, freedom: 5 },
  { name: 'GARCH common, slow, t5', alpha: 0.05, beta: 0.93, isCommon: true, freedom: 5 },
]

/**
 * Variances that move apart lower the correlation of the returns below that of their innovations; by how
 * much has no closed form. From four million returns of each model, to 0.0006.
 */
const ofReturns: Readonly<Record<string, Readonly<Record<number, number>>>> = {
  'GARCH each, normal': { 0: 0, 0.5: 0.4827, 0.8: 0.7863, 0.95: 0.9455 },
  'GARCH each, t6': { 0: 0, 0.5: 0.4793, 0.8: 0.7834, 0.95: 0.9445 },
}

/** True correlation of the returns of a model whose innovations have this one. */
export function trueCorrelation({ name }: PairModel, ofInnovations: number): number {
  return ofReturns[name]?.[ofInnovations] ?? ofInnovations
}

/** Steps before the first return, until the variance has forgotten where it began. */
const BURN_IN = 300

export type ReturnPair = { readonly xs: Float64Array; readonly ys: Float64Array }

/** Draws of one model with innovations of one correlation; the same ones for the same seed. */
export class PairDraws {
  readonly #model: PairModel
  readonly #correlation: number
  readonly #normal: () => number

  constructor(model: PairModel, correlation: number, seed: number) {
    this.#model = model
    this.#correlation = correlation
    this.#normal = seededNormal(seed)
  }

  next(n: number): ReturnPair {
    const { alpha, beta, isCommon } = this.#model
    const [xs, ys] = [new Float64Array(n), new Float64Array(n)]
    let [varianceX, varianceY] = [1, 1]
    for (let at = alpha === 0 ? 0 : -BURN_IN; at < n; at += 1) {
      const scale = this.#scale()
      const first = this.#normal()
      const second =
        this.#correlation * first + Math.sqrt(1 - this.#correlation ** 2) * this.#normal()
      const x = Math.sqrt(varianceX) * scale * first
      const y = Math.sqrt(varianceY) * scale * second
      if (at >= 0) {
        xs[at] = x
        ys[at] = y
      }
      const [squareX, squareY] = isCommon
        ? [(x * x + y * y) / 2, (x * x + y * y) / 2]
        : [x * x, y * y]
      varianceX = 1 - alpha - beta + alpha * squareX + beta * varianceX
      varianceY = 1 - alpha - beta + alpha * squareY + beta * varianceY
    }
    return { xs, ys }
  }

  /** What makes a normal innovation one of Student's t with a variance of 1. */
  #scale(): number {
    const { freedom } = this.#model
    if (freedom === null) return 1
    let squares = 0
    for (let term = 0; term < freedom; term += 1) squares += this.#normal() ** 2
    return Math.sqrt((freedom - 2) / squares)
  }
}
