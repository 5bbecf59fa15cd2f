import { CoinLiquidations } from './coin-liquidations.ts'
import type { EnforcedTrade } from './enforced-trades.ts'
import { Holdings } from './holdings.ts'
import { MINUTE_MS } from './lot-bar.ts'
import type { MaintenanceTier } from './margin.ts'
import type { Instrument, Market } from './market.ts'
import { bits, noiseKey, uniform } from './noise.ts'
import { lotsOf } from './precision.ts'

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

export type HeldPosition = {
  readonly account: number
  /** Negative for a short. */
  readonly sizeBase: number
  readonly entryPrice: number
  readonly leverage: number
  readonly isIsolated: boolean
  readonly rawUsd: number
}

/** Decides each minute about the isolated positions of one coin. */
export type Fates = {
  /**
   * @param place of the position among those of the coin
   * @param position its size is negative for a short
   * @returns its new margin less what was paid for it, `close` if its holder closes it, null for no change
   */
  fateOf(
    place: number,
    position: { readonly sizeBase: number; readonly rawUsd: number },
    draw: number,
    minute: number,
  ): number | 'close' | null
}

export type NewFates = (
  tiers: readonly MaintenanceTier[],
  markAt: (timeMs: number) => number,
) => Fates

/**
 * Who holds a coin's open interest. From a start it goes on by whole minutes, in which open interest
 * comes to some holder or leaves one, and by every move of the mark, which may liquidate. Steps lie on
 * a fixed grid, so what it is at an instant does not depend on when it was asked before.
 */
export class CoinPositions {
  readonly #market: Market
  readonly #instrument: Instrument
  readonly #startMinute: number
  readonly #key: number
  readonly #newFates: NewFates | undefined
  #holdings!: Holdings
  #liquidations!: CoinLiquidations
  #fates: Fates | undefined
  /** Of each side. */
  #lots = 0
  #minute = 0
  #sweptMs = 0

  /** @param newFates without it liquidations follow from the market alone */
  constructor(market: Market, instrument: Instrument, startMs: number, newFates?: NewFates) {
    this.#market = market
    this.#instrument = instrument
    this.#startMinute = Math.floor(startMs / MINUTE_MS)
    this.#key = noiseKey(0, 'positions', instrument.coin)
    this.#newFates = newFates
    this.#start()
  }

  get tiers(): readonly MaintenanceTier[] {
    return this.#holdings.tiers
  }

  /** Everything that is held at an instant, both sides equal. Nothing before the start has been. */
  at(atMs: number): readonly HeldPosition[] {
    this.advance(atMs)
    const holdings = this.#holdings
    return [...holdings.all, holdings.vault(1), holdings.vault(-1)]
      .filter(({ lots }) => lots > 0)
      .map((holding) => ({
        account: holding.slot.account,
        sizeBase: holdings.sizeBase(holding),
        entryPrice: holding.entryPrice,
        leverage: holding.slot.leverage,
        isIsolated: holding.slot.isIsolated,
        rawUsd: holding.rawUsd,
      }))
  }

