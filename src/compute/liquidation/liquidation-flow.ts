import type { Bar } from '../../domain/bar.ts'
import type { CoinEvent, TradeEvent } from '../../domain/event.ts'
import type { MarketSample } from '../../domain/history.ts'
import type { Listing } from '../../domain/listing.ts'
import { timeframeMs } from '../../domain/timeframe.ts'
import type { CoinTracker, TrackedCoin } from '../market/coin-tracker.ts'
import { coinTracker } from '../market/coin-tracker.ts'
import { joinSections, splitSections } from '../market/saved-sections.ts'
import type { LeverageTier } from './leverage-ladder.ts'
import { leverageLadder } from './leverage-ladder.ts'
import { ObservedPositions } from './observed-positions.ts'
import { ZoneMap } from './zone-map.ts'

/** Margin is topped up, and a liquidation price with it: after this long half of what was known is not. */
export const HALF_LIFE_MS = 48 * 3_600_000
/** The venue tells open interest every 14 s. Marks that came in between are missing beyond this. */
const INTERVAL_MS_MAX = 90_000
/** A frame that was overtaken is left out; a clock that was put back further is believed. */
const OVERTAKEN_MS_MAX = 60_000
/** A trade is told within this time of the reading that holds it; older ones are repeats. */
const TRADE_LATE_MS_MAX = 15_000
/** Open interest that grows by more between two readings was corrected, not traded. */
const GROWTH_MAX = 0.5

const LAYOUT = 1
const HEADER_FIELDS = 13

/**
 * Where the open interest of one coin would be liquidated. An interval lies between two readings of open
 * interest. What it grew by was opened on both sides at the interval's average price, and by whom the
 * trades were started says which side took the more leverage. What it fell by is closed pro rata: nothing
 * tells whose positions close, every rule but this one would depend on the order of closing and decay,
 * and a liquidation, which the mark's way took off already, is counted twice only as far as its share of
 * everything. `profile` takes in all that was traded, in the same way: its shape stands for the open
 * interest of which no opening was seen.
 */
export class LiquidationFlow implements CoinTracker {
  readonly hears = [
    'trade',
    'context',
    'mark',
    'trade-gap',
    'history',
    'sample-history',
    'account-position',
  ] as const
  readonly flow = new ZoneMap()
  readonly profile = new ZoneMap()
  readonly observed = new ObservedPositions()
  #ladder: readonly LeverageTier[] = []
  #listing: Listing | null = null
  /** Of the last reading, by the venue's clock. NaN before any. */
  #readAtMs = Number.NaN
  #openInterestBase = Number.NaN
  #markPrice = Number.NaN
  #firstReadAtMs = Number.NaN
  /** Of the interval that goes on, in the coin's unit and in USD. */
  #buysBase = 0
  #sellsBase = 0
  #turnoverUsd = 0
  /** Some of its trades are lost: neither their average nor their sides say anything. */
  #isTorn = 0
  /** Time of which no marks were seen: what was held before may be liquidated since. NaN for none. */
  #unsweptFromMs = Number.NaN
  /** Time of which no trades were seen, at first all of it. NaN for none. */
  #untradedFromMs = Number.NEGATIVE_INFINITY
  /** Where both end. */
  #unseenUntilMs = Number.POSITIVE_INFINITY
  #isApproximate = 0

  /** Five tiers, lowest leverage first; empty before the first event. */
  get ladder(): readonly LeverageTier[] {
    return this.#ladder
  }

  /** In the coin's unit. NaN before any. */
  get openInterestBase(): number {
    return this.#openInterestBase
  }

  /** NaN before any. */
  get markPrice(): number {
    return this.#markPrice
  }

  /** Since when openings are seen. NaN before any reading. */
  get firstReadAtMs(): number {
    return this.#firstReadAtMs
  }

  /** Candles told once where the mark may have been, because it was not seen itself. */
  get isApproximate(): boolean {
    return this.#isApproximate === 1
  }

