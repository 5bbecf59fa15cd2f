import type { PaymentPayload, PaymentRequired } from '@x402/core/types'
import type { Budget } from './budget.ts'
import { dearest, payable } from './quote.ts'

/**
 * Signs one of the ways to pay that a quote names: `x402Client.createPaymentPayload` of `@x402/core`, or
 * whatever else makes the same.
 */
export type Payer = (quote: PaymentRequired) => Promise<PaymentPayload>

export type SignedPayment = {
  readonly payment: PaymentPayload
  /** What the budget counts for it, in millionths of a USDC. */
  readonly amount: bigint
}

/** Signs for a quote what the budget allows. @throws UnpayableError */
export async function signedPayment(
  quote: PaymentRequired,
  pay: Payer,
  budget: Budget,
): Promise<SignedPayment> {
  const offered = payable(quote)
  const amount = dearest(offered)
  budget.take(amount)
  try {
    return { payment: await pay(offered), amount }
  } catch (cause) {
    budget.giveBack(amount)
    throw cause
  }
}