  /** Enforced trades after the first instant, up to and including the second. */
  enforcedTrades(afterMs: number, throughMs: number): readonly EnforcedTrade[] {
    if (throughMs > this.#sweptMs) this.advance(throughMs)
    return this.#liquidations.trades(afterMs, throughMs)
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
      if (this.#fates !== undefined) this.#decide(this.#fates)
      this.#holdings.note()
    }
  }

  #start(): void {
    const { coin, sizeDecimals } = this.#instrument
    const atMs = this.#startMinute * MINUTE_MS
    const { openInterestBase, markPrice } = this.#context(atMs)
    const holdings = new Holdings(this.#instrument)
    this.#holdings = holdings
    this.#liquidations = new CoinLiquidations(this.#market, coin, this.#key ^ 0x22, holdings)
    this.#fates = this.#newFates?.(holdings.tiers, (timeMs) => this.#context(timeMs).markPrice)
    this.#lots = lotsOf(openInterestBase, sizeDecimals)
    const shares = ([1, -1] as const).map((own) =>
      shared(
        this.#lots,
        holdings.all.map(({ slot: { side, weight } }) => (side === own ? weight : 0)),
      ),
    )
    for (const [i, holding] of holdings.all.entries()) {
      const { side, leverage } = holding.slot
      const span = START_PROFIT_MAX - START_PROFIT_MIN
      const profit = START_PROFIT_MIN + span * uniform(this.#key ^ 0x11, i)
      const entryPrice = markPrice * Math.exp((-side * profit) / leverage)
      holdings.give(holding, (shares[0]?.[i] ?? 0) + (shares[1]?.[i] ?? 0), entryPrice)
    }
    this.#minute = this.#startMinute
    this.#sweptMs = atMs
    holdings.note()
  }

  /** Passes every mark since the last sweep that can matter. */
  #sweep(throughMs: number): void {
    const fromMs = this.#sweptMs
    this.#sweptMs = throughMs
    const [before, last] = [Math.floor(fromMs / TICK_MS), Math.floor(throughMs / TICK_MS)]
    if (before === last || !this.#isNear(fromMs, throughMs)) return
    for (let tick = before + 1; tick <= last; tick++) {
      const timeMs = tick * TICK_MS
      this.#liquidations.step({ timeMs, markPrice: this.#context(timeMs).markPrice })
    }
    this.#lots -= this.#liquidations.takeClosed()
  }

  /** Whether the mark can have come to a liquidation price: the bars say it without every mark. */
  #isNear(fromMs: number, throughMs: number): boolean {
    const { longFrom, shortFrom, isVaultEmpty } = this.#holdings
    if (!isVaultEmpty) return true
    const { coin } = this.#instrument
    const minuteMs = Math.floor(fromMs / MINUTE_MS) * MINUTE_MS
    const range = { fromMs: minuteMs - MINUTE_MS, untilMs: throughMs + 1 }
    const bars = this.#market.candles(coin, '1m', range, throughMs)
    if (bars.length === 0) return true
    const low = Math.min(...bars.map((bar) => bar.low))
    const high = Math.max(...bars.map((bar) => bar.high))
    return low * (1 - MARK_DISTANCE) <= longFrom || high * (1 + MARK_DISTANCE) >= shortFrom
  }

  /** What the minute that ends now has changed. */
  #trade(atMs: number): void {
    const holdings = this.#holdings
    const { openInterestBase, markPrice } = this.#context(atMs)
    const lots = lotsOf(openInterestBase, this.#instrument.sizeDecimals)
    const key = bits(this.#key ^ 0x33, this.#minute)
    for (const [draw, side] of [
      [bits(key, 1), 1],
      [bits(key, 2), -1],
    ] as const) {
      const change = lots - this.#lots
      if (change > 0) holdings.give(holdings.other(draw, -1, side), change, markPrice)
      else holdings.withdraw(draw, side, -change)
      if (lots > 0 && bits(draw, 3) % PASSES_ONE_IN === 0) this.#pass(draw, side, markPrice)
    }
    this.#lots = lots
  }

  /** One holder sells to another of its side. */
  #pass(draw: number, side: 1 | -1, markPrice: number): void {
    const holdings = this.#holdings
    const from = bits(draw, 4) % holdings.all.length
    const holding = holdings.all[from]
    if (holding?.slot.side !== side) return
    const isAll = bits(draw, 5) % PASSES_ALL_ONE_IN === 0
    const lots = isAll ? holding.lots : Math.floor(PASSED_SHARE * holding.lots)
    holdings.take(holding, lots)
    holdings.give(holdings.other(bits(draw, 6), from, side), lots, markPrice)
  }

  /** Takes margin from positions, or lets their holders close them. */
  #decide(fates: Fates): void {
    const { all } = this.#holdings
    const timeMs = this.#minute * MINUTE_MS
    const { markPrice } = this.#context(timeMs)
    for (const [index, holding] of all.entries()) {
      if (holding.lots === 0 || !holding.slot.isIsolated) continue
      const draw = bits(this.#key ^ 0x44, this.#minute * all.length + index)
      const position = { sizeBase: this.#holdings.sizeBase(holding), rawUsd: holding.rawUsd }
      const fate = fates.fateOf(index, position, draw, this.#minute)
      if (fate === 'close')
        this.#liquidations.sell('closing', holding, holding.lots, { timeMs, markPrice })
      else if (fate !== null) holding.rawUsd = fate
    }
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
