import type { HolderSlot } from './holders.ts'
import { slotsOf } from './holders.ts'
import { MINUTE_MS } from './lot-bar.ts'
import type { MaintenanceTier } from './margin.ts'
import { maintenanceTiers, modelLiquidationPrice, tierAt } from './margin.ts'
import type { Instrument, Market } from './market.ts'
import { bits, noiseKey, uniform } from './noise.ts'
import { lotsOf, sizeOf } from './precision.ts'

/** The mark moves this often. */
const TICK_MS = 3000
/** The mark is nearer than this to some trade of the same minute or to the close before it. */
const MARK_DISTANCE = 0.015
/** One in this many sides and minutes has a transfer of a part from one holder to another … */
const PASSES_ONE_IN = 3
const PASSED_SHARE = 0.3
/** … and one in this many transfers is of the whole position. */
const PASSES_ALL_ONE_IN = 6
/** Profits at the start, in initial margins; no loss this small liquidates a position. */
const START_PROFIT_MIN = -0.3
const START_PROFIT_MAX = 1

/** What a slot holds. All of it changes by whole lots, so that both sides stay equal. */
type Holding = {
  readonly slot: HolderSlot
  /** Without a sign. */
  lots: number
  entryPrice: number
  /** Of an isolated position: its margin less what was paid for it. */
  rawUsd: number
}

export type HeldPosition = {
  readonly account: number
  /** Negative for a short. */
  readonly sizeBase: number
  readonly entryPrice: number
  readonly leverage: number
  readonly isIsolated: boolean
  readonly rawUsd: number
}

/**
 * Who holds a coin's open interest. From a start it goes on by whole minutes, in which open interest
 * comes to some holder or leaves one, and by every move of the mark, which may liquidate. Steps lie on
 * a fixed grid, so what it is at an instant does not depend on when it was asked before.
 */
export class CoinPositions {
  readonly tiers: readonly MaintenanceTier[]
  readonly #market: Market
  readonly #instrument: Instrument
  readonly #startMinute: number
  readonly #key: number
  #holdings: readonly Holding[] = []
  /** Of each side. */
  #lots = 0
  /** Nearest prices that liquidate a long, and a short. */
  #longFrom = Number.NEGATIVE_INFINITY
  #shortFrom = Number.POSITIVE_INFINITY
  #minute = 0
  #sweptMs = 0

  constructor(market: Market, instrument: Instrument, startMs: number) {
    this.tiers = maintenanceTiers(instrument.marginTableId)
    this.#market = market
    this.#instrument = instrument
    this.#startMinute = Math.floor(startMs / MINUTE_MS)
    this.#key = noiseKey(0, 'positions', instrument.coin)
    this.#start()
  }

  /** Everything that is held at an instant, both sides equal. Nothing before the start has been. */
  at(atMs: number): readonly HeldPosition[] {
    this.advance(atMs)
    const { sizeDecimals } = this.#instrument
    return this.#holdings
      .filter(({ lots }) => lots > 0)
      .map(({ slot, lots, entryPrice, rawUsd }) => ({
        account: slot.account,
        sizeBase: slot.side * sizeOf(lots, sizeDecimals),
        entryPrice,
        leverage: slot.leverage,
        isIsolated: slot.isIsolated,
        rawUsd,
      }))
  }

