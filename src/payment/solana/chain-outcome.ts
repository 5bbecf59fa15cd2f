import { nodeReason } from '../node-error.ts'
import type { Outcome } from '../payment.ts'
import type { ExactSolanaPayment } from './exact-solana.ts'
import type { SignatureStatus, SolanaNode } from './solana-node.ts'
import { associatedTokenAccount } from './token-account.ts'
import { hasMessage } from './wire-transaction.ts'

/** What is known of the transaction of a payment; null for one that is in no block. */
type Found = { readonly signature: string; readonly status: SignatureStatus } | null

/** Looks for a payment's transaction in blocks up to `slot` at least. */
type Search = (slot: number) => Promise<Found>

/** So many of a payer's newest transactions are looked through for one whose signature is not known. */
const TRANSACTIONS_SEARCHED_MAX = 40

/** What became of a payment whose transaction has this signature. */
export function outcomeBySignature(
  node: SolanaNode,
  payment: ExactSolanaPayment,
  signature: string,
  nowMs: number,
): Promise<Outcome> {
  return outcomeOf(node, payment, nowMs, async (slot) => {
    const found = await node.status(signature)
    if (found.value !== null) return { signature, status: found.value }
    if (found.slot < slot) throw new Error('one node behind the RPC URL is behind another')
    return null
  })
}

/**
 * The same where somebody else signs as fee payer, so that the signature is not known: a transaction is
 * this payment's if it has the very message that the payer signed.
 */
export function outcomeByMessage(
  node: SolanaNode,
  payment: ExactSolanaPayment,
  nowMs: number,
): Promise<Outcome> {
  return outcomeOf(node, payment, nowMs, async (slot) => {
    const source = await associatedTokenAccount(payment.payer, payment.chain.asset)
    const signatures = await node.signaturesFor(source, TRANSACTIONS_SEARCHED_MAX, slot)
    for (const signature of signatures) {
      const landed = await node.transaction(signature)
      if (landed === null) throw new Error('a transaction is listed and cannot be read')
      if (hasMessage(landed.bytes, payment.transaction))
        return { signature, status: { err: landed.err, confirmationStatus: 'confirmed' } }
    }
    if (signatures.length === TRANSACTIONS_SEARCHED_MAX)
      throw new Error(`not among the payer's newest ${TRANSACTIONS_SEARCHED_MAX} transactions`)
    return null
  })
}

/** Whether a transaction pays a payment; null while the node does not know it. @throws where it does not answer */
export async function solanaTransactionPays(
  node: SolanaNode,
  payment: ExactSolanaPayment,
  transaction: string,
): Promise<boolean | null> {
  const landed = await node.transaction(transaction)
  return landed === null
    ? null
    : landed.err === null && hasMessage(landed.bytes, payment.transaction)
}

/**
 * A transaction that is in no block can get into one for as long as any bank takes its blockhash. The
 * finalized bank forgets it last, but it also learns of it last: that it does not know a blockhash counts
 * only after a time in which it must have heard of it.
 */
async function outcomeOf(
  node: SolanaNode,
  { transaction: { blockhash }, validBeforeSeconds }: ExactSolanaPayment,
  nowMs: number,
  search: Search,
): Promise<Outcome> {
  try {
    const [newest, finalized] = await Promise.all([
      node.isBlockhashValid(blockhash, 'processed'),
      node.isBlockhashValid(blockhash, 'finalized'),
    ])
    // After those: what landed before the blockhash was forgotten is found now.
    const found = await search(finalized.slot)
    if (found !== null) return landed(found)
    const isYoung = nowMs < validBeforeSeconds * 1_000
    if (newest.value && isYoung) return { kind: 'unused', asOfSeconds: nowMs / 1_000 }
    if (newest.value || finalized.value || isYoung)
      return { kind: 'unknown', reason: 'in no block yet, and may still get into one' }
    return { kind: 'expired' }
  } catch (cause) {
    return { kind: 'unknown', reason: nodeReason(cause) }
  }
}

/** A transaction that failed has used up its signature, and its message cannot be sent again. */
function landed({ signature, status }: NonNullable<Found>): Outcome {
  if (status.confirmationStatus === 'processed')
    return { kind: 'unknown', reason: 'in a block that is not confirmed yet' }
  const transaction = signature
  return { kind: status.err === null ? 'settled' : 'forfeited', transaction }
}
