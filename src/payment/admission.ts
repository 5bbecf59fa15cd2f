import type { FastifyRequest } from 'fastify'
import type { Clock } from '../domain/clock.ts'
import type { BufferedResponse } from './buffered-response.ts'
import type { FailedPayments } from './failed-payments.ts'
import type { InFlightPayment, InFlightPayments } from './in-flight-payments.ts'
import type { Ledger, LedgerRow } from './ledger/ledger.ts'
import { readLedger, unknownIfUnreadable } from './ledger/ledger-read.ts'
import type { NodePermit } from './node-budget.ts'
import type { NodeGate } from './node-gate.ts'
import { MalformedPayment } from './payload.ts'
import type { EmitForRequest } from './payment-event.ts'
import type { PaymentResponses } from './payment-responses.ts'
import type { PresentedPayment, ReadPayment } from './presented-payment.ts'
import { purchaseOf, readPayment } from './presented-payment.ts'
import type { PurchasedAnswers } from './purchased-answers.ts'
import { isReleased } from './purchased-answers.ts'
import type { RateLimit } from './rate-limit.ts'
import { callerKey } from './rate-limit.ts'
import {
  chargeOfUnverified,
  identifierReused,
  malformed,
  nonceReused,
  tooManyInFlight,
} from './refusals.ts'
import type { Rejection } from './rejection.ts'
import { chargeUnknown, forbidsNewSettlement } from './rejection.ts'
import type { Terms } from './terms.ts'

