import type { PaymentPayload } from '@x402/core/types'
import { OperatingError } from '../../domain/errors.ts'
import type { BufferedResponse } from '../buffered-response.ts'
import type { AnswerAccess } from '../extensions/answer-access.ts'
import type { Finality } from '../finality.ts'
import type { SalesSummary } from './sales-summary.ts'

/** Identifies a payment: no chain settles the same four values twice. */
export type PaymentKey = {
  readonly network: string
  readonly asset: string
  readonly payer: string
  readonly nonce: string
}

/**
 * `settling`: the answer is stored and a settlement was begun. `unknown`: the settlement ended without a verdict, or a
 * crash interrupted it. `unconfirmed`: the answer was sent and the transfer is not final. `settled`: paid. `released`:
 * the settlement was refused; the payment may be used again. `lost`: the answer was sent and the transfer can never
 * happen. Payments without an answer are in memory only (`in-flight-payments.ts`).
 */
export type PaymentState = 'settling' | 'unknown' | 'unconfirmed' | 'settled' | 'released' | 'lost'

/** The most that may be unsettled after answers were sent on `broadcast` finality, in USDC atoms. */
export type ExposureLimits = { readonly payerMax: bigint; readonly totalMax: bigint }

export type Entry = {
  readonly key: PaymentKey
  /** Pattern of the route, for reports. */
  readonly route: string
  /** The purchased call: `bindingOf` in `resource.ts`. */
  readonly binding: string
  readonly payloadHash: string
  /** The buyer's own identifier of the payment. */
  readonly identifier: string | null
  readonly access: AnswerAccess
  readonly amount: bigint
  /** Wanted; `begin` returns the one that applies. */
  readonly finality: Finality
  readonly exposure: ExposureLimits
  readonly validBeforeSeconds: number
  /** The payment, for later requests to the chain. */
  readonly wire: PaymentPayload
  readonly answer: BufferedResponse
}

/** Whether this call may settle the payment now. */
export type Begun =
  | { readonly kind: 'begun'; readonly finality: Finality }
  /** The payment, or another one with its nonce, was begun before and was not refused. */
  | { readonly kind: 'taken' }
  /** Another payment of this payer has the identifier. */
  | { readonly kind: 'identifier_taken' }

export type LedgerRow = {
  readonly state: PaymentState
  readonly binding: string
  readonly payloadHash: string
  readonly transaction: string | null
  /** null before schema 3, which added access data. */
  readonly access: AnswerAccess | null
  /** null after its expiry, and if the payment bought nothing. */
  readonly answer: BufferedResponse | null
}

/** A payment whose outcome is not final. */
export type OpenPayment = {
  readonly key: PaymentKey
  readonly state: 'unknown' | 'unconfirmed'
  readonly begunMs: number
  readonly route: string
  /** null if none is known. */
  readonly transaction: string | null
  readonly wire: PaymentPayload
}

/** Open payments that are not followed up: of networks without a node to ask, once nothing can settle them any more. */
export type NotFollowedUp = {
  readonly networks: readonly string[]
  /** Their validity ended before this time. */
  readonly validBeforeMs: number
}

export const allFollowedUp: NotFollowedUp = { networks: [], validBeforeMs: 0 }

/** An open payment as a store reads it. */
export type OpenRow = PaymentKey &
  Omit<OpenPayment, 'key' | 'wire'> & {
    /** The wire as JSON. */
    readonly payment: string
  }

export type LedgerCounts = Readonly<Record<PaymentState, number>>

/** Payments and their answers, durable before any money moves. */
export interface Ledger {
  /** @throws OperatingError if the stored answer is damaged */
  find(key: PaymentKey): Promise<LedgerRow | null>

  /** The payment with this identifier, unless it was refused. */
  findByIdentifier(payer: string, identifier: string): Promise<PaymentKey | null>

