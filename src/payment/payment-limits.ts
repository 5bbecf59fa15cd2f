export type PaymentLimits = {
  readonly paidCallsPerWalletPerMinute: number
  readonly failedPaymentsPerAddressPerMinute: number
  /** For one wallet, address and reason. */
  readonly identicalFailuresPerMinute: number
  /** Payments that were used before, with or without access to the answer. */
  readonly repeatedPaymentsPerAddressPerMinute: number
  /** Payments of new payers from one address that may fail at a node or facilitator. */
  readonly unverifiedPaymentsPerAddressPerMinute: number
  /** The same for all addresses; known payers have this limit once more. */
  readonly unverifiedPaymentsPerSecond: number
}

export const limitsByDefault: PaymentLimits = {
  paidCallsPerWalletPerMinute: 20,
  failedPaymentsPerAddressPerMinute: 30,
  identicalFailuresPerMinute: 5,
  repeatedPaymentsPerAddressPerMinute: 60,
  unverifiedPaymentsPerAddressPerMinute: 10,
  // A public node answers 25 requests a second; most of them are left to buyers.
  unverifiedPaymentsPerSecond: 5,
}

/** Unpaid calls of paid routes per address. */
export const QUOTES_PER_MINUTE = 60
