import assert from 'node:assert/strict'
import type {
  FastifyInstance,
  FastifyPluginAsync,
  FastifyReply,
  FastifyRequest,
  RouteOptions,
} from 'fastify'
import type { Clock } from '../domain/clock.ts'
import { Admission } from './admission.ts'
import type { BufferedResponse } from './buffered-response.ts'
import { bufferedResponse, sendBuffered } from './buffered-response.ts'
import { measured } from './call-steps.ts'
import { Delivery } from './delivery.ts'
import type { Extensions } from './extensions/extensions.ts'
import type { OfferReceipts } from './extensions/offer-receipt.ts'
import { prefersSignedOffer } from './extensions/offer-receipt.ts'
import { FailedPayments } from './failed-payments.ts'
import type { Finality } from './finality.ts'
import { InFlightPayments } from './in-flight-payments.ts'
import type { ExposureLimits, Ledger } from './ledger/ledger.ts'
import { NodeGate } from './node-gate.ts'
import { Operations } from './operations.ts'
import { hasPayment } from './payload.ts'
import type { PaymentMethod } from './payment.ts'
import type { EmitForRequest, PaymentEvent } from './payment-event.ts'
import type { PaymentLimits } from './payment-limits.ts'
import { limitsByDefault } from './payment-limits.ts'
import { PaymentResponses } from './payment-responses.ts'
import { paymentId } from './presented-payment.ts'
import type { Closure } from './purchased-answers.ts'
import { PurchasedAnswers } from './purchased-answers.ts'
import { Quotes } from './quotes.ts'
import type { RateLimits } from './rate-limit.ts'
import { localRateLimits } from './rate-limit.ts'
import { Reconciler } from './reconciler.ts'
import type { Sale } from './sales.ts'
import { Sales } from './sales.ts'
import { SettlementCoordinator } from './settlement-coordinator.ts'
import type { PaidRoute, Terms } from './terms.ts'
import { termsOf } from './terms.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Sells the answers of this route. */
    x402?: PaidRoute
  }
  interface FastifyRequest {
    /** Extensions that the buyer echoes, unsigned; their owner checks them. */
    paymentExtensions?: Extensions | null
    /** Whether an earlier request may have charged the payment; null before its look-up, or if that cannot tell. */
    isPaymentUsed?: boolean | null
  }
}

export type PaymentOptions = {
  /** In the order of `accepts`. */
  readonly methods: readonly PaymentMethod[]
  /** Closed by the caller. */
  readonly ledger: Ledger
  readonly clock: Clock
  /** Public base URL, such as `https://api.example.com`. */
  readonly publicUrl: string
  readonly limits?: Partial<PaymentLimits>
  /** Counts of this process by default. */
  readonly rateLimits?: RateLimits
  /** For metrics. */
  readonly inFlightPayments?: InFlightPayments
  /** Finality that a price requires before its answer is sent; `confirmed` by default. */
  readonly finality?: (amount: bigint) => Finality
  /** Limits of unsettled answers that were sent on `broadcast`; zero by default. */
  readonly exposure?: ExposureLimits
  /** Signs offers and receipts; optional. */
  readonly receipts?: OfferReceipts
  /** While the host is closed, purchased answers are stored and not sent. */
  readonly closure?: Closure
  /** While the clock is wrong, nothing is removed by its time. */
  readonly isClockOff?: () => boolean
  /** A new secret for each quote: 16 random bytes in base64url. */
  readonly newSecret: () => string
  readonly onEvent?: (event: PaymentEvent) => void
  /** Called with the body of each paid answer before it is sent, again for each repetition. */
  readonly onSold?: (body: Uint8Array) => void
}

const noExposure: ExposureLimits = { payerMax: 0n, totalMax: 0n }

const SWEEP_ROWS_MAX = 64
const SWEEP_MS = 10_000
/** Pause while more rows are left to remove. */
const SWEEP_AGAIN_MS = 50
const KEPT_AFTER_CLOSURE_MS = 2 * 3_600_000

/**
 * Sells the answers of routes that declare `config.x402`. Hooks are bound to routes, not to URLs: no spelling or method
 * reaches a paid handler without a payment. Checks of the host belong in earlier hooks. The handler must send its whole
 * body at once.
 */
export const payments: FastifyPluginAsync<PaymentOptions> = Object.assign(register, {
  // As fastify-plugin: the hooks belong to the registering instance.
  [Symbol.for('skip-override')]: true,
  [Symbol.for('fastify.display-name')]: 'payments',
})

const neverClosed: Closure = { isClosed: () => false, retryAfterSeconds: 0 }

