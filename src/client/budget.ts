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
  readonly #payments: Account
  /** Vouchers are paid out of deposits, so deposits have the total to themselves. */
  readonly #deposits: Account
  /** Signed sum by channel: a voucher is cumulative. Never evicted. */
  readonly #vouchers = new Map<string, bigint>()

  constructor({ maxUsdPerCall, totalUsd }: BudgetLimits, nowMs: () => number) {
    this.#perCall = atomic(maxUsdPerCall)
    this.#total = atomic(totalUsd)
    this.#payments = new Account(this.#total, nowMs)
    this.#deposits = new Account(this.#total, nowMs)
  }

  /** Counted now, USDC. */
  get spentUsd(): number {
    return Number(this.#payments.counted()) / 1e6
  }

  /** The part of `spentUsd` that may still be settled, USDC. */
  get heldUsd(): number {
    return Number(this.#payments.held()) / 1e6
  }

  /** Reserves an amount before signing. @param amount millionths of a USDC. @throws UnpayableError */
  hold(amount: bigint): Hold {
    if (amount > this.#perCall)
      throw new UnpayableError(
        `the call costs ${usd(amount)} USDC, more than ${usd(this.#perCall)}; nothing was signed`,
      )
    this.#mustHold(amount, this.#payments.counted(), 'signed')
    const hold = { amount, endsMs: Number.POSITIVE_INFINITY }
    this.#payments.hold(hold)
    return hold
  }

  /** Replaces the reservation by what was signed. */
  signed(expected: Hold, signed: Hold): Hold {
    this.#payments.forget(expected)
    this.#payments.hold(signed)
    return signed
  }

  /**
   * Replaces the reservation by a voucher, which can be claimed at any time and so counts permanently.
   * @param deposit signed with it; it locks money up to the channel's withdrawal delay
   * @returns the reservation of the deposit, which counts apart from the voucher
   * @throws UnpayableError
   */
  signedVoucher(expected: Hold, channelId: string, cumulative: bigint, deposit?: Hold): Hold {
    const before = this.#vouchers.get(channelId)
    const amount = cumulative > (before ?? 0n) ? cumulative - (before ?? 0n) : 0n
    // The first voucher of an existing channel counts with its whole sum.
    if (before !== undefined && amount > expected.amount)
      throw new UnpayableError(
        `the wallet signed ${usd(amount)} USDC, but the call costs ${usd(expected.amount)}; nothing was sent`,
      )
    if (deposit !== undefined) this.#mustDeposit(deposit.amount)
    this.#mustHold(amount, this.#payments.counted() - expected.amount, 'sent')
    this.#payments.forget(expected)
    if (deposit !== undefined) this.#deposits.hold(deposit)
    this.#vouchers.set(channelId, (before ?? 0n) + amount)
    this.#payments.spend(amount)
    return deposit ?? { amount: 0n, endsMs: Number.POSITIVE_INFINITY }
  }

  /** Cancels a reservation that was not signed. */
  forget(hold: Hold): void {
    this.#payments.forget(hold)
  }

  /** Counts a payment as charged. */
  settle(hold: Hold): void {
    this.#payments.settle(hold)
    this.#deposits.settle(hold)
  }

  /** Records that the seller reported no charge; released once the payment cannot be settled any more. */
  reportUncharged(hold: Hold): void {
    this.#payments.reportUncharged(hold)
    this.#deposits.reportUncharged(hold)
  }

  #mustHold(amount: bigint, counted: bigint, verb: 'signed' | 'sent'): void {
    if (counted + amount <= this.#total) return
    throw new UnpayableError(
      `the call costs ${usd(amount)} USDC, but only ${usd(this.#total - counted)} of the budget are left` +
        `${this.#payments.heldText()}; nothing was ${verb}`,
    )
  }

  #mustDeposit(amount: bigint): void {
    const left = this.#total - this.#deposits.counted()
    if (amount <= left) return
    throw new UnpayableError(
      `the wallet signed a deposit of ${usd(amount)} USDC, but the budget allows only ${usd(left)} of deposits` +
        `${this.#deposits.heldText()}; nothing was sent. Increase totalUsd, or set depositStrategy of the wallet`,
    )
  }
}

/** Signed amounts of one kind. */
class Account {
  /** Maximum of all releases together. */
  readonly #total: bigint
  readonly #nowMs: () => number
  /** Settled, or possibly settled. */
  #spent = 0n
  #released = 0n
  /** Open payments, and whether the seller reported them as not charged. */
  readonly #held = new Map<Hold, boolean>()
  /** Released; the seller may still report a charge. */
  readonly #releasedHolds = new WeakSet<Hold>()

  constructor(total: bigint, nowMs: () => number) {
    this.#total = total
    this.#nowMs = nowMs
  }

  counted(): bigint {
    return this.held() + this.#spent
  }

  held(): bigint {
    this.#expire()
    return amountOf(this.#held.keys())
  }

  hold(hold: Hold): void {
    this.#held.set(hold, false)
  }

  forget(hold: Hold): void {
    this.#held.delete(hold)
  }

  spend(amount: bigint): void {
    this.#spent += amount
  }

  settle(hold: Hold): void {
    if (this.#held.delete(hold) || this.#releasedHolds.delete(hold)) this.#spent += hold.amount
  }

  reportUncharged(hold: Hold): void {
    if (this.#held.has(hold)) this.#held.set(hold, true)
  }

  heldText(): string {
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
