import type { Budget, Hold } from './budget.ts'
import type { Payees } from './payees.ts'
import { dearest, payable } from './quote.ts'
import { signedTerms } from './signed-terms.ts'
import type { PaymentPayload, PaymentRequired } from './x402.ts'

/**
 * Signs one of the ways to pay that a quote names: `x402Client.createPaymentPayload` of `@x402/core`, or
 * whatever else makes the same.
 */
export type Payer = (quote: PaymentRequired) => Promise<PaymentPayload>

export type SignedPayment = {
  readonly payment: PaymentPayload
  /** What the budget counts for it. */
  readonly hold: Hold
  /** While nothing was charged for it, it is sent until then in the place of a new one. */
  readonly freshUntilMs: number
}

/** What bounds the payments of one buyer. */
export type Purse = {
  readonly pay: Payer
  readonly budget: Budget
  readonly payees: Payees
  /** A quote that asks for a payment which can be charged for longer is refused. */
  readonly timeoutSecondsMax: number
  readonly nowMs: () => number
}

/** So that what a service did not charge counts against the budget for minutes only. */
export const TIMEOUT_SECONDS_MAX = 300

/** Signs for a quote what the purse allows. @throws UnpayableError when nothing was signed, or may be sent */
export async function signedPayment(quote: PaymentRequired, purse: Purse): Promise<SignedPayment> {
  const { pay, budget, payees, timeoutSecondsMax, nowMs } = purse
  const offered = payees.known(payable(quote, timeoutSecondsMax))
  const expected = budget.hold(dearest(offered))
  try {
    const payment = await pay(offered)
    const terms = signedTerms(payment, offered.accepts, nowMs())
    if (terms.kind === 'voucher') {
      const hold = budget.signedVoucher(expected, terms.channelId, terms.cumulative)
      return { payment, hold, freshUntilMs: Number.POSITIVE_INFINITY }
    }
    const { amount, freshUntilMs, endsMs } = terms
    return { payment, hold: budget.signed(expected, { amount, endsMs }), freshUntilMs }
  } catch (cause) {
    budget.forget(expected)
    throw cause
  }
}
