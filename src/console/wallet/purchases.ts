import type { Signal } from '@preact/signals'
import { signal } from '@preact/signals'
import type {
  ClientOptions,
  Payer,
  PaymentRequirements,
  PendingPayment,
  ProblemBody,
  SettleResponse,
} from '../../client/client.ts'
import {
  PaymentRefusedError,
  PerpscopeClient,
  RefusedError,
  UnansweredError,
} from '../../client/client.ts'
import { decodeQuote } from '../../client/quote.ts'
import { readRefusal } from '../../client/refusal.ts'
import type { PendingPayments } from './pending-payments.ts'
import type { SigningStep } from './sign-with-wallet.ts'
import { walletPayer, walletTerms } from './sign-with-wallet.ts'
import type { WalletProvider } from './wallet-provider.ts'

/** What is known about the purchase of one answer. */
export type PurchaseState =
  | { readonly kind: 'quoting' }
  /** The service sells no answer to this call now. */
  | { readonly kind: 'refused'; readonly problem: ProblemBody }
  | { readonly kind: 'unreachable'; readonly detail: string }
  | {
      readonly kind: 'quoted'
      readonly accepts: readonly PaymentRequirements[]
      /** What a wallet of a browser would sign; null if no offered way to pay is one for it. */
      readonly terms: PaymentRequirements | null
      /** How the last attempt ended. */
      readonly failure: PurchaseFailure | null
    }
  | { readonly kind: 'paying'; readonly step: SigningStep | 'sending' }
  /** A payment is signed, has bought nothing yet and can be sent again. */
  | {
      readonly kind: 'open'
      readonly payment: PendingPayment
      readonly detail: string
      /** Refused, perhaps in every later call too, although an earlier request may have charged it: it can be discarded. */
      readonly isRefused: boolean
    }
  | {
      readonly kind: 'bought'
      readonly answer: unknown
      /** null if nothing was paid. */
      readonly receipt: SettleResponse | null
    }

export type PurchaseFailure = {
  readonly text: string
  /** null if it is not known. */
  readonly charged: boolean | null
}

export type PurchasesOptions = Pick<ClientOptions, 'payTo' | 'wait'> & {
  /** URL of the service. */
  readonly url: string
  readonly pending: PendingPayments
  readonly fetch: NonNullable<ClientOptions['fetch']>
  readonly nowMs: () => number
  /** 32 random bytes. */
  readonly newNonce: () => `0x${string}`
  readonly onBought: (path: string, answer: unknown) => void
}

/** Limits of one page until it is reloaded, USDC. */
export const PAGE_BUDGET = { maxUsdPerCall: 1, totalUsd: 10 } as const

const unanswered =
  'A signed payment for this call has no answer yet, and it may have been charged. Send the same payment again: it ' +
  'cannot be charged twice.'

const discarded =
  'The payment was discarded. It may have been charged: look for the transfer in the wallet before you pay again.'

const inProgress = 'Another purchase of this page is in progress. Finish it first.'

const lostPayment =
  'A signed payment has no answer, and the browser did not keep it, so it cannot be sent again. Look for the transfer ' +
  'in the wallet before you pay again.'

const noRoom =
  'The browser has no storage left in which to keep a signed payment. Nothing was signed or charged. Open this page in ' +
  'a new tab and pay there.'

/** Buys answers with a wallet of the browser, by the client of this project. A call never has two open payments. */
export class Purchases {
  readonly #options: PurchasesOptions
  readonly #client: PerpscopeClient
  readonly #states = new Map<string, Signal<PurchaseState>>()
  /** The purchase in progress; a page has one at a time. */
  #current: { readonly state: Signal<PurchaseState>; readonly pay: Payer } | null = null

