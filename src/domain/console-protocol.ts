/** Facts of `/console/service.json`, by which the page in a browser knows what it shows. */
export type ConsoleFacts = {
  readonly version: string
  /** On the admin port every document is live and free. */
  readonly port: 'public' | 'admin'
  /** The coin that the public port shows for free, and by how much it is late; null on the admin port. */
  readonly sample: { readonly coin: string; readonly delaySeconds: number } | null
  readonly payment: 'paid' | 'free'
  readonly offers: readonly ConsoleOffer[]
  /** In offered order. */
  readonly waysToPay: readonly ConsoleWayToPay[]
  /** Address that signs receipts; null if they are not signed. */
  readonly receiptSigner: string | null
  /** Whether this port has `/proof`. */
  readonly hasProofs: boolean
  /** Coins with answers, by the venue's spelling. */
  readonly coins: readonly string[]
}

export type ConsoleOffer = {
  readonly id: string
  readonly scope: 'coin' | 'market'
  /** With `{coin}` or `{token}`. */
  readonly path: string
  readonly title: string
  readonly useWhen: string
  readonly returns: string
  /** Decimal USDC. */
  readonly priceUsdc: string
}

/** Quality of one analysis now, of the sample coin where it is about one; or why there is no answer. */
export type ConsoleQuality = { readonly id: string } & (
  | { readonly grade: string; readonly coveragePct: number; readonly ageSeconds: number }
  | { readonly refusal: ConsoleRefusal }
)

type ConsoleWayToPay = {
  readonly scheme: string
  /** CAIP-2. */
  readonly network: string
  readonly asset: string
  readonly payTo: string
}

/** Event `service` of `/console/live`. */
export type ConsoleServiceEvent = {
  readonly engine: 'available' | 'silent' | 'unavailable'
  /** The service's clock, Unix milliseconds. */
  readonly now: number
}

/** Event `document` of `/console/live`. */
export type ConsoleDocumentEvent = {
  /** Path of the call. */
  readonly name: string
  readonly version: string
  /** Instant for which the answer states its ages, Unix milliseconds. */
  readonly at: number
  readonly answer?: unknown
  readonly refusal?: ConsoleRefusal
}

export type ConsoleRefusal = { readonly code: string; readonly detail: string }