export type AdmissionOptions = {
  readonly inFlightPayments: InFlightPayments
  readonly ledger: Ledger
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

/** A payment with a valid signature, and what it holds of the node limits; the permit must be ended. */
type Admitted = PresentedPayment & { readonly permit: NodePermit }
/** A payment that was not used before, with its place among the payments in flight. */
export type Reservation = Admitted & {
  readonly inFlight: InFlightPayment
  /** Why it can no longer be settled; null if it can. The chain shows whether an earlier settlement paid for this call. */
  readonly rejection: Rejection | null
}
/** A payment that asks for an operation and buys no answer. */
export type OperationRequest = Admitted & { readonly inFlight: null }

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
  ): Promise<Reservation | OperationRequest | BufferedResponse> {
    const { emit, nodeGate } = this.#options
    const permit = nodeGate.open(request)
    let admitted: Reservation | OperationRequest | BufferedResponse | undefined
    try {
      admitted = await unknownIfUnreadable(request, emit, () =>
        this.#admitted(request, terms, permit),
      )
      return admitted
    } finally {
      if (admitted === undefined || 'status' in admitted) permit.end()
    }
  }

  async #admitted(
    request: FastifyRequest,
    terms: Terms,
    permit: NodePermit,
  ): Promise<Reservation | OperationRequest | BufferedResponse> {
    const { answers, inFlightPayments, clock, failures, nodeGate, publicUrl, responses } =
      this.#options
    let read: ReadPayment | Rejection
    try {
      read = await readPayment(request, terms, publicUrl)
    } catch (cause) {
      if (!(cause instanceof MalformedPayment)) throw cause
      return this.#malformed(request, cause)
    }
    if ('reason' in read) return responses.invalid(request, terms, read)
    const { presented, mismatch } = read
    const earlier = await answers.before(request, presented)
    // The hash of a payment covers its signature, which was checked the first time.
    const repeated = answers.repeat(request, presented, earlier)
    if (repeated !== null) return repeated

    const { payer } = presented.key
    const invalid =
      mismatch ??
      (await failures.check(callerKey(request.ip), () =>
        nodeGate.check(request, presented.payment, permit),
      ))
    if (invalid !== null) {
      if ('status' in invalid) return invalid
      if ('limit' in invalid) return responses.limited(request, invalid.limit, invalid.allowance)
      // Another gateway can have sold a copy since the ledger was read. A correction would have its buyer pay again.
      const copied =
        invalid.correction === undefined
          ? null
          : answers.repeat(request, presented, await answers.stored(presented))
      if (copied !== null) {
        permit.end()
        return copied
      }
      // The channel state decides a voucher, and corrects it.
      const isUnknown = chargeOfUnverified(request) === null && invalid.correction === undefined
      const wasBegun =
        earlier?.payloadHash === presented.payloadHash && earlier.binding === presented.binding
      if (!isUnknown || !wasBegun || !forbidsNewSettlement(invalid)) {
        const rejected = isUnknown ? chargeUnknown(invalid) : invalid
        return responses.invalid(request, terms, rejected, payer)
      }
    }
    const { limitedAs = payer } = presented.payment
    const hit = await failures.walletLimit(limitedAs)
    if (hit !== null) return responses.limitHit(request, hit)
    if (presented.payment.operation !== undefined)
      return (await this.#counted(request, limitedAs)) ?? { ...presented, inFlight: null, permit }

    const stored = await answers.stored(presented)
    const isIdentifierStored = await this.#isIdentifierStored(presented)
    // No await from here to the reservation, so that one of many copies in this process wins. `Ledger.begin` finds a
    // copy that was begun since the ledger was read.
    const before = inFlightPayments.find(presented.id) ?? stored
    const conflict =
      answers.repeat(request, presented, before) ??
      this.#conflict(request, presented, before, isIdentifierStored)
    if (conflict !== null) {
      // A copy may wait long for its answer, without asking a node.
      permit.end()
      return conflict
    }
    if (inFlightPayments.full) return tooManyInFlight(request)
    const inFlight = inFlightPayments.open(presented.id, purchaseOf(presented, clock.nowMs()))
    this.#track(presented, inFlight)
    // Copies of a payment are one call of its wallet.
    const limited = await this.#counted(request, limitedAs)
    if (limited === null) return { ...presented, inFlight, permit, rejection: invalid }
    inFlight.close(limited)
    return limited
  }

  async #malformed(
    request: FastifyRequest,
    { message }: MalformedPayment,
  ): Promise<BufferedResponse> {
    const { emit, failures, responses } = this.#options
    const hit = await failures.countMalformed(callerKey(request.ip))
    if (hit !== null) return responses.limitHit(request, hit, false)
    emit(request, { kind: 'malformed', reason: message })
    return malformed(request, message)
  }

  /** Counts a call of a wallet. @returns the response if there were too many */
  async #counted(request: FastifyRequest, wallet: string): Promise<BufferedResponse | null> {
    const { responses, wallets } = this.#options
    const allowance = await wallets.take(wallet)
    return allowance.allowed ? null : responses.limited(request, wallets, allowance)
  }

  #conflict(
    request: FastifyRequest,
    presented: PresentedPayment,
    before: InFlightPayment | LedgerRow | null,
    isIdentifierStored: boolean,
  ): BufferedResponse | null {
    let refusal: typeof nonceReused | null = null
    if (before !== null) {
      // The verification of a released one shows what was charged; the ledger finds its identifier after that.
      if (!isReleased(before)) refusal = nonceReused
    } else if (isIdentifierStored || this.#isIdentifierInFlight(presented))
      refusal = identifierReused
    if (refusal === null) return null
    this.#options.emit(request, { kind: 'conflict', payer: presented.key.payer })
    return refusal(request)
  }

  async #isIdentifierStored({ key, identifier }: PresentedPayment): Promise<boolean> {
    const { ledger } = this.#options
    return (
      identifier !== null &&
      (await readLedger(ledger.findByIdentifier(key.payer, identifier))) !== null
    )
  }

  #isIdentifierInFlight({ key, identifier }: PresentedPayment): boolean {
    return identifier !== null && this.#identified.has(identifiedBy(key.payer, identifier))
  }

  #track(
    { key: { payer }, identifier, payment: { limitedAs = payer } }: PresentedPayment,
    { answer }: InFlightPayment,
  ): void {
    const name = identifier === null ? null : identifiedBy(payer, identifier)
    if (name !== null) this.#identified.add(name)
    void answer.then(({ status }) => {
      if (name !== null) this.#identified.delete(name)
      // A sale that failed through our fault does not count for its wallet.
      if (status >= 500) void this.#options.wallets.giveBack(limitedAs)
    })
  }
}

function identifiedBy(payer: string, identifier: string): string {
  return `${payer}|${identifier}`
}
