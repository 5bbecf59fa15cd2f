import type { PaymentPayload, PaymentRequirements, ResourceInfo } from '@x402/core/types'
import type { Extensions } from './extensions/extensions.ts'
import type { Finality } from './finality.ts'
import type { HealthFault } from './health-monitor.ts'
import type { Rejection } from './rejection.ts'

/** Minimum time to expiry at settlement; facilitators use the same value. */
export const SETTLE_MARGIN_SECONDS = 6

/** After this time an attempt is no longer awaited, and its outcome is unknown. */
export const SETTLE_MS_MAX = 10_000

/**
 * A scheme on a network. It hides every difference between chains and schemes; purchases, reuse and responses are the
 * same for all.
 */
export interface PaymentMethod<P extends Payment = Payment> {
  /** Name in `accepts`. */
  readonly scheme: string
  /** CAIP-2, as in x402 version 2. */
  readonly network: `${string}:${string}`
  /** Name in x402 version 1; null if only version 2 is supported. */
  readonly legacyName: string | null
  readonly asset: string
  readonly payTo: string
  /** Further terms, sent as `extra`. */
  readonly extra: Readonly<Record<string, unknown>>
  /** Temporary additions to `extra`: the same object until they change. */
  extraNow?(): Readonly<Record<string, unknown>>
  /** Not offered; payments made earlier can still be read. */
  readonly isSuspended?: boolean
  /** Why the method cannot settle now: then it is not offered. Without this function it always can. */
  readonly readiness?: () => HealthFault | null
  /**
   * Decodes the inner payload, which both versions share. Checks the form only, neither signature nor chain.
   * @throws MalformedPayment
   */
  read(payload: Readonly<Record<string, unknown>>, purchase: Purchase): P
}

/** One entry of `accepts`. A payment must equal it. */
export type Requirement = {
  readonly method: PaymentMethod
  /** Millionths of a USDC. */
  readonly amount: bigint
  readonly wire: PaymentRequirements
}

/** What a payment pays for. */
export type Purchase = {
  readonly requirement: Requirement
  readonly resourceUrl: string
  /** Data for catalogues; not stored with the payment. */
  readonly listing?: CatalogueListing
}

/** Public data of a resource for the catalogue of a facilitator. */
export type CatalogueListing = { readonly resource: ResourceInfo; readonly extensions?: Extensions }

/** A decoded payment of any scheme. */
export type DecodedPayment = Purchase & {
  readonly payer: string
  /** Unique among the payments of this payer: no chain settles a nonce twice. */
  readonly nonce: string
  /** Identifies the signed payment, independent of envelope, header and spelling. */
  readonly hash: string
  /** Unix time after which it cannot be settled. */
  readonly validBeforeSeconds: number
  /** Always in version 2. */
  readonly wire: PaymentPayload
}

/** A decoded payment with the operations of its scheme. */
export interface Payment extends DecodedPayment {
  /**
   * Checks terms, validity window and signature; needs a node only for the signature of a contract.
   * @param ask runs a request to a node, and throws where none is allowed
   * @throws OperatingError when the node does not answer
   */
  check(nowMs: number, ask: AskNode): Promise<Rejection | null>
  /**
   * Checks the balance, in one request with that of the other payments that arrive at the same time. A payment that arrives
   * alone is valid without a request, because its verification costs no more.
   */
  screen?(): Promise<Verification>
  verify(): Promise<Verification>
  /** Settles with `finality` or a stronger one. */
  settle(finality: Finality): Promise<Settlement>
  /** @param sent by this service in an earlier attempt: a transaction that failed counts against its payer */
  outcome(sent?: string | null): Promise<Outcome>
  /** Whether `check` itself rejects a payment that was used before, and returns what its client needs to continue. */
  readonly refusesRepetitions?: boolean
  /** Whether this payment is too old to be a retry: a repetition no longer gets the stored answer. */
  isOutdated?(): Promise<boolean>
  /** Members that the scheme adds to a receipt. */
  receiptMembers?(): Promise<Readonly<Record<string, unknown>>>
  /** What the payment asks for instead of an answer. `settle` carries it out; nothing is charged. */
  readonly operation?: 'refund'
  /** Key of the rate limits; `payer` by default. Differs where the signature does not prove `payer`. */
  readonly limitedAs?: string
  /** Whether its signer bought here before, where `limitedAs` is no payer of the ledger. */
  hasBought?(): Promise<boolean>
}

/** Runs a request to a node. */
export type AskNode = <Reply>(question: () => Promise<Reply>) => Promise<Reply>

export type Verification =
  | { readonly kind: 'valid' }
  | { readonly kind: 'invalid'; readonly reason: string }
  | Unreachable

/** No result, and nothing was sent to a chain. */
export type Unreachable = {
  readonly kind: 'unreachable'
  readonly reason: string
  /** Earliest retry, if known. */
  readonly retryAfterSeconds?: number
  /** A retry cannot succeed. */
  readonly isLasting?: boolean
}

export type Settlement =
  | {
      readonly kind: 'settled'
      readonly transaction: string
      /** Final, whatever finality was requested. */
      readonly isFinal?: boolean
      /** The header `EXTENSION-RESPONSES` of the facilitator. */
      readonly extensionResponses?: string
    }
  /** A verified transfer was submitted. Only for finality `broadcast`. */
  | { readonly kind: 'broadcast'; readonly transaction: string }
  /** This attempt transferred nothing and never will. */
  | { readonly kind: 'rejected'; readonly reason: string }
  | Unreachable
  /** The transfer may have happened or may still happen. */
  | { readonly kind: 'unknown'; readonly reason: string; readonly transaction: string | null }

/** State of the nonce of a payment on chain. */
export type Outcome =
  /** Used by the transfer that the payment authorizes. */
  | { readonly kind: 'settled'; readonly transaction: string }
  /** Unused up to this Unix time of the chain, which can lag behind ours. */
  | { readonly kind: 'unused'; readonly asOfSeconds: number }
  /** Cancelled, used for another payee, or failed on chain: it can never pay us. `transaction` failed at our cost. */
  | { readonly kind: 'forfeited'; readonly transaction?: string }
  /** Never executed, and no block can include it any more. */
  | { readonly kind: 'expired' }
  /** `isLasting`: no node is configured that could be asked. */
  | { readonly kind: 'unknown'; readonly reason: string; readonly isLasting?: boolean }

/**
 * Verifies and settles payments of one kind. Failures are results, not exceptions, because each one calls for a
 * different response.
 */
export interface Facilitator<P extends DecodedPayment = DecodedPayment> {
  /** See `Payment`. */
  screen?(payment: P): Promise<Verification>
  verify(payment: P): Promise<Verification>
  /** `confirmed` by default; a stronger finality than requested is allowed. */
  settle(payment: P, finality?: Finality): Promise<Settlement>
  /** See `Payment`. */
  outcome(payment: P, sent?: string | null): Promise<Outcome>
}
