import { UnpayableError } from './errors.ts'

export type BudgetLimits = {
  /** No single call may cost more, in USDC. */
  readonly maxUsdPerCall: number
  /** All calls together may not, in USDC. */
  readonly totalUsd: number
}

/** The part of a budget that one signed payment takes. */
export type Hold = {
  /** Millionths of a USDC. */
  readonly amount: bigint
  /** From then on nobody can settle it any more; Infinity where that is never so. */
  readonly endsMs: number
}

/**
 * Counts what was signed, whatever a seller says of it. A payment counts from its signature until nobody can settle
 * it any more. From then on it counts no longer where the seller said that it was not charged. Only the seller knows
 * whether that is true, so what is given back on its word is bounded too, by the budget itself.
 */
export class Budget {
  readonly #perCall: bigint
  readonly #total: bigint
  readonly #nowMs: () => number
  /** Settled, or not known not to be. */
  #spent = 0n
  #givenBack = 0n
  /** With whether the seller said that it was not charged. */
  readonly #held = new Map<Hold, boolean>()
  /** Given back, and still in the hands of the seller. */
  readonly #believed = new WeakSet<Hold>()
  /** What vouchers were signed for by channel: a voucher is over the sum of all before it. Money, so never evicted. */
  readonly #vouchers = new Map<string, bigint>()

  constructor({ maxUsdPerCall, totalUsd }: BudgetLimits, nowMs: () => number) {
    this.#perCall = atomic(maxUsdPerCall)
    this.#total = atomic(totalUsd)
    this.#nowMs = nowMs
  }

  /** What counts now, in USDC. */
  get spentUsd(): number {
    return Number(this.#counted()) / 1e6
  }

  /** The part of it that somebody may still settle, in USDC. */
  get heldUsd(): number {
    this.#expire()
    return Number(amountOf(this.#held.keys())) / 1e6
  }

  /** Before a signature. @param amount millionths of a USDC. @throws UnpayableError */
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

  /** After it: what was signed counts in the place of what was expected. */
  signed(expected: Hold, signed: Hold): Hold {
    this.#held.delete(expected)
    this.#held.set(signed, false)
    return signed
  }

  /** The same of a voucher. It can be claimed at any time, so it counts for good. @throws UnpayableError */
  signedVoucher(expected: Hold, channelId: string, cumulative: bigint): Hold {
    const before = this.#vouchers.get(channelId)
    const amount = cumulative > (before ?? 0n) ? cumulative - (before ?? 0n) : 0n
    // A channel that was used before this budget was made counts as a whole.
    if (before !== undefined && amount > expected.amount)
      throw new UnpayableError(
        `the wallet signed for ${usd(amount)} USDC, and the call costs ${usd(expected.amount)}; nothing was sent`,
      )
    this.#mustHold(amount, this.#counted() - expected.amount, 'sent')
    this.#held.delete(expected)
    this.#vouchers.set(channelId, (before ?? 0n) + amount)
    this.#spent += amount
    return { amount, endsMs: Number.POSITIVE_INFINITY }
  }

  /** It was never sent. */
  forget(hold: Hold): void {
    this.#held.delete(hold)
  }

  /** It bought an answer, or the seller says that it was charged. */
  settle(hold: Hold): void {
    if (this.#held.delete(hold) || this.#believed.delete(hold)) this.#spent += hold.amount
  }

  /** The seller says that it was not charged: believed once it cannot be charged any more. */
  disclaim(hold: Hold): void {
    if (this.#held.has(hold)) this.#held.set(hold, true)
  }

  #mustHold(amount: bigint, counted: bigint, verb: 'signed' | 'sent'): void {
    if (counted + amount <= this.#total) return
    throw new UnpayableError(
      `the call costs ${usd(amount)} USDC, and ${usd(this.#total - counted)} are left of the budget` +
        `${this.#heldWords()}; nothing was ${verb}`,
    )
  }

  #counted(): bigint {
    this.#expire()
    return this.#spent + amountOf(this.#held.keys())
  }

  #heldWords(): string {
    const disclaimed = [...this.#held].flatMap(([hold, isDisclaimed]) =>
      isDisclaimed ? [hold] : [],
    )
    if (disclaimed.length === 0) return ''
    const soonestMs = Math.min(...disclaimed.map(({ endsMs }) => endsMs))
    const seconds = Math.ceil((soonestMs - this.#nowMs()) / 1_000)
    return (
      `, ${usd(amountOf(disclaimed))} more are held for payments that the service says it did not charge ` +
      `and still could: try again in ${seconds} s`
    )
  }

  #expire(): void {
    const nowMs = this.#nowMs()
    for (const [hold, isDisclaimed] of this.#held) {
      if (hold.endsMs > nowMs) continue
      this.#held.delete(hold)
      if (isDisclaimed && this.#givenBack + hold.amount <= this.#total) {
        this.#givenBack += hold.amount
        this.#believed.add(hold)
      } else this.#spent += hold.amount
    }
  }
}

function amountOf(holds: Iterable<Hold>): bigint {
  return [...holds].reduce((sum, { amount }) => sum + amount, 0n)
}

function atomic(amountUsd: number): bigint {
  if (!(amountUsd >= 0 && amountUsd <= 1e9)) throw new RangeError('a budget is an amount of USDC')
  return BigInt(Math.round(amountUsd * 1e6))
}

function usd(amount: bigint): string {
  return String(Number(amount) / 1e6)
}
