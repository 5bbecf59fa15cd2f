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

/** Half-life of an estimate: traders add margin, which moves the liquidation price. */
export const HALF_LIFE_MS = 48 * 3_600_000
/** The venue sends open interest every 14 s; a longer interval lacks marks. */
const INTERVAL_MS_MAX = 90_000
/** An older frame within this time was overtaken and is ignored; a larger step means that the clock was set back. */
const OVERTAKEN_MS_MAX = 60_000
/** A trade arrives within this time after its reading; older ones are repeats. */
const TRADE_LATE_MS_MAX = 15_000
/** Readings that differ by a larger ratio: one of them may be wrong, so the next one decides. */
const RATIO_MAX = 1.5

const LAYOUT = 2
/** Followed every reading. A volume profile that is not restored is never rebuilt. */
const FIRST_LAYOUT = 1

/**
 * Estimates where the open interest of one coin is liquidated, from intervals between two readings of it. Growth was
 * opened on both sides at the interval's average price; the takers' side gets more leverage. A decrease closes all
 * positions pro rata, because nothing shows which ones closed; a liquidation, which the mark already removed, is thus
 * counted twice by its share only. `profile` adds all traded volume in the same way: its shape stands for open interest
 * whose opening was not recorded.
 */
export class LiquidationFlow implements CoinTracker {
  readonly inputs = [
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
  /** Numbers of a checkpoint, in its order. */
  readonly #state = {
    /** Last reading, by the venue's clock. NaN before any. */
    readAtMs: Number.NaN,
    openInterestBase: Number.NaN,
    markPrice: Number.NaN,
    firstReadAtMs: Number.NaN,
    /** Trades of the current interval, in the coin's unit and in USD. */
    buysBase: 0,
    sellsBase: 0,
    turnoverUsd: 0,
    /** 1 if trades of the interval were lost, so their average and sides are unknown. */
    isTorn: 0,
    /** Start of a time without marks: older positions may have been liquidated in it. NaN for none. */
    unsweptFromMs: Number.NaN,
    /** Start of a time without trades, at first -Infinity. NaN for none. */
    untradedFromMs: Number.NEGATIVE_INFINITY,
    /** End of both. */
    unseenUntilMs: Number.POSITIVE_INFINITY,
    isApproximate: 0,
    /** Open interest that the flow follows: not the last reading while that one waits for the next. */
    confirmedBase: Number.NaN,
  }

  /** Five tiers, lowest leverage first; empty before the first event. */
  get ladder(): readonly LeverageTier[] {
    return this.#ladder
  }

  /** In the coin's unit. NaN before any. */
  get openInterestBase(): number {
    return this.#state.openInterestBase
  }

  /** NaN before any. */
  get markPrice(): number {
    return this.#state.markPrice
  }

  /** First recorded reading. NaN before any. */
  get firstReadAtMs(): number {
    return this.#state.firstReadAtMs
  }

