/**
 * Why a payment is invalid and how to correct it: the `diagnostics` member of a 402. Its request charged nothing. It never
 * contains the signature.
 */
export type Rejection = {
  /** An x402 error code. */
  readonly reason: string
  /** Path of the invalid field in the payment; null if it is not a single field. */
  readonly field: string | null
  readonly expected: string | null
  readonly received: string | null
  readonly hint: string
  /** null if an earlier request may have charged the payment. */
  readonly charged: false | null
  /** Sent as `extra` of one scheme and network in `accepts`, so that a client can correct its state. */
  readonly correction?: {
    readonly scheme: string
    readonly network: string
    readonly extra: Readonly<Record<string, unknown>>
  }
}

export const MAY_BE_CHARGED = 'An earlier request may have charged this payment.'
export const SEND_AGAIN =
  'Send the same payment again; sign another one only if the chain has no transfer of it.'

/** A received value is cut to this length before it is sent back. */
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
    charged: false,
  }
}

/** A facilitator's code as a rejection. Codes differ between versions, so only parts are matched. */
export function facilitatorRejection(reason: string): Rejection {
  const hint =
    hints.find(([part]) => reason.includes(part))?.[1] ??
    'Sign a new payment for one of the entries of `accepts`.'
  return rejection(reason, hint)
}

/** A rejection of a payment that an earlier request may have charged: no hint may ask its buyer to pay again. */
export function chargeUnknown(rejected: Rejection): Rejection {
  return { ...rejected, hint: `${MAY_BE_CHARGED} ${SEND_AGAIN}`, charged: null }
}

/** Whether a facilitator reports that the nonce was used before. */
export function saysNonceUsed(reason: string): boolean {
  return /nonce.*used|already.*used|duplicate_settlement/.test(reason)
}

/** Whether it forbids a new settlement, and says nothing about an earlier one, which may have paid. */
export function forbidsNewSettlement({ reason }: Rejection): boolean {
  return /valid_before|payer_barred|contract_wallets_(not_accepted|suspended)/.test(reason)
}

/** Whether a used nonce may be the cause: some facilitators report it under a code that names none. */
export function mayMeanNonceUsed(reason: string): boolean {
  return saysNonceUsed(reason) || /simulation_failed/.test(reason) || !NAMES_CAUSE.test(reason)
}

/** Parts of reasons that name another cause than a used nonce. */
const NAMES_CAUSE = new RegExp(
  [
    'insufficient|signature|valid_(before|after)|expired|mismatch|missing|unsupported|not_supported',
    '_payload_|declined|blocked|barred|contract_wallet|evm_transaction_failed|batch_settlement|requirements',
    '(value|amount|recipient|mint|memo|network|scheme|fee_payer|token_name|token_version)$',
  ].join('|'),
)

const hints = [
  [
    'refund_transaction_failed',
    'The refund failed on chain. Nothing was charged. Send the same refund again.',
  ],
  [
    'refund_too_soon',
    'A channel allows one partial refund per hour. Nothing was charged. Ask for the whole remainder, or retry in an hour.',
  ],
  [
    'payer_barred',
    'Settlements of this wallet failed on chain at the cost of the seller. It is blocked for up to 7 days. Pay from another wallet.',
  ],
  [
    'contract_wallet_barred',
    'Settlements of wallets with this contract code failed on chain at the cost of the seller. Pay from an account without code.',
  ],
  [
    'contract_wallet_failed',
    'The contract of this wallet accepted the payment in the simulation and failed in the transaction. Nothing was charged. Pay from an account without code.',
  ],
  [
    'contract_wallets_not_accepted',
    'Contract wallets are not accepted. Pay from an account without code.',
  ],
  [
    'contract_wallets_suspended',
    'Contract wallets are not accepted at present. Pay from an account without code, or try again in an hour.',
  ],
  [
    'exact_evm_transaction_failed',
    'The transfer failed on chain. Nothing was charged. Keep the balance until the answer has arrived and sign a new payment.',
  ],
  ['payer_declined', 'The facilitator does not serve this wallet. Pay from another wallet.'],
  [
    'cumulative_exceeds_balance',
    'The deposit does not cover this voucher. Increase the deposit and sign again.',
  ],
  [
    'withdrawal_pending',
    'A withdrawal from the channel is pending. Complete it, or pay by another scheme.',
  ],
  ['channel_not_found', 'The channel has no deposit. Send a deposit with the voucher.'],
  ['insufficient', 'The wallet holds less USDC than the price. Fund it and sign a new payment.'],
  ['duplicate', 'This transaction was sent before. Sign a transaction with a new memo.'],
  ['simulation_failed', 'The simulated transfer failed. Check the balance and sign a new payment.'],
  ['nonce', 'The authorization was used or cancelled. Sign a new one with a new nonce.'],
  ['payment_expired', 'The payment has expired. Sign a new one.'],
  ['valid_before', 'The authorization has expired. Sign a new one with a later validBefore.'],
  ['valid_after', 'The authorization is not valid yet. Set validAfter some minutes in the past.'],
  ['signature', 'Sign with the EIP-712 domain of the token: `extra` has its name and version.'],
] as const
