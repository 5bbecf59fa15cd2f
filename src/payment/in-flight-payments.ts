import assert from 'node:assert/strict'
import type { BufferedResponse } from './buffered-response.ts'
import type { AnswerAccess } from './extensions/answer-access.ts'

/** A payment that is being processed. Its copies wait for its response. */
export type InFlightPayment = {
  readonly binding: string
  readonly payloadHash: string
  readonly access: AnswerAccess
  readonly answer: Promise<BufferedResponse>
  /** Removes the payment and gives this response to every copy. */
  close(answer: BufferedResponse): void
}

const IN_FLIGHT_MAX = 5_000

/**
 * Payments in flight in this process, one for each key: the first request does the work. Of copies in several processes,
 * `Ledger.begin` lets one win.
 */
export class InFlightPayments {
  readonly #inFlightPayments = new Map<string, InFlightPayment>()

  get size(): number {
    return this.#inFlightPayments.size
  }

  get full(): boolean {
    return this.#inFlightPayments.size >= IN_FLIGHT_MAX
  }

  find(key: string): InFlightPayment | undefined {
    return this.#inFlightPayments.get(key)
  }

  open(
    key: string,
    purchase: Pick<InFlightPayment, 'binding' | 'payloadHash' | 'access'>,
  ): InFlightPayment {
    assert(!this.#inFlightPayments.has(key), 'a payment is in flight once')
    assert(!this.full, 'payments in flight are bounded')
    const { promise, resolve } = Promise.withResolvers<BufferedResponse>()
    const { binding, payloadHash, access } = purchase
    const inFlight: InFlightPayment = {
      binding,
      payloadHash,
      access,
      answer: promise,
      close: (answer) => {
        if (this.#inFlightPayments.get(key) === inFlight) this.#inFlightPayments.delete(key)
        resolve(answer)
      },
    }
    this.#inFlightPayments.set(key, inFlight)
    return inFlight
  }
}
