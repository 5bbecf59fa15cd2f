import type { Answers } from './answers.ts'
import type { BudgetLimits, Hold } from './budget.ts'
import { Budget } from './budget.ts'
import type { PendingPayment } from './errors.ts'
import {
  IntermediaryError,
  PaymentRefusedError,
  RefusedError,
  UnansweredError,
  UnpayableError,
} from './errors.ts'
import { Payees } from './payees.ts'
import { platform } from './platform.ts'
import { quoteOf } from './quote.ts'
import { isCharged, isOver, isUncharged, refusalIn } from './refusal.ts'
import { repeated, sentUntilClear } from './repeated.ts'
import type { Payer, SignedPayment } from './signed-payment.ts'
import { signedPayment, TIMEOUT_SECONDS_MAX } from './signed-payment.ts'
import type { PaymentPayload, SettleResponse } from './x402.ts'

export type { Answers, ProblemCode } from './answers.ts'
export type { Diagnostics, PendingPayment, ProblemBody } from './errors.ts'
// biome-ignore lint/performance/noBarrelFile: this file is the package's door
export {
  IntermediaryError,
  PaymentRefusedError,
  RefusedError,
  UnansweredError,
  UnpayableError,
} from './errors.ts'
export type { Payer } from './signed-payment.ts'
export type {
  PaymentPayload,
  PaymentRequired,
  PaymentRequirements,
  SettleResponse,
} from './x402.ts'

export type ClientOptions = {
  /** Of the service, such as `https://api.example.com`. */
  readonly url: string
  /** Without it only free calls work, and services without payment. */
  readonly pay?: Payer
  readonly budget?: Partial<BudgetLimits>
  /** Addresses that may be paid, on whatever network; without them whoever the first quote names. */
  readonly payTo?: readonly string[]
  /** A quote that asks for a payment which could be charged for longer is not signed. 300 by default. */
  readonly maxTimeoutSeconds?: number
  readonly fetch?: (url: string, init: { headers: Record<string, string> }) => Promise<Response>
  readonly wait?: (ms: number) => Promise<void>
  /** Unix time. */
  readonly nowMs?: () => number
}

/** Parameters of the query: a list is joined by commas. */
export type Query = Readonly<Record<string, string | number | readonly string[]>>

export type CallOptions = {
  /**
   * Ask first whether the answer that was bought last for the same call is still the newest one: then it is
   * given again for nothing. One more round trip when it is not.
   */
  readonly reuse?: boolean
}

export type Bought<Answer> = {
  readonly answer: Answer
  /** null where nothing was paid. */
  readonly receipt: SettleResponse | null
  readonly etag: string | null
  /** Given again from the memory of this client, unchanged at the service. */
  readonly isReused: boolean
}

type CoinAnalysis =
  | 'pulse'
  | 'spread'
  | 'liquidations'
  | 'funding'
  | 'oi'
  | 'basis'
  | 'cex-dex'
  | 'volatility'
  | 'bundle'
type MarketAnalysis = Exclude<keyof Answers, CoinAnalysis>

/** A payment that can be sent again in the place of a new one. */
type Unspent = Pick<SignedPayment, 'freshUntilMs'> & { readonly header: string }

type Kept = { readonly header: string; readonly bought: Bought<unknown> }

const budgetByDefault: BudgetLimits = { maxUsdPerCall: 0.1, totalUsd: 1 }
const KEPT_MAX = 200
/** Payments that were signed and have bought nothing yet. */
const OPEN_MAX = 1_000

/**
 * A buyer of answers. A call is signed at most once: whatever fails after that, the same payment is sent
 * again, and the service gives what it has bought.
 */
export class PerpscopeClient {
  readonly #options: ClientOptions
  readonly #budget: Budget
  readonly #payees: Payees
  readonly #nowMs: () => number
  readonly #kept = new Map<string, Kept>()
  /** By their headers. */
  readonly #open = new Map<string, Hold>()
  /** By the URL that they are for: the service says that they were not charged, and can be sent again. */
  readonly #unspent = new Map<string, Unspent>()

