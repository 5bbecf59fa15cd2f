import type { CoinEvent, LiquidationEvent, LiquidationMethod } from '../../domain/event.ts'
import { liquidationMethods } from '../../domain/event.ts'
import type { CoinMarket } from '../market/coin-market.ts'
import type { CoinTracker } from '../market/coin-tracker.ts'
import { coinTracker } from '../market/coin-tracker.ts'
import type { MarketState } from '../market/market-state.ts'
import { joinSections, splitSections } from '../market/saved-sections.ts'
import type { Side } from './leverage-ladder.ts'

export const REALISED_MS = 24 * 3_600_000
/** Longer than the window, so that a range of a whole day can be read a while after its end. */
const KEPT_MS = REALISED_MS + 3_600_000
/** Candles are confirmed every few seconds, also without trades. */
const CONFIRMED_MS_MAX = 60_000
/** Fills per coin; the oldest are removed first, and the observation then begins after them. */
const FILLS_MAX = 8_192
/** Ranges begin and end with a quarter of an hour. */
const QUARTER_MS = 900_000
/** Sums of removed fills per coin, one for each side, mark price and quarter; the oldest quarters are removed first. */
const SUMS_MAX = 16_384
/** Gaps per coin; of more the two oldest become one, with the time between them. */
const GAPS_MAX = 64
/** A claim about a day waits half a day for what it needs. */
const GAPS_KEPT_MS = 2 * REALISED_MS

const LAYOUT = 7_102
const HEADER_FIELDS = 4
const ROW_FIELDS = 6
const [TIME, TRADE, ACCOUNT, KIND, MARK, SIZE] = [0, 1, 2, 3, 4, 5] as const
const SUM_FIELDS = 4
const GAP_FIELDS = 2
/** Added to the kind of a row from a vendor. */
const FROM_VENDOR = 2 * liquidationMethods.length

export type RealisedSide = {
  /** Size times mark price at the liquidation, in quote units. */
  readonly notional: number
  /** Closings of one account at one instant, each of one or several fills. */
  readonly count: number
  readonly largest: number
  readonly byMethod: Readonly<Record<LiquidationMethod, number>>
}

/** Removed fills of one side, mark price and quarter of an hour. */
type Sum = {
  readonly quarterMs: number
  readonly side: Side
  readonly markPrice: number
  readonly notional: number
}

export type LiquidatedRange = {
  readonly side: Side
  /** Mark price at the liquidation, from inclusive, until exclusive. */
  readonly fromPrice: number
  readonly untilPrice: number
  /** By the venue's clock, from inclusive, until exclusive; of removed fills in whole quarters of an hour. */
  readonly fromMs: number
  readonly untilMs: number
}

/**
 * Whether the trade feed of a coin is live, by its candles on the same connection: a gap is known only afterwards. False
 * while they wait for history.
 */
export function areTradesReceived(coin: CoinMarket, market: MarketState): boolean {
  return market.receivedMs - coin.candlesConfirmedAtMs <= CONFIRMED_MS_MAX
}

/** Confirmed liquidations of one coin in the last 25 hours. A fill that is delivered again changes nothing, except that
 * one of the venue replaces one of a vendor. */
export class RealisedLiquidations implements CoinTracker {
  readonly inputs = ['liquidation', 'liquidation-gap', 'trade-gap', 'context'] as const
  /** One row per fill, in order of arrival. */
  #rows: number[] = []
  /** Identifiers, with the kind of their row. */
  readonly #trades = new Map<number, number>()
  #observedFromMs = Number.NaN
  #newestMs = Number.NEGATIVE_INFINITY
  /** Until here rows of the last day were removed because there were too many. */
  #removedUntilMs = Number.NEGATIVE_INFINITY
  /** What {@link notional} still needs of them. */
  readonly #sums = new Map<string, Sum>()
  /** Until here sums were removed because there were too many. */
  #sumsRemovedUntilMs = Number.NEGATIVE_INFINITY
  /** Start and end of each time of which the source of all liquidations lost fills, ascending. */
  #gaps: number[] = []

  /** Since when no trade is missing and no fill was removed, by the venue's clock. NaN before any event. */
  get observedFromMs(): number {
    return this.#observedFromMs
  }

