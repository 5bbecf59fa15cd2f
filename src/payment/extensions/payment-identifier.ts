import { MalformedPayment } from '../payload.ts'
import type { Extensions } from './extensions.ts'
import { infoOf } from './extensions.ts'

/**
 * Extension `payment-identifier`: the buyer's identifier of a payment, so that a program that lost its state does not
 * pay twice for one purpose. It is checked after the signature. With its payment it gives access to the answer as the
 * secret of `answer-access` does, so it must be unguessable.
 */
const NAME = 'payment-identifier'
const IDENTIFIER = /^[A-Za-z0-9_-]{16,128}$/

/** In quotes. */
export const paymentIdentifierOffer: Extensions = { [NAME]: { info: { required: false } } }

/**
 * @returns the identifier, or null
 * @throws MalformedPayment
 */
export function identifierIn(extensions: Extensions | null): string | null {
  const id = infoOf(extensions, NAME)?.['id']
  if (id === undefined) return null
  if (typeof id === 'string' && IDENTIFIER.test(id)) return id
  throw new MalformedPayment(
    `extensions.${NAME}.info.id must be 16 to 128 characters of A-Z, a-z, 0-9, _ and -`,
  )
}
