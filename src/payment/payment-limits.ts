export type PaymentLimits = {
  readonly paidCallsPerWalletPerMinute: number
  readonly failedPaymentsPerAddressPerMinute: number
  /** Of one wallet, from one address, for one reason. */
  readonly identicalFailuresPerMinute: number
  /** Payments that were used before, whether their answer is given again or not. */
  readonly repeatedPaymentsPerAddressPerMinute: number
  /** Payments of new payers from one address that may fail at a node or a facilitator. */
  readonly unverifiedPaymentsPerAddressPerMinute: number
  /** The same of all addresses, and of known payers once more. */
  readonly unverifiedPaymentsPerSecond: number
}

export const limitsByDefault: PaymentLimits = {
  paidCallsPerWalletPerMinute: 20,
  failedPaymentsPerAddressPerMinute: 30,
  identicalFailuresPerMinute: 5,
  repeatedPaymentsPerAddressPerMinute: 60,
  unverifiedPaymentsPerAddressPerMinute: 10,
  // A public node answers 25 requests a second: most of them are left to those who buy.
  unverifiedPaymentsPerSecond: 5,
}

/** Calls of paid routes without a payment, of one address. */
export const QUOTES_PER_MINUTE = 60
