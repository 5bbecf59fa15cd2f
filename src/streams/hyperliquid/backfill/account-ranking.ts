import type { TradeEvent } from '../../../domain/event.ts'
import { dexOf, MAIN_DEX } from '../wire/universe.ts'

/** Accounts that are remembered at least; twice as many at most. */
export const ACCOUNTS_KEPT = 512
/** What was traded so long ago counts half. */
const HALF_LIFE_MS = 4 * 3_600_000
/**
 * A trade of less counts as so much, but only with the probability of its share in it: on average all
 * is counted, and nine tenths of all trades cost nothing.
 */
const COUNTED_USD = 5_000
const LOTS = 65_536
const LOT_BITS = LOTS - 1
/** Weights grow with time instead of shrinking; before they overflow, all of them are made small again. */
const EXPONENT_MAX = 64

/**
 * Which accounts have traded most lately, both sides of every trade, by notional that decays. It is an
 * estimate in bounded memory: when there are too many, the smaller half is forgotten, so an account stays
 * that trades more than the median one between two such moments.
 */
export class AccountRanking {
  readonly #weights = new Map<string, { weight: number }>()
  #originMs: number

  constructor(nowMs: number) {
    this.#originMs = nowMs
  }

  note(trade: TradeEvent, nowMs: number): void {
    const notionalUsd = trade.price * trade.sizeBase
    const isSmall = notionalUsd < COUNTED_USD
    if (isSmall && (trade.tradeId & LOT_BITS) * COUNTED_USD >= notionalUsd * LOTS) return
    const { buyer, seller } = trade
    // Positions are asked of the venue's own dex alone.
    if (buyer === undefined || seller === undefined || dexOf(trade.coin) !== MAIN_DEX) return
    const weight = Math.max(notionalUsd, COUNTED_USD) * this.#growth(nowMs)
    this.#add(buyer, weight)
    this.#add(seller, weight)
    if (this.#weights.size > 2 * ACCOUNTS_KEPT) this.#forgetSmall()
  }

  /** The largest first. */
  top(count: number): readonly string[] {
    return this.#ranked()
      .slice(0, count)
      .map(([account]) => account)
  }

  #add(account: string, weight: number): void {
    const known = this.#weights.get(account)
    if (known !== undefined) known.weight += weight
    // A part of a frame would keep all of it in memory.
    else this.#weights.set(Buffer.from(account, 'latin1').toString('latin1'), { weight })
  }

  /** By how much what is traded now outweighs what was traded at the origin. */
  #growth(nowMs: number): number {
    const exponent = (nowMs - this.#originMs) / HALF_LIFE_MS
    if (exponent <= EXPONENT_MAX) return 2 ** exponent
    for (const known of this.#weights.values()) known.weight *= 2 ** -exponent
    this.#originMs = nowMs
    return 1
  }

  #forgetSmall(): void {
    for (const [account] of this.#ranked().slice(ACCOUNTS_KEPT)) this.#weights.delete(account)
  }

  #ranked(): (readonly [account: string, known: { readonly weight: number }])[] {
    return [...this.#weights].toSorted(([, one], [, other]) => other.weight - one.weight)
  }
}
