import type { PaymentPayload } from '@x402/core/types'
import type { ExactPayload } from './payload.ts'
import type { Requirement } from './terms.ts'

/** A payment that meets its requirement and whose signature is right, as far as we can tell alone. */
export type SignedPayment = ExactPayload & {
  readonly requirement: Requirement
  readonly resourceUrl: string
}

export type Verification =
  | { readonly kind: 'valid' }
  | { readonly kind: 'invalid'; readonly reason: string }
  | { readonly kind: 'unreachable'; readonly reason: string }

export type Settlement =
  | { readonly kind: 'settled'; readonly transaction: string }
  /** Nothing was and nothing will be transferred by this attempt. */
  | { readonly kind: 'rejected'; readonly reason: string }
  /** The attempt never began. */
  | { readonly kind: 'unreachable'; readonly reason: string }
  /** It may have happened, or may still happen. */
  | { readonly kind: 'unknown'; readonly reason: string; readonly transaction: string | null }

/** What the chain says about the nonce of a payment. */
export type Outcome =
  /** Used by the very transfer that the payment authorizes. */
  | { readonly kind: 'settled'; readonly transaction: string }
  | { readonly kind: 'unused' }
  /** Cancelled, or used for a transfer to somebody else: it can never pay us. */
  | { readonly kind: 'forfeited' }
  | { readonly kind: 'unknown'; readonly reason: string }

/**
 * Who checks payments against the chain and carries them out. Failures are results, not exceptions: what a
 * caller may do next differs for each.
 */
export interface Facilitator {
  verify(payment: SignedPayment): Promise<Verification>
  settle(payment: SignedPayment): Promise<Settlement>
  outcome(payment: SignedPayment): Promise<Outcome>
}

/** The version 2 payload, whichever version the buyer spoke. */
export function wirePayload({
  requirement,
  authorization,
  signature,
  resourceUrl,
}: SignedPayment): PaymentPayload {
  return {
    x402Version: 2,
    resource: { url: resourceUrl },
    accepted: requirement.wire,
    payload: {
      signature,
      authorization: {
        from: authorization.from,
        to: authorization.to,
        value: authorization.value.toString(),
        validAfter: authorization.validAfter.toString(),
        validBefore: authorization.validBefore.toString(),
        nonce: authorization.nonce,
      },
    },
  }
}
