import type { PaymentPayload } from '@x402/core/types'
import type { DecodedPayment, Purchase } from './payment.ts'

/** A payment in version 2, whatever version the buyer used, as stored in the ledger. */
export function wirePayload(
  { requirement, resourceUrl }: Purchase,
  payload: PaymentPayload['payload'],
): PaymentPayload {
  return { x402Version: 2, resource: { url: resourceUrl }, accepted: requirement.wire, payload }
}

/** What is sent to a facilitator: the payment and our catalogue data; no other data of the buyer. */
export function forwardedPayload({ wire, listing }: DecodedPayment): PaymentPayload {
  if (listing === undefined) return wire
  const { resource, extensions } = listing
  return { ...wire, resource, ...(extensions === undefined ? {} : { extensions }) }
}
