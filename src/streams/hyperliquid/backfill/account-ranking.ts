import type { TradeEvent } from '../../../domain/event.ts'
import { dexOf, MAIN_DEX } from '../wire/universe.ts'

/** At least this many accounts are kept, at most twice as many. */
export const ACCOUNTS_KEPT = 512
/** The weight of a trade halves in this time. */
const HALF_LIFE_MS = 4 * 3_600_000
/** A smaller trade counts as this much, with the probability of its share in it: the expectation is exact, and nine of ten trades cost nothing. */
const COUNTED_USD = 5_000
const LOTS = 65_536
const LOT_BITS = LOTS - 1
/** Weights of new trades grow instead of old ones shrinking; all are rescaled before they overflow. */
const EXPONENT_MAX = 64

/**
 * Ranks accounts by traded notional with decay, both sides of every trade. An estimate in bounded memory: if there are too
 * many accounts, the smaller half is removed.
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
    // Positions are requested for the main dex only.
    if (buyer === undefined || seller === undefined || dexOf(trade.coin) !== MAIN_DEX) return
    const weight = Math.max(notionalUsd, COUNTED_USD) * this.#growth(nowMs)
    this.#add(buyer, weight)
    this.#add(seller, weight)
    if (this.#weights.size <= 2 * ACCOUNTS_KEPT) return
    for (const [account] of this.#ranked().slice(ACCOUNTS_KEPT)) this.#weights.delete(account)
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
    // A slice would keep the whole frame in memory.
    else this.#weights.set(Buffer.from(account, 'latin1').toString('latin1'), { weight })
  }

  /** The weight of a trade now relative to one at the origin. */
  #growth(nowMs: number): number {
    const exponent = (nowMs - this.#originMs) / HALF_LIFE_MS
    if (exponent <= EXPONENT_MAX) return 2 ** exponent
    for (const known of this.#weights.values()) known.weight *= 2 ** -exponent
    this.#originMs = nowMs
    return 1
  }

  #ranked(): (readonly [account: string, known: { readonly weight: number }])[] {
    return [...this.#weights].toSorted(([, one], [, other]) => other.weight - one.weight)
  }
}
