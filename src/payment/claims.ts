import assert from 'node:assert/strict'
import type { Answer } from './answer.ts'
import type { AnswerAccess } from './extensions/answer-access.ts'

/** One payment that is being worked on. Everything that wants the same waits for its answer. */
export type Claim = {
  readonly binding: string
  readonly payloadHash: string
  readonly access: AnswerAccess
  readonly answer: Promise<Answer>
  /** Ends the claim with the answer that every copy gets. */
  close(answer: Answer): void
}

const CLAIMS_MAX = 5_000

/**
 * The payments in flight, one claim a key: whoever comes first does the work. Lives in this process,
 * like the exclusive lock on the ledger that it stands before.
 */
export class Claims {
  readonly #claims = new Map<string, Claim>()

  get size(): number {
    return this.#claims.size
  }

  get full(): boolean {
    return this.#claims.size >= CLAIMS_MAX
  }

  find(key: string): Claim | undefined {
    return this.#claims.get(key)
  }

  open(key: string, purchase: Pick<Claim, 'binding' | 'payloadHash' | 'access'>): Claim {
    assert(!this.#claims.has(key), 'a payment is claimed once at a time')
    assert(!this.full, 'claims are bounded')
    const { promise, resolve } = deferred<Answer>()
    const { binding, payloadHash, access } = purchase
    const claim: Claim = {
      binding,
      payloadHash,
      access,
      answer: promise,
      close: (answer) => {
        if (this.#claims.get(key) === claim) this.#claims.delete(key)
        resolve(answer)
      },
    }
    this.#claims.set(key, claim)
    return claim
  }
}

function deferred<T>(): { readonly promise: Promise<T>; readonly resolve: (value: T) => void } {
  let resolve: (value: T) => void = () => undefined
  const promise = new Promise<T>((settle) => {
    resolve = settle
  })
  return { promise, resolve }
}
