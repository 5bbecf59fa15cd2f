import type { FastifyRequest } from 'fastify'
import type { Clock } from '../domain/clock.ts'
import type { Answer } from './answer.ts'
import type { Claim, Claims } from './claims.ts'
import type { FailedPayments } from './failed-payments.ts'
import type { PaymentLedger } from './ledger.ts'
import { readLedger, unknownIfUnreadable } from './ledger-read.ts'
import type { NodeVisit } from './node-admission.ts'
import type { NodeGate } from './node-gate.ts'
import { MalformedPayment } from './payload.ts'
import type { EmitForRequest } from './payment-event.ts'
import type { PaymentResponses } from './payment-responses.ts'
import type { PresentedPayment, ReadPayment } from './presented-payment.ts'
import { purchaseOf, readPayment } from './presented-payment.ts'
import type { PurchasedAnswers } from './purchased-answers.ts'
import type { RateLimit } from './rate-limit.ts'
import { callerKey } from './rate-limit.ts'
import { crowded, identifierTaken, malformed, nonceTaken } from './refusals.ts'
import type { Rejection } from './rejection.ts'
import type { Terms } from './terms.ts'

export type AdmissionOptions = {
  readonly claims: Claims
  readonly ledger: PaymentLedger
  readonly clock: Clock
  readonly publicUrl: string
  readonly failures: FailedPayments
  /** Paid calls of one wallet. */
  readonly wallets: RateLimit
  readonly nodeGate: NodeGate
  readonly answers: PurchasedAnswers
  readonly responses: PaymentResponses
  readonly emit: EmitForRequest
}

/** A payment with a valid signature, and what it holds of the node limits; the visit must be ended. */
type Admitted = PresentedPayment & { readonly visit: NodeVisit }
/** A payment that was not used before, with its place among the payments in flight. */
export type Reservation = Admitted & { readonly claim: Claim }
/** A payment that asks for an operation and buys no answer. */
export type OperationRequest = Admitted & { readonly claim: null }

/** Decodes payments, selects their terms, applies the limits and reserves each valid payment once. */
export class Admission {
  readonly #options: AdmissionOptions
  /** Payments in flight that have an identifier, by payer and identifier. */
  readonly #identified = new Set<string>()

  constructor(options: AdmissionOptions) {
    this.#options = options
  }

  /** @returns the reserved payment, or the response that ends the request */
  async admit(
    request: FastifyRequest,
    terms: Terms,
  ): Promise<Reservation | OperationRequest | Answer> {
    const { emit, nodeGate } = this.#options
    const visit = nodeGate.open(request)
    let admitted: Reservation | OperationRequest | Answer | undefined
    try {
      admitted = await unknownIfUnreadable(request, emit, () =>
        this.#admitted(request, terms, visit),
      )
      return admitted
    } finally {
      if (admitted === undefined || 'status' in admitted) visit.end()
    }
  }

  async #admitted(
    request: FastifyRequest,
    terms: Terms,
    visit: NodeVisit,
  ): Promise<Reservation | OperationRequest | Answer> {
    const { answers, claims, clock, failures, nodeGate, publicUrl, responses } = this.#options
    let read: ReadPayment | Rejection
    try {
      read = readPayment(request, terms, terms.requirements, publicUrl)
    } catch (cause) {
      if (!(cause instanceof MalformedPayment)) throw cause
      return this.#malformed(request, cause)
    }
    if ('reason' in read) return responses.invalid(request, terms, read)
    const { presented, mismatch } = read
    // The hash of a payment covers its signature, which was checked the first time.
    const repeated = answers.repeat(request, presented)
    if (repeated !== null) return repeated

    const { payer } = presented.key
    const invalid =
      mismatch ??
      (await failures.check(callerKey(request.ip), () =>
        nodeGate.check(request, presented.payment, visit),
      ))
    if (invalid !== null) {
      if ('status' in invalid) return invalid
      if ('limit' in invalid) return responses.limited(request, invalid.limit, invalid.allowance)
      return responses.invalid(request, terms, invalid, payer)
    }
    const limited = await this.#limited(request, payer)
    if (limited !== null) return limited
    if (presented.payment.operation !== undefined) return { ...presented, claim: null, visit }

    // No await between these checks and the reservation, so that one of many copies wins.
    const conflict = answers.repeat(request, presented) ?? this.#conflict(request, presented)
    if (conflict !== null) {
      // A copy may wait long for its answer, without asking a node.
      visit.end()
      return conflict
    }
    if (claims.full) return crowded(request)
    const claim = claims.open(presented.id, purchaseOf(presented, clock.nowMs()))
    this.#track(presented, claim)
    return { ...presented, claim, visit }
  }

  async #malformed(request: FastifyRequest, { message }: MalformedPayment): Promise<Answer> {
    const { emit, failures, responses } = this.#options
    const hit = await failures.unreadable(callerKey(request.ip))
    if (hit !== null) return responses.limitHit(request, hit)
    emit(request, { kind: 'malformed', reason: message })
    return malformed(request, message)
  }

  async #limited(request: FastifyRequest, payer: string): Promise<Answer | null> {
    const { failures, responses, wallets } = this.#options
    const hit = await failures.barred(payer)
    if (hit !== null) return responses.limitHit(request, hit)
    const allowance = await wallets.take(payer)
    return allowance.allowed ? null : responses.limited(request, wallets, allowance)
  }

  #conflict(request: FastifyRequest, presented: PresentedPayment): Answer | null {
    const { answers, emit } = this.#options
    const refusal = answers.holdsNonce(presented)
      ? nonceTaken
      : this.#isIdentifierTaken(presented)
        ? identifierTaken
        : null
    if (refusal === null) return null
    emit(request, { kind: 'conflict', payer: presented.key.payer })
    return refusal(request)
  }

  #isIdentifierTaken({ key: { payer }, identifier }: PresentedPayment): boolean {
    if (identifier === null) return false
    const { ledger } = this.#options
    const isStored = readLedger(() => ledger.findByIdentifier(payer, identifier)) !== null
    return isStored || this.#identified.has(identifiedBy(payer, identifier))
  }

  #track({ key: { payer }, identifier }: PresentedPayment, { answer }: Claim): void {
    const name = identifier === null ? null : identifiedBy(payer, identifier)
    if (name !== null) this.#identified.add(name)
    void answer.then(({ status }) => {
      if (name !== null) this.#identified.delete(name)
      // A sale that failed through our fault does not count for its wallet.
      if (status >= 500) void this.#options.wallets.giveBack(payer)
    })
  }
}

function identifiedBy(payer: string, identifier: string): string {
  return `${payer}|${identifier}`
}
