/** A transfer to the service, as recorded on chain. */
export type Charge = {
  readonly nonce: string
  readonly payer: string
  readonly transaction: string
  readonly amount: bigint
}

/** A signed payment and its purchase. */
export type Paid = {
  readonly nonce: string
  readonly payer: string
  /** Shared by all payments of one purchase; after a refusal the buyer signs another. */
  readonly purchase: string
}

/** An answer sent for a payment. */
export type Given = { readonly text: string; readonly transaction: string }

export type Violation = {
  readonly rule: Rule
  readonly nonce: string
  readonly detail: string
}

export const rules = [
  'a nonce was charged twice',
  'a purchase was charged twice',
  'a charge of another amount',
  'an answer without a charge',
  'copies with other bytes',
  'a charge without an answer',
  'a purchase without an end',
  'money that nobody knows of',
] as const
export type Rule = (typeof rules)[number]

/**
 * Compares the answers of buyers with the charges on chain, during the run and at its end. It knows only
 * the promises, not their implementation.
 */
export class Books {
  readonly violations: Violation[] = []
  readonly #price: bigint
  readonly #payments = new Map<string, Paid>()
  readonly #charges = new Map<string, Charge>()
  readonly #chargedPurchases = new Map<string, string>()
  readonly #answers = new Map<string, Given>()

  constructor(priceUsdcAtomic: bigint) {
    this.#price = priceUsdcAtomic
  }

  get charges(): number {
    return this.#charges.size
  }

  /** Nonces of the payments that were charged on chain. */
  charged(): readonly string[] {
    return [...this.#charges.keys()]
  }

  signed(payment: Paid): void {
    this.#payments.set(payment.nonce, payment)
  }

  taken(charge: Charge): void {
    const { nonce, amount, transaction } = charge
    const before = this.#charges.get(nonce)
    if (before?.transaction === transaction) return
    if (before !== undefined)
      this.#violated('a nonce was charged twice', nonce, `${before.transaction} ${transaction}`)
    this.#charges.set(nonce, charge)
    if (amount !== this.#price) this.#violated('a charge of another amount', nonce, `${amount}`)
    const purchase = this.#payments.get(nonce)?.purchase
    if (purchase === undefined) return
    const other = this.#chargedPurchases.get(purchase)
    if (other !== undefined && other !== nonce)
      this.#violated('a purchase was charged twice', nonce, `${purchase} by ${other} before`)
    this.#chargedPurchases.set(purchase, nonce)
  }

  /** Records an answer; `taken` has reported all charges until now. */
  given(nonce: string, answer: Given): void {
    const charge = this.#charges.get(nonce)
    if (charge === undefined || charge.transaction !== answer.transaction)
      this.#violated(
        'an answer without a charge',
        nonce,
        `said ${answer.transaction}, the chain says ${charge?.transaction ?? 'nothing'}`,
      )
    const first = this.#answers.get(nonce)
    if (first === undefined) this.#answers.set(nonce, answer)
    else if (first.text !== answer.text || first.transaction !== answer.transaction)
      this.#violated(
        'copies with other bytes',
        nonce,
        `${first.text} in ${first.transaction}, then ${answer.text} in ${answer.transaction}`,
      )
  }

  /** A charged payment was sent again after the last fault and got no answer. */
  withheld(nonce: string, detail: string): void {
    this.#violated('a charge without an answer', nonce, detail)
  }

  endless(nonce: string, detail: string): void {
    this.#violated('a purchase without an end', nonce, detail)
  }

  /** @param spent total of each wallet. @param received total of the service */
  closed(spent: ReadonlyMap<string, bigint>, received: bigint): void {
    const known = new Map<string, bigint>()
    for (const { payer, amount } of this.#charges.values())
      known.set(payer, (known.get(payer) ?? 0n) + amount)
    for (const [payer, amount] of spent)
      if (amount !== (known.get(payer) ?? 0n))
        this.#violated('money that nobody knows of', payer, `spent ${amount}`)
    const sum = [...known.values()].reduce((total, amount) => total + amount, 0n)
    if (received !== sum)
      this.#violated('money that nobody knows of', 'service', `received ${received}, not ${sum}`)
  }

  #violated(rule: Rule, nonce: string, detail: string): void {
    this.violations.push({ rule, nonce, detail })
  }
}
