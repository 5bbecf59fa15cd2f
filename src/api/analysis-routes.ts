import assert from 'node:assert/strict'
import type {
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  HookHandlerDoneFunction,
} from 'fastify'
import type { AnalysisContract } from '../domain/contract.ts'
import { pathOf } from '../domain/contract.ts'
import { statusOf } from '../domain/problem.ts'
import { isNamedBy } from '../payment/entity-tag.ts'
import { hasPayment } from '../payment/payload.ts'
import type { QuoteLimit } from '../payment/quote-limit.ts'
import type { AnalysisCall } from './analysis-call.ts'
import { answerTag, callReader, findAnswer } from './analysis-call.ts'
import { invalidEcho, notReady, qualityFell, underMaintenance } from './analysis-refusals.ts'
import { lowerQuality, quotedQuality } from './answer-preview.ts'
import { compressAnswer } from './compress-answer.ts'
import type { ConsolePage } from './console/console-page.ts'
import { prefersPage } from './console/prefers-page.ts'
import { fillDocument } from './fill-document.ts'
import type { PaidRouteOptions } from './paid-route.ts'
import { paidRoute } from './paid-route.ts'
import { discoveryHeaders } from './response-headers.ts'
import type { Refusal } from './send-problem.ts'
import { refusal, sendRefusal } from './send-problem.ts'

export type AnalysisRoutesOptions = PaidRouteOptions & {
  readonly contracts: readonly AnalysisContract[]
  /** Adds the hooks that quote and charge; null for free answers (`--payment open`). */
  readonly payment: PaymentGate | null
  /** Limits the quotes of one address; null for no limit. */
  readonly quoteLimit: QuoteLimit | null
  /** What a browser gets instead of a quote or a refusal; null for JSON alone. */
  readonly consolePage: ConsolePage | null
}

/**
 * Called with the context of the paid routes, before they are added. Its hooks read
 * `routeOptions.config.x402` of a route, and only see calls that can be answered.
 */
export type PaymentGate = (app: FastifyInstance) => void | Promise<void>

declare module 'fastify' {
  interface FastifyRequest {
    /** Set once the call has passed all checks. */
    analysisCall: AnalysisCall | null
  }
}

const answerHeaders = {
  'content-type': 'application/json; charset=utf-8',
  /** A document changes about once a second. */
  'cache-control': 'private, max-age=1',
  vary: 'X-PAYMENT, PAYMENT-SIGNATURE, Accept, Accept-Encoding, Origin',
} as const

/**
 * `GET /<analysis>/<coin>`, or `GET /<analysis>` for the whole market, for every contract. The order of the checks
 * ensures that no unavailable answer is quoted: maintenance, quote limit, parameters, engine, coverage, freshness,
 * selected fields, sales readiness, and last the hooks of the payment.
 */
export async function analysisRoutes(
  app: FastifyInstance,
  options: AnalysisRoutesOptions,
): Promise<void> {
  const { consolePage, contracts, maintenance, payment, quoteLimit } = options
  app.decorateRequest('analysisCall', null)
  await payment?.(app)
  // Per route, because a hook of the whole app would run before the hooks of the payment.
  const showPage = consolePage === null ? [] : [pageForBrowsers(consolePage)]
  app.addHook('onRoute', (route) => {
    route.onSend = [route.onSend ?? [], showPage, compressAnswer].flat()
  })

  const refuseMaintenance = (
    request: FastifyRequest,
    reply: FastifyReply,
    done: HookHandlerDoneFunction,
  ): void => {
    // A payment may have bought an answer before; the payment hooks look it up first.
    const mayBeKnown = payment !== null && hasPayment(request.headers)
    if (maintenance.isOn && !mayBeKnown) sendRefusal(reply, underMaintenance())
    else done()
  }

  for (const contract of contracts) {
    const route = {
      url: pathOf(contract, ':coin'),
      config: { x402: paidRoute(contract, { ...options, isFree: payment === null }) },
      exposeHeadRoute: false,
      // `checkCall` checks maintenance too; here it precedes the quote limit.
      onRequest: quoteLimit === null ? [] : [refuseMaintenance, quoteLimit.onRequest],
      // After the look-up of earlier purchases, which needs neither engine nor data.
      preValidation: checkCall(contract, options),
    }
    const handler = sendAnswer(contract, options)
    app.route({ ...route, method: 'GET', handler })
    if (payment === null) app.route({ ...route, method: 'HEAD', handler })
    else {
      const onRequest = [dropPayment, ...route.onRequest]
      app.route({ ...route, method: 'HEAD', onRequest, handler: unreachable })
    }
  }
}

