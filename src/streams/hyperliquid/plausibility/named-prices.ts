import { BoundedMap } from '../../../domain/bounded-map.ts'
import type { BookEvent, ContextEvent, MarkEvent, TopOfBookEvent } from '../../../domain/event.ts'
import { dexOf } from '../wire/universe.ts'

/** `fastAssetCtxs` arrives every second and reports changes: while it arrives, its last mark of a coin is current. */
const MARKS_AGE_MS_MAX = 5_000
/** Books arrive every 5.4 s; two may be lost. */
const MID_AGE_MS_MAX = 15_000
/** Relative difference of prices that means another coin; named mark and row are at most 1 s apart. */
const OTHER_COIN_MIN = 0.02
/** A row this close to the price of its coin, and of no other, belongs to that coin. */
const SAME_COIN_MAX = 0.0025
/** Bound for names that no universe lists: new coins, and damaged names. */
const UNLISTED_MAX = 1_000
const UNLISTED_AGE_MS_MAX = 60_000

type Named = { mark: number; mid: number; midMs: number }
type Unlisted = { readonly mark: number; readonly receivedMs: number }

/**
 * Prices from channels that name their coins. Contexts of all coins are joined by place; these prices show whether a row
 * belongs to the coin of its place.
 */
export class NamedPrices {
  readonly #byDex = new Map<string, Map<string, Named>>()
  readonly #unlisted = new BoundedMap<string, Unlisted>(UNLISTED_MAX)
  /** The connection and time of the last marks. */
  #marksSocket = -1
  #marksMs = Number.NaN

  /** A frame of `fastAssetCtxs` arrived. */
  marksReceived(socket: number, nowMs: number): void {
    this.#marksSocket = socket
    this.#marksMs = nowMs
  }

  /** Discards all marks: changes are missed until the next connection, which begins with all coins. */
  lost(socket: number): void {
    if (socket !== this.#marksSocket) return
    this.#marksMs = Number.NaN
    for (const coins of this.#byDex.values())
      for (const named of coins.values()) named.mark = Number.NaN
  }

  /** Removes coins that are no longer listed. */
  keep(isListed: (coin: string) => boolean): void {
    for (const coins of this.#byDex.values())
      for (const coin of coins.keys()) if (!isListed(coin)) coins.delete(coin)
  }

  mark({ coin, markPrice, midPrice }: MarkEvent, nowMs: number): void {
    const named = this.#of(coin)
    if (markPrice !== undefined) named.mark = markPrice
    if (midPrice === undefined) return
    named.mid = midPrice ?? Number.NaN
    named.midMs = nowMs
  }

  /** A context of `activeAssetCtx`. */
  context({ coin, markPrice, midPrice }: ContextEvent, nowMs: number): void {
    const named = this.#of(coin)
    named.mark = markPrice
    named.mid = midPrice ?? Number.NaN
    named.midMs = nowMs
  }

  book(event: BookEvent | TopOfBookEvent, nowMs: number): void {
    const bid = event.kind === 'book' ? event.bids[0] : event.bid
    const ask = event.kind === 'book' ? event.asks[0] : event.ask
    const named = this.#of(event.coin)
    named.mid = bid == null || ask == null ? Number.NaN : (bid.price + ask.price) / 2
    named.midMs = nowMs
  }

  /** Notes a coin that no universe lists. @returns whether it is new */
  unlisted({ coin, markPrice = Number.NaN }: MarkEvent, nowMs: number): boolean {
    const isNew = !this.#unlisted.has(coin)
    this.#unlisted.set(coin, { mark: markPrice, receivedMs: nowMs })
    return isNew
  }

  /** Whether a row is 2 % off the price of its coin, or 0.25 % off it and within 0.25 % of another's. */
  isOfOther(context: ContextEvent, nowMs: number): boolean {
    const own = this.#byDex.get(dexOf(context.coin))?.get(context.coin)
    const distanceToOwn = own === undefined ? Number.NaN : this.#distance(context, own, nowMs)
    if (distanceToOwn >= OTHER_COIN_MIN) return true
    return distanceToOwn > SAME_COIN_MAX && this.#isAtPriceOfOther(context, nowMs)
  }

  /** Whether the price of a row matches its coin and no other coin of the dex. */
  isConfirmed(context: ContextEvent, nowMs: number): boolean {
    const own = this.#byDex.get(dexOf(context.coin))?.get(context.coin)
    if (own === undefined || !(this.#distance(context, own, nowMs) <= SAME_COIN_MAX)) return false
    return !this.#isAtPriceOfOther(context, nowMs)
  }

  #isAtPriceOfOther(context: ContextEvent, nowMs: number): boolean {
    const { coin, markPrice } = context
    const dex = dexOf(coin)
    for (const [name, named] of this.#byDex.get(dex) ?? [])
      if (name !== coin && this.#distance(context, named, nowMs) <= SAME_COIN_MAX) return true
    for (const [name, { mark, receivedMs }] of this.#unlisted)
      if (
        name !== coin &&
        dexOf(name) === dex &&
        nowMs - receivedMs <= UNLISTED_AGE_MS_MAX &&
        distance(markPrice, mark) <= SAME_COIN_MAX
      )
        return true
    return false
  }

  /** NaN without a current named price. */
  #distance({ markPrice, midPrice }: ContextEvent, named: Named, nowMs: number): number {
    const byMark =
      nowMs - this.#marksMs <= MARKS_AGE_MS_MAX ? distance(markPrice, named.mark) : Number.NaN
    if (!Number.isNaN(byMark) || midPrice === null) return byMark
    return nowMs - named.midMs <= MID_AGE_MS_MAX ? distance(midPrice, named.mid) : Number.NaN
  }

  #of(coin: string): Named {
    const dex = dexOf(coin)
    let coins = this.#byDex.get(dex)
    if (coins === undefined) {
      coins = new Map()
      this.#byDex.set(dex, coins)
    }
    let named = coins.get(coin)
    if (named === undefined) {
      named = { mark: Number.NaN, mid: Number.NaN, midMs: Number.NaN }
      coins.set(coin, named)
    }
    return named
  }
}

function distance(one: number, other: number): number {
  return Math.abs(one / other - 1)
}
