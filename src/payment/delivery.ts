import type { FastifyRequest } from 'fastify'
import type { Clock } from '../domain/clock.ts'
import type { BufferedResponse } from './buffered-response.ts'
import { DeliveryConfirmations } from './delivery-confirmations.ts'
import type { Credentials } from './extensions/answer-access.ts'
import type { OfferReceipts } from './extensions/offer-receipt.ts'
import type { Ledger, PaymentKey } from './ledger/ledger.ts'
import type { PaymentEvent } from './payment-event.ts'
import type { PresentedPayment } from './presented-payment.ts'
import { receiptHeaders } from './receipt.ts'

export type DeliveryOptions = {
  readonly ledger: Ledger
  readonly clock: Clock
  /** Signs receipts; null without a receipt key. */
  readonly receipts: OfferReceipts | null
  readonly emit: (event: PaymentEvent) => void
  /** Called with the body of each paid answer before it is sent, again for each repetition. */
  readonly onSold: (body: Uint8Array) => void
}

/**
 * Adds receipts to answers, and ends the access by IP address once an answer has arrived. Only buyers that sent neither a
 * secret nor an identifier are recognised by their IP address.
 */
export class Delivery {
  readonly #options: DeliveryOptions
  readonly #confirmations: DeliveryConfirmations
  /** Requests whose answer goes to a buyer that is recognised by its address. */
  readonly #byAddress = new WeakMap<FastifyRequest, PaymentKey>()

  constructor(options: DeliveryOptions) {
    this.#options = options
    this.#confirmations = new DeliveryConfirmations(options.clock)
  }

  /** A request arrived on its connection. */
  arrived(request: FastifyRequest): void {
    this.#confirmations.arrived(request)
  }

  /** The last byte of a response was sent. */
  sent(request: FastifyRequest): void {
    const key = this.#byAddress.get(request)
    if (key !== undefined) this.#confirmations.sent(request, () => void this.#admitCaller(key, 0))
  }

  /** @returns a purchased answer with its receipt, as the response to this request */
  deliver(
    request: FastifyRequest,
    presented: PresentedPayment,
    answer: BufferedResponse,
    transaction: string,
  ): Promise<BufferedResponse> {
    this.expectDelivery(request, presented)
    return this.withReceipt(presented, answer, transaction)
  }

  async withReceipt(
    { payment }: PresentedPayment,
    answer: BufferedResponse,
    transaction: string,
  ): Promise<BufferedResponse> {
    // A refund answers with a notice, which is not sold.
    if (answer.body.length > 0 && payment.operation === undefined) this.#options.onSold(answer.body)
    const headers = await receiptHeaders(payment, transaction, answer.body, this.#options.receipts)
    return { ...answer, headers: { ...answer.headers, ...headers } }
  }

  /** Access by IP address ends when the response to this request has arrived. */
  expectDelivery(
    request: FastifyRequest,
    { key, credentials }: Pick<PresentedPayment, 'key' | 'credentials'>,
  ): void {
    if (hasOnlyAddress(credentials)) this.#byAddress.set(request, key)
  }

  /** The buyer may return within `ms`, recognised by its address alone. */
  async expectCaller({ key, credentials }: PresentedPayment, ms: number): Promise<void> {
    if (hasOnlyAddress(credentials)) await this.#admitCaller(key, this.#options.clock.nowMs() + ms)
  }

  async #admitCaller(key: PaymentKey, untilMs: number): Promise<void> {
    const { ledger, emit } = this.#options
    try {
      await ledger.admitCaller(key, untilMs)
    } catch (cause) {
      // The access stays as it was and expires by itself.
      emit({ kind: 'failed', route: null, payer: key.payer, cause })
    }
  }
}

function hasOnlyAddress({ secrets }: Credentials): boolean {
  return secrets.length === 0
}
