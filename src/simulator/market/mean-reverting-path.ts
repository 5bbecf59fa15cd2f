import assert from 'node:assert/strict'
import { BoundedMap } from '../../domain/bounded-map.ts'
import { drift, gaussian } from './noise.ts'

const STEPS_A_CHUNK = 96
/** Chunks kept after use: 128 days of quarters, 200 KiB. */
const CHUNKS_KEPT_MAX = 128

type Chunk = {
  /** At every step of the chunk and at the first one of the next. */
  readonly values: Float64Array
  readonly deviations: Float64Array
}

/**
 * An Ornstein-Uhlenbeck process on whole steps, 0 at the anchor, walked outwards from there in both
 * directions (it is reversible). Its volatility clusters on scales of an hour to a day. Days are
 * generated when asked for; only their starting values are kept for good.
 */
export class MeanRevertingPath {
  readonly #key: number
  readonly #anchorStep: number
  readonly #deviation: number
  readonly #keep: number
  readonly #common: MeanRevertingPath | null
  /** Values at chunk boundaries: 0, 1, 2, … and 0, -1, -2, … */
  readonly #ahead: number[] = [0]
  readonly #behind: number[] = [0]
  readonly #chunks = new BoundedMap<number, Chunk>(CHUNKS_KEPT_MAX)
  /** The chunk asked for last: histories are read step by step. */
  #recent: { readonly index: number; readonly chunk: Chunk } | undefined

  /** @param options.common Path whose bursts of volatility this one shares in part. */
  constructor(options: {
    readonly key: number
    readonly anchorStep: number
    readonly stepDeviation: number
    readonly halfLifeSteps: number
    readonly common?: MeanRevertingPath
  }) {
    this.#key = options.key
    this.#anchorStep = options.anchorStep
    this.#deviation = options.stepDeviation
    this.#keep = 2 ** (-1 / options.halfLifeSteps)
    this.#common = options.common ?? null
  }

  value(step: number): number {
    const offset = step - this.#anchorStep
    const index = Math.floor(offset / STEPS_A_CHUNK)
    return this.#chunk(index).values[offset - index * STEPS_A_CHUNK] ?? Number.NaN
  }

  /** Deviation of the move that follows a step. */
  deviation(step: number): number {
    const offset = step - this.#anchorStep
    const index = Math.floor(offset / STEPS_A_CHUNK)
    return this.#chunk(index).deviations[offset - index * STEPS_A_CHUNK] ?? Number.NaN
  }

  /** How much wilder than usual the move after a step is. */
  burst(step: number): number {
    return this.deviation(step) / this.#deviation
  }

  #chunk(index: number): Chunk {
    if (this.#recent?.index === index) return this.#recent.chunk
    const chunk = this.#chunks.get(index) ?? this.#generated(index)
    this.#recent = { index, chunk }
    return chunk
  }

  #generated(index: number): Chunk {
    // Boundary values follow from their neighbours, so missing ones are walked in order.
    if (index >= 0) while (this.#ahead.length <= index) this.#walk(this.#ahead.length - 1)
    else while (this.#behind.length < -index) this.#walk(-this.#behind.length)
    return this.#chunks.get(index) ?? this.#walk(index)
  }

  #walk(index: number): Chunk {
    const values = new Float64Array(STEPS_A_CHUNK + 1)
    const deviations = new Float64Array(STEPS_A_CHUNK)
    const firstStep = this.#anchorStep + index * STEPS_A_CHUNK
    for (let i = 0; i < STEPS_A_CHUNK; i++) deviations[i] = this.#deviationAt(firstStep + i)
    if (index >= 0) {
      let value = this.#ahead[index]
      assert(value !== undefined, 'chunks ahead are walked in order')
      for (let i = 0; i < STEPS_A_CHUNK; i++) {
        values[i] = value
        value = this.#moved(value, firstStep + i, deviations[i])
      }
      values[STEPS_A_CHUNK] = value
      if (this.#ahead.length === index + 1) this.#ahead.push(value)
    } else {
      let value = this.#behind[-index - 1]
      assert(value !== undefined, 'chunks behind are walked in order')
      values[STEPS_A_CHUNK] = value
      for (let i = STEPS_A_CHUNK - 1; i >= 0; i--) {
        value = this.#moved(value, firstStep + i, deviations[i])
        values[i] = value
      }
      if (this.#behind.length === -index) this.#behind.push(value)
    }
    const chunk = { values, deviations }
    this.#chunks.set(index, chunk)
    return chunk
  }

  #moved(value: number, step: number, deviation = 0): number {
    return this.#keep * value + deviation * gaussian(this.#key, step)
  }

  #deviationAt(step: number): number {
    const own =
      0.4 * drift(this.#key ^ 0x11, step / 96) +
      0.35 * drift(this.#key ^ 0x22, step / 16) +
      0.25 * drift(this.#key ^ 0x33, step / 4)
    const shared = this.#common === null ? 1 : Math.sqrt(this.#common.burst(step))
    return this.#deviation * Math.exp(own) * shared
  }
}