/** Refuses a call that cannot be answered; keeps a valid one for the quote and the handler. */
function checkCall(contract: AnalysisContract, options: AnalysisRoutesOptions) {
  const { clock, engine, maintenance, payment, quoteLimit, readiness } = options
  const read = callReader(contract, { ...options, isFree: payment === null })
  return (request: FastifyRequest, reply: FastifyReply, done: HookHandlerDoneFunction): void => {
    if (maintenance.isOn) {
      sendRefusal(reply, underMaintenance())
      return
    }
    const nowMs = clock.nowMs()
    const call = read(request, nowMs)
    if (call.kind === 'refusal') {
      refuseCall(call, quoteLimit, request, reply, done)
      return
    }
    const found = findAnswer(contract, call, engine, nowMs)
    if (found.kind === 'refusal') {
      refuseCall(found, quoteLimit, request, reply, done)
      return
    }
    const isPaid = hasPayment(request.headers)
    const failed = readiness?.sales?.hindrance({ isPaid }) ?? null
    if (failed !== null) {
      sendRefusal(reply, notReady(failed))
      return
    }
    call.found = found
    request.analysisCall = call
    // The response is a quote.
    if (payment !== null && !isPaid) reply.headers(discoveryHeaders)
    done()
  }
}

/** A call with a payment, which is not verified yet, passed the quote limit uncounted. */
function refuseCall(
  refused: Refusal,
  quoteLimit: QuoteLimit | null,
  request: FastifyRequest,
  reply: FastifyReply,
  done: HookHandlerDoneFunction,
): void {
  const isCounted = hasPayment(request.headers) && statusOf(refused.code) < 500
  if (quoteLimit === null || !isCounted) {
    sendRefusal(reply, refused)
    return
  }
  quoteLimit.onRefusal(request, reply).then((exceeded) => {
    sendRefusal(reply, exceeded === null ? refused : refusal('rate_limited', exceeded))
  }, done)
}

/**
 * Looks the document up again: verification of a payment takes time, and the answer must be sound at the moment of
 * sending.
 */
function sendAnswer(contract: AnalysisContract, options: AnalysisRoutesOptions) {
  const { clock, engine, maintenance, payment, readiness } = options
  return (request: FastifyRequest, reply: FastifyReply): void => {
    const call = request.analysisCall
    assert(call !== null, 'a call reaches the handler only through the checks')
    const nowMs = clock.nowMs()
    const known = payment === null && nowMs === call.receivedAtMs ? call.found : null
    const found = maintenance.isOn
      ? underMaintenance()
      : (known ?? findAnswer(contract, call, engine, nowMs))
    if (found.kind === 'refusal') {
      sendRefusal(reply, found)
      return
    }
    const { document, answer } = found
    const etag = answerTag(document, answer, call)
    if (isNamedBy(request.headers['if-none-match'], etag)) {
      // The caller has this answer, so nothing is charged.
      void reply.code(304).headers(answerHeaders).header('etag', etag).send()
      return
    }
    const quoted = quotedQuality(request.paymentExtensions)
    const isClockOff = readiness?.isClockOff() ?? false
    if (quoted !== null && 'rule' in quoted) {
      sendRefusal(reply, invalidEcho(quoted))
      return
    }
    const present = quoted && lowerQuality(quoted, found, nowMs, isClockOff)
    if (quoted !== null && present !== null) {
      sendRefusal(reply, qualityFell(quoted, present))
      return
    }
    const facts = {
      nowMs,
      executionMs: nowMs - call.receivedAtMs,
      coinsAvailable: engine.coins().length,
      requested: call.requested,
      isClockOff,
    }
    const bytes = fillDocument(document, answer, facts, call.selection)
    void reply.headers(answerHeaders).header('etag', etag).send(bytes)
  }
}

/** A browser that opens a paid path gets a page that shows the quote, with the headers of the quote. */
function pageForBrowsers(page: ConsolePage) {
  return (
    request: FastifyRequest,
    reply: FastifyReply,
    payload: unknown,
    done: (error: Error | null, body?: unknown) => void,
  ): void => {
    const isForBrowser =
      reply.statusCode >= 400 && !hasPayment(request.headers) && prefersPage(request.raw)
    done(null, isForBrowser ? page.inPlaceOfRefusal(reply) : payload)
  }
}

/** HEAD returns the quote: an answer without its body would be paid for nothing. */
function dropPayment(
  request: FastifyRequest,
  _reply: FastifyReply,
  done: HookHandlerDoneFunction,
): void {
  delete request.headers['x-payment']
  delete request.headers['payment-signature']
  done()
}

function unreachable(): never {
  assert.fail('an unpaid HEAD passed the payment gate')
}