  /** Whether marks were missing for a while, which candles may have replaced. */
  get isApproximate(): boolean {
    return this.#state.isApproximate === 1
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
        this.#state.isTorn = 1
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
    const header = [LAYOUT, ...Object.values(this.#state)]
    return joinSections([header, this.flow.save(), this.profile.save()])
  }

  restore(saved: Float64Array, { listing }: TrackedCoin): boolean {
    const [header, flow, profile] = splitSections(saved) ?? []
    if (header === undefined || flow === undefined || profile === undefined) return false
    const names = Object.keys(this.#state)
    const isFirst = header[0] === FIRST_LAYOUT && header.length === names.length
    if (!isFirst && (header[0] !== LAYOUT || header.length !== 1 + names.length)) return false
    if (!this.flow.restore(flow) || !this.profile.restore(profile)) return false
    this.#adopt(listing)
    Object.assign(this.#state, Object.fromEntries(names.map((name, at) => [name, header[at + 1]])))
    if (isFirst) this.#state.confirmedBase = this.#state.openInterestBase
    return true
  }

  /** Moves the content of tiers that are no longer permitted to the highest permitted one; without one nothing is left. */
  #adopt(listing: Listing): void {
    this.#listing = listing
    this.#ladder = leverageLadder(listing)
    const highest = this.#ladder.findLastIndex(({ isPermitted }) => isPermitted)
    if (highest < 0) {
      this.flow.shrink(0)
      this.profile.shrink(0)
      return
    }
    for (let tier = highest + 1; tier < this.#ladder.length; tier += 1) {
      this.flow.fold(tier, highest)
      this.profile.fold(tier, highest)
    }
  }

  #mark(price: number): void {
    this.#state.markPrice = price
    this.flow.mark(price)
    this.profile.mark(price)
    this.observed.mark(price)
  }

  #trade({ timeExchangeMs, takerSide, price, sizeBase }: TradeEvent): void {
    if (!(timeExchangeMs > this.#state.readAtMs - TRADE_LATE_MS_MAX)) return
    if (takerSide === 'buy') this.#state.buysBase += sizeBase
    else this.#state.sellsBase += sizeBase
    this.#state.turnoverUsd += sizeBase * price
  }

  /** Adds a live reading; after a longer pause, marks and trades are missing. */
  #live(timeMs: number, openInterestBase: number): void {
    if (Number.isNaN(this.#state.readAtMs)) this.#state.unseenUntilMs = timeMs
    else if (this.#isPaused(timeMs)) this.#noteUnseen(timeMs)
    else if (this.#state.unseenUntilMs === Number.POSITIVE_INFINITY)
      this.#state.unseenUntilMs = timeMs
    this.#read(timeMs, openInterestBase)
  }

  #isPaused(timeMs: number): boolean {
    return timeMs - this.#state.readAtMs > INTERVAL_MS_MAX
  }

  /** Marks and trades are missing since the last reading. */
  #noteUnseen(untilMs: number): void {
    if (Number.isNaN(this.#state.unsweptFromMs)) this.#state.unsweptFromMs = this.#state.readAtMs
    if (Number.isNaN(this.#state.untradedFromMs)) this.#state.untradedFromMs = this.#state.readAtMs
    this.#state.unseenUntilMs = untilMs
  }

  /** Candles of a pause may arrive before the reading that would show it. */
  #endPause(untilMs: number): void {
    this.#noteUnseen(untilMs)
    this.#state.isApproximate = 1
    this.#decay(untilMs - this.#state.readAtMs)
    this.#state.readAtMs = untilMs
  }

  #decay(elapsedMs: number): void {
    const kept = keptAfter(elapsedMs)
    this.flow.shrink(kept)
    this.profile.shrink(kept)
  }

  /** Adds a stored reading from before the first live one: its mark is all that is known of the interval. */
  #remember({ timeMs, markPrice, openInterestBase }: MarketSample): void {
    if (timeMs <= this.#state.readAtMs) return
    this.#mark(markPrice)
    this.#read(timeMs, openInterestBase)
  }

  #read(timeMs: number, openInterestBase: number): void {
    const elapsedMs = timeMs - this.#state.readAtMs
    if (elapsedMs < 0 && elapsedMs > -OVERTAKEN_MS_MAX) return
    if (elapsedMs > INTERVAL_MS_MAX) this.#state.isApproximate = 1
    if (Number.isNaN(elapsedMs)) {
      this.#state.firstReadAtMs = timeMs
      this.#state.confirmedBase = openInterestBase
    } else this.#endInterval(elapsedMs, openInterestBase)
    this.#state.readAtMs = timeMs
    this.#state.openInterestBase = openInterestBase
    this.#state.buysBase = 0
    this.#state.sellsBase = 0
    this.#state.turnoverUsd = 0
    this.#state.isTorn = 0
    this.observed.expire(timeMs)
  }

  #endInterval(elapsedMs: number, openInterestBase: number): void {
    this.#decay(elapsedMs)
    const volumeBase = this.#state.buysBase + this.#state.sellsBase
    const isKnown = volumeBase > 0 && this.#state.isTorn === 0
    const entryPrice = isKnown ? this.#state.turnoverUsd / volumeBase : this.#state.markPrice
    const tilt = isKnown ? (this.#state.buysBase - this.#state.sellsBase) / volumeBase : 0
    if (volumeBase > 0) this.#open(this.profile, entryPrice, volumeBase, 0)
    const grownBase = this.#confirm(openInterestBase)
    if (grownBase > 0) this.#open(this.flow, entryPrice, grownBase, tilt)
  }

  /**
   * Closes what a reading shows to be closed. A reading that differs too much from the confirmed one counts only if the
   * next one agrees with it: a single wrong one would close the flow permanently.
   * @returns what was opened since the confirmed reading, in the coin's unit
   */
  #confirm(openInterestBase: number): number {
    const lastBase = this.#state.openInterestBase
    if (isJump(this.#state.confirmedBase, openInterestBase)) {
      if (lastBase === this.#state.confirmedBase || isJump(lastBase, openInterestBase)) return 0
      this.#follow(lastBase)
    }
    const grownBase = openInterestBase - this.#state.confirmedBase
    this.#follow(openInterestBase)
    return Math.max(0, grownBase)
  }

  #follow(openInterestBase: number): void {
    const before = this.#state.confirmedBase
    if (openInterestBase < before) this.flow.shrink(openInterestBase / before)
    this.#state.confirmedBase = openInterestBase
  }

  /** @param tilt -1 where all takers sold, 1 where all bought */
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
   * Adds candles of a time without marks and trades, requested at `askedAtMs`. Their lows and highs replace the mark,
   * and their volume goes to the profile.
   */
  #unseen(bars: readonly Bar[], askedAtMs: number): void {
    const last = bars.at(-1)
    if (last === undefined) return
    if (!this.profile.isPlaced) this.#mark(last.close)
    if (this.#isPaused(askedAtMs)) this.#endPause(askedAtMs)
    const untilMs = Math.min(this.#state.unseenUntilMs, endOf(last), askedAtMs)
    // The profile is of the last reading, even where the last bars had no trades and are missing.
    const heldAtMs = Number.isNaN(this.#state.readAtMs) ? untilMs : this.#state.readAtMs
    this.#sweepUnseen(bars, untilMs)
    let low = this.#state.markPrice
    let high = this.#state.markPrice
    for (let at = bars.length - 1; at >= 0; at -= 1) {
      const bar = bars[at] as Bar
      if (bar.openTimeMs >= this.#state.untradedFromMs && endOf(bar) <= untilMs)
        this.#openUnseen(bar, heldAtMs, low, high)
      low = Math.min(low, bar.low)
      high = Math.max(high, bar.high)
    }
    // A bar without trades may be missing at the end.
    const isAll = untilMs > this.#state.unseenUntilMs - timeframeMs['15m']
    if (this.#state.untradedFromMs < untilMs)
      this.#state.untradedFromMs = isAll ? Number.NaN : untilMs
    if (this.#state.unsweptFromMs < untilMs)
      this.#state.unsweptFromMs = isAll ? Number.NaN : untilMs
  }

  #sweepUnseen(bars: readonly Bar[], untilMs: number): void {
    let low = Number.POSITIVE_INFINITY
    let high = 0
    for (const bar of bars) {
      if (!(endOf(bar) > this.#state.unsweptFromMs) || bar.openTimeMs >= untilMs) continue
      low = Math.min(low, bar.low)
      high = Math.max(high, bar.high)
    }
    if (high === 0) return
    this.flow.sweep(low, high)
    this.profile.sweep(low, high)
  }

  /** Adds the volume of a bar, except positions that prices since then, `low` to `high`, liquidated. */
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

function isJump(one: number, other: number): boolean {
  return Math.max(one, other) > Math.min(one, other) * RATIO_MAX
}

/** Share of an estimate that remains. */
function keptAfter(elapsedMs: number): number {
  return 2 ** (-Math.max(0, elapsedMs) / HALF_LIFE_MS)
}

function endOf({ openTimeMs }: Bar): number {
  return openTimeMs + timeframeMs['15m']
}

export const liquidationFlow = coinTracker('market/liquidations', () => new LiquidationFlow())
