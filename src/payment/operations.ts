import type { FastifyRequest } from 'fastify'
import type { OperationRequest } from './admission.ts'
import type { BufferedResponse } from './buffered-response.ts'
import type { Delivery } from './delivery.ts'
import { LedgerBusyError } from './ledger/ledger.ts'
import type { NodeGate } from './node-gate.ts'
import type { EmitForRequest } from './payment-event.ts'
import type { PaymentResponses } from './payment-responses.ts'
import { ledgerBusy, settlementUnknown } from './refusals.ts'
import { facilitatorRejection } from './rejection.ts'

export type OperationsOptions = {
  readonly nodeGate: NodeGate
  readonly responses: PaymentResponses
  readonly delivery: Delivery
  readonly emit: EmitForRequest
}

const done: BufferedResponse = {
  status: 200,
  headers: { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' },
  body: Buffer.from(
    '{"message":"Refund completed. No answer was bought and nothing was charged."}',
  ),
}

/** Carries out payments that buy no answer, such as the refund of a payment channel. */
export class Operations {
  readonly #options: OperationsOptions

  constructor(options: OperationsOptions) {
    this.#options = options
  }

  async carryOut(request: FastifyRequest, operation: OperationRequest): Promise<BufferedResponse> {
    try {
      return await this.#carriedOut(request, operation)
    } catch (cause) {
      if (!(cause instanceof LedgerBusyError)) throw cause
      this.#options.emit(request, { kind: 'failed', cause })
      return ledgerBusy(request, false)
    } finally {
      operation.permit.end()
    }
  }

  async #carriedOut(
    request: FastifyRequest,
    presented: OperationRequest,
  ): Promise<BufferedResponse> {
    const { delivery, emit, nodeGate, responses } = this.#options
    const { payment, permit } = presented
    const gate = await nodeGate.admit(request, payment, permit)
    if (gate !== null) return 'status' in gate ? gate : responses.unpaid(request, presented, gate)
    const settlement = await payment.settle('confirmed')
    switch (settlement.kind) {
      case 'rejected':
        permit.fail()
        return responses.unpaid(request, presented, {
          kind: 'refused',
          rejection: facilitatorRejection(settlement.reason),
        })
      case 'unreachable':
        permit.unanswered()
        return responses.unpaid(request, presented, { ...settlement, kind: 'unavailable' })
      case 'unknown':
        return settlementUnknown(request, settlement.transaction)
      default: {
        const { payer } = presented.key
        emit(request, { kind: 'uncharged', payer, reason: payment.operation ?? 'operation' })
        return delivery.withReceipt(presented, done, settlement.transaction)
      }
    }
  }
}
