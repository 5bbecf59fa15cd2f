import type { PaymentPayload, SettleResponse } from '@x402/core/types'
import type { Answers } from './answers.ts'
import type { BudgetLimits } from './budget.ts'
import { Budget } from './budget.ts'
import type { PaymentRefusedError, PendingPayment } from './errors.ts'
import { IntermediaryError, RefusedError, UnansweredError, UnpayableError } from './errors.ts'
import { platform } from './platform.ts'
import { quoteOf } from './quote.ts'
import { isOver, isUncharged, refusalIn } from './refusal.ts'
import { repeated, sentUntilClear } from './repeated.ts'
import type { Payer } from './signed-payment.ts'
import { signedPayment } from './signed-payment.ts'

export type { Answers } from './answers.ts'
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

export type ClientOptions = {
  /** Of the service, such as `https://api.example.com`. */
  readonly url: string
  /** Without it only free calls work, and services without payment. */
  readonly pay?: Payer
  readonly budget?: Partial<BudgetLimits>
  readonly fetch?: (url: string, init: { headers: Record<string, string> }) => Promise<Response>
  readonly wait?: (ms: number) => Promise<void>
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
  | 'bundle'
type MarketAnalysis = Exclude<keyof Answers, CoinAnalysis>

type Kept = { readonly header: string; readonly bought: Bought<unknown> }

const budgetByDefault: BudgetLimits = { maxUsdPerCall: 0.1, totalUsd: 1 }
const KEPT_MAX = 200

/**
 * A buyer of answers. A call is signed at most once: whatever fails after that, the same payment is sent
 * again, and the service gives what it has bought.
 */
export class PerpscopeClient {
  readonly #options: ClientOptions
  readonly #budget: Budget
  readonly #kept = new Map<string, Kept>()

  constructor(options: ClientOptions) {
    this.#options = { ...options, url: options.url.replace(/\/+$/, '') }
    this.#budget = new Budget({ ...budgetByDefault, ...options.budget })
  }

  /** What was signed for, less what the service says it did not charge, in USDC. */
  get spentUsd(): number {
    return this.#budget.spentUsd
  }

  /** An analysis of one coin, in any case: `about('pulse', 'BTC', { timeframes: ['1h'] })`. */
  about<Id extends CoinAnalysis>(
    analysis: Id,
    coin: string,
    query: Query = {},
    options: CallOptions = {},
  ): Promise<Bought<Answers[Id]>> {
    const path = `/${analysis}/${encodeURIComponent(coin)}`
    return this.#call(path, query, options) as Promise<Bought<Answers[Id]>>
  }

  /** An analysis of the whole market: `market('screener', { top_n: 20 })`. */
  market<Id extends MarketAnalysis>(
    analysis: Id,
    query: Query = {},
    options: CallOptions = {},
  ): Promise<Bought<Answers[Id]>> {
    return this.#call(`/${analysis}`, query, options) as Promise<Bought<Answers[Id]>>
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

  async #call(
    path: string,
    query: Query,
    { reuse = false }: CallOptions,
  ): Promise<Bought<unknown>> {
    const url = this.#options.url + path + searchOf(query)
    const kept = this.#kept.get(url)
    if (reuse && kept !== undefined && (await this.#isNewest(url, kept)))
      return { ...kept.bought, isReused: true }
    const response = await this.#quoted(url)
    if (response.status === 200) return boughtOf(response)
    const quote = quoteOf(response.headers.get('payment-required'))
    const { pay } = this.#options
    if (pay === undefined)
      throw new UnpayableError('the call costs money and the client has no payer')
    const { payment, amount } = await signedPayment(quote, pay, this.#budget)
    const header = encoded(payment)
    try {
      const bought = await this.#fetched(url, header)
      this.#keep(url, { header, bought })
      return bought
    } catch (cause) {
      if (isUncharged(cause)) this.#budget.giveBack(amount)
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
    try {
      return await sentUntilClear(answered, this.#options.wait)
    } catch (cause) {
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

  #keep(url: string, kept: Kept): void {
    this.#kept.delete(url)
    this.#kept.set(url, kept)
    const [oldest] = this.#kept.keys()
    if (this.#kept.size > KEPT_MAX && oldest !== undefined) this.#kept.delete(oldest)
  }

  #send(url: string, headers: Record<string, string> = {}): Promise<Response> {
    const { fetch = platform.fetch } = this.#options
    return fetch(url, { headers: { accept: 'application/json', ...headers } })
  }
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
