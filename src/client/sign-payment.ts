import type { Budget, Hold } from './budget.ts'
import type { Payees } from './payees.ts'
import { highestAmount, payable } from './quote.ts'
import { readSignedTerms } from './signed-terms.ts'
import type { PaymentPayload, PaymentRequired } from './x402.ts'

/** Signs one of the terms of a quote, such as `x402Client.createPaymentPayload` of `@x402/core`. */
export type Payer = (quote: PaymentRequired) => Promise<PaymentPayload>

export type BudgetedPayment = {
  readonly payment: PaymentPayload
  /** Its part of the budget. */
  readonly hold: Hold
  /** Until then an uncharged payment is sent again instead of a new one. */
  readonly freshUntilMs: number
}

/** Signer and limits of one buyer. */
export type Buyer = {
  readonly pay: Payer
  readonly budget: Budget
  readonly payees: Payees
  /** Maximum validity of a payment. */
  readonly timeoutSecondsMax: number
  readonly nowMs: () => number
}

/** Bounds the time in which an uncharged payment counts against the budget. */
export const TIMEOUT_SECONDS_MAX = 300

/** Signs a payment within the buyer's limits. @throws UnpayableError if nothing was signed or may be sent */
export async function signPayment(quote: PaymentRequired, buyer: Buyer): Promise<BudgetedPayment> {
  const { pay, budget, payees, timeoutSecondsMax, nowMs } = buyer
  const offered = payees.known(payable(quote, timeoutSecondsMax))
  const expected = budget.hold(highestAmount(offered))
  try {
    const payment = await pay(offered)
    const terms = readSignedTerms(payment, offered.accepts, nowMs())
    if (terms.kind === 'voucher') {
      const { channelId, cumulative, deposit } = terms
      const hold = budget.signedVoucher(expected, channelId, cumulative, deposit)
      return { payment, hold, freshUntilMs: Number.POSITIVE_INFINITY }
    }
    const { amount, freshUntilMs, endsMs } = terms
    return { payment, hold: budget.signed(expected, { amount, endsMs }), freshUntilMs }
  } catch (cause) {
    budget.forget(expected)
    throw cause
  }
}
