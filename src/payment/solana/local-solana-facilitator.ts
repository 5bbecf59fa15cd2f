import { getBase58Decoder } from '@solana/codecs-strings'
import type { Clock } from '../../domain/clock.ts'
import type { FailedSettlements } from '../failed-settlements.ts'
import { AT_ONCE } from '../failed-settlements.ts'
import type { Finality } from '../finality.ts'
import type { RecordCost } from '../ledger/transaction-costs.ts'
import { nodeReason } from '../node-error.ts'
import { PayerConcurrency } from '../payer-concurrency.ts'
import type { Facilitator, Settlement, Verification } from '../payment.ts'
import { Screening } from '../screening.ts'
import { StoredFailedSettlements } from '../stored-failed-settlements.ts'
import { outcomeByMessage, outcomeBySignature } from './chain-outcome.ts'
import type { ExactSolanaPayment } from './exact-solana.ts'
import { BARRED } from './exact-solana.ts'
import type { FeePayer } from './fee-payer-key.ts'
import { screenHoldings } from './payer-holdings.ts'
import type { SignatureStatus } from './solana-node.ts'
import { SolanaNode, SolanaNodeError } from './solana-node.ts'
import { failureOf } from './transaction-error.ts'
import { transactionFeeLamports } from './transfer-check.ts'
import { encodeTransaction } from './wire-transaction.ts'

export type LocalSolanaFacilitatorOptions = {
  readonly rpcUrl: string
  /** Signs for the fees. Not the key of the payee. */
  readonly feePayer: FeePayer
  readonly clock: Clock
  /** From the begin of a settlement until its outcome is unknown. */
  readonly confirmationMsMax?: number
  /** Failed settlements; in memory by default. */
  readonly failures?: FailedSettlements
  readonly onFailedFee?: (failure: FailedFee) => void
  readonly recordCost?: RecordCost
}

/** Fee of a failed transaction. */
export type FailedFee = { readonly payer: string; readonly lamports: bigint }

/** A transaction with all its signatures. */
type Sealed = { readonly signature: string; readonly transaction: string }

type Broadcast =
  | { readonly kind: 'taken' }
  | { readonly kind: 'doubtful' | 'unreached'; readonly reason: string }

/** Half a slot: the buyer waits for the status. */
const POLLING_MS = 200
/** With one more request it stays below the settlement time-out, so that the signature is known. */
const CONFIRMATION_MS_MAX = 7_500
const REQUEST_MS_MAX = 2_000

/**
 * Verifies and settles in this process on one cluster. Signing is deterministic, so the signature and the outcome of a
 * transaction are known before it is sent and after a crash.
 */
