import assert from 'node:assert/strict'
import { foldAverageTrueRange, peekAverageTrueRange } from './average-true-range.ts'
import { peekBollinger } from './bollinger.ts'
import { foldExponentialAverages, peekExponentialAverages } from './exponential-averages.ts'
import type { BarSlots, StateSlots, ValueSlots } from './pulse-layout.ts'
import { barSlot, pulseValue, STATE_LENGTH, stateSlot } from './pulse-layout.ts'
import { foldRelativeStrength, peekRelativeStrength } from './relative-strength.ts'
import { foldCloses } from './rolling-moments.ts'
import { foldVwap, peekVwap } from './rolling-vwap.ts'
import { foldWarmUp, peekWarmUp, WARM_BARS } from './warm-up.ts'
import { peekZScore } from './z-score.ts'

const { high: HIGH, low: LOW, close: CLOSE, volume: VOLUME } = barSlot
const { barCount: BAR_COUNT, previousClose: PREVIOUS_CLOSE } = stateSlot

/** All possible series in one buffer would be 3.8 MB, of which 230 coins use 1. */
const SERIES_PER_BUFFER = 48

/**
 * State of many series in few buffers, and their shared input and output: write a bar into `bar`, call `fold` or `peek`
 * of a series, read `values`.
 */
export class PulsePool {
  readonly capacity: number
  /** Slots of `barSlot`. */
  readonly bar = new Float64Array(Object.keys(barSlot).length) as BarSlots
  /** Slots of `pulseValue`; overwritten by the next `peek` of any series. */
  readonly values = new Float64Array(Object.keys(pulseValue).length) as ValueSlots
  /** Of the newest series. */
  #states = new Float64Array(0)
  #opened = 0

  /** @param capacity maximum number of series */
  constructor(capacity: number) {
    assert(Number.isSafeInteger(capacity) && capacity > 0, 'capacity must be a positive integer')
    this.capacity = capacity
  }

  /** A new series without bars. */
  open(): PulseSeries {
    assert(this.#opened < this.capacity, `all ${this.capacity} series of the pool are open`)
    const start = (this.#opened % SERIES_PER_BUFFER) * STATE_LENGTH
    if (start === 0) {
      const series = Math.min(SERIES_PER_BUFFER, this.capacity - this.#opened)
      this.#states = new Float64Array(series * STATE_LENGTH)
    }
    this.#opened += 1
    const state = this.#states.subarray(start, start + STATE_LENGTH) as StateSlots
    return new PulseSeries(state, this.bar, this.values)
  }
}

/**
 * Pulse indicators of one coin and timeframe: RSI 14, ATR 14, EMA 20/50/200, rolling VWAP 20, z-score 100 and Bollinger
 * bands 20/2.
 * fold adds a closed bar to the state. peek computes the values as if the open bar closed now, without changing the
 * state, so a revised bar needs no undo. Both take O(1), amortised, and allocate nothing.
 * The decoder checks the order of bars. Asserted again is only what would corrupt the state permanently: finite
 * numbers, high at least low, volume not negative.
 */
export class PulseSeries {
  readonly #state: StateSlots
  readonly #bar: BarSlots
  readonly #values: ValueSlots

  /** @param state slice of a pool: see `PulsePool.open` */
  constructor(state: StateSlots, bar: BarSlots, values: ValueSlots) {
    this.#state = state
    this.#bar = bar
    this.#values = values
  }

  /** Number of folded bars. */
  get barCount(): number {
    return this.#state[BAR_COUNT]
  }

  /** Close of the last folded bar; 0 before any. */
  get lastClose(): number {
    return this.#state[PREVIOUS_CLOSE]
  }

  /** Folds the bar in the pool's `bar`. */
  fold(): void {
    const state = this.#state
    const bar = this.#bar
    checkBar(bar)
    foldRelativeStrength(state, bar)
    foldAverageTrueRange(state, bar)
    foldExponentialAverages(state, bar)
    foldVwap(state, bar)
    foldCloses(state, bar)
    if (state[BAR_COUNT] < WARM_BARS) foldWarmUp(state, bar)
    state[PREVIOUS_CLOSE] = bar[CLOSE]
    state[BAR_COUNT] += 1
  }

  /** Writes into the pool's `values` the indicators as if the bar in its `bar` closed now. */
  peek(): void {
    const state = this.#state
    const bar = this.#bar
    const values = this.#values
    checkBar(bar)
    peekRelativeStrength(state, bar, values)
    peekAverageTrueRange(state, bar, values)
    peekExponentialAverages(state, bar, values)
    peekVwap(state, bar, values)
    peekBollinger(state, bar, values)
    peekZScore(state, bar, values)
    if (state[BAR_COUNT] < WARM_BARS) peekWarmUp(state, bar, values)
  }

  /** A copy of the state. A series that restores it continues bit for bit the same. */
  save(): Float64Array {
    return this.#state.slice()
  }

  restore(state: Float64Array): void {
    assert.equal(state.length, STATE_LENGTH, 'a saved state of another layout cannot be restored')
    this.#state.set(state)
  }

  /** Removes all bars. */
  reset(): void {
    this.#state.fill(0)
  }
}

/** A sum minus itself is NaN if a part of it is NaN or infinite. */
function checkBar(bar: BarSlots): void {
  const sum = bar[HIGH] + bar[LOW] + bar[CLOSE] + bar[VOLUME]
  if (!(bar[HIGH] >= bar[LOW] && bar[VOLUME] >= 0 && sum - sum === 0)) reject(bar)
}

/** Separate from the check, because `assert` would allocate an array of arguments on every bar. */
function reject(bar: BarSlots): never {
  assert.fail(`not a bar: high, low, close, volume are ${bar.join(', ')}`)
}
