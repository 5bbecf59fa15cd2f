import { nodeReason } from '../node-error.ts'
import type { Outcome } from '../payment.ts'
import type { ExactSolanaPayment } from './exact-solana.ts'
import type { SignatureStatus, SolanaNode } from './solana-node.ts'
import { associatedTokenAccount } from './token-account.ts'
import { hasMessage } from './wire-transaction.ts'

/** The transaction of a payment; null if it is in no block. */
type Found = { readonly signature: string; readonly status: SignatureStatus } | null

/** Searches blocks up to at least `slot`. */
type Search = (slot: number) => Promise<Found>

/** Newest transactions of a payer that are searched by message. */
const TRANSACTIONS_SEARCHED_MAX = 40

/** Outcome of a payment whose transaction has this signature. */
export function outcomeBySignature(
  node: SolanaNode,
  payment: ExactSolanaPayment,
  signature: string,
  nowMs: number,
): Promise<Outcome> {
  return outcomeOf(node, payment, nowMs, async (slot) => {
    const found = await node.status(signature)
    if (found.value !== null) return { signature, status: found.value }
    if (found.slot < slot) throw new Error('the nodes behind the RPC URL are not synchronised')
    return null
  })
}

/**
 * Outcome where another fee payer signs, so that the signature is unknown: the transaction has the message that the
 * payer signed.
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
      if (landed === null) throw new Error('a listed transaction cannot be read')
      if (hasMessage(landed.bytes, payment.transaction))
        return { signature, status: { err: landed.err, confirmationStatus: 'confirmed' } }
    }
    if (signatures.length === TRANSACTIONS_SEARCHED_MAX)
      throw new Error(`not among the newest ${TRANSACTIONS_SEARCHED_MAX} transactions of the payer`)
    return null
  })
}

/**
 * @returns whether a transaction pays the payment; null while the node does not have it
 * @throws when the node does not answer
 */
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
 * A transaction can get into a block while any bank accepts its blockhash. The finalized bank drops it last, but also
 * learns of it last, so a missing blockhash counts only after the validity time.
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
    // After those: a transaction that landed before its blockhash expired is found now.
    const found = await search(finalized.slot)
    if (found !== null) return landed(found)
    const isYoung = nowMs < validBeforeSeconds * 1_000
    if (newest.value && isYoung) return { kind: 'unused', asOfSeconds: nowMs / 1_000 }
    if (newest.value || finalized.value || isYoung)
      return { kind: 'unknown', reason: 'the transaction is in no block yet' }
    return { kind: 'expired' }
  } catch (cause) {
    return { kind: 'unknown', reason: nodeReason(cause) }
  }
}

/** A failed transaction has used its signature; its message cannot be sent again. */
function landed({ signature, status }: NonNullable<Found>): Outcome {
  if (status.confirmationStatus === 'processed')
    return { kind: 'unknown', reason: 'the transaction is in a block that is not confirmed yet' }
  const transaction = signature
  return { kind: status.err === null ? 'settled' : 'forfeited', transaction }
}
