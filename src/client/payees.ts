import { UnpayableError } from './errors.ts'
import type { PaymentRequired, PaymentRequirements } from './x402.ts'

/**
 * Accepted payees. Without a list these are the payees of the first quote, so that a compromised service or proxy
 * cannot redirect later payments.
 */
export class Payees {
  #known: ReadonlySet<string> | null
  readonly #isNamed: boolean

  /** @param payTo addresses, on any network */
  constructor(payTo: readonly string[] | undefined) {
    this.#isNamed = payTo !== undefined
    this.#known = payTo === undefined ? null : new Set(payTo.map(canonicalAddress))
  }

  /** The quote, reduced to terms with an accepted payee. @throws UnpayableError if none is left */
  known(quote: PaymentRequired): PaymentRequired {
    const known = this.#known ?? new Set(quote.accepts.map((one) => this.#nameOf(one)))
    this.#known = known
    const accepts = quote.accepts.filter((one) => known.has(this.#nameOf(one)))
    if (accepts.length > 0) return { ...quote, accepts }
    const asked = quote.accepts.map(({ network, payTo }) => `${payTo} on ${network}`).join(', ')
    const expected = this.#isNamed ? 'not an accepted payee' : 'not a payee of the first quote'
    throw new UnpayableError(
      `the quote names the payee ${asked}, which is ${expected}; nothing was signed. ` +
        'If the operator confirms the new payee, pass it as payTo',
    )
  }

  #nameOf({ network, payTo }: PaymentRequirements): string {
    return this.#isNamed ? canonicalAddress(payTo) : `${network} ${canonicalAddress(payTo)}`
  }
}

/** Hexadecimal addresses are case-insensitive, base58 addresses are not. */
export function canonicalAddress(address: string): string {
  return /^0x/i.test(address) ? address.toLowerCase() : address
}
