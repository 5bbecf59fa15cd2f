import { AddressUse } from './allowance.ts'
import type { VenueLimits } from './limits.ts'

const ADDRESSES_MAX = 256

/** Limits and current use of every client address. */
export class Addresses {
  readonly #limits: VenueLimits
  readonly #uses = new Map<string, AddressUse>()

  constructor(limits: VenueLimits) {
    this.#limits = limits
  }

  /** An address that has no connection is forgotten when there are too many. */
  use(address: string): AddressUse {
    const known = this.#uses.get(address)
    if (known !== undefined) return known
    const idle = [...this.#uses].find(([, { connections }]) => connections === 0)
    if (this.#uses.size >= ADDRESSES_MAX && idle !== undefined) this.#uses.delete(idle[0])
    const use = new AddressUse(this.#limits)
    this.#uses.set(address, use)
    return use
  }
}
