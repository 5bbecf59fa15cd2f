import { MalformedPayment } from '../payload.ts'
import type { Extensions } from './extensions.ts'
import { infoOf } from './extensions.ts'

/**
 * The extension `payment-identifier`: a buyer's own name for a payment, so that a program that forgot what it
 * sent does not pay twice for one purpose. It is a promise to refuse, never a way to an answer: what was
 * bought is recognised by the payment itself, and a name is looked at once its payer has signed.
 */
const NAME = 'payment-identifier'
const IDENTIFIER = /^[A-Za-z0-9_-]{16,128}$/

/** What a quote says of it. A schema of it would take a tenth of the header, and no client reads one. */
export const paymentIdentifierOffer: Extensions = { [NAME]: { info: { required: false } } }

/** @returns the name of this payment, null where it has none. @throws MalformedPayment */
export function identifierIn(extensions: Extensions | null): string | null {
  const id = infoOf(extensions, NAME)?.['id']
  if (id === undefined) return null
  if (typeof id === 'string' && IDENTIFIER.test(id)) return id
  throw new MalformedPayment(
    `extensions.${NAME}.info.id must be 16 to 128 characters of A-Z, a-z, 0-9, _ and -`,
  )
}