  /** Time of the newest liquidation; NaN without one. */
  get newestMs(): number {
    return Number.isFinite(this.#newestMs) ? this.#newestMs : Number.NaN
  }

  apply(event: CoinEvent): void {
    if (event.kind === 'liquidation') this.#add(event)
    else if (event.kind === 'liquidation-gap') this.#addGap(event.fromMs, event.untilMs)
    else if (event.kind === 'context') {
      if (Number.isNaN(this.#observedFromMs)) this.#observedFromMs = event.timeExchangeMs
    } else if (event.kind === 'trade-gap') this.#observeFrom(event.toMs)
  }

  /** One side in the 24 hours before an instant of the venue's clock. */
  side(side: Side, atMs: number): RealisedSide {
    const closings = new Map<string, number>()
    const byMethod: Record<LiquidationMethod, number> = { market: 0, backstop: 0 }
    let notional = 0
    for (let at = 0; at < this.#rows.length; at += ROW_FIELDS) {
      const timeMs = this.#field(at, TIME)
      const kind = this.#field(at, KIND)
      if (timeMs <= atMs - REALISED_MS || sideOf(kind) !== side) continue
      const usd = this.#field(at, SIZE) * this.#field(at, MARK)
      const closing = `${timeMs} ${this.#field(at, ACCOUNT)}`
      closings.set(closing, (closings.get(closing) ?? 0) + usd)
      byMethod[methodOf(kind)] += usd
      notional += usd
    }
    return { notional, count: closings.size, largest: Math.max(0, ...closings.values()), byMethod }
  }

  /** Notional of both sides in the 24 hours before an instant of the venue's clock, in quote units. */
  total(atMs: number): number {
    return this.side('long', atMs).notional + this.side('short', atMs).notional
  }

  /** Notional that was liquidated within a range, in quote units. */
  notional({ side, fromPrice, untilPrice, fromMs, untilMs }: LiquidatedRange): number {
    let notional = 0
    for (let at = 0; at < this.#rows.length; at += ROW_FIELDS) {
      const timeMs = this.#field(at, TIME)
      const mark = this.#field(at, MARK)
      const isInside =
        timeMs >= fromMs && timeMs < untilMs && mark >= fromPrice && mark < untilPrice
      if (isInside && sideOf(this.#field(at, KIND)) === side)
        notional += this.#field(at, SIZE) * mark
    }
    for (const sum of this.#sums.values()) {
      const { quarterMs, markPrice } = sum
      const isInside =
        quarterMs >= fromMs &&
        quarterMs < untilMs &&
        markPrice >= fromPrice &&
        markPrice < untilPrice
      if (isInside && sum.side === side) notional += sum.notional
    }
    return notional
  }

  /** Whether {@link notional} has every liquidation of a time that the source of all liquidations covers. */
  hasAll(fromMs: number, untilMs: number): boolean {
    const isKept = fromMs > this.#newestMs - KEPT_MS && fromMs >= this.#sumsRemovedUntilMs
    return isKept && !this.#hasGap(fromMs, untilMs)
  }

  /** Whether no liquidation of the day before was lost, or removed for its number. */
  isWhole(venueMs: number): boolean {
    const fromMs = venueMs - REALISED_MS
    return this.#removedUntilMs <= fromMs && !this.#hasGap(fromMs, venueMs)
  }

  save(): Float64Array {
    const header = [LAYOUT, this.#observedFromMs, this.#newestMs, this.#removedUntilMs]
    this.#removeOldSums(this.#newestMs - KEPT_MS)
    // Earlier versions read a checkpoint without sums and gaps.
    if (this.#sums.size === 0 && this.#gaps.length === 0) return joinSections([header, this.#rows])
    const sums = Array.from(this.#sums.values(), ({ quarterMs, side, markPrice, notional }) => [
      ...[quarterMs, side === 'long' ? 0 : 1, markPrice, notional],
    ])
    const removed = [this.#sumsRemovedUntilMs, ...sums.flat()]
    return joinSections([
      header,
      this.#rows,
      removed,
      ...(this.#gaps.length > 0 ? [this.#gaps] : []),
    ])
  }

  restore(saved: Float64Array): boolean {
    const [header, rows, savedSums, gaps = [], ...others] = splitSections(saved) ?? []
    if (header?.[0] !== LAYOUT || header.length !== HEADER_FIELDS || !rows || others.length > 0)
      return false
    // Without sums, what was removed is not known, as in checkpoints of earlier versions.
    const sums = savedSums ?? header.subarray(3)
    if (rows.length % ROW_FIELDS !== 0 || sums.length % SUM_FIELDS !== 1) return false
    if (gaps.length % GAP_FIELDS !== 0) return false
    this.#observedFromMs = header[1] as number
    this.#newestMs = header[2] as number
    this.#removedUntilMs = header[3] as number
    this.#replace([...rows])
    this.#gaps = [...gaps]
    this.#sumsRemovedUntilMs = sums[0] as number
    for (let at = 1; at < sums.length; at += SUM_FIELDS) {
      const [quarterMs = 0, side, markPrice = 0, notional = 0] = sums.subarray(at, at + SUM_FIELDS)
      this.#addSum({ quarterMs, side: side === 0 ? 'long' : 'short', markPrice, notional })
    }
    return true
  }

  #add(event: LiquidationEvent): void {
    const { timeExchangeMs: timeMs, tradeId, account, markPrice, sizeBase } = event
    const known = this.#trades.get(tradeId)
    const kind = kindOf(event)
    const isBetter = known !== undefined && known >= FROM_VENDOR && kind < FROM_VENDOR
    if ((known !== undefined && !isBetter) || timeMs <= this.#newestMs - KEPT_MS) return
    // It may be one of those.
    if (timeMs <= this.#removedUntilMs) return
    if (isBetter) this.#remove(tradeId)
    this.#trades.set(tradeId, kind)
    this.#rows.push(timeMs, tradeId, hashOf(account), kind, markPrice, sizeBase)
    this.#newestMs = Math.max(this.#newestMs, timeMs)
    if (this.#rows.length > FILLS_MAX * ROW_FIELDS) this.#removeOld()
  }

  /** Removes expired rows, and the oldest eighth if too few have expired, of which the sums remain. */
  #removeOld(): void {
    const times: number[] = []
    for (let at = 0; at < this.#rows.length; at += ROW_FIELDS) times.push(this.#field(at, TIME))
    const oldestMs = times.sort((one, other) => one - other)[FILLS_MAX / 8] as number
    const expiredMs = this.#newestMs - KEPT_MS
    const untilMs = Math.max(expiredMs, oldestMs)
    if (untilMs > expiredMs) {
      this.#observeFrom(untilMs)
      this.#removedUntilMs = untilMs
    }
    const kept: number[] = []
    for (let at = 0; at < this.#rows.length; at += ROW_FIELDS) {
      const timeMs = this.#field(at, TIME)
      if (timeMs > untilMs) kept.push(...this.#rows.slice(at, at + ROW_FIELDS))
      else if (timeMs > expiredMs)
        this.#addSum({
          quarterMs: Math.floor(timeMs / QUARTER_MS) * QUARTER_MS,
          side: sideOf(this.#field(at, KIND)),
          markPrice: this.#field(at, MARK),
          notional: this.#field(at, SIZE) * this.#field(at, MARK),
        })
    }
    this.#replace(kept)
    this.#removeOldSums(expiredMs)
  }

  #addSum(sum: Sum): void {
    const { quarterMs, side, markPrice } = sum
    const key = `${quarterMs} ${side} ${markPrice}`
    const notional = (this.#sums.get(key)?.notional ?? 0) + sum.notional
    this.#sums.set(key, { ...sum, notional })
  }

  /** Removes expired sums, and the oldest quarters if too few have expired. */
  #removeOldSums(expiredMs: number): void {
    if (this.#sums.size > SUMS_MAX) {
      const quarters = Array.from(this.#sums.values(), ({ quarterMs }) => quarterMs)
      const excess = quarters.sort((one, other) => other - one)[SUMS_MAX] as number
      this.#sumsRemovedUntilMs = Math.max(this.#sumsRemovedUntilMs, excess + QUARTER_MS)
    }
    const untilMs = Math.max(expiredMs, this.#sumsRemovedUntilMs)
    for (const [key, { quarterMs }] of this.#sums)
      if (quarterMs + QUARTER_MS <= untilMs) this.#sums.delete(key)
  }

  #addGap(fromMs: number, untilMs: number): void {
    const last = this.#gaps.length - 1
    if (last > 0 && fromMs <= (this.#gaps[last] as number))
      this.#gaps[last] = Math.max(this.#gaps[last] as number, untilMs)
    else this.#gaps.push(fromMs, untilMs)
    while ((this.#gaps[1] as number) <= untilMs - GAPS_KEPT_MS) this.#gaps.splice(0, GAP_FIELDS)
    if (this.#gaps.length > GAPS_MAX * GAP_FIELDS) this.#gaps.splice(1, GAP_FIELDS)
  }

  #hasGap(fromMs: number, untilMs: number): boolean {
    for (let at = 0; at < this.#gaps.length; at += GAP_FIELDS)
      if ((this.#gaps[at] as number) < untilMs && (this.#gaps[at + 1] as number) > fromMs)
        return true
    return false
  }

  #remove(tradeId: number): void {
    for (let at = 0; at < this.#rows.length; at += ROW_FIELDS)
      if (this.#field(at, TRADE) === tradeId) this.#rows.splice(at, ROW_FIELDS)
  }

  #replace(rows: number[]): void {
    this.#rows = rows
    this.#trades.clear()
    for (let at = 0; at < rows.length; at += ROW_FIELDS)
      this.#trades.set(this.#field(at, TRADE), this.#field(at, KIND))
  }

  #observeFrom(timeMs: number): void {
    if (!(timeMs <= this.#observedFromMs)) this.#observedFromMs = timeMs
  }

  #field(at: number, field: number): number {
    return this.#rows[at + field] as number
  }
}

function kindOf({ side, method, isFromVendor }: LiquidationEvent): number {
  const kind = 2 * liquidationMethods.indexOf(method) + (side === 'long' ? 0 : 1)
  return isFromVendor ? kind + FROM_VENDOR : kind
}

function sideOf(kind: number): Side {
  return kind % 2 === 0 ? 'long' : 'short'
}

function methodOf(kind: number): LiquidationMethod {
  return liquidationMethods[Math.floor((kind % FROM_VENDOR) / 2)] as LiquidationMethod
}

/** FNV-1a of 32 bits: two accounts with one hash would need a liquidation in the same millisecond to be counted as one. */
function hashOf(account: string): number {
  let hash = 0x811c9dc5
  for (let at = 0; at < account.length; at += 1)
    hash = Math.imul(hash ^ account.charCodeAt(at), 0x01000193)
  return hash >>> 0
}

export const realisedLiquidations = coinTracker(
  'market/realised-liquidations',
  () => new RealisedLiquidations(),
)
