import { getBase58Decoder } from '@solana/kit'
import type { Clock } from '../../domain/clock.ts'
import { FailedSettlements } from '../failed-settlements.ts'
import type { Finality } from '../finality.ts'
import { nodeReason } from '../node-error.ts'
import { PayerConcurrency } from '../payer-concurrency.ts'
import type { Facilitator, Settlement, Verification } from '../payment.ts'
import { Screening } from '../screening.ts'
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
  /** Signs for the fees. Must not be the payee's. */
  readonly feePayer: FeePayer
  readonly clock: Clock
  /** From the begin of a settlement until its outcome is called unknown. */
  readonly confirmationMsMax?: number
  /** Remembers whose payments failed at our cost; in memory where none is given. */
  readonly failures?: FailedSettlements
  readonly onFailedFee?: (failure: FailedFee) => void
}

/** What was paid for a transaction that moved nothing. */
export type FailedFee = { readonly payer: string; readonly lamports: bigint }

/** A transaction with all its signatures. */
type Sealed = { readonly signature: string; readonly transaction: string }

type Broadcast =
  | { readonly kind: 'taken' }
  | { readonly kind: 'doubtful' | 'unreached'; readonly reason: string }

/** Half a slot: the wait for a status is latency sold. */
const POLLING_MS = 200
/** With one request more it is below the bound of the caller, which so learns the signature. */
const CONFIRMATION_MS_MAX = 7_500
const REQUEST_MS_MAX = 2_000

/**
 * Verifies and settles in this process, against one cluster. What it signs it signs the same way each
 * time, so a transaction's signature, and with it its fate, is known before it is sent and after a crash.
 */
export function localSolanaFacilitator({
  rpcUrl,
  feePayer,
  clock,
  confirmationMsMax = CONFIRMATION_MS_MAX,
  failures = FailedSettlements.inMemory(),
  onFailedFee,
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

  /** @returns whether the node took it, which it may have done also where it says that it did not */
  async function broadcast({ transaction }: Sealed): Promise<Broadcast> {
    try {
      await node.send(transaction)
      return { kind: 'taken' }
    } catch (cause) {
      const wasReached = !(cause instanceof SolanaNodeError && cause.kind === 'unreached')
      return { kind: wasReached ? 'doubtful' : 'unreached', reason: nodeReason(cause) }
    }
  }

  /** Asks what became of a transaction until the chain is as sure of it as `finality` wants. */
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
  /** It landed and moved nothing, whether we hear of it at once or after a restart. */
  function failed({ payer, chain, transaction }: ExactSolanaPayment, signature: string): void {
    const lamports = transactionFeeLamports(transaction)
    const isNew = failures.failed(
      {
        ...{ network: chain.network, payer, code: null, transaction: signature },
        ...{ cost: lamports, strikes: 1 },
      },
      null,
      clock.nowMs(),
    )
    if (isNew) onFailedFee?.({ payer, lamports })
  }

  /** Before the answer exists, so the node gets a transaction that it cannot send: one signature is missing. */
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
    if (settlement.kind === 'rejected') failed(payment, complete.signature)
    return settlement
  }

  return {
    screen: (payment) => screening.screen(payment),

    verify,

    settle(payment, finality = 'confirmed') {
      const named = { network: payment.chain.network, payer: payment.payer }
      const atOnceMax = () => failures.atOnceMax(named)
      return concurrency.run(payment.payer, atOnceMax, async (hasWaited): Promise<Settlement> => {
        // Others of the same wallet may have failed since it was checked, or have taken its money.
        if (failures.isBarred(named, clock.nowMs())) return { kind: 'rejected', reason: BARRED }
        const verification = hasWaited ? await verify(payment) : null
        if (verification?.kind === 'invalid') return { ...verification, kind: 'rejected' }
        return verification?.kind === 'unreachable' ? verification : sent(payment, finality)
      })
    },

    /** A payment from before the key was changed has a signature that we cannot make. */
    async outcome(payment) {
      const outcome =
        payment.transaction.signers[0] === feePayer.address
          ? await outcomeBySignature(node, payment, sealed(payment).signature, clock.nowMs())
          : await outcomeByMessage(node, payment, clock.nowMs())
      if (outcome.kind === 'forfeited' && outcome.transaction !== undefined)
        failed(payment, outcome.transaction)
      return outcome
    },
  }
}

/** Null where the chain may still change its mind. What failed is final only once it is confirmed. */
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