  advance(atMs: number): void {
    const toMs = Math.max(atMs, this.#startMinute * MINUTE_MS)
    if (toMs < this.#sweptMs) this.#start()
    for (;;) {
      const endMs = (this.#minute + 1) * MINUTE_MS
      this.#sweep(Math.min(endMs, toMs))
      if (endMs > toMs) return
      this.#minute++
      this.#trade(endMs)
    }
  }

  #start(): void {
    const { sizeDecimals } = this.#instrument
    const atMs = this.#startMinute * MINUTE_MS
    const { openInterestBase, markPrice } = this.#context(atMs)
    const slots = slotsOf(this.#instrument)
    this.#lots = lotsOf(openInterestBase, sizeDecimals)
    const longs = shared(
      this.#lots,
      slots.map(({ side, weight }) => (side === 1 ? weight : 0)),
    )
    const shorts = shared(
      this.#lots,
      slots.map(({ side, weight }) => (side === 1 ? 0 : weight)),
    )
    this.#holdings = slots.map((slot, i) => {
      const holding: Holding = { slot, lots: 0, entryPrice: 0, rawUsd: 0 }
      const span = START_PROFIT_MAX - START_PROFIT_MIN
      const profit = START_PROFIT_MIN + span * uniform(this.#key ^ 0x11, i)
      const entryPrice = markPrice * Math.exp((-slot.side * profit) / slot.leverage)
      this.#give(holding, (longs[i] ?? 0) + (shorts[i] ?? 0), entryPrice)
      return holding
    })
    this.#minute = this.#startMinute
    this.#sweptMs = atMs
    this.#note()
  }

  /** Liquidates what the mark has reached since the last sweep. */
  #sweep(throughMs: number): void {
    const fromMs = this.#sweptMs
    this.#sweptMs = throughMs
    if (!this.#isNear(fromMs, throughMs)) return
    for (let tick = Math.floor(fromMs / TICK_MS) + 1; tick * TICK_MS <= throughMs; tick++) {
      const { markPrice } = this.#context(tick * TICK_MS)
      while (markPrice <= this.#longFrom || markPrice >= this.#shortFrom) {
        this.#liquidate(markPrice, tick)
      }
    }
  }

  /** Whether the mark can have come to a liquidation price: the bars say it without every mark. */
  #isNear(fromMs: number, throughMs: number): boolean {
    const { coin } = this.#instrument
    const minuteMs = Math.floor(fromMs / MINUTE_MS) * MINUTE_MS
    const range = { fromMs: minuteMs - MINUTE_MS, untilMs: throughMs + 1 }
    const bars = this.#market.candles(coin, '1m', range, throughMs)
    if (bars.length === 0) return true
    const low = Math.min(...bars.map((bar) => bar.low))
    const high = Math.max(...bars.map((bar) => bar.high))
    return (
      low * (1 - MARK_DISTANCE) <= this.#longFrom || high * (1 + MARK_DISTANCE) >= this.#shortFrom
    )
  }

  /** The venue closes what is due at the mark; others of the same side take it over. */
  #liquidate(markPrice: number, tick: number): void {
    const due = this.#holdings.findIndex((holding) => this.#isDue(holding, markPrice))
    const holding = this.#holdings[due]
    if (holding === undefined) throw new Error('a liquidation price belongs to a holding')
    const { lots } = holding
    this.#take(holding, lots)
    this.#give(this.#other(bits(this.#key ^ 0x22, tick), due, holding.slot.side), lots, markPrice)
    this.#note()
  }

