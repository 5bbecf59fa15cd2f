/**
 * Why a payment is not accepted, in words that let a buyer's program repair it. Goes out as the
 * `diagnostics` member of a 402. It never holds the signature.
 */
export type Rejection = {
  /** An x402 error code. */
  readonly reason: string
  /** What in the payment is wrong, as a path into it; null where it is not one field. */
  readonly field: string | null
  readonly expected: string | null
  readonly received: string | null
  readonly hint: string
  /** What lets a client repair it by itself: goes out as `extra` of this one way to pay, not as diagnostics. */
  readonly correction?: {
    readonly scheme: string
    readonly network: string
    readonly extra: Readonly<Record<string, unknown>>
  }
}

/** What a buyer sent is cut to this length before it is sent back. */
const RECEIVED_CHARS_MAX = 100

export function rejection(
  reason: string,
  hint: string,
  difference?: { readonly field: string; readonly expected: string; readonly received: string },
): Rejection {
  return {
    reason,
    field: difference?.field ?? null,
    expected: difference?.expected ?? null,
    received: difference?.received.slice(0, RECEIVED_CHARS_MAX) ?? null,
    hint,
  }
}

/** Turns a facilitator's code into a rejection. Codes differ between versions, so only parts are read. */
export function facilitatorRejection(reason: string): Rejection {
  const hint =
    hints.find(([part]) => reason.includes(part))?.[1] ??
    'Sign a new payment for one of the accepted terms.'
  return rejection(reason, hint)
}

/** A facilitator says that the authorization's nonce was used before. */
export function saysNonceUsed(reason: string): boolean {
  return /nonce.*used|already.*used|duplicate_settlement/.test(reason)
}

/** It does not say so, and may mean it: some call a nonce that was used by no other name. */
export function mayMeanNonceUsed(reason: string): boolean {
  return saysNonceUsed(reason) || /simulation_failed|^invalid_payload$/.test(reason)
}

const hints = [
  [
    'payer_barred',
    'Settlements of this wallet failed on the chain at our cost, so it is not accepted for 7 days. Pay from another one.',
  ],
  [
    'contract_wallet_barred',
    'Settlements of wallets with this contract code failed on the chain at our cost. Pay from an account with a key and no code.',
  ],
  [
    'contract_wallet_failed',
    'The contract of this wallet accepted the payment in a simulation and failed in the transaction. Nothing was charged. Pay from an account with a key and no code.',
  ],
  [
    'contract_wallets_not_accepted',
    'Contract wallets are not accepted here. Pay from an account with a key and no code.',
  ],
  [
    'contract_wallets_suspended',
    'Contract wallets are not accepted at the moment. Pay from an account with a key and no code, or try again in an hour.',
  ],
  [
    'exact_evm_transaction_failed',
    'The transfer failed on the chain. Nothing was charged. Keep the balance until the answer has arrived, and sign a new payment.',
  ],
  ['payer_declined', 'The facilitator takes no payments of this wallet. Pay from another one.'],
  [
    'cumulative_exceeds_balance',
    'The deposit does not cover this voucher. Add to it and sign again.',
  ],
  [
    'withdrawal_pending',
    'Money is on its way out of the channel. Finish that, or pay another way.',
  ],
  ['channel_not_found', 'Nothing is deposited on this channel. Send a deposit with the voucher.'],
  ['insufficient', 'The wallet holds less USDC than the price. Fund it and send a new payment.'],
  ['duplicate', 'This very transaction was sent before. Sign one with a memo of its own.'],
  [
    'simulation_failed',
    'The chain would not carry it out. Look at the balance, and sign a new one.',
  ],
  ['nonce', 'The authorization was used or cancelled. Sign a new one with a fresh nonce.'],
  ['payment_expired', 'The payment has expired. Sign a new one.'],
  ['valid_before', 'The authorization has expired. Sign a new one with a later validBefore.'],
  ['valid_after', 'The authorization is not valid yet. Back-date validAfter by some minutes.'],
  ['signature', "Sign with the token's EIP-712 domain: name and version stand in `extra`."],
] as const