export function localSolanaFacilitator({
  rpcUrl,
  feePayer,
  clock,
  confirmationMsMax = CONFIRMATION_MS_MAX,
  failures = StoredFailedSettlements.inMemory(),
  onFailedFee,
  recordCost,
}: LocalSolanaFacilitatorOptions): Facilitator<ExactSolanaPayment> {
  const concurrency = new PayerConcurrency()
  const node = new SolanaNode({ rpcUrl, clock, requestMsMax: REQUEST_MS_MAX })

  function sealed({ transaction }: ExactSolanaPayment): Sealed {
    const signature = feePayer.key.sign(transaction.message)
    return {
      signature: getBase58Decoder().decode(signature),
      transaction: encodeTransaction(transaction, signature),
    }
  }

  /** @returns whether the node took it; it may have done so in spite of an error */
  async function broadcast({ transaction }: Sealed): Promise<Broadcast> {
    try {
      await node.send(transaction)
      return { kind: 'taken' }
    } catch (cause) {
      const wasReached = !(cause instanceof SolanaNodeError && cause.kind === 'unreached')
      return { kind: wasReached ? 'doubtful' : 'unreached', reason: nodeReason(cause) }
    }
  }

  /** Polls the status until it has `finality`. */
  async function confirmed(
    { signature }: Sealed,
    finality: Finality,
    deadlineMs: number,
  ): Promise<Settlement> {
    let reason = 'settlement_pending'
    for (;;) {
      try {
        const { value: status } = await node.status(signature)
        const settlement = status === null ? null : settlementOf(signature, status, finality)
        if (settlement !== null) return settlement
      } catch (cause) {
        reason = nodeReason(cause)
      }
      if (clock.nowMs() >= deadlineMs) return { kind: 'unknown', reason, transaction: signature }
      await new Promise<void>((resolve) => clock.after(POLLING_MS, resolve))
    }
  }

  const screening = new Screening<ExactSolanaPayment>({
    clock,
    ask: (payments) => screenHoldings(node, payments),
  })
  function record({ chain, transaction }: ExactSolanaPayment, signature: string, payments: 0 | 1) {
    recordCost?.({
      ...{ network: chain.network, transaction: signature, purpose: 'settlement', payments },
      fee: transactionFeeLamports(transaction),
    })
  }

  /** Records a failed transaction, immediately or after a restart. */
  async function failed(payment: ExactSolanaPayment, signature: string): Promise<void> {
    const { payer, chain, transaction } = payment
    record(payment, signature, 0)
    const lamports = transactionFeeLamports(transaction)
    const isNew = await failures.failed(
      {
        ...{ network: chain.network, payer, code: null, transaction: signature },
        ...{ cost: lamports, strikes: 1 },
      },
      null,
      clock.nowMs(),
    )
    if (isNew) onFailedFee?.({ payer, lamports })
  }

  /**
   * Before the answer exists, the node gets a transaction without the signature of the fee payer, so it cannot send it.
   */
  async function verify({ transaction }: ExactSolanaPayment): Promise<Verification> {
    try {
      const err = await node.simulationError(encodeTransaction(transaction, null))
      if (err === null) return { kind: 'valid' }
      const { fault, reason } = failureOf(err)
      return { kind: fault === 'ours' ? 'unreachable' : 'invalid', reason }
    } catch (cause) {
      return { kind: 'unreachable', reason: nodeReason(cause) }
    }
  }

  async function sent(payment: ExactSolanaPayment, finality: Finality): Promise<Settlement> {
    const deadlineMs = clock.nowMs() + confirmationMsMax
    const complete = sealed(payment)
    const handed = await broadcast(complete)
    if (handed.kind === 'unreached') return { kind: 'unreachable', reason: handed.reason }
    if (finality === 'broadcast' && handed.kind === 'taken')
      return { kind: 'broadcast', transaction: complete.signature }
    const settlement = await confirmed(complete, finality, deadlineMs)
    if (settlement.kind === 'rejected') await failed(payment, complete.signature)
    if (settlement.kind === 'settled' && finality === 'confirmed')
      record(payment, complete.signature, 1)
    return settlement
  }

  return {
    screen: (payment) => screening.screen(payment),

    verify,

    settle(payment, finality = 'confirmed') {
      const named = { network: payment.chain.network, payer: payment.payer }
      const limit = { atLeast: AT_ONCE, current: () => failures.atOnceMax(named) }
      return concurrency.run(payment.payer, limit, async (hasWaited): Promise<Settlement> => {
        // Other payments of this wallet can have failed or taken its balance since the check.
        try {
          if (await failures.isBarred(named, clock.nowMs()))
            return { kind: 'rejected', reason: BARRED }
        } catch (cause) {
          // Nothing was sent.
          return { kind: 'unreachable', reason: nodeReason(cause) }
        }
        const verification = hasWaited ? await verify(payment) : null
        if (verification?.kind === 'invalid') return { ...verification, kind: 'rejected' }
        return verification?.kind === 'unreachable' ? verification : sent(payment, finality)
      })
    },

    /** A payment from before a change of the fee payer has a signature that we cannot make. */
    async outcome(payment) {
      const isOurs = payment.transaction.signers[0] === feePayer.address
      const outcome = isOurs
        ? await outcomeBySignature(node, payment, sealed(payment).signature, clock.nowMs())
        : await outcomeByMessage(node, payment, clock.nowMs())
      if (outcome.kind === 'forfeited' && outcome.transaction !== undefined)
        await failed(payment, outcome.transaction)
      if (outcome.kind === 'settled' && isOurs) record(payment, outcome.transaction, 1)
      return outcome
    },
  }
}

/** null while the status can change. A failure is final once it is confirmed. */
function settlementOf(
  signature: string,
  { err, confirmationStatus }: SignatureStatus,
  finality: Finality,
): Settlement | null {
  const isConfirmed = confirmationStatus !== 'processed'
  if (err === null && (isConfirmed || finality !== 'confirmed'))
    return { kind: 'settled', transaction: signature }
  return isConfirmed ? { kind: 'rejected', reason: failureOf(err).reason } : null
}
