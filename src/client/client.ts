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
import { decodeQuote } from './quote.ts'
import { isCharged, isOver, isUncharged, readRefusal } from './refusal.ts'
import { retry, sendUntilSettled } from './retry.ts'
import type { BudgetedPayment, Payer } from './sign-payment.ts'
import { signPayment, TIMEOUT_SECONDS_MAX } from './sign-payment.ts'
import type { PaymentPayload, SettleResponse } from './x402.ts'

export type { Answers, ProblemCode } from './answers.ts'
export type { Diagnostics, PendingPayment, ProblemBody } from './errors.ts'
// biome-ignore lint/performance/noBarrelFile: this file is the entry of the package
export {
  IntermediaryError,
  PaymentRefusedError,
  RefusedError,
  UnansweredError,
  UnpayableError,
} from './errors.ts'
export type { Payer } from './sign-payment.ts'
export type {
  PaymentPayload,
  PaymentRequired,
  PaymentRequirements,
  SettleResponse,
} from './x402.ts'

export type ClientOptions = {
  /** URL of the service, such as `https://api.example.com`. */
  readonly url: string
  /** Signs payments; without it only free calls work. */
  readonly pay?: Payer
  readonly budget?: Partial<BudgetLimits>
  /** Accepted payees, on any network; default: the payees of the first quote. */
  readonly payTo?: readonly string[]
  /** Maximum validity of a payment, seconds; quotes that require more are not signed. Default 300. */
  readonly maxTimeoutSeconds?: number
  readonly fetch?: (url: string, init: { headers: Record<string, string> }) => Promise<Response>
  readonly wait?: (ms: number) => Promise<void>
  /** Unix time, milliseconds. */
  readonly nowMs?: () => number
}

/** Query parameters; lists are joined by commas. */
export type Query = Readonly<Record<string, string | number | readonly string[]>>

export type CallOptions = {
  /**
   * Returns the last purchased answer of the same call without payment if the service confirms that it is still the
   * newest; costs one more round trip otherwise.
   */
  readonly reuse?: boolean
}

export type Bought<Answer> = {
  readonly answer: Answer
  /** null if nothing was paid. */
  readonly receipt: SettleResponse | null
  readonly etag: string | null
  /** From the cache of this client, confirmed by the service. */
  readonly isReused: boolean
}

/** Answers about one coin name it. */
type CoinAnalysis = {
  [Id in keyof Answers]: Answers[Id] extends { coin: string } | { token: string } ? Id : never
}[keyof Answers]
type MarketAnalysis = Exclude<keyof Answers, CoinAnalysis>

/** A payment that is sent again before another is signed. */
type Unspent = Pick<BudgetedPayment, 'freshUntilMs'> & {
  readonly header: string
  /** It may have been charged, so it is sent again at any age. */
  readonly isOpen: boolean
}

type Kept = { readonly header: string; readonly bought: Bought<unknown> }

const budgetByDefault: BudgetLimits = { maxUsdPerCall: 0.1, totalUsd: 1 }
const KEPT_MAX = 200
/** Signed payments that have bought nothing yet. */
const OPEN_MAX = 1_000

/** Buys answers within a budget. A call is signed at most once: after a failure the same payment is sent again. */
export class PerpscopeClient {
  readonly #options: ClientOptions
  readonly #budget: Budget
  readonly #payees: Payees
  readonly #nowMs: () => number
  readonly #kept = new Map<string, Kept>()
  /** Reservations by payment header. */
  readonly #open = new Map<string, Hold>()
  /** By URL: payments without an answer, and those reported as not charged and reusable. */
  readonly #unspent = new Map<string, Unspent>()

  constructor(options: ClientOptions) {
    this.#options = { ...options, url: options.url.replace(/\/+$/, '') }
    this.#nowMs = options.nowMs ?? platform.nowMs
    this.#budget = new Budget({ ...budgetByDefault, ...options.budget }, this.#nowMs)
    this.#payees = new Payees(options.payTo)
  }

  /** Counted against the budget, USDC: signed payments, except those that were not charged and cannot be any more. */
  get spentUsd(): number {
    return this.#budget.spentUsd
  }

  /** The part of `spentUsd` that may still be charged, USDC. */
  get heldUsd(): number {
    return this.#budget.heldUsd
  }

  /** An analysis of one coin: `about('pulse', 'BTC', { timeframes: ['1h'] })`. */
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

  /** Fetches the answer to a payment that received none. @throws UnansweredError, RefusedError */
  async resume({ url, header }: PendingPayment): Promise<Bought<unknown>> {
    const unspent = this.#unspent.get(url)
    if (unspent?.header !== header) return this.#fetchAnswer(url, header, true)
    // Otherwise the next call would fetch this answer again.
    this.#unspent.delete(url)
    return this.#payWith(url, unspent)
  }

