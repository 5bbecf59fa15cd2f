import type { PaymentPayload, PaymentRequirements, ResourceInfo } from '@x402/core/types'
import type { Extensions } from './extensions/extensions.ts'
import type { Finality } from './finality.ts'
import type { HealthFault } from './health-monitor.ts'
import type { Rejection } from './rejection.ts'

/** Settlement needs this long before a payment runs out; facilitators use the same figure. */
export const SETTLE_MARGIN_SECONDS = 6

/**
 * A scheme on a network, which is one way to pay. Everything that differs between chains and schemes lies
 * behind it; whose work a payment pays for, whether it was used, and what the buyer is told, does not.
 */
export interface PaymentMethod<P extends Payment = Payment> {
  /** As `accepts` names it. */
  readonly scheme: string
  /** CAIP-2, as x402 version 2 writes it. */
  readonly network: `${string}:${string}`
  /** As x402 version 1 writes it; null where only version 2 is spoken. */
  readonly legacyName: string | null
  readonly asset: string
  readonly payTo: string
  /** What a buyer must know beyond that, as `extra`. */
  readonly extra: Readonly<Record<string, unknown>>
  /** What a quote adds to that for now: the same object for as long as it holds. */
  extraNow?(): Readonly<Record<string, unknown>>
  /** Nothing is sold by it for now: it only reads what was bought before. */
  readonly isSuspended?: boolean
  /** Why nothing can be settled by it now, as far as is known: it is not offered meanwhile. Always can where absent. */
  readonly readiness?: () => HealthFault | null
  /**
   * Reads what a buyer signed; `payload` is the inner one, which both versions share. Checks its form and
   * nothing else: no signature, no network. @throws MalformedPayment
   */
  read(payload: Readonly<Record<string, unknown>>, purchase: Purchase): P
}

/** One entry of `accepts`: a payment must meet it exactly. */
export type Requirement = {
  readonly method: PaymentMethod
  /** Millionths of a USDC. */
  readonly amount: bigint
  readonly wire: PaymentRequirements
}

/** What a payment is for. */
export type Purchase = {
  readonly requirement: Requirement
  readonly resourceUrl: string
  /** What catalogues may know of it; it is not kept with the payment. */
  readonly listing?: CatalogueListing
}

/** What a facilitator's catalogue indexes of a resource that is sold. All of it is public. */
export type CatalogueListing = { readonly resource: ResourceInfo; readonly extensions?: Extensions }

/** A signed payment as any scheme knows it. */
export type DecodedPayment = Purchase & {
  readonly payer: string
  /** Names it among all payments of this payer: no chain settles the same nonce twice. */
  readonly nonce: string
  /** Names exactly this signed payment, whatever envelope, header or spelling it came in. */
  readonly hash: string
  /** Unix time from which it cannot be settled any more. */
  readonly validBeforeSeconds: number
  /** In version 2, whichever version the buyer spoke. */
  readonly wire: PaymentPayload
}

/** A payment together with those who know what to do with it. */
export interface Payment extends DecodedPayment {
  /**
   * Terms, window and signature: without a network, unless a contract has to be asked for its signature.
   * @param ask puts every question to a node, and throws where none may be put
   * @throws OperatingError when the node does not answer
   */
  check(nowMs: number, ask: AskNode): Promise<Rejection | null>
  /**
   * Whether the payer holds the price, in one question for all payments that come at the same time. A single one
   * is called valid without a question, since its verification costs no more.
   */
  screen?(): Promise<Verification>
  verify(): Promise<Verification>
  /** As sure of the money as `finality` asks for, or surer. */
  settle(finality: Finality): Promise<Settlement>
  outcome(): Promise<Outcome>
  /** `check` rejects a payment that was used before, with what its client needs to continue. */
  readonly refusesRepetitions?: boolean
  /** What the scheme adds to a receipt. */
  receiptMembers?(): Readonly<Record<string, unknown>>
  /** What the payment asks for instead of an answer. `settle` carries it out; nothing is charged. */
  readonly operation?: 'refund'
}

/** Puts a question to a node. */
export type AskNode = <Reply>(question: () => Promise<Reply>) => Promise<Reply>

export type Verification =
  | { readonly kind: 'valid' }
  | { readonly kind: 'invalid'; readonly reason: string }
  | Unreachable

/** The attempt never began. */
export type Unreachable = {
  readonly kind: 'unreachable'
  readonly reason: string
  /** When it may be tried again, where that is known. */
  readonly retryAfterSeconds?: number
  /** Trying again does not help. */
  readonly isLasting?: boolean
}

export type Settlement =
  | {
      readonly kind: 'settled'
      readonly transaction: string
      /** As sure as it ever gets, whatever was asked for. */
      readonly isFinal?: boolean
      /** What became of the extensions at the facilitator, as the header of that name. */
      readonly extensionResponses?: string
    }
  /** A verified transfer was handed to the chain. Only where `broadcast` was asked for. */
  | { readonly kind: 'broadcast'; readonly transaction: string }
  /** Nothing was and nothing will be transferred by this attempt. */
  | { readonly kind: 'rejected'; readonly reason: string }
  | Unreachable
  /** It may have happened, or may still happen. */
  | { readonly kind: 'unknown'; readonly reason: string; readonly transaction: string | null }

/** What the chain says about the nonce of a payment. */
export type Outcome =
  /** Used by the very transfer that the payment authorizes. */
  | { readonly kind: 'settled'; readonly transaction: string }
  /** Not up to this Unix time of the chain's own, which may lag behind ours. */
  | { readonly kind: 'unused'; readonly asOfSeconds: number }
  /**
   * Cancelled, used for a transfer to somebody else, or failed on the chain: it can never pay us. `transaction` failed
   * at our cost.
   */
  | { readonly kind: 'forfeited'; readonly transaction?: string }
  /** Never carried out, and no block can take it any more. */
  | { readonly kind: 'expired' }
  | { readonly kind: 'unknown'; readonly reason: string }

/**
 * Who checks payments of one kind against the chain and carries them out. Failures are results, not
 * exceptions: what a caller may do next differs for each.
 */
export interface Facilitator<P extends DecodedPayment = DecodedPayment> {
  /** See `Payment`. */
  screen?(payment: P): Promise<Verification>
  verify(payment: P): Promise<Verification>
  /** `confirmed` unless less is asked for; surer than asked is always right. */
  settle(payment: P, finality?: Finality): Promise<Settlement>
  outcome(payment: P): Promise<Outcome>
}