  apply(event: CoinEvent, { listing }: TrackedCoin): void {
    if (listing !== this.#listing) this.#adopt(listing)
    switch (event.kind) {
      case 'trade':
        this.#trade(event)
        break
      case 'context':
        this.#mark(event.markPrice)
        this.#live(event.timeExchangeMs, event.openInterestBase)
        break
      case 'mark':
        if (event.markPrice !== undefined) this.#mark(event.markPrice)
        break
      case 'trade-gap':
        this.#isTorn = 1
        break
      case 'history':
        if (event.timeframe === '15m') this.#unseen(event.bars, event.timeExchangeMs)
        break
      case 'sample-history':
        for (const sample of event.samples) this.#remember(sample)
        break
      case 'account-position':
        this.observed.apply(event)
        break
      default:
    }
  }

  save(): Float64Array {
    const header = [
      LAYOUT,
      this.#readAtMs,
      this.#openInterestBase,
      this.#markPrice,
      this.#firstReadAtMs,
      this.#buysBase,
      this.#sellsBase,
      this.#turnoverUsd,
      this.#isTorn,
      this.#unsweptFromMs,
      this.#untradedFromMs,
      this.#unseenUntilMs,
      this.#isApproximate,
    ]
    return joinSections([header, this.flow.save(), this.profile.save()])
  }

  restore(saved: Float64Array, { listing }: TrackedCoin): boolean {
    const [header, flow, profile] = splitSections(saved) ?? []
    if (header?.[0] !== LAYOUT || header.length !== HEADER_FIELDS) return false
    if (flow === undefined || profile === undefined) return false
    if (!this.flow.restore(flow) || !this.profile.restore(profile)) return false
    const field = (at: number) => header[at] as number
    this.#adopt(listing)
    this.#readAtMs = field(1)
    this.#openInterestBase = field(2)
    this.#markPrice = field(3)
    this.#firstReadAtMs = field(4)
    this.#buysBase = field(5)
    this.#sellsBase = field(6)
    this.#turnoverUsd = field(7)
    this.#isTorn = field(8)
    this.#unsweptFromMs = field(9)
    this.#untradedFromMs = field(10)
    this.#unseenUntilMs = field(11)
    this.#isApproximate = field(12)
    return true
  }

  /** What a tier that is no longer permitted held belongs to the highest that is. */
  #adopt(listing: Listing): void {
    this.#listing = listing
    this.#ladder = leverageLadder(listing)
    const highest = this.#ladder.findLastIndex(({ isPermitted }) => isPermitted)
    if (highest < 0) return
    for (let tier = highest + 1; tier < this.#ladder.length; tier += 1) {
      this.flow.fold(tier, highest)
      this.profile.fold(tier, highest)
    }
  }

