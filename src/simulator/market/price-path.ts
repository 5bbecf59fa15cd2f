import assert from 'node:assert/strict'
import type { LotBar } from './lot-bar.ts'
import { gaussian, uniform } from './noise.ts'
import { roundPrice } from './precision.ts'

/** Mean range of a Brownian motion in units of its deviation: sqrt(8 / pi). */
const RANGE_PER_DEVIATION = 1.6

type Anchor = { readonly index: number; readonly price: number }

/**
 * The prices of a bar's trades, first to last: a Brownian bridge that starts at the open, ends at
 * the close, touches high and low and never leaves them. Read at ascending indices, not necessarily
 * all of them.
 */
export class PricePath {
  /** Open, extremes, close: ascending, at distinct indices. */
  readonly anchors: readonly Anchor[]
  readonly deviation: number
  readonly #bar: LotBar
  readonly #key: number
  readonly #sizeDecimals: number
  #at: Anchor
  #next = 0

  constructor(bar: LotBar, key: number, sizeDecimals: number) {
    assert(bar.trades > 0, 'a bar without trades has no path')
    this.#bar = bar
    this.#key = key
    this.#sizeDecimals = sizeDecimals
    this.anchors = anchorsOf(bar, key)
    this.deviation = (bar.high - bar.low) / (RANGE_PER_DEVIATION * Math.sqrt(bar.trades))
    this.#at = { index: -1, price: bar.open }
  }

  price(index: number): number {
    assert(index > this.#at.index, 'a path is read forwards')
    let next = this.anchors[this.#next]
    while (next !== undefined && next.index <= index) {
      this.#at = next
      this.#next++
      next = this.anchors[this.#next]
    }
    if (this.#at.index === index || next === undefined) return this.#at.price
    const behind = index - this.#at.index
    const ahead = next.index - index
    const share = behind / (behind + ahead)
    const mean = this.#at.price + (next.price - this.#at.price) * share
    const deviation = this.deviation * Math.sqrt(ahead * share)
    const price = this.within(mean + deviation * gaussian(this.#key, index))
    this.#at = { index, price }
    return price
  }

  /** Reflected at the bar's extremes and rounded to the venue's precision. */
  within(price: number): number {
    const { high, low } = this.#bar
    let inside = price
    if (inside > high) inside = 2 * high - inside
    if (inside < low) inside = 2 * low - inside
    return roundPrice(Math.min(high, Math.max(low, inside)), this.#sizeDecimals)
  }
}

function anchorsOf(bar: LotBar, key: number): Anchor[] {
  const last = bar.trades - 1
  if (last === 0) return [{ index: 0, price: bar.open }]
  const anchors: Anchor[] = [{ index: 0, price: bar.open }]
  const between = last - 1
  const highAt = 1 + Math.floor(uniform(key, -1) * between)
  if (bar.high > Math.max(bar.open, bar.close)) anchors.push({ index: highAt, price: bar.high })
  if (bar.low < Math.min(bar.open, bar.close)) {
    let lowAt = 1 + Math.floor(uniform(key, -2) * between)
    if (anchors.length > 1 && lowAt === highAt) lowAt = highAt < between ? highAt + 1 : highAt - 1
    assert(lowAt > 0 && lowAt < last, 'too few trades for the extremes of the bar')
    anchors.push({ index: lowAt, price: bar.low })
  }
  anchors.push({ index: last, price: bar.close })
  return anchors.sort((a, b) => a.index - b.index)
}
