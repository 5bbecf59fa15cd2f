import { showBought } from '../live/documents.ts'
import { facts } from '../live/service.ts'
import { PendingPayments, textStore } from './pending-payments.ts'
import { Purchases } from './purchases.ts'

let made: Purchases | null = null

/** The purchases of this page. */
export function pagePurchases(): Purchases {
  made ??= new Purchases({
    url: location.origin,
    payTo: facts().waysToPay.map(({ payTo }) => payTo),
    pending: new PendingPayments(textStore(() => sessionStorage)),
    fetch: (url, init) => fetch(url, init),
    nowMs: () => Date.now(),
    newNonce: () => {
      const bytes = crypto.getRandomValues(new Uint8Array(32))
      return `0x${Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')}`
    },
    onBought: showBought,
  })
  return made
}
