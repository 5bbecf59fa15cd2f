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

/**
 * The state of many series in one buffer, and the two arrays through which all of them are spoken
 * to: write a bar into `bar`, call `fold` or `peek` of a series, read `values`.
 */
export class PulsePool {
  readonly capacity: number
  /** Slots of `barSlot`. */
  readonly bar = new Float64Array(Object.keys(barSlot).length) as BarSlots
  /** Slots of `pulseValue`; overwritten by the next `peek` of any series. */
  readonly values = new Float64Array(Object.keys(pulseValue).length) as ValueSlots
  readonly #states: Float64Array
  #opened = 0

  /** @param capacity How many series can be opened; all of their memory is taken at once. */
  constructor(capacity: number) {
    assert(Number.isSafeInteger(capacity) && capacity > 0, 'capacity must be a positive integer')
    this.capacity = capacity
    this.#states = new Float64Array(capacity * STATE_LENGTH)
  }

  /** A new series without bars. */
  open(): PulseSeries {
    assert(this.#opened < this.capacity, `all ${this.capacity} series of the pool are open`)
    const start = this.#opened * STATE_LENGTH
    this.#opened += 1
    const state = this.#states.subarray(start, start + STATE_LENGTH) as StateSlots
    return new PulseSeries(state, this.bar, this.values)
  }
}

/**
 * The pulse indicators of one coin and timeframe: RSI 14, ATR 14, EMA 20/50/200, rolling VWAP 20,
 * z-score 100 and Bollinger bands 20/2.
 *
 * A closed bar is folded into the state. The bar that is still open is only ever peeked at: what the
 * values would be if it closed now, which leaves the state alone, so a revised bar needs no undo.
 * Either costs O(1), amortised, and allocates nothing.
 *
 * Bars come in order, checked by the decoder. Here only what would poison the state for good is
 * asserted again: all four numbers are finite, high is not below low, volume is not negative.
 */
export class PulseSeries {
  readonly #state: StateSlots
  readonly #bar: BarSlots
  readonly #values: ValueSlots

  /** @param state A slice of a pool: see `PulsePool.open`. */
  constructor(state: StateSlots, bar: BarSlots, values: ValueSlots) {
    this.#state = state
    this.#bar = bar
    this.#values = values
  }

  /** Bars folded so far. */
  get barCount(): number {
    return this.#state[BAR_COUNT]
  }

  /** Of the bar that was folded last; 0 before any. */
  get lastClose(): number {
    return this.#state[PREVIOUS_CLOSE]
  }

  /** Closes the bar that lies in the pool's `bar`. */
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

  /** Writes to the pool's `values` what they were if the bar in its `bar` closed now. */
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

  /** A copy of the state. A series that restores it goes on as this one would, bit for bit. */
  save(): Float64Array {
    return this.#state.slice()
  }

  restore(state: Float64Array): void {
    assert.equal(state.length, STATE_LENGTH, 'a saved state of another layout cannot be restored')
    this.#state.set(state)
  }

  /** Back to no bars at all. */
  reset(): void {
    this.#state.fill(0)
  }
}

/** A sum minus itself is 0, or NaN when something in it is NaN or infinite. */
function checkBar(bar: BarSlots): void {
  const sum = bar[HIGH] + bar[LOW] + bar[CLOSE] + bar[VOLUME]
  if (!(bar[HIGH] >= bar[LOW] && bar[VOLUME] >= 0 && sum - sum === 0)) reject(bar)
}

/** Apart from the check, because `assert` would allocate an array for its arguments on every bar. */
function reject(bar: BarSlots): never {
  assert.fail(`not a bar: high, low, close, volume are ${bar.join(', ')}`)
}
