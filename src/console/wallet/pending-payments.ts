import type { PendingPayment } from '../../client/client.ts'

/** The part of `Storage` that is used. */
type TextStore = Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>

const PREFIX = 'perpscope-payment '

/**
 * Signed payments without a known outcome, by URL. They survive a reload of the page, so that the same payment is sent
 * again and no second one is signed.
 */
export class PendingPayments {
  readonly #store: TextStore

  constructor(store: TextStore) {
    this.#store = store
  }

  find(url: string): PendingPayment | null {
    const header = this.#store.getItem(PREFIX + url)
    return header === null ? null : { url, header }
  }

  keep({ url, header }: PendingPayment): void {
    this.#store.setItem(PREFIX + url, header)
  }

  forget(url: string): void {
    this.#store.removeItem(PREFIX + url)
  }
}
