import type { LimitPolicy, RateAllowance } from './rate-limit.ts'
import { RateLimit } from './rate-limit.ts'
import type { Rejection } from './rejection.ts'

export type FailedPaymentsOptions = {
  readonly perAddressPerMinute: number
  /** Of one wallet, from one address, for one reason; and of one wallet by the chain. */
  readonly identicalPerMinute: number
}

/**
 * A limit on failures that stands in the way of an answer, and whose they are. `unverified`: the payment may be
 * right, and its address may ask no node about it.
 */
export type LimitHit = (
  | { readonly of: 'address' | 'wallet' | 'unverified' }
  | { readonly of: 'loop'; readonly rejected: Rejection }
) & { readonly limit: LimitPolicy; readonly allowance: RateAllowance }

const REPEATED_FROM = 3
/** Of one address. More do not come here: the server holds fewer connections. */
const CHECKS_WAITING_MAX = 1_000

/** Checks of one address, one behind the other. */
type Lane = { waiting: number; last: Promise<unknown> }

/**
 * What follows from payments that fail. An address may send so many a minute, and fewer of the same kind;
 * beyond that a wrong one gets 429, and no node is asked about a new payer's. Its signature is still checked, and a
 * payer who has bought before is still served, because the address may be shared with whoever fails. A wallet is
 * nobody else's: when the chain refuses its payments again and again, no more are tried for the rest of the minute.
 */
export class FailedPayments {
  readonly #byAddress: RateLimit
  readonly #byWallet: RateLimit
  readonly #perWallet: number
  readonly #identical: RateLimit
  readonly #identicalPerMinute: number
  readonly #lanes = new Map<string, Lane>()

  constructor({ perAddressPerMinute, identicalPerMinute }: FailedPaymentsOptions) {
    this.#byAddress = new RateLimit('failed-payments', perAddressPerMinute)
    this.#perWallet = Math.min(identicalPerMinute, perAddressPerMinute)
    this.#byWallet = new RateLimit('refused-payments', this.#perWallet)
    this.#identical = new RateLimit('identical-failures', identicalPerMinute)
    this.#identicalPerMinute = identicalPerMinute
  }

  /**
   * Checks a payment: at once, or after those before it where the caller has used up its failures. @returns
   * what `check` does, or the limit where too many wait
   */
  async check<Result>(caller: string, check: () => Promise<Result>): Promise<Result | LimitHit> {
    const allowance = await this.#byAddress.peek(caller)
    if (allowance.allowed) return check()
    const lane = this.#lanes.get(caller) ?? { waiting: 0, last: Promise.resolve() }
    if (lane.waiting >= CHECKS_WAITING_MAX) return this.#hit('address', allowance)
    this.#lanes.set(caller, lane)
    lane.waiting += 1
    const checked = lane.last.then(check, check)
    lane.last = checked
    try {
      return await checked
    } finally {
      lane.waiting -= 1
      if (lane.waiting === 0) this.#lanes.delete(caller)
    }
  }

  /** Whether an address has used up its failures, so that no node is asked for it about new payers. */
  async addressLimit(caller: string): Promise<LimitHit | null> {
    const allowance = await this.#byAddress.peek(caller)
    return allowance.allowed ? null : this.#hit('unverified', allowance)
  }

  /** Whether the chain refused a payment of this wallet within the last minute. */
  async wasRefused(payer: string): Promise<boolean> {
    return (await this.#byWallet.peek(payer)).remaining < this.#perWallet
  }

  /** Whether the chain refused this wallet's payments too often. To be asked once it has signed. */
  async walletLimit(payer: string): Promise<LimitHit | null> {
    const allowance = await this.#byWallet.peek(payer)
    return allowance.allowed ? null : this.#hit('wallet', allowance)
  }

  /** Counts a payment that cannot be read. */
  async countMalformed(caller: string): Promise<LimitHit | null> {
    const allowance = await this.#byAddress.take(caller)
    return allowance.allowed ? null : this.#hit('address', allowance)
  }

  /**
   * Counts a payment that was read and found wrong here. @param payer who it says that pays, '' where it was
   * not read so far. @returns what the buyer is told, or the limit
   */
  async countInvalid(
    caller: string,
    payer: string,
    rejected: Rejection,
  ): Promise<Rejection | LimitHit> {
    const hit = await this.countMalformed(caller)
    if (hit !== null) return hit
    // What corrects a client that lost count is no failure to be told again.
    if (rejected.correction !== undefined) return rejected
    const kind = [caller, payer, rejected.reason, rejected.field].join('|')
    const same = await this.#identical.take(kind)
    if (!same.allowed) return { of: 'loop', rejected, limit: this.#identical, allowance: same }
    const count = this.#identicalPerMinute - same.remaining
    if (count < REPEATED_FROM) return rejected
    return {
      ...rejected,
      hint:
        `${rejected.hint} The same failed ${count} times within a minute; trying again does not help, and ` +
        `after ${this.#identicalPerMinute} times the answer is 429.`,
    }
  }

  /** Counts a payment that its payer has signed and the chain refused. */
  async countRefused(
    caller: string,
    payer: string,
    rejected: Rejection,
  ): Promise<Rejection | LimitHit> {
    if (rejected.correction === undefined) await this.#byWallet.take(payer)
    return this.countInvalid(caller, payer, rejected)
  }

  #hit(of: 'address' | 'wallet' | 'unverified', allowance: RateAllowance): LimitHit {
    return { of, allowance, limit: of === 'wallet' ? this.#byWallet : this.#byAddress }
  }
}