  constructor(options: ClientOptions) {
    this.#options = { ...options, url: options.url.replace(/\/+$/, '') }
    this.#nowMs = options.nowMs ?? platform.nowMs
    this.#budget = new Budget({ ...budgetByDefault, ...options.budget }, this.#nowMs)
    this.#payees = new Payees(options.payTo)
  }

  /** What counts against the budget, in USDC: all that was signed, but for what can be charged no more and was not. */
  get spentUsd(): number {
    return this.#budget.spentUsd
  }

  /** The part of it that could still be charged and was not, for all that is known, in USDC. */
  get heldUsd(): number {
    return this.#budget.heldUsd
  }

  /** An analysis of one coin, in any case: `about('pulse', 'BTC', { timeframes: ['1h'] })`. */
  about<Id extends CoinAnalysis>(
    analysis: Id,
    coin: string,
    query: Query = {},
    options: CallOptions = {},
  ): Promise<Bought<Answers[Id]>> {
    const path = `/${analysis}/${encodeURIComponent(coin)}`
    return this.call(path + searchOf(query), options) as Promise<Bought<Answers[Id]>>
  }

  /** An analysis of the whole market: `market('screener', { top_n: 20 })`. */
  market<Id extends MarketAnalysis>(
    analysis: Id,
    query: Query = {},
    options: CallOptions = {},
  ): Promise<Bought<Answers[Id]>> {
    return this.call(`/${analysis}${searchOf(query)}`, options) as Promise<Bought<Answers[Id]>>
  }