/** Wires the parts of the checkout: each request passes `answers`, `admission` and `sales` in this order. */
function checkoutOf(options: PaymentOptions) {
  const { ledger, clock, newSecret, onEvent = () => undefined, closure = neverClosed } = options
  const {
    inFlightPayments = new InFlightPayments(),
    receipts = null,
    exposure = noExposure,
  } = options
  const { finality = () => 'confirmed', rateLimits = localRateLimits } = options
  const emit: EmitForRequest = (request, event) =>
    onEvent({ ...event, route: request.routeOptions.url ?? null })
  const publicUrl = options.publicUrl.replace(/\/+$/, '')
  const limits = { ...limitsByDefault, ...options.limits }
  const failures = new FailedPayments({
    perAddressPerMinute: limits.failedPaymentsPerAddressPerMinute,
    identicalPerMinute: limits.identicalFailuresPerMinute,
    rateLimits,
  })
  const wallets = rateLimits('wallet', limits.paidCallsPerWalletPerMinute)
  const common = {
    ledger,
    clock,
    publicUrl,
    limits,
    rateLimits,
    inFlightPayments,
    failures,
    wallets,
    receipts,
    emit,
  }

  const coordinator = new SettlementCoordinator({ ledger, clock, emit: onEvent })
  const quotes = new Quotes({ publicUrl, newSecret, receipts })
  const { onSold = () => undefined } = options
  const delivery = new Delivery({ ledger, clock, receipts, emit: onEvent, onSold })
  const responses = new PaymentResponses({ failures, quotes, delivery, emit })
  const nodeGate = new NodeGate({ ...common, coordinator, responses })
  const answers = new PurchasedAnswers({ ...common, coordinator, closure, responses, delivery })
  const admission = new Admission({ ...common, nodeGate, answers, responses })
  const sales = new Sales({
    ...common,
    coordinator,
    nodeGate,
    answers,
    responses,
    finality,
    exposure,
  })
  const operations = new Operations({ nodeGate, responses, delivery, emit })
  return { coordinator, inFlightPayments, quotes, delivery, answers, admission, sales, operations }
}

async function register(app: FastifyInstance, options: PaymentOptions): Promise<void> {
  const { methods, ledger, clock, onEvent = () => undefined, closure = neverClosed } = options
  const checkout = checkoutOf(options)
  const { quotes, delivery, answers, admission } = checkout
  app.decorateRequest('paymentExtensions', null)
  app.decorateRequest('isPaymentUsed', null)
  const termsByRoute = new Map<PaidRoute, Terms>()
  const sold = new WeakMap<FastifyRequest, Sold>()

  app.addHook('onRoute', (route: RouteOptions) => {
    const paid = route.config?.x402
    if (paid === undefined) return
    assert(
      route.method === 'GET' || route.method === 'HEAD',
      `${route.url}: only GET and HEAD can be sold, because a payment is not bound to a request body`,
    )
    if (!termsByRoute.has(paid)) termsByRoute.set(paid, termsOf(paid, methods))
    route.onRequest = [...listOf(route.onRequest), arrived]
    route.preParsing = [...listOf(route.preParsing), recall]
    route.preHandler = [...listOf(route.preHandler), admit]
    if (route.method !== 'GET') return
    route.onSend = [...listOf(route.onSend), settleThenSend]
    route.onResponse = [...listOf(route.onResponse), sent]
  })

  // A paid route that was added before this plugin has no payment hooks and stays closed.
  app.addHook('preHandler', async (request) => {
    if (request.routeOptions.config.x402 !== undefined) termsOfRoute(request)
  })

  // Before the start no buyer could fetch an answer.
  let closedUntilMs = clock.nowMs()
  async function sweep(): Promise<void> {
    let full = false
    try {
      const nowMs = clock.nowMs()
      if (closure.isClosed() || options.isClockOff?.()) closedUntilMs = nowMs
      // Buyers that were sent away find their answers after a closure.
      if (nowMs - closedUntilMs > KEPT_AFTER_CLOSURE_MS)
        full = (await ledger.sweep(nowMs, SWEEP_ROWS_MAX)) === SWEEP_ROWS_MAX
    } catch (cause) {
      // Old rows stay longer; sales continue while rows can be written.
      onEvent({ kind: 'failed', route: null, cause })
    }
    if (!isClosed) sweepAfter(full ? SWEEP_AGAIN_MS : SWEEP_MS)
  }
  let isClosed = false
  let cancelSweep = () => {}
  function sweepAfter(ms: number): void {
    cancelSweep = clock.after(ms, () => void sweep())
  }
  sweepAfter(SWEEP_MS)
  const reconciler = new Reconciler({
    ledger,
    coordinator: checkout.coordinator,
    methods,
    clock,
    isAtWork: ({ key }) => checkout.inFlightPayments.find(paymentId(key)) !== undefined,
    emit: onEvent,
  })
  app.addHook('onReady', async () => reconciler.start())
  app.addHook('onClose', async () => {
    isClosed = true
    cancelSweep()
    reconciler.stop()
  })

  async function arrived(request: FastifyRequest) {
    delivery.arrived(request)
  }

  async function sent(request: FastifyRequest) {
    delivery.sent(request)
  }

  /** Runs before `preValidation` of the host: a purchased answer needs no engine and no fresh data. */
  async function recall(request: FastifyRequest, reply: FastifyReply) {
    if (request.method === 'HEAD' || !hasPayment(request.headers)) return undefined
    const answer = await answers.recall(request, termsOfRoute(request))
    return answer === null ? undefined : sendBuffered(reply, answer)
  }

  async function admit(request: FastifyRequest, reply: FastifyReply) {
    const terms = termsOfRoute(request)
    // HEAD has no body to sell: it gets the quote, and its payment is not used.
    if (request.method === 'HEAD' || !hasPayment(request.headers)) {
      onEvent({ kind: 'quoted', route: request.routeOptions.url ?? null })
      return sendBuffered(
        reply,
        prefersSignedOffer(request.headers['prefer'])
          ? await quotes.signedQuote(request, terms)
          : quotes.quote(request, terms),
      )
    }
    onEvent({ kind: 'presented', route: request.routeOptions.url ?? null })
    const startedMs = reply.elapsedTime
    const sale = await saleFor(request, terms)
    if (!('cancelLapse' in sale)) return sendBuffered(reply, sale)
    request.paymentExtensions = sale.extensions
    // It was verified now; `cancel` of the sale states what an earlier request charged.
    request.isPaymentUsed = false
    const headersBefore = new Set(Object.keys(reply.getHeaders()))
    const admittedMs = reply.elapsedTime
    sold.set(request, {
      sale,
      headersBefore,
      verifyMs: admittedMs - startedMs,
      admittedMs,
    })
  }

  async function saleFor(request: FastifyRequest, terms: Terms): Promise<Sale | BufferedResponse> {
    const { callSteps } = request
    const admit = () => admission.admit(request, terms)
    // Of the host as well, which were first.
    const admitted = await (callSteps ? callSteps.measure('checks', admit, 0) : admit())
    if ('status' in admitted) return admitted
    return admitted.inFlight === null
      ? checkout.operations.carryOut(request, admitted)
      : measured(request, 'verify', () => checkout.sales.verify(request, admitted))
  }

  async function settleThenSend(request: FastifyRequest, reply: FastifyReply, payload: unknown) {
    const { sales } = checkout
    const held = sold.get(request)
    if (held === undefined) return payload
    sold.delete(request)
    const { sale, headersBefore } = held
    const answeredMs = reply.elapsedTime
    request.callSteps?.add({
      ...{ name: 'answer', beginMs: held.admittedMs, endMs: answeredMs, isError: false },
    })
    // A 304 has no body.
    const answer = bufferedResponse(reply, payload ?? '')
    if (reply.statusCode >= 300) {
      const instead = sales.cancel(request, sale, answer)
      return instead === null ? payload : replaced(reply, headersBefore, instead)
    }
    const final =
      answer === null || answer.body.length === 0
        ? sales.fail(request, sale, new TypeError('a paid answer is a body of bytes'))
        : await sales.complete(request, sale, kept(answer))
    if (final.status >= 300) return replaced(reply, headersBefore, final)
    reply.header('server-timing', timing(held, answeredMs, reply.elapsedTime))
    reply.code(final.status).headers(final.headers)
    return final.body
  }

  function termsOfRoute(request: FastifyRequest): Terms {
    const paid = request.routeOptions.config.x402
    const terms = paid === undefined ? undefined : termsByRoute.get(paid)
    assert(terms !== undefined, 'paid routes are added after the payment plugin')
    return terms
  }
}