  #mark(price: number): void {
    this.#markPrice = price
    this.flow.mark(price)
    this.profile.mark(price)
    this.observed.mark(price)
  }

  #trade({ timeExchangeMs, takerSide, price, sizeBase }: TradeEvent): void {
    if (!(timeExchangeMs > this.#readAtMs - TRADE_LATE_MS_MAX)) return
    if (takerSide === 'buy') this.#buysBase += sizeBase
    else this.#sellsBase += sizeBase
    this.#turnoverUsd += sizeBase * price
  }

  /** A reading that was just told; where none was for a while, something was missed. */
  #live(timeMs: number, openInterestBase: number): void {
    if (Number.isNaN(this.#readAtMs)) this.#unseenUntilMs = timeMs
    else if (timeMs - this.#readAtMs > INTERVAL_MS_MAX) {
      if (Number.isNaN(this.#unsweptFromMs)) this.#unsweptFromMs = this.#readAtMs
      if (Number.isNaN(this.#untradedFromMs)) this.#untradedFromMs = this.#readAtMs
      this.#unseenUntilMs = timeMs
    } else if (this.#unseenUntilMs === Number.POSITIVE_INFINITY) this.#unseenUntilMs = timeMs
    this.#read(timeMs, openInterestBase)
  }

  /** A reading of long ago, before anything was told live: its mark is all that is known of the interval. */
  #remember({ timeMs, markPrice, openInterestBase }: MarketSample): void {
    if (timeMs <= this.#readAtMs) return
    this.#mark(markPrice)
    this.#read(timeMs, openInterestBase)
  }

  #read(timeMs: number, openInterestBase: number): void {
    const elapsedMs = timeMs - this.#readAtMs
    if (elapsedMs < 0 && elapsedMs > -OVERTAKEN_MS_MAX) return
    if (Number.isNaN(elapsedMs)) this.#firstReadAtMs = timeMs
    else this.#endInterval(elapsedMs, openInterestBase)
    this.#readAtMs = timeMs
    this.#openInterestBase = openInterestBase
    this.#buysBase = 0
    this.#sellsBase = 0
    this.#turnoverUsd = 0
    this.#isTorn = 0
    this.observed.expire(timeMs)
  }

  #endInterval(elapsedMs: number, openInterestBase: number): void {
    const kept = keptAfter(elapsedMs)
    this.flow.shrink(kept)
    this.profile.shrink(kept)
    const volumeBase = this.#buysBase + this.#sellsBase
    const isKnown = volumeBase > 0 && this.#isTorn === 0
    const entryPrice = isKnown ? this.#turnoverUsd / volumeBase : this.#markPrice
    const tilt = isKnown ? (this.#buysBase - this.#sellsBase) / volumeBase : 0
    if (volumeBase > 0) this.#open(this.profile, entryPrice, volumeBase, 0)
    const before = this.#openInterestBase
    const grownBase = openInterestBase - before
    if (grownBase < 0) this.flow.shrink(openInterestBase / before)
    else if (grownBase > 0 && grownBase <= before * GROWTH_MAX)
      this.#open(this.flow, entryPrice, grownBase, tilt)
  }

  /** `tilt`: -1 where all trades were started by sellers, 1 where all by buyers. */
  #open(map: ZoneMap, entryPrice: number, sizeBase: number, tilt: number): void {
    for (let tier = 0; tier < this.#ladder.length; tier += 1) {
      const { share, preference, longFactor, shortFactor } = this.#ladder[tier] as LeverageTier
      if (share === 0) continue
      const lean = tilt * preference
      map.open(tier, 'long', entryPrice * longFactor, sizeBase * share * (1 + lean))
      map.open(tier, 'short', entryPrice * shortFactor, sizeBase * share * (1 - lean))
    }
  }

  /**
   * Candles of a time that was not seen, asked for at `askedAtMs`. Their lows and highs stand for the mark,
   * which cannot be known any more, and their volume is the profile's.
   */
  #unseen(bars: readonly Bar[], askedAtMs: number): void {
    const last = bars.at(-1)
    if (last === undefined) return
    if (!this.profile.isPlaced) this.#mark(last.close)
    const untilMs = Math.min(this.#unseenUntilMs, endOf(last), askedAtMs)
    // What is held is of the last reading, also where the last bars had no trades and are missing.
    const heldAtMs = Number.isNaN(this.#readAtMs) ? untilMs : this.#readAtMs
    this.#sweepUnseen(bars, untilMs)
    let low = this.#markPrice
    let high = this.#markPrice
    for (let at = bars.length - 1; at >= 0; at -= 1) {
      const bar = bars[at] as Bar
      if (bar.openTimeMs >= this.#untradedFromMs && endOf(bar) <= untilMs)
        this.#openUnseen(bar, heldAtMs, low, high)
      low = Math.min(low, bar.low)
      high = Math.max(high, bar.high)
    }
    // A bar without trades may be missing at the end.
    const isAll = untilMs > this.#unseenUntilMs - timeframeMs['15m']
    if (this.#untradedFromMs < untilMs) this.#untradedFromMs = isAll ? Number.NaN : untilMs
    if (this.#unsweptFromMs < untilMs) this.#unsweptFromMs = isAll ? Number.NaN : untilMs
  }

  #sweepUnseen(bars: readonly Bar[], untilMs: number): void {
    let low = Number.POSITIVE_INFINITY
    let high = 0
    for (const bar of bars) {
      if (!(endOf(bar) > this.#unsweptFromMs) || bar.openTimeMs >= untilMs) continue
      low = Math.min(low, bar.low)
      high = Math.max(high, bar.high)
    }
    if (high === 0) return
    this.flow.sweep(low, high)
    this.profile.sweep(low, high)
    this.#isApproximate = 1
  }

  /** What was traded in a bar, as far as no price since then, between `low` and `high`, liquidated it. */
  #openUnseen(bar: Bar, nowMs: number, low: number, high: number): void {
    const entryPrice = (bar.high + bar.low + bar.close) / 3
    const sizeBase = bar.volumeBase * keptAfter(nowMs - endOf(bar))
    if (sizeBase === 0) return
    for (const [tier, { share, longFactor, shortFactor }] of this.#ladder.entries()) {
      if (share === 0) continue
      const [longPrice, shortPrice] = [entryPrice * longFactor, entryPrice * shortFactor]
      if (longPrice < low) this.profile.open(tier, 'long', longPrice, sizeBase * share)
      if (shortPrice > high) this.profile.open(tier, 'short', shortPrice, sizeBase * share)
    }
  }
}

/** Share of what was known that still holds. */
function keptAfter(elapsedMs: number): number {
  return 2 ** (-Math.max(0, elapsedMs) / HALF_LIFE_MS)
}

function endOf({ openTimeMs }: Bar): number {
  return openTimeMs + timeframeMs['15m']
}

export const liquidationFlow = coinTracker('market/liquidations', () => new LiquidationFlow())