  async coins(): Promise<readonly string[]> {
    return ((await this.#free('/coins')) as { coins: string[] }).coins
  }

  async health(): Promise<{ readonly status: 'ok' | 'degraded'; readonly version: string }> {
    return (await this.#free('/health')) as { status: 'ok' | 'degraded'; version: string }
  }

  /** Fetches what a payment has bought whose answer did not come. @throws UnansweredError, RefusedError */
  async resume({ url, header }: PendingPayment): Promise<Bought<unknown>> {
    return this.#fetched(url, header)
  }

  async #free(path: string): Promise<unknown> {
    const response = await this.#send(this.#options.url + path)
    if (response.ok) return response.json()
    throw await refusalOf(response)
  }

  /** Any path that answers with JSON, as the service lists it: `call('/pulse/BTC?view=compact')`. */
  async call(path: string, { reuse = false }: CallOptions = {}): Promise<Bought<unknown>> {
    const url = this.#options.url + path
    const kept = this.#kept.get(url)
    if (reuse && kept !== undefined && (await this.#isNewest(url, kept)))
      return { ...kept.bought, isReused: true }
    return (await this.#boughtAgain(url)) ?? (await this.#boughtAnew(url))
  }

  /** By a payment for the same call that was signed before and not charged; null where there is none. */
  async #boughtAgain(url: string): Promise<Bought<unknown> | null> {
    const unspent = this.#unspent.get(url)
    this.#unspent.delete(url)
    if (unspent === undefined || unspent.freshUntilMs <= this.#nowMs()) return null
    try {
      return await this.#bought(url, unspent)
    } catch (cause) {
      // It was not charged, and will not be accepted either: the call is as good as new.
      if (cause instanceof PaymentRefusedError) return null
      throw cause
    }
  }

  async #boughtAnew(url: string): Promise<Bought<unknown>> {
    const response = await this.#quoted(url)
    if (response.status === 200) return boughtOf(response)
    const quote = quoteOf(response.headers.get('payment-required'))
    const { pay, maxTimeoutSeconds = TIMEOUT_SECONDS_MAX } = this.#options
    if (pay === undefined)
      throw new UnpayableError('the call costs money and the client has no payer')
    const { payment, hold, freshUntilMs } = await signedPayment(quote, {
      pay,
      budget: this.#budget,
      payees: this.#payees,
      timeoutSecondsMax: maxTimeoutSeconds,
      nowMs: this.#nowMs,
    })
    const header = encoded(payment)
    keep(this.#open, header, hold, OPEN_MAX)
    return this.#bought(url, { header, freshUntilMs })
  }

  async #bought(url: string, unspent: Unspent): Promise<Bought<unknown>> {
    const { header } = unspent
    try {
      const bought = await this.#fetched(url, header)
      keep(this.#kept, url, { header, bought }, KEPT_MAX)
      return bought
    } catch (cause) {
      if (isUncharged(cause) && !isOver(cause)) keep(this.#unspent, url, unspent, OPEN_MAX)
      throw cause
    }
  }

  /** Nothing is lost before a payment, so what passes is waited for here too. */
  #quoted(url: string): Promise<Response> {
    const answered = async () => {
      const response = await this.#send(url)
      if (response.status === 200 || response.status === 402) return response
      throw await refusalOf(response)
    }
    return repeated(answered, mayPass, this.#options.wait)
  }

  async #fetched(url: string, header: string): Promise<Bought<unknown>> {
    const answered = async () => {
      const response = await this.#send(url, { 'payment-signature': header })
      if (response.status === 200) return await boughtOf(response)
      throw await refusalOf(response)
    }
    const hold = this.#open.get(header)
    try {
      const bought = await sentUntilClear(answered, this.#options.wait)
      if (hold !== undefined) this.#budget.settle(hold)
      return bought
    } catch (cause) {
      if (hold !== undefined && isUncharged(cause)) this.#budget.disclaim(hold)
      if (hold !== undefined && isCharged(cause)) this.#budget.settle(hold)
      if (isUncharged(cause) || isOver(cause)) throw cause
      throw new UnansweredError({ url, header }, cause)
    }
  }

  async #isNewest(url: string, { header, bought }: Kept): Promise<boolean> {
    if (bought.etag === null) return false
    const headers = { 'payment-signature': header, 'if-none-match': bought.etag }
    const { status } = await this.#send(url, headers)
    if (status !== 304) this.#kept.delete(url)
    return status === 304
  }

  #send(url: string, headers: Record<string, string> = {}): Promise<Response> {
    const { fetch = platform.fetch } = this.#options
    return fetch(url, { headers: { accept: 'application/json', ...headers } })
  }
}

/** Forgets what was kept longest ago. */
function keep<Value>(map: Map<string, Value>, key: string, value: Value, sizeMax: number): void {
  map.delete(key)
  map.set(key, value)
  const [oldest] = map.keys()
  if (map.size > sizeMax && oldest !== undefined) map.delete(oldest)
}

async function boughtOf(response: Response): Promise<Bought<unknown>> {
  const receipt = response.headers.get('payment-response')
  return {
    answer: await response.json(),
    receipt: receipt === null ? null : (JSON.parse(atob(receipt)) as SettleResponse),
    etag: response.headers.get('etag'),
    isReused: false,
  }
}

async function refusalOf(
  response: Response,
): Promise<RefusedError | PaymentRefusedError | IntermediaryError> {
  const body: unknown = await response.json().catch(() => null)
  return refusalIn(body) ?? new IntermediaryError(response.status)
}

function mayPass(cause: unknown): boolean {
  if (cause instanceof RefusedError) return cause.problem.retryable
  return cause instanceof IntermediaryError && (cause.status === 429 || cause.status >= 500)
}

function searchOf(query: Query): string {
  const entries = Object.entries(query).map(([name, value]) => [
    name,
    Array.isArray(value) ? value.join(',') : String(value),
  ])
  return entries.length === 0 ? '' : `?${new URLSearchParams(entries as [string, string][])}`
}

/** JSON may hold what `btoa` does not take. */
function encoded(payment: PaymentPayload): string {
  const bytes = new TextEncoder().encode(JSON.stringify(payment))
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''))
}
