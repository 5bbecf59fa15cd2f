import { UnpayableError } from './errors.ts'
import type { PaymentRequired, PaymentRequirements } from './x402.ts'

/**
 * Who may be paid. Without a list it is whoever the first quote names, on the networks that it names: a service
 * that was taken over, or whoever stands before it, cannot redirect payments later.
 */
export class Payees {
  #known: ReadonlySet<string> | null
  readonly #isNamed: boolean

  /** @param payTo addresses, on whatever network they are */
  constructor(payTo: readonly string[] | undefined) {
    this.#isNamed = payTo !== undefined
    this.#known = payTo === undefined ? null : new Set(payTo.map(spelled))
  }

  /** The quote with only those ways to pay that reach a known payee. @throws UnpayableError when there is none */
  known(quote: PaymentRequired): PaymentRequired {
    const known = this.#known ?? new Set(quote.accepts.map((one) => this.#nameOf(one)))
    this.#known = known
    const accepts = quote.accepts.filter((one) => known.has(this.#nameOf(one)))
    if (accepts.length > 0) return { ...quote, accepts }
    const asked = quote.accepts.map(({ network, payTo }) => `${payTo} on ${network}`).join(', ')
    const expected = this.#isNamed ? 'not a payee of this client' : 'not who the first quote named'
    throw new UnpayableError(
      `the quote asks to pay ${asked}, which is ${expected}; nothing was signed. ` +
        'Ask the operator whether the payee has changed, and name the new one as payTo if so',
    )
  }

  #nameOf({ network, payTo }: PaymentRequirements): string {
    return this.#isNamed ? spelled(payTo) : `${network} ${spelled(payTo)}`
  }
}

/** Hexadecimal may be written in any case, base58 may not. */
export function spelled(address: string): string {
  return /^0x/i.test(address) ? address.toLowerCase() : address
}
