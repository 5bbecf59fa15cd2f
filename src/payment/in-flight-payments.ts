import assert from 'node:assert/strict'
import type { BufferedResponse } from './buffered-response.ts'
import type { AnswerAccess } from './extensions/answer-access.ts'

/** One payment that is being worked on. Everything that wants the same waits for its answer. */
export type InFlightPayment = {
  readonly binding: string
  readonly payloadHash: string
  readonly access: AnswerAccess
  readonly answer: Promise<BufferedResponse>
  /** Ends the inFlight with the answer that every copy gets. */
  close(answer: BufferedResponse): void
}

const CLAIMS_MAX = 5_000

/**
 * The payments in flight, one inFlight a key: whoever comes first does the work. Lives in this process,
 * like the exclusive lock on the ledger that it stands before.
 */
export class InFlightPayments {
  readonly #inFlightPayments = new Map<string, InFlightPayment>()

  get size(): number {
    return this.#inFlightPayments.size
  }

  get full(): boolean {
    return this.#inFlightPayments.size >= CLAIMS_MAX
  }

  find(key: string): InFlightPayment | undefined {
    return this.#inFlightPayments.get(key)
  }

  open(
    key: string,
    purchase: Pick<InFlightPayment, 'binding' | 'payloadHash' | 'access'>,
  ): InFlightPayment {
    assert(!this.#inFlightPayments.has(key), 'a payment is claimed once at a time')
    assert(!this.full, 'inFlightPayments are bounded')
    const { promise, resolve } = deferred<BufferedResponse>()
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

function deferred<T>(): { readonly promise: Promise<T>; readonly resolve: (value: T) => void } {
  let resolve: (value: T) => void = () => undefined
  const promise = new Promise<T>((settle) => {
    resolve = settle
  })
  return { promise, resolve }
}