  /** Gives a payment up, so that the next call signs another one. It may have been charged, so it stays counted. */
  discard({ url, header }: PendingPayment): void {
    if (this.#unspent.get(url)?.header === header) this.#unspent.delete(url)
  }

  async #free(path: string): Promise<unknown> {
    const response = await this.#send(this.#options.url + path)
    if (response.ok) return response.json()
    throw await refusalOf(response)
  }

  /** Calls any path with a JSON answer: `call('/pulse/BTC?view=compact')`. */
  async call(path: string, { reuse = false }: CallOptions = {}): Promise<Bought<unknown>> {
    // Exactly one slash: without it, or after an empty `url`, the path could name another host to pay.
    const url = `${this.#options.url}/${path.replace(/^[\s/\\]+/, '')}`
    const kept = this.#kept.get(url)
    if (reuse && kept !== undefined && (await this.#isNewest(url, kept)))
      return { ...kept.bought, isReused: true }
    return (await this.#buyWithUnspent(url)) ?? (await this.#buy(url))
  }

  /** Sends an earlier payment of the same call again; null if there is none, or if it was refused uncharged. */
  async #buyWithUnspent(url: string): Promise<Bought<unknown> | null> {
    const unspent = this.#unspent.get(url)
    this.#unspent.delete(url)
    if (unspent === undefined) return null
    if (!unspent.isOpen && unspent.freshUntilMs <= this.#nowMs()) return null
    try {
      return await this.#payWith(url, unspent)
    } catch (cause) {
      // Neither charged nor accepted: start over.
      if (cause instanceof PaymentRefusedError) return null
      throw cause
    }
  }

  async #buy(url: string): Promise<Bought<unknown>> {
    const response = await this.#quote(url)
    if (response.status === 200) return boughtOf(response)
    const quote = decodeQuote(response.headers.get('payment-required'))
    const { pay, maxTimeoutSeconds = TIMEOUT_SECONDS_MAX } = this.#options
    if (pay === undefined)
      throw new UnpayableError('the call requires a payment and the client has no `pay`')
    const { payment, hold, freshUntilMs } = await signPayment(quote, {
      pay,
      budget: this.#budget,
      payees: this.#payees,
      timeoutSecondsMax: maxTimeoutSeconds,
      nowMs: this.#nowMs,
    })
    const header = encoded(payment)
    keep(this.#open, header, hold, OPEN_MAX)
    return this.#payWith(url, { header, freshUntilMs, isOpen: false })
  }

  async #payWith(url: string, unspent: Unspent): Promise<Bought<unknown>> {
    const { header, isOpen } = unspent
    try {
      const bought = await this.#fetchAnswer(url, header, isOpen)
      keep(this.#kept, url, { header, bought }, KEPT_MAX)
      return bought
    } catch (cause) {
      const isUnanswered = cause instanceof UnansweredError
      if (!isOver(cause) && !this.#isRefusedForEver(cause, header))
        keep(this.#unspent, url, { ...unspent, isOpen: isUnanswered }, OPEN_MAX)
      throw cause
    }
  }

  /** Refused after its end: it buys nothing any more, whether it was charged or not, so the next call signs another. */
  #isRefusedForEver(cause: unknown, header: string): boolean {
    const isRefused = cause instanceof UnansweredError && cause.cause instanceof PaymentRefusedError
    return (
      isRefused && (this.#open.get(header)?.endsMs ?? Number.POSITIVE_INFINITY) <= this.#nowMs()
    )
  }

  /** Retries temporary refusals. */
  #quote(url: string): Promise<Response> {
    const answered = async () => {
      const response = await this.#send(url)
      if (response.status === 200 || response.status === 402) return response
      throw await refusalOf(response)
    }
    return retry(answered, isTemporary, this.#options.wait)
  }

  async #fetchAnswer(url: string, header: string, mayBeCharged: boolean): Promise<Bought<unknown>> {
    const answered = async () => {
      const response = await this.#send(url, { 'payment-signature': header })
      if (response.status === 200) return await boughtOf(response)
      throw await refusalOf(response)
    }
    const hold = this.#open.get(header)
    try {
      const bought = await sendUntilSettled(answered, this.#options.wait, mayBeCharged)
      if (hold !== undefined) this.#budget.settle(hold)
      return bought
    } catch (cause) {
      if (hold !== undefined && isUncharged(cause)) this.#budget.reportUncharged(hold)
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

/** Adds an entry and evicts the oldest above `sizeMax`. */
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
  return readRefusal(body) ?? new IntermediaryError(response.status)
}

function isTemporary(cause: unknown): boolean {
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

/** `btoa` takes Latin-1 only, so the JSON is encoded as UTF-8 first. */
function encoded(payment: PaymentPayload): string {
  const bytes = new TextEncoder().encode(JSON.stringify(payment))
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''))
}
