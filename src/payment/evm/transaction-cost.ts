import type { TransactionReceipt } from 'viem'
import { isAddressEqual, isHex, parseEventLogs } from 'viem'
import type { TransactionCost } from '../ledger/transaction-costs.ts'
import type { PaymentNetwork } from './networks.ts'
import { tokenAbi } from './token-abi.ts'

/** Cost of a transaction of transfers. Its payments are the authorizations that it used. */
export function settlementCost(
  { network, asset }: PaymentNetwork,
  receipt: TransactionReceipt,
): TransactionCost {
  const used = parseEventLogs({
    abi: tokenAbi,
    eventName: 'AuthorizationUsed',
    logs: receipt.logs,
  }).filter(({ address }) => isAddressEqual(address, asset))
  return {
    network,
    transaction: receipt.transactionHash,
    purpose: 'settlement',
    payments: used.length,
    fee: feeOf(receipt),
  }
}

/** Wei. Rollups of the OP stack, such as Base, name the fee for the parent chain in the receipt. */
export function feeOf(receipt: TransactionReceipt): bigint {
  const { gasUsed, effectiveGasPrice } = receipt
  const l1Fee = (receipt as { readonly l1Fee?: unknown }).l1Fee
  return gasUsed * effectiveGasPrice + (isHex(l1Fee) ? BigInt(l1Fee) : 0n)
}
