import { UnpayableError } from './errors.ts'

export type BudgetLimits = {
  /** No single call may cost more, in USDC. */
  readonly maxUsdPerCall: number
  /** All calls together may not, in USDC. */
  readonly totalUsd: number
}

/** Counts what was signed. A payment counts from its signature on, until the service says that it was not charged. */
export class Budget {
  readonly #perCall: bigint
  readonly #total: bigint
  #spent = 0n

  constructor({ maxUsdPerCall, totalUsd }: BudgetLimits) {
    this.#perCall = atomic(maxUsdPerCall)
    this.#total = atomic(totalUsd)
  }

  /** In USDC. */
  get spentUsd(): number {
    return Number(this.#spent) / 1e6
  }

  /** @param amount millionths of a USDC. @throws UnpayableError */
  take(amount: bigint): void {
    if (amount > this.#perCall)
      throw new UnpayableError(
        `the call costs ${usd(amount)} USDC, more than ${usd(this.#perCall)}`,
      )
    if (this.#spent + amount > this.#total)
      throw new UnpayableError(
        `the call costs ${usd(amount)} USDC, and ${usd(this.#total - this.#spent)} are left of the budget`,
      )
    this.#spent += amount
  }

  giveBack(amount: bigint): void {
    this.#spent -= amount
  }
}

function atomic(amountUsd: number): bigint {
  if (!(amountUsd >= 0 && amountUsd <= 1e9)) throw new RangeError('a budget is an amount of USDC')
  return BigInt(Math.round(amountUsd * 1e6))
}

function usd(amount: bigint): string {
  return String(Number(amount) / 1e6)
}
