import type { FastifyRequest } from 'fastify'
import type { Credentials } from './extensions/answer-access.ts'
import { CALLER_ACCESS_MS, credentials } from './extensions/answer-access.ts'
import type { Extensions } from './extensions/extensions.ts'
import { identifierIn } from './extensions/payment-identifier.ts'
import type { InFlightPayment } from './in-flight-payments.ts'
import type { PaymentKey } from './ledger/ledger.ts'
import { readLedger } from './ledger/ledger-read.ts'
import type { PaymentEnvelope } from './payload.ts'
import { decodeEnvelope, paymentHeader } from './payload.ts'
import type { Payment, Requirement } from './payment.ts'
import type { Rejection } from './rejection.ts'
import { checkAccepted, requirementFor } from './requirement.ts'
import { bindingOf, resourceUrl } from './resource.ts'
import type { Terms } from './terms.ts'
import { catalogueListing } from './terms.ts'

/** A decoded payment and the call that it pays for. */
export type PresentedPayment = {
  readonly key: PaymentKey
  /** `key` as one string. */
  readonly id: string
  readonly binding: string
  readonly payloadHash: string
  /** The buyer's own identifier of the payment. */
  readonly identifier: string | null
  /** The extensions that the buyer sent; not signed. */
  readonly extensions: Extensions | null
  readonly credentials: Credentials
  readonly payment: Payment
  readonly terms: Terms
}

/** `mismatch`: the terms that the buyer accepted are not ours, or no longer. */
export type ReadPayment = {
  readonly presented: PresentedPayment
  readonly mismatch: Rejection | null
}

/**
 * Decodes the payment of a request and selects the requirement that it pays.
 * @returns a rejection where no requirement has its scheme and network
 * @throws MalformedPayment
 */
export async function readPayment(
  request: FastifyRequest,
  terms: Terms,
  publicUrl: string,
): Promise<ReadPayment | Rejection> {
  const envelope = decodeEnvelope(paymentHeader(request.headers) ?? '')
  const requirement = requirementFor(envelope, terms.known)
  if ('reason' in requirement) return requirement
  const accepted = requirementFor(envelope, terms.requirements)
  return {
    presented: await present(request, terms, requirement, envelope, publicUrl),
    mismatch: 'reason' in accepted ? accepted : checkAccepted(envelope, accepted),
  }
}

export function paymentId({ network, asset, payer, nonce }: PaymentKey): string {
  return [network, asset, payer, nonce].join('|')
}

async function present(
  request: FastifyRequest,
  terms: Terms,
  requirement: Requirement,
  { payload, extensions }: PaymentEnvelope,
  publicUrl: string,
): Promise<PresentedPayment> {
  const { network, asset } = requirement.method
  const url = resourceUrl(request, publicUrl)
  const purchase = { requirement, resourceUrl: url, listing: catalogueListing(terms.route, url) }
  const payment = requirement.method.read(payload, purchase)
  const { payer, nonce, hash } = payment
  const key = { network, asset, payer, nonce }
  const identifier = identifierIn(extensions)
  return {
    key,
    id: paymentId(key),
    binding: bindingOf(request, terms.route),
    // An old voucher must not match its stored sale: the reply is the channel state, not the old answer (decision 012).
    payloadHash: (await readLedger(isOutdated(payment))) ? `${hash} outdated` : hash,
    identifier,
    extensions,
    credentials: credentials({ payment: hash, extensions, identifier, address: request.ip }),
    payment,
    terms,
  }
}

async function isOutdated(payment: Payment): Promise<boolean> {
  return (await payment.isOutdated?.()) ?? false
}

/** What is kept of a purchase, in flight and in the ledger. */
export function purchaseOf(
  { binding, payloadHash, credentials }: PresentedPayment,
  nowMs: number,
): Pick<InFlightPayment, 'binding' | 'payloadHash' | 'access'> {
  const callerUntilMs = nowMs + CALLER_ACCESS_MS
  return { binding, payloadHash, access: { ...credentials, callerUntilMs } }
}
