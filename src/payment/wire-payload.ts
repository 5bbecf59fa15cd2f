import type { PaymentPayload } from '@x402/core/types'
import type { DecodedPayment, Purchase } from './payment.ts'

/** A payment in version 2, whichever version the buyer spoke: as the ledger keeps it. */
export function wirePayload(
  { requirement, resourceUrl }: Purchase,
  payload: PaymentPayload['payload'],
): PaymentPayload {
  return { x402Version: 2, resource: { url: resourceUrl }, accepted: requirement.wire, payload }
}

/**
 * What a facilitator is sent: the payment, and what its catalogue indexes. That is our own text of the quote;
 * whatever the buyer sent along stays here.
 */
export function forwardedPayload({ wire, listing }: DecodedPayment): PaymentPayload {
  if (listing === undefined) return wire
  const { resource, extensions } = listing
  return { ...wire, resource, ...(extensions === undefined ? {} : { extensions }) }
}
