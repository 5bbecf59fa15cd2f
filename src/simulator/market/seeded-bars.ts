import type { BarSource, LotBar } from './lot-bar.ts'
import { flatBar, QUARTERS_A_DAY, tradesAtLeast } from './lot-bar.ts'
import type { MeanRevertingPath } from './mean-reverting-path.ts'
import { gaussian, uniform } from './noise.ts'
import { roundPrice, sizeOf } from './precision.ts'

/** Trading rises and falls over the day by this factor at most; its peak is at 15:00 UTC. */
const DAILY_SWING = 1.6
const PEAK_QUARTER = 60
/** A coin with this little trading still has some trade within that many quarters. */
const QUIET_QUARTERS_MAX = 400

/** Notional of the mean trade of a coin with that much trading a day: 20 to 4,000 USD. */
export function meanTradeUsd(dayNotionalUsd: number): number {
  return 20 + 0.1 * Math.sqrt(dayNotionalUsd)
}

export type FactorExposure = { readonly path: MeanRevertingPath; readonly weight: number }

/**
 * Quarter bars of a model coin: log price is a weighted sum of common paths and one of its own;
 * range, volume and trade count follow the size of the moves.
 */
export class SeededBars implements BarSource {
  readonly firstQuarter: number
  readonly #key: number
  readonly #sizeDecimals: number
  readonly #price: number
  readonly #exposures: readonly FactorExposure[]
  readonly #tradesAQuarter: number
  readonly #spareLotsATrade: number
  /** Bars are mostly read in order, and each needs the close before its own. */
  #recent = { index: Number.NaN, close: Number.NaN }

  constructor(options: {
    readonly key: number
    readonly firstQuarter: number
    readonly sizeDecimals: number
    /** Price where all paths are 0. */
    readonly price: number
    readonly exposures: readonly FactorExposure[]
    readonly dayNotionalUsd: number
  }) {
    this.firstQuarter = options.firstQuarter
    this.#key = options.key
    this.#sizeDecimals = options.sizeDecimals
    this.#price = options.price
    this.#exposures = options.exposures
    const tradeNotionalUsd = meanTradeUsd(options.dayNotionalUsd)
    this.#tradesAQuarter = options.dayNotionalUsd / tradeNotionalUsd / QUARTERS_A_DAY
    const lotUsd = options.price * sizeOf(1, options.sizeDecimals)
    this.#spareLotsATrade = Math.max(0, tradeNotionalUsd / lotUsd - 1)
  }

  quarter(index: number): LotBar {
    const trades = this.#trades(index)
    if (trades === 0) return flatBar(this.#priceBefore(index))
    const shape = this.#shape(index, trades)
    const scatter = Math.exp(0.5 * gaussian(this.#key ^ 0x66, index) - 0.125)
    const lots = trades + Math.round(trades * this.#spareLotsATrade * scatter)
    return { ...shape, lots, trades: Math.max(trades, tradesAtLeast(shape)) }
  }

  minute(): undefined {}

  recorded(): undefined {}

  firstRecorded(): undefined {}

  settledFunding(): undefined {}

  #shape(index: number, trades: number): Omit<LotBar, 'lots' | 'trades'> {
    const from = this.#close(index - 1)
    const close = this.#close(index)
    if (trades === 1) return { open: close, high: close, low: close, close }
    // Open is the first trade, which in half of all bars is not at the close before.
    const jump = uniform(this.#key ^ 0x77, index) < 0.5 ? 0 : gaussian(this.#key ^ 0x88, index)
    const deviation = this.#deviation(index)
    const open = this.#round(from * (1 + 0.05 * deviation * jump))
    const top = Math.max(open, close)
    const bottom = Math.min(open, close)
    if (trades === 2) return { open, high: top, low: bottom, close }
    const move = Math.log(close / open)
    const high = this.#round(open * Math.exp(extreme(move, deviation, this.#chance(1, index))))
    const low = this.#round(open * Math.exp(-extreme(-move, deviation, this.#chance(2, index))))
    if (trades === 3) return { open, high: Math.max(top, high), low: bottom, close }
    return { open, high: Math.max(top, high), low: Math.min(bottom, low), close }
  }

  #trades(index: number): number {
    const phase = (2 * Math.PI * (index - PEAK_QUARTER)) / QUARTERS_A_DAY
    const daily = DAILY_SWING ** Math.cos(phase)
    const burst = this.#exposures.at(-1)?.path.burst(index) ?? 1
    const scatter = Math.exp(0.4 * gaussian(this.#key ^ 0x44, index) - 0.08)
    const expected = this.#tradesAQuarter * daily * burst * scatter
    return Math.floor(expected + this.#chance(5, index))
  }

  #priceBefore(index: number): number {
    for (let back = 1; back <= QUIET_QUARTERS_MAX; back++) {
      if (this.#trades(index - back) > 0) return this.#close(index - back)
    }
    return this.#close(index - QUIET_QUARTERS_MAX)
  }

  #close(index: number): number {
    if (this.#recent.index === index) return this.#recent.close
    let log = 0
    for (const { path, weight } of this.#exposures) log += weight * path.value(index + 1)
    const close = this.#round(this.#price * Math.exp(log))
    this.#recent = { index, close }
    return close
  }

  #deviation(index: number): number {
    let variance = 0
    for (const { path, weight } of this.#exposures)
      variance += (weight * path.deviation(index)) ** 2
    return Math.sqrt(variance)
  }

  #chance(draw: number, index: number): number {
    return uniform(this.#key ^ Math.imul(draw, 0x01010101), index)
  }

  #round(price: number): number {
    return roundPrice(price, this.#sizeDecimals)
  }
}

/**
 * Maximum of a Brownian bridge from 0 to `move`: the inverse of its distribution function
 * exp(-2 m (m - move) / deviation^2), at `1 - chance`.
 */
function extreme(move: number, deviation: number, chance: number): number {
  return (move + Math.sqrt(move * move - 2 * deviation * deviation * Math.log(1 - chance))) / 2
}
