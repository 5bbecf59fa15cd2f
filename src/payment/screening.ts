import type { Clock } from '../domain/clock.ts'
import { nodeReason } from './node-error.ts'
import type { Verification } from './payment.ts'

export type ScreeningOptions<Payment> = {
  readonly clock: Clock
  /**
   * Checks all of them in one request to a node.
   * @returns a verification for each, in their order
   */
  readonly ask: (payments: readonly Payment[]) => Promise<readonly Verification[]>
}

type Waiting<Payment> = {
  readonly payment: Payment
  readonly resolve: (verification: Verification) => void
}

/** At most four requests a second; a public node answers 25 requests of all kinds. */
const GATHER_MS = 250
/** Limit of `getMultipleAccounts`. */
const SIZE_MAX = 100
/** One second's worth. */
const WAITING_MAX = 400

const valid: Verification = { kind: 'valid' }

/**
 * Checks together the payments that arrive at the same time, so that only payments that can succeed cause a request of
 * their own. The first one passes at once.
 */
export class Screening<Payment> {
  readonly #options: ScreeningOptions<Payment>
  readonly #waiting: Waiting<Payment>[] = []
  #isGathering = false

  constructor(options: ScreeningOptions<Payment>) {
    this.#options = options
  }

  async screen(payment: Payment): Promise<Verification> {
    if (!this.#isGathering) {
      this.#gather()
      return valid
    }
    if (this.#waiting.length >= WAITING_MAX)
      return { kind: 'unreachable', reason: `${WAITING_MAX} payments are waiting for the node` }
    return new Promise((resolve) => {
      this.#waiting.push({ payment, resolve })
    })
  }

  #gather(): void {
    this.#isGathering = true
    this.#options.clock.after(GATHER_MS, () => {
      this.#isGathering = false
      if (this.#waiting.length === 0) return
      this.#gather()
      void this.#dispatch(this.#waiting.splice(0, SIZE_MAX))
    })
  }

  async #dispatch(gathered: readonly Waiting<Payment>[]): Promise<void> {
    const verifications = gathered.length === 1 ? [valid] : await this.#asked(gathered)
    for (const [index, { resolve }] of gathered.entries()) resolve(verifications[index] ?? valid)
  }

  async #asked(gathered: readonly Waiting<Payment>[]): Promise<readonly Verification[]> {
    try {
      return await this.#options.ask(gathered.map(({ payment }) => payment))
    } catch (cause) {
      const unreachable: Verification = { kind: 'unreachable', reason: nodeReason(cause) }
      return gathered.map(() => unreachable)
    }
  }
}