/** A sale in progress with its durations since the arrival of the request. */
type Sold = {
  readonly sale: Sale
  readonly headersBefore: ReadonlySet<string>
  readonly verifyMs: number
  readonly admittedMs: number
}

/** `Server-Timing` of a sale: verification, answer and settlement. */
function timing({ verifyMs, admittedMs }: Sold, answeredMs: number, nowMs: number): string {
  const parts = { verify: verifyMs, engine: answeredMs - admittedMs, settle: nowMs - answeredMs }
  return Object.entries(parts)
    .map(([name, ms]) => `${name};dur=${Math.round(ms * 1_000) / 1_000}`)
    .join(', ')
}

/** A shared cache would send the answer without payment. */
function kept(answer: BufferedResponse): BufferedResponse {
  const cacheControl = answer.headers['cache-control']
  if (cacheControl !== undefined && /\b(private|no-store)\b/.test(cacheControl)) return answer
  return { ...answer, headers: { ...answer.headers, 'cache-control': 'private, no-cache' } }
}

/** Replaces the handler's answer. @returns the body */
function replaced(
  reply: FastifyReply,
  headersBefore: ReadonlySet<string>,
  { status, headers, body }: BufferedResponse,
): Buffer {
  removeHeadersSince(reply, headersBefore)
  reply.code(status).headers(headers)
  return body
}

/** Headers of the handler's answer must not describe the response that replaces it. */
function removeHeadersSince(reply: FastifyReply, before: ReadonlySet<string>): void {
  for (const name of Object.keys(reply.getHeaders())) {
    if (!before.has(name)) reply.removeHeader(name)
  }
}

function listOf<T>(hooks: T | T[] | undefined): T[] {
  if (hooks === undefined) return []
  return Array.isArray(hooks) ? hooks : [hooks]
}
