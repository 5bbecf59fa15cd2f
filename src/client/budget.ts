import { UnpayableError } from './errors.ts'

export type BudgetLimits = {
  /** Maximum of one call, USDC. */
  readonly maxUsdPerCall: number
  /** Maximum of all calls together, USDC. */
  readonly totalUsd: number
}

/** The part of a budget that one payment reserves. */
export type Hold = {
  /** Millionths of a USDC. */
  readonly amount: bigint
  /** Unix time from which the payment cannot be settled; Infinity for never. */
  readonly endsMs: number
}

/**
 * Counts signed payments against a budget without trusting the seller. A payment counts from its signature until it
 * cannot be settled any more; after that it is released if the seller reported it as not charged. Releases are limited
 * to one budget in total, because only the seller knows whether such a report is true.
 */
export class Budget {
  readonly #perCall: bigint
  readonly #total: bigint
  readonly #nowMs: () => number
  /** Settled, or possibly settled. */
  #spent = 0n
  #released = 0n
  /** Open payments, and whether the seller reported them as not charged. */
  readonly #held = new Map<Hold, boolean>()
  /** Released; the seller may still report a charge. */
  readonly #releasedHolds = new WeakSet<Hold>()
  /** Signed sum by channel: a voucher is cumulative. Never evicted. */
  readonly #vouchers = new Map<string, bigint>()
  /** Signed deposits. Vouchers are paid out of them, so they are not part of `#spent` and have the total to themselves. */
  #deposited = 0n

  constructor({ maxUsdPerCall, totalUsd }: BudgetLimits, nowMs: () => number) {
    this.#perCall = atomic(maxUsdPerCall)
    this.#total = atomic(totalUsd)
    this.#nowMs = nowMs
  }

  /** Counted now, USDC. */
  get spentUsd(): number {
    return Number(this.#counted()) / 1e6
  }

  /** The part of `spentUsd` that may still be settled, USDC. */
  get heldUsd(): number {
    this.#expire()
    return Number(amountOf(this.#held.keys())) / 1e6
  }

  /** Reserves an amount before signing. @param amount millionths of a USDC. @throws UnpayableError */
  hold(amount: bigint): Hold {
    if (amount > this.#perCall)
      throw new UnpayableError(
        `the call costs ${usd(amount)} USDC, more than ${usd(this.#perCall)}; nothing was signed`,
      )
    this.#mustHold(amount, this.#counted(), 'signed')
    const hold = { amount, endsMs: Number.POSITIVE_INFINITY }
    this.#held.set(hold, false)
    return hold
  }

  /** Replaces the reservation by what was signed. */
  signed(expected: Hold, signed: Hold): Hold {
    this.#held.delete(expected)
    this.#held.set(signed, false)
    return signed
  }

  /**
   * Replaces the reservation by a voucher, which can be claimed at any time and so counts permanently.
   * @param deposit signed with it, 0 without one; it locks money up to the channel's withdrawal delay
   * @throws UnpayableError
   */
  signedVoucher(expected: Hold, channelId: string, cumulative: bigint, deposit = 0n): Hold {
    const before = this.#vouchers.get(channelId)
    const amount = cumulative > (before ?? 0n) ? cumulative - (before ?? 0n) : 0n
    // The first voucher of an existing channel counts with its whole sum.
    if (before !== undefined && amount > expected.amount)
      throw new UnpayableError(
        `the wallet signed ${usd(amount)} USDC, but the call costs ${usd(expected.amount)}; nothing was sent`,
      )
    if (this.#deposited + deposit > this.#total)
      throw new UnpayableError(
        `the wallet signed a deposit of ${usd(deposit)} USDC, but the budget allows only ` +
          `${usd(this.#total - this.#deposited)} of deposits; nothing was sent`,
      )
    this.#mustHold(amount, this.#counted() - expected.amount, 'sent')
    this.#held.delete(expected)
    this.#deposited += deposit
    this.#vouchers.set(channelId, (before ?? 0n) + amount)
    this.#spent += amount
    return { amount, endsMs: Number.POSITIVE_INFINITY }
  }

  /** Cancels a reservation that was not signed. */
  forget(hold: Hold): void {
    this.#held.delete(hold)
  }

  /** Counts a payment as charged. */
  settle(hold: Hold): void {
    if (this.#held.delete(hold) || this.#releasedHolds.delete(hold)) this.#spent += hold.amount
  }

  /** Records that the seller reported no charge; released once the payment cannot be settled any more. */
  reportUncharged(hold: Hold): void {
    if (this.#held.has(hold)) this.#held.set(hold, true)
  }

  #mustHold(amount: bigint, counted: bigint, verb: 'signed' | 'sent'): void {
    if (counted + amount <= this.#total) return
    throw new UnpayableError(
      `the call costs ${usd(amount)} USDC, but only ${usd(this.#total - counted)} of the budget are left` +
        `${this.#heldText()}; nothing was ${verb}`,
    )
  }

  #counted(): bigint {
    this.#expire()
    return this.#spent + amountOf(this.#held.keys())
  }

  #heldText(): string {
    const uncharged = [...this.#held].flatMap(([hold, isUncharged]) => (isUncharged ? [hold] : []))
    if (uncharged.length === 0) return ''
    const soonestMs = Math.min(...uncharged.map(({ endsMs }) => endsMs))
    const seconds = Math.ceil((soonestMs - this.#nowMs()) / 1_000)
    return (
      `; another ${usd(amountOf(uncharged))} are reserved for payments that were reported as not charged but can ` +
      `still be settled: retry in ${seconds} s`
    )
  }

  #expire(): void {
    const nowMs = this.#nowMs()
    for (const [hold, isUncharged] of this.#held) {
      if (hold.endsMs > nowMs) continue
      this.#held.delete(hold)
      if (isUncharged && this.#released + hold.amount <= this.#total) {
        this.#released += hold.amount
        this.#releasedHolds.add(hold)
      } else this.#spent += hold.amount
    }
  }
}

function amountOf(holds: Iterable<Hold>): bigint {
  return [...holds].reduce((sum, { amount }) => sum + amount, 0n)
}

function atomic(amountUsd: number): bigint {
  if (!(amountUsd >= 0 && amountUsd <= 1e9))
    throw new RangeError('a budget must be between 0 and 1e9 USDC')
  return BigInt(Math.round(amountUsd * 1e6))
}

function usd(amount: bigint): string {
  return String(Number(amount) / 1e6)
}
