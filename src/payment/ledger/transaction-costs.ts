/** Fee of a mined transaction that this service sent. */
export type TransactionCost = {
  readonly network: string
  readonly transaction: string
  /** `settlement`: transfer of payments or proof anchor. `channel`: deposit, claim, payout or refund of channels. */
  readonly purpose: 'settlement' | 'channel'
  /** Payments in the transaction, those that failed included; 0 for an anchor and for a transaction of channels. */
  readonly payments: number
  /** Wei on EVM chains, the fee of the data on the parent chain included; lamports on Solana. */
  readonly fee: bigint
}

/** Fees of transactions, stored with the ledger. The chain has the same information, so a lost record is no loss of money. */
export interface TransactionCosts {
  /** A transaction that is recorded already stays as it is. Never fails. */
  record(cost: TransactionCost, nowMs: number): void
}

/** Records a fee now. */
export type RecordCost = (cost: TransactionCost) => void
