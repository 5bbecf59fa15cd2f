import type { LimitPolicy, RateAllowance, RateLimit, RateLimits } from './rate-limit.ts'
import type { Rejection } from './rejection.ts'

export type FailedPaymentsOptions = {
  readonly perAddressPerMinute: number
  /** For one wallet, address and reason; also rejections of one wallet by the chain. */
  readonly identicalPerMinute: number
  readonly rateLimits: RateLimits
}

/**
 * An exceeded limit of failures. `unverified`: the payment may be valid, but its address may cause no more requests to
 * a node.
 */
export type LimitHit = (
  | { readonly of: 'address' | 'wallet' | 'unverified' }
  | { readonly of: 'loop'; readonly rejected: Rejection }
) & { readonly limit: LimitPolicy; readonly allowance: RateAllowance }

const REPEATED_FROM = 3
/** For one address; above the number of connections that the server accepts. */
const CHECKS_WAITING_MAX = 1_000

/** Sequential checks of one address. */
type CheckQueue = { waiting: number; last: Promise<unknown> }

/**
 * Limits failed payments. Above the limit of its address an invalid payment gets 429, and no node is asked about new
 * payers. Signatures are still checked and known payers still served, because several buyers can share an address.
 * A wallet has one owner: once the chain has rejected too many of its payments, all of them wait for the next window.
 */
export class FailedPayments {
  readonly #byAddress: RateLimit
  readonly #byWallet: RateLimit
  readonly #perWallet: number
  readonly #used: RateLimit
  readonly #identical: RateLimit
  readonly #identicalPerMinute: number
  readonly #queues = new Map<string, CheckQueue>()

  constructor({ perAddressPerMinute, identicalPerMinute, rateLimits }: FailedPaymentsOptions) {
    this.#byAddress = rateLimits('failed-payments', perAddressPerMinute)
    this.#perWallet = Math.min(identicalPerMinute, perAddressPerMinute)
    this.#byWallet = rateLimits('refused-payments', this.#perWallet)
    this.#used = rateLimits('used-authorizations', 1)
    this.#identical = rateLimits('identical-failures', identicalPerMinute)
    this.#identicalPerMinute = identicalPerMinute
  }

  /**
   * Runs `check` immediately, or after the earlier checks of an address that has reached its limit.
   * @returns the result of `check`, or the limit if too many checks wait
   */
  async check<Result>(caller: string, check: () => Promise<Result>): Promise<Result | LimitHit> {
    const allowance = await this.#byAddress.peek(caller)
    if (allowance.allowed) return check()
    const queue = this.#queues.get(caller) ?? { waiting: 0, last: Promise.resolve() }
    if (queue.waiting >= CHECKS_WAITING_MAX) return this.#hit('address', allowance)
    this.#queues.set(caller, queue)
    queue.waiting += 1
    const checked = queue.last.then(check, check)
    queue.last = checked
    try {
      return await checked
    } finally {
      queue.waiting -= 1
      if (queue.waiting === 0) this.#queues.delete(caller)
    }
  }

  /** @returns the limit if the address may cause no requests to a node for new payers */
  async addressLimit(caller: string): Promise<LimitHit | null> {
    const allowance = await this.#byAddress.peek(caller)
    return allowance.allowed ? null : this.#hit('unverified', allowance)
  }

  /** Whether, within the last minute, the chain rejected a payment of this wallet or one was already used elsewhere. */
  async wasRefused(payer: string): Promise<boolean> {
    const [refused, used] = await Promise.all([this.#byWallet.peek(payer), this.#used.peek(payer)])
    return refused.remaining < this.#perWallet || !used.allowed
  }

  /**
   * Records a payment that was used or cancelled elsewhere. It is public, so anyone may have sent it: it blocks
   * nothing.
   */
  async noteUsed(payer: string): Promise<void> {
    await this.#used.take(payer)
  }

  /** @returns the limit if the chain rejected too many payments of this wallet. Valid once its signature was checked. */
  async walletLimit(payer: string): Promise<LimitHit | null> {
    const allowance = await this.#byWallet.peek(payer)
    return allowance.allowed ? null : this.#hit('wallet', allowance)
  }

  /** Counts a payment that cannot be decoded. */
  async countMalformed(caller: string): Promise<LimitHit | null> {
    const allowance = await this.#byAddress.take(caller)
    return allowance.allowed ? null : this.#hit('address', allowance)
  }

  /**
   * Counts an invalid payment. @param payer the asserted payer, '' if it was not decoded
   * @returns the rejection for the buyer, or the limit
   */
  async countInvalid(
    caller: string,
    payer: string,
    rejected: Rejection,
  ): Promise<Rejection | LimitHit> {
    const hit = await this.countMalformed(caller)
    if (hit !== null) return hit
    // A correction of the channel state leads to a valid payment.
    if (rejected.correction !== undefined) return rejected
    const kind = [caller, payer, rejected.reason, rejected.field].join('|')
    const same = await this.#identical.take(kind)
    if (!same.allowed) return { of: 'loop', rejected, limit: this.#identical, allowance: same }
    const count = this.#identicalPerMinute - same.remaining
    if (count < REPEATED_FROM) return rejected
    return {
      ...rejected,
      hint:
        `${rejected.hint} The same failure occurred ${count} times within a minute; after ` +
        `${this.#identicalPerMinute} times the response is 429.`,
    }
  }

  /** Counts a payment with a valid signature that the chain rejected. */
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
