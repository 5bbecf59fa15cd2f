import type { FastifyRequest } from 'fastify'
import type { Clock } from '../domain/clock.ts'
import { OperatingError } from '../domain/errors.ts'
import type { BufferedResponse } from './buffered-response.ts'
import type { FailedPayments } from './failed-payments.ts'
import type { Ledger } from './ledger/ledger.ts'
import { LedgerBusyError } from './ledger/ledger.ts'
import type { BudgetRefusal, NodePermit } from './node-budget.ts'
import { NodeBudget } from './node-budget.ts'
import type { AskNode, Payment } from './payment.ts'
import type { EmitForRequest } from './payment-event.ts'
import type { PaymentLimits } from './payment-limits.ts'
import type { PaymentResponses } from './payment-responses.ts'
import type { RateLimit } from './rate-limit.ts'
import { callerKey } from './rate-limit.ts'
import { ledgerUnavailable, tooManyInFlight, unavailable } from './refusals.ts'
import type { Rejection } from './rejection.ts'
import type { ScreeningRefusal, SettlementCoordinator } from './settlement-coordinator.ts'

export type NodeGateOptions = {
  readonly limits: PaymentLimits
  readonly clock: Clock
  readonly coordinator: SettlementCoordinator
  readonly ledger: Ledger
  readonly failures: FailedPayments
  /** Paid calls of one wallet. */
  readonly wallets: RateLimit
  readonly responses: PaymentResponses
  readonly emit: EmitForRequest
}

/** Decides which payments may cause a request to a node or a facilitator. */
export class NodeGate {
  readonly #options: NodeGateOptions
  readonly #budget: NodeBudget

  constructor(options: NodeGateOptions) {
    const { clock, limits } = options
    this.#options = options
    this.#budget = new NodeBudget({
      clock,
      failuresPerAddressPerMinute: limits.unverifiedPaymentsPerAddressPerMinute,
      failuresPerSecond: limits.unverifiedPaymentsPerSecond,
    })
  }

  /** For the payment of one request. The permit must be ended. */
  open(request: FastifyRequest): NodePermit {
    return this.#budget.open(callerKey(request.ip))
  }

  /** Runs `payment.check`. @returns what is wrong, or the response where a node was needed and may not be asked */
  async check(
    request: FastifyRequest,
    payment: Payment,
    permit: NodePermit,
  ): Promise<Rejection | BufferedResponse | null> {
    const { clock, emit } = this.#options
    let isAsked = false
    const ask: AskNode = async (question) => {
      const refusal = await this.#unproven(request, payment, permit)
      if (refusal !== null) throw new NotAsked(refusal)
      isAsked = true
      return question()
    }
    try {
      const rejection = await payment.check(clock.nowMs(), ask)
      if (isAsked && rejection !== null) permit.fail()
      return rejection
    } catch (cause) {
      if (cause instanceof NotAsked) return cause.answer
      if (cause instanceof LedgerBusyError) {
        emit(request, { kind: 'failed', cause })
        return ledgerUnavailable(request)
      }
      if (!(cause instanceof OperatingError)) throw cause
      permit.unanswered()
      emit(request, { kind: 'unavailable', payer: payment.payer, reason: cause.message })
      return unavailable(request)
    }
  }

  /**
   * Admits a payment with a valid signature to verification. Payers who bought before are admitted at once; new ones
   * within the limit of their address, and after a screening together with those that arrive at the same time.
   * @returns null for a payment that may be verified now
   */
  async admit(
    request: FastifyRequest,
    payment: Payment,
    permit: NodePermit,
  ): Promise<BufferedResponse | ScreeningRefusal | null> {
    const { ledger, failures, coordinator, wallets } = this.#options
    const { payer, limitedAs = payer } = payment
    let refusal: BufferedResponse | ScreeningRefusal | null
    const isKnown = (await ledger.hasSettled(limitedAs)) || ((await payment.hasBought?.()) ?? false)
    if (isKnown && !(await failures.wasRefused(limitedAs)))
      refusal = this.#refused(request, await permit.start('known'))
    else
      refusal =
        (await this.#reserve(request, permit)) ??
        // The balance of a payment that may have paid says nothing about it.
        (request.isPaymentUsed === null ? null : await coordinator.screen(payment)) ??
        this.#refused(request, await permit.start('new'))
    // A payment that was refused unverified does not count as a sale of its wallet.
    if (refusal !== null && 'status' in refusal) await wallets.giveBack(limitedAs)
    return refusal
  }

  /** Before the signature is checked the payer is only asserted, so anybody may have named it. */
  async #unproven(
    request: FastifyRequest,
    { payer, limitedAs = payer }: Payment,
    permit: NodePermit,
  ): Promise<BufferedResponse | null> {
    const { failures, wallets, responses } = this.#options
    const hit = await failures.walletLimit(limitedAs)
    if (hit !== null) return responses.limitHit(request, hit)
    const sales = await wallets.peek(limitedAs)
    if (!sales.allowed) return responses.limited(request, wallets, sales)
    return (
      (await this.#reserve(request, permit)) ?? this.#refused(request, await permit.start('new'))
    )
  }

  /** @returns the response where the address may cause no request for new payers */
  async #reserve(request: FastifyRequest, permit: NodePermit): Promise<BufferedResponse | null> {
    const { failures, responses } = this.#options
    const hit = await failures.addressLimit(callerKey(request.ip))
    return hit === null
      ? this.#refused(request, await permit.reserve())
      : responses.limitHit(request, hit)
  }

  #refused(request: FastifyRequest, refusal: BudgetRefusal | null): BufferedResponse | null {
    if (refusal === null) return null
    const { responses, emit } = this.#options
    if (refusal.of === 'unverified') return responses.limitHit(request, refusal)
    emit(request, { kind: 'limited' })
    return tooManyInFlight(request)
  }
}

/** Why no node may be asked, as the response to the request. */
class NotAsked extends Error {
  override readonly name = 'NotAsked'
  readonly answer: BufferedResponse

  constructor(answer: BufferedResponse) {
    super('no node may be asked')
    this.answer = answer
  }
}