  /**
   * Stores the answer before its settlement. Of several calls for one payment exactly one begins, also if several
   * processes make them; it is durable when this resolves. A `broadcast` counts towards the exposure at once; beyond
   * its limits the payment begins as `confirmed`.
   * @throws LedgerBusyError if nothing was written
   */
  begin(entry: Entry, nowMs: number): Promise<Begun>

  /** `settled` is final: a later verdict changes nothing. `unknown` sets the finality `confirmed`: the answer waits. */
  move(
    key: PaymentKey,
    state: Exclude<PaymentState, 'settling'>,
    transaction: string | null,
    nowMs: number,
  ): Promise<void>

  /** End of the access by the address that paid; 0 once it has the complete answer. */
  admitCaller(key: PaymentKey, untilMs: number): Promise<void>

  /**
   * Marks settlements as unknown that were interrupted: by the end of their process, or because they take longer than
   * any settlement. Call it before the first sale, and periodically.
   */
  interrupted(nowMs: number): Promise<void>

  /**
   * Reserves a payment that is `settling` or `unknown`, for its outcome.
   * @returns false for another state, and while another process works on it
   */
  takeOver(key: PaymentKey): Promise<boolean>

  /**
   * Reserves the longest waiting open payment that was not updated since `untouchedSinceMs`, and moves it to the end of
   * the queue.
   */
  nextOpen(
    untouchedSinceMs: number,
    nowMs: number,
    left?: NotFollowedUp,
  ): Promise<OpenPayment | null>

  /** Sum of answers that were sent on `broadcast` and are not settled, in USDC atoms. */
  exposure(): Promise<bigint>

  /** Whether this payer has a paid purchase. */
  hasSettled(payer: string): Promise<boolean>

  /** Whether a transfer of this payer failed after its answer was sent. */
  hasLost(payer: string): Promise<boolean>

  /** Removes up to `rowsMax` answers, refusals and payments each whose time is over. @returns the largest number */
  sweep(nowMs: number, rowsMax: number): Promise<number>

  /** Tests a write as in a sale. @returns why a sale cannot be written; null if it can */
  writeFault(): Promise<string | null>

  counts(): Promise<LedgerCounts>

  /** Sums for the operator: sales that began since `sinceMs`, and everything that is not settled yet. */
  summary(sinceMs: number, nowMs: number): Promise<SalesSummary>

  close(): Promise<void>
}

/** Nothing was written, and the same sale can succeed later. */
export class LedgerBusyError extends OperatingError {
  constructor(message: string, cause: unknown) {
    super('ledger_busy', message, { cause })
  }
}

/** How long a ledger stores what is finished. */
export type LedgerRetention = {
  /** Access to a paid answer after the payment expired or, if later, was settled. */
  readonly answersMs: number
  /** Settled and lost payments, since their last change; null keeps them. */
  readonly paymentsMs: number | null
}

/** Answers as promised to buyers, payments for ever. */
export const retentionByDefault: LedgerRetention = { answersMs: 10 * 60_000, paymentsMs: null }
/** While and after an open outcome: the buyer may not have the answer yet. */
export const OPEN_KEPT_MS = 7 * 86_400_000
/** Refused settlements are kept for the operator. */
export const RELEASED_KEPT_MS = 86_400_000
/** Three times the longest settlement with its question to the chain (`settlement-coordinator.ts`). */
export const SETTLING_MS_MAX = 60_000
export const ANSWER_BYTES_MAX = 4 * 1_024 * 1_024

/** Whether a payment in this state may be used again: it bought nothing, or its answer was never paid. */
export function isReusable(state: PaymentState): boolean {
  return state === 'released' || state === 'lost'
}

/** `confirmed` for a payment that would exceed a limit of what may be unsettled. */
export function grantedFinality(
  { amount, finality, exposure }: Pick<Entry, 'amount' | 'finality' | 'exposure'>,
  owed: { readonly payer: bigint; readonly total: bigint },
): Finality {
  if (finality !== 'broadcast') return finality
  const isWithin =
    owed.payer + amount <= exposure.payerMax && owed.total + amount <= exposure.totalMax
  return isWithin ? 'broadcast' : 'confirmed'
}
