import type { PaymentPayload } from '@x402/core/types'
import type { Purchase } from './payment.ts'

/** What a facilitator is sent: version 2, whichever version the buyer spoke. */
export function wirePayload(
  { requirement, resourceUrl }: Purchase,
  payload: PaymentPayload['payload'],
): PaymentPayload {
  return { x402Version: 2, resource: { url: resourceUrl }, accepted: requirement.wire, payload }
}
