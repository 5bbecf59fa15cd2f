import type { PendingPayment } from '../../client/client.ts'

/** The part of `Storage` that is used. */
type TextStore = Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>

const PREFIX = 'perpscope-payment '
const ROOM = 'perpscope-room'
/** The service accepts no longer headers of a request. */
const HEADER_CHARACTERS_MAX = 16_384

/** The store of the browser or, where it blocks stores, one that lasts as long as the page. */
export function textStore(browserStore: () => TextStore): TextStore {
  try {
    return browserStore()
  } catch {
    const kept = new Map<string, string>()
    return {
      getItem: (key) => kept.get(key) ?? null,
      setItem: (key, text) => void kept.set(key, text),
      removeItem: (key) => void kept.delete(key),
    }
  }
}

/**
 * Signed payments without a known outcome, by URL. They survive a reload of the page, so that the same payment is sent
 * again and no second one is signed.
 */
export class PendingPayments {
  readonly #store: TextStore

  constructor(store: TextStore) {
    this.#store = store
  }

  /** Whether a payment could be kept now. */
  hasRoom(): boolean {
    try {
      this.#store.setItem(ROOM, ' '.repeat(HEADER_CHARACTERS_MAX))
      this.#store.removeItem(ROOM)
      return true
    } catch {
      return false
    }
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