  constructor(options: PurchasesOptions) {
    this.#options = options
    const { url, payTo, wait, nowMs } = options
    this.#client = new PerpscopeClient({
      ...{ url, nowMs, budget: PAGE_BUDGET },
      ...(payTo && { payTo }),
      ...(wait && { wait }),
      pay: async (quote) => {
        if (this.#current === null) throw new TypeError('nothing is being bought')
        return this.#current.pay(quote)
      },
      fetch: (target, init) => this.#send(target, init),
    })
  }

  /** @param path of a call, such as `/pulse/BTC?view=compact` */
  stateOf(path: string): Signal<PurchaseState> {
    const known = this.#states.get(path)
    if (known !== undefined) return known
    const made = signal<PurchaseState>({ kind: 'quoting' })
    this.#states.set(path, made)
    return made
  }

  /** Shows the terms of a call, or its open payment. */
  async quote(path: string, failure: PurchaseFailure | null = null): Promise<void> {
    const state = this.stateOf(path)
    const payment = this.#pendingOf(path)
    if (payment !== null) {
      state.value = { kind: 'open', payment, detail: unanswered, isRefused: false }
      return
    }
    const waiting: PurchaseState = { kind: 'quoting' }
    state.value = waiting
    const quoted = await this.#quoted(path, failure).catch(unreachable)
    // A newer quote may have been paid since.
    if (state.peek() === waiting) state.value = quoted
  }

  /** Pays the terms that `quote` has shown, once. An open payment is sent again instead. */
  async pay(path: string, provider: WalletProvider): Promise<void> {
    const state = this.stateOf(path)
    const { value } = state
    if (value.kind !== 'quoted' || value.terms === null) return
    if (this.#current !== null) {
      const text = `${inProgress} Nothing was signed or charged for this call.`
      state.value = { ...value, failure: { text, charged: false } }
      return
    }
    if (this.#pendingOf(path) !== null) {
      await this.resume(path)
      return
    }
    if (!this.#options.pending.hasRoom()) {
      state.value = { ...value, failure: { text: noRoom, charged: false } }
      return
    }
    const { nowMs, newNonce } = this.#options
    const onStep = (step: SigningStep) => {
      state.value = { kind: 'paying', step }
    }
    const agreed = value.terms
    const pay = walletPayer({ provider, agreed, nowMs, newNonce, onStep })
    onStep('account')
    this.#current = { state, pay }
    await this.#conclude(path, () => this.#client.call(path))
  }

  /** Sends the open payment of a call again. */
  async resume(path: string): Promise<void> {
    const payment = this.#pendingOf(path)
    if (payment === null) return
    const state = this.stateOf(path)
    if (this.#current !== null) {
      const { value } = state
      if (value.kind === 'open') state.value = { ...value, detail: `${inProgress} ${unanswered}` }
      return
    }
    const pay = () => Promise.reject(new TypeError('an open payment is never replaced'))
    this.#current = { state, pay }
    await this.#conclude(path, () => this.#client.resume(payment))
  }

  /** Gives up a refused payment, so that another one can be signed. */
  async discard(path: string): Promise<void> {
    const { value } = this.stateOf(path)
    if (value.kind !== 'open' || !value.isRefused || this.#current !== null) return
    this.#options.pending.forget(this.#options.url + path)
    this.#client.discard(value.payment)
    await this.quote(path, { text: discarded, charged: null })
  }

  async #conclude(
    path: string,
    call: () => Promise<{ readonly answer: unknown; readonly receipt: SettleResponse | null }>,
  ): Promise<void> {
    const state = this.stateOf(path)
    try {
      const { answer, receipt } = await call()
      this.#options.pending.forget(this.#options.url + path)
      state.value = { kind: 'bought', answer, receipt }
      this.#options.onBought(path, answer)
    } catch (cause) {
      await this.#fail(path, cause)
    } finally {
      this.#current = null
    }
  }

  async #fail(path: string, cause: unknown): Promise<void> {
    const payment = this.#pendingOf(path)
    if (payment !== null && isOpen(cause)) {
      const isRefused = refusalIn(cause) !== null
      this.stateOf(path).value = { kind: 'open', payment, detail: openText(cause), isRefused }
      return
    }
    this.#options.pending.forget(this.#options.url + path)
    await this.quote(path, failureOf(cause))
  }

  async #quoted(path: string, failure: PurchaseFailure | null): Promise<PurchaseState> {
    const { fetch, url, onBought } = this.#options
    const response = await fetch(url + path, { headers: { accept: 'application/json' } })
    if (response.status === 402) {
      const { accepts } = decodeQuote(response.headers.get('payment-required'))
      return { kind: 'quoted', accepts, terms: walletTerms(accepts), failure }
    }
    const body: unknown = await response.json()
    if (response.ok) {
      onBought(path, body)
      return { kind: 'bought', answer: body, receipt: null }
    }
    const refusal = readRefusal(body)
    if (!(refusal instanceof RefusedError)) throw new TypeError(`status ${response.status}`)
    return { kind: 'refused', problem: refusal.problem }
  }

  /** A payment is stored before it is sent, so that a reload of the page cannot lose it. */
  #send(target: string, init: { headers: Record<string, string> }): Promise<Response> {
    const header = init.headers['payment-signature']
    if (header !== undefined) {
      this.#options.pending.keep({ url: target, header })
      if (this.#current !== null) this.#current.state.value = { kind: 'paying', step: 'sending' }
    }
    return this.#options.fetch(target, init)
  }

  #pendingOf(path: string): PendingPayment | null {
    return this.#options.pending.find(this.#options.url + path)
  }
}

/** Whether the payment may still buy the answer. */
function isOpen(cause: unknown): boolean {
  if (cause instanceof UnansweredError) return true
  return cause instanceof RefusedError && cause.problem.payment_reusable
}

/** A refusal of a payment that an earlier request may have charged. */
function refusalIn(cause: unknown): PaymentRefusedError | null {
  const reason = cause instanceof UnansweredError ? cause.cause : null
  return reason instanceof PaymentRefusedError ? reason : null
}

function openText(cause: unknown): string {
  const refusal = refusalIn(cause)
  if (refusal !== null) return failureOf(refusal).text
  if (!(cause instanceof RefusedError)) return unanswered
  return `${cause.problem.detail} The signed payment stays valid: send it again instead of another one.`
}

function failureOf(cause: unknown): PurchaseFailure {
  if (cause instanceof RefusedError)
    return { text: cause.problem.detail, charged: cause.problem.charged }
  if (cause instanceof PaymentRefusedError) {
    return { text: `The service refused the payment. ${cause.diagnostics.hint}`, charged: false }
  }
  if (cause instanceof UnansweredError) return { text: lostPayment, charged: null }
  return { text: cause instanceof Error ? cause.message : String(cause), charged: false }
}

function unreachable(cause: unknown): PurchaseState {
  return { kind: 'unreachable', detail: cause instanceof Error ? cause.message : String(cause) }
}