  #isDue(holding: Holding, markPrice: number): boolean {
    const price = this.#liquidationPrice(holding)
    if (price === null) return false
    return holding.slot.side === 1 ? markPrice <= price : markPrice >= price
  }

  /** What the minute that ends now has changed. */
  #trade(atMs: number): void {
    const { openInterestBase, markPrice } = this.#context(atMs)
    const lots = lotsOf(openInterestBase, this.#instrument.sizeDecimals)
    const key = bits(this.#key ^ 0x33, this.#minute)
    for (const [draw, side] of [
      [bits(key, 1), 1],
      [bits(key, 2), -1],
    ] as const) {
      const change = lots - this.#lots
      if (change > 0) this.#give(this.#other(draw, -1, side), change, markPrice)
      else this.#withdraw(draw, side, -change)
      if (lots > 0 && bits(draw, 3) % PASSES_ONE_IN === 0) this.#pass(draw, side, markPrice)
    }
    this.#lots = lots
    this.#note()
  }

  /** Takes lots from the holders of a side, one after the other. */
  #withdraw(draw: number, side: 1 | -1, lots: number): void {
    let left = lots
    for (let i = 0; left > 0 && i < this.#holdings.length; i++) {
      const holding = this.#holdings[(draw + i) % this.#holdings.length]
      if (holding?.slot.side !== side) continue
      const taken = Math.min(left, holding.lots)
      this.#take(holding, taken)
      left -= taken
    }
  }

  /** One holder sells to another of its side. */
  #pass(draw: number, side: 1 | -1, markPrice: number): void {
    const from = bits(draw, 4) % this.#holdings.length
    const holding = this.#holdings[from]
    if (holding?.slot.side !== side) return
    const isAll = bits(draw, 5) % PASSES_ALL_ONE_IN === 0
    const lots = isAll ? holding.lots : Math.floor(PASSED_SHARE * holding.lots)
    this.#take(holding, lots)
    this.#give(this.#other(bits(draw, 6), from, side), lots, markPrice)
  }

  /** A holding of a side by a draw, another one than that at an index where there is one. */
  #other(draw: number, not: number, side: 1 | -1): Holding {
    const count = this.#holdings.length
    for (let i = 0; i <= count; i++) {
      const index = (draw + i) % count
      const holding = this.#holdings[index]
      const isOther = index !== not || i === count
      if (holding?.slot.side === side && isOther) return holding
    }
    throw new Error('each side has a holder')
  }

  /** Margin comes with what is added, as much as the leverage asks for. */
  #give(holding: Holding, lots: number, price: number): void {
    if (lots === 0) return
    const { sizeDecimals } = this.#instrument
    const { slot } = holding
    const added = sizeOf(lots, sizeDecimals)
    const total = sizeOf(holding.lots + lots, sizeDecimals)
    const leverage = Math.min(slot.leverage, tierAt(this.tiers, total * price).maxLeverage)
    holding.entryPrice += (added / total) * (price - holding.entryPrice)
    holding.rawUsd += (added * price) / leverage - slot.side * added * price
    holding.lots += lots
  }

  /** Margin leaves in proportion, so the liquidation price of what is left stays. */
  #take(holding: Holding, lots: number): void {
    if (lots === 0) return
    const left = holding.lots - lots
    holding.rawUsd = left === 0 ? 0 : (holding.rawUsd * left) / holding.lots
    if (left === 0) holding.entryPrice = 0
    holding.lots = left
  }

  #note(): void {
    this.#longFrom = Number.NEGATIVE_INFINITY
    this.#shortFrom = Number.POSITIVE_INFINITY
    for (const holding of this.#holdings) {
      const price = this.#liquidationPrice(holding)
      if (price === null) continue
      if (holding.slot.side === 1) this.#longFrom = Math.max(this.#longFrom, price)
      else this.#shortFrom = Math.min(this.#shortFrom, price)
    }
  }

  /** Of an isolated position; accounts that share margin pay in before it comes to that. */
  #liquidationPrice({ slot, lots, rawUsd }: Holding): number | null {
    if (lots === 0 || !slot.isIsolated) return null
    const sizeBase = slot.side * sizeOf(lots, this.#instrument.sizeDecimals)
    return modelLiquidationPrice(this.tiers, sizeBase, rawUsd)
  }

  #context(atMs: number): { readonly openInterestBase: number; readonly markPrice: number } {
    const context = this.#market.context(this.#instrument.coin, atMs)
    if (context === undefined) throw new Error(`${this.#instrument.coin} is not listed`)
    return context
  }
}

/** Whole lots by weight, none lost: what rounding leaves goes to the largest weights. */
function shared(lots: number, weights: readonly number[]): readonly number[] {
  const total = weights.reduce((sum, weight) => sum + weight, 0)
  const shares = weights.map((weight) => Math.floor((lots * weight) / total))
  const byWeight = weights
    .map((weight, index) => ({ weight, index }))
    .toSorted((one, other) => other.weight - one.weight)
  let left = lots - shares.reduce((sum, share) => sum + share, 0)
  for (const { index } of byWeight) {
    if (left <= 0) break
    shares[index] = (shares[index] ?? 0) + 1
    left--
  }
  return shares
}
