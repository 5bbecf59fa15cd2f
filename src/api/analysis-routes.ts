import assert from 'node:assert/strict'
import type {
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  HookHandlerDoneFunction,
  onRequestHookHandler,
} from 'fastify'
import type { Clock } from '../domain/clock.ts'
import type { AnalysisContract } from '../domain/contract.ts'
import { keyOf, pathOf, pathParameterOf } from '../domain/contract.ts'
import type { Answer, Document, DocumentKey, NoAnswer } from '../domain/document.ts'
import { viewOf } from '../domain/document.ts'
import { isoInstant } from '../domain/instant.ts'
import { tickerName, unscaledToken } from '../domain/listing.ts'
import { nearestNames } from '../domain/nearest-names.ts'
import type { EngineReader } from '../link/engine-replica.ts'
import { isNamedBy } from '../payment/entity-tag.ts'
import type { Extensions } from '../payment/extensions/extensions.ts'
import { hasPayment } from '../payment/payload.ts'
import type { CheckedSales, SalesReadiness } from '../payment/sales-readiness.ts'
import type { PaidRoute } from '../payment/terms.ts'
import type { RequestReader } from './analysis-request.ts'
import { documentNames, requestReader } from './analysis-request.ts'
import type { Quality } from './answer-preview.ts'
import { previewOf, quotedQuality, worsened } from './answer-preview.ts'
import type { Selection } from './answer-selection.ts'
import { compressAnswer } from './compress-answer.ts'
import { bazaarOf } from './discovery/bazaar.ts'
import type { AnalysisOffer, OfferedParameter } from './discovery/offer-of.ts'
import { offerOf } from './discovery/offer-of.ts'
import type { RequestedCoin } from './fill-document.ts'
import { fillDocument } from './fill-document.ts'
import { loadBearingAgeMs, overdue } from './freshness.ts'
import type { MaintenanceSwitch } from './maintenance-switch.ts'
import { discoveryHeaders } from './response-headers.ts'
import type { Refusal } from './send-problem.ts'
import { refusal, sendProblem } from './send-problem.ts'

export type AnalysisRoutesOptions = {
  readonly contracts: readonly AnalysisContract[]
  readonly engine: EngineReader
  readonly maintenance: MaintenanceSwitch
  readonly clock: Clock
  /** Quoted for the literal `{coin}`, which indexers take from the published path templates. */
  readonly exampleCoin: string
  /** Adds the hooks that quote and charge; null where answers are free (`--payment open`). */
  readonly payment: PaymentGate | null
  /** Limits how often one address may ask for quotes; null for no limit. */
  readonly quoteLimit: onRequestHookHandler | null
  /** What sales need beside their answer; without it nothing stands in their way. */
  readonly readiness?: ServiceReadiness
}

export type ServiceReadiness = {
  /** Whether the clock is known to be off, so that no answer is of the best grade. */
  isClockOff(): boolean
  /** Where answers are given away there is nothing else to check. */
  readonly sales: SalesReadiness | null
}

/**
 * Called with the context of the paid routes, before they are added. Its hooks find what a route sells
 * in `routeOptions.config.x402`, and see no call that cannot be answered.
 */
export type PaymentGate = (app: FastifyInstance) => void | Promise<void>

declare module 'fastify' {
  interface FastifyRequest {
    /** Set once the parameters of a paid call are understood. */
    analysisCall: AnalysisCall | null
  }
}

/** A paid call whose parameters hold. */
type AnalysisCall = {
  /** As the venue spells it; '' where the answer is about the whole market. */
  readonly coin: string
  readonly key: DocumentKey
  readonly view: string
  /** The part of that view that is wanted; null for all of it. */
  readonly selection: Selection | null
  readonly requested: RequestedCoin | undefined
  readonly receivedAtMs: number
  /** What there was to answer with then. */
  found: Found | null
}

/** Raw, as some clients send it; the router decodes the other form to this one. */
const COIN_PLACEHOLDER = /^\{(coin|token)\}$/

export const MAINTENANCE_RETRY_SECONDS = 3600
/** An engine is restarted, and a feed reconnected, within seconds. */
const RETRY_SECONDS = 5
/** History is asked for coin after coin, for minutes. */
const WARMING_RETRY_SECONDS = 15
/** What is ready later than this may be so sooner by another way. */
const WARMING_RETRY_SECONDS_MAX = 3600

const paidHeaders = {
  'content-type': 'application/json; charset=utf-8',
  /** Documents are rendered about once a second. */
  'cache-control': 'private, max-age=1',
  vary: 'X-PAYMENT, PAYMENT-SIGNATURE, Accept, Accept-Encoding, Origin',
} as const

/**
 * `GET /<analysis>/<coin>`, or `GET /<analysis>` for the whole market, for every contract. The order of
 * the checks is the promise that nobody is quoted for an answer that we cannot give: maintenance, quote
 * limit, parameters, engine, coverage and freshness, what a sale needs beside its answer, and only then the payment's
 * own hooks, which run later in the life of a request.
 */
export async function analysisRoutes(
  app: FastifyInstance,
  options: AnalysisRoutesOptions,
): Promise<void> {
  const { contracts, maintenance, payment, quoteLimit } = options
  app.decorateRequest('analysisCall', null)
  await payment?.(app)
  // After the hooks of the payment, which a hook of the whole app would come before.
  app.addHook('onRoute', (route) => {
    route.onSend = [route.onSend ?? [], compressAnswer].flat()
  })

  const refuseMaintenance = (
    request: FastifyRequest,
    reply: FastifyReply,
    done: HookHandlerDoneFunction,
  ): void => {
    // A payment first learns whether it was charged before; a new one is refused right after that.
    const mayBeKnown = payment !== null && hasPayment(request.headers)
    if (maintenance.isOn && !mayBeKnown) send(reply, underMaintenance())
    else done()
  }

  for (const contract of contracts) {
    const route = {
      url: pathOf(contract, ':coin'),
      config: { x402: saleOf(contract, options) },
      exposeHeadRoute: false,
      // Maintenance is checked below as well; here it only comes before the limit.
      onRequest: quoteLimit === null ? [] : [refuseMaintenance, quoteLimit],
      // After the payment's look at what was bought before, which needs nothing of ours.
      preValidation: refuseUnanswerable(contract, options),
    }
    const handler = answer(contract, options)
    app.route({ ...route, method: 'GET', handler })
    if (payment === null) app.route({ ...route, method: 'HEAD', handler })
    else {
      const onRequest = [dropPayment, ...route.onRequest]
      app.route({ ...route, method: 'HEAD', onRequest, handler: unreachable })
    }
  }
}

/** Checks parameters, engine and freshness, and keeps what it understood for the handler. */
function refuseUnanswerable(contract: AnalysisContract, options: AnalysisRoutesOptions) {
  const { clock, engine, maintenance, payment, readiness } = options
  const read = requestReader(contract)
  return (request: FastifyRequest, reply: FastifyReply, done: HookHandlerDoneFunction): void => {
    if (maintenance.isOn) {
      send(reply, underMaintenance())
      return
    }
    const nowMs = clock.nowMs()
    const call = understand(contract, read(request), request, nowMs, options)
    if (call.kind === 'refusal') {
      send(reply, call)
      return
    }
    const found = find(contract, call, engine, nowMs)
    if (found.kind === 'refusal') {
      send(reply, found)
      return
    }
    const isPaid = hasPayment(request.headers)
    const hindrance = readiness?.sales?.hindrance({ isPaid }) ?? null
    if (hindrance !== null) {
      send(reply, notReady(hindrance))
      return
    }
    call.found = found
    request.analysisCall = call
    // What follows is a quote.
    if (payment !== null && !isPaid) reply.headers(discoveryHeaders)
    done()
  }
}

/**
 * Reads the document a second time where it is sold: between the checks and this moment a payment may have
 * been verified, and what is charged for must be good at the moment of sending.
 */
function answer(contract: AnalysisContract, options: AnalysisRoutesOptions) {
  const { clock, engine, maintenance, payment, readiness } = options
  return (request: FastifyRequest, reply: FastifyReply): void => {
    const call = request.analysisCall
    assert(call !== null, 'no answer without the checks before it')
    const nowMs = clock.nowMs()
    const known = payment === null && nowMs === call.receivedAtMs ? call.found : null
    const found = maintenance.isOn
      ? underMaintenance()
      : (known ?? find(contract, call, engine, nowMs))
    if (found.kind === 'refusal') {
      send(reply, found)
      return
    }
    const { document } = found
    const etag = entityTag(document, found.answer, call)
    if (isNamedBy(request.headers['if-none-match'], etag)) {
      // Nothing is charged for what the caller has.
      void reply.code(304).headers(paidHeaders).header('etag', etag).send()
      return
    }
    const quoted = quotedQuality(request.paymentExtensions)
    const isClockOff = readiness?.isClockOff() ?? false
    const present = quoted && worsened(quoted, found, nowMs, isClockOff)
    if (quoted !== null && present !== null) {
      send(reply, gotWorse(quoted, present))
      return
    }
    const facts = {
      nowMs,
      executionMs: nowMs - call.receivedAtMs,
      coinsAvailable: engine.coins().length,
      requested: call.requested,
      isClockOff,
    }
    const bytes = fillDocument(document, found.answer, facts, call.selection)
    void reply.headers(paidHeaders).header('etag', etag).send(bytes)
  }
}

type Understood = AnalysisCall & { readonly kind: 'call' }

function understand(
  contract: AnalysisContract,
  asked: ReturnType<RequestReader>,
  request: FastifyRequest,
  nowMs: number,
  options: AnalysisRoutesOptions,
): Understood | Refusal {
  if (asked.kind === 'refusal') return asked
  const named =
    contract.scope === 'market' ? unnamed : nameOf(contract, asked.ticker, request, nowMs, options)
  if (named.kind === 'refusal') return named
  const { coin, requested } = named
  return {
    kind: 'call',
    coin,
    key: keyOf(contract, coin),
    view: asked.view,
    selection: asked.selection,
    requested,
    receivedAtMs: nowMs,
    found: null,
  }
}

type Named = Pick<AnalysisCall, 'coin' | 'requested'> & { readonly kind: 'named' }

const unnamed: Named = { kind: 'named', coin: '', requested: undefined }

function nameOf(
  contract: AnalysisContract,
  ticker: string,
  request: FastifyRequest,
  nowMs: number,
  { engine, exampleCoin, payment }: AnalysisRoutesOptions,
): Named | Refusal {
  if (COIN_PLACEHOLDER.test(ticker) && payment !== null && !hasPayment(request.headers)) {
    const coin = engine.resolve(exampleCoin)?.coin ?? engine.coins()[0]
    if (coin !== undefined) return { kind: 'named', coin, requested: undefined }
  }
  const resolved = engine.resolve(ticker)
  if (resolved !== undefined) {
    const { coin, unitMultiplier } = resolved
    const token = unscaledToken(coin)
    const requested =
      token === undefined || unitMultiplier === undefined
        ? undefined
        : { ticker: token, unitMultiplier }
    return { kind: 'named', coin, requested }
  }
  // Without an engine the list of coins may be old or empty: "unknown" would be a guess.
  return engineRefusal(engine, nowMs) ?? unknownCoin(contract, ticker, engine)
}

function unknownCoin(contract: AnalysisContract, ticker: string, engine: EngineReader): Refusal {
  const coins = engine.coins()
  if (coins.length === 0) {
    return refusal('data_stale', {
      detail: 'The service is warming up and lists no coin yet.',
      retryAfterSeconds: RETRY_SECONDS,
    })
  }
  return refusal('invalid_coin', {
    detail: `No perpetual is listed as ${JSON.stringify(ticker)}; /coins lists them all.`,
    param: pathParameterOf(contract),
    didYouMean: nearestNames(tickerName(ticker), coins),
  })
}

type Found = { readonly kind: 'found'; readonly document: Document; readonly answer: Answer }

/** The answer to a call at one instant, or why there is none. */
function find(
  contract: AnalysisContract,
  call: AnalysisCall,
  engine: EngineReader,
  nowMs: number,
): Found | Refusal {
  const refused = engineRefusal(engine, nowMs)
  if (refused !== null) return refused
  const document = engine.document(call.key)
  const view = document && viewOf(document, call.view)
  if (document === undefined || view === undefined) {
    return refusal('data_stale', {
      detail:
        contract.scope === 'coin'
          ? `${call.coin} is listed, but no ${contract.id} of it has been computed yet.`
          : `No ${contract.id} has been computed yet.`,
      retryAfterSeconds: RETRY_SECONDS,
    })
  }
  if (view.kind !== 'answer') return noAnswer(contract, view, call.coin || 'the market', nowMs)
  if (loadBearingAgeMs(document, view, nowMs) === Number.POSITIVE_INFINITY) {
    return refusal('data_stale', {
      detail:
        'The clock of this service was put right, so the age of its data is unknown for a while.',
      retryAfterSeconds: RETRY_SECONDS,
    })
  }
  const late = overdue(document, view, contract.inputAgeMsMax, nowMs)
  if (late !== null) {
    return refusal('data_stale', {
      detail:
        `The data behind this answer is ${Math.round(late.ageMs / 1000)} s old; ` +
        `at most ${late.ageMsMax / 1000} s are guaranteed.`,
      retryAfterSeconds: RETRY_SECONDS,
    })
  }
  return { kind: 'found', document, answer: view }
}

function noAnswer(
  contract: AnalysisContract,
  view: NoAnswer,
  coin: string,
  nowMs: number,
): Refusal {
  switch (view.kind) {
    case 'insufficient-candles': {
      const { timeframe, have, need } = view
      return refusal('insufficient_candles', {
        detail: `${coin} has ${have} candles of ${timeframe}; this analysis needs ${need}.`,
        more: { timeframe, have, need },
      })
    }
    case 'missing-input':
      return refusal('data_stale', {
        detail: view.detail ?? `The venue has not told the ${view.input} of ${coin} yet.`,
        retryAfterSeconds: RETRY_SECONDS,
      })
    case 'not-covered':
      return refusal('coin_not_covered', {
        detail: `No source of this analysis knows ${coin}.`,
        param: pathParameterOf(contract),
        allowed: view.coins,
      })
    case 'low-coverage':
      return warmingUp(contract, view, nowMs)
    default:
      return view satisfies never
  }
}

/** Below the floor of coverage of its contract an analysis is neither quoted nor sold. */
function warmingUp(
  { id, coverageFloor }: AnalysisContract,
  { missing, have, need, readyAtMs, detail }: Extract<NoAnswer, { kind: 'low-coverage' }>,
  nowMs: number,
): Refusal {
  const readySeconds =
    readyAtMs === undefined || readyAtMs <= nowMs ? null : Math.ceil((readyAtMs - nowMs) / 1000)
  return refusal('warming_up', {
    detail:
      `${detail ?? `There are ${have} ${missing}; ${need} are needed.`} ` +
      `${id} is sold from ${coverageFloor.least}.` +
      (readySeconds === null ? '' : ` Expected in ${readySeconds} s.`),
    retryAfterSeconds: Math.min(readySeconds ?? WARMING_RETRY_SECONDS, WARMING_RETRY_SECONDS_MAX),
    more: {
      missing,
      have,
      need,
      ready_in_seconds: readySeconds,
      ready_at_iso: readySeconds === null ? null : isoInstant(nowMs + readySeconds * 1000),
    },
  })
}

function engineRefusal(engine: EngineReader, nowMs: number): Refusal | null {
  const state = engine.state(nowMs)
  switch (state) {
    case 'available':
      return null
    case 'silent':
      return refusal('engine_timeout', {
        detail: 'The analysis engine has not answered for more than 15 seconds.',
        retryAfterSeconds: RETRY_SECONDS,
      })
    case 'unavailable':
      return refusal('engine_unavailable', {
        detail: 'The analysis engine is not running at the moment.',
        retryAfterSeconds: RETRY_SECONDS,
      })
    default:
      return state satisfies never
  }
}

/** The payment is not signed over what it echoes, so it can be sent again with another echo or none. */
function gotWorse(quoted: Quality, present: Quality): Refusal {
  return refusal('data_stale', {
    detail:
      `The answer has got worse since it was quoted: grade ${quoted.grade} with ${quoted.coverage} % of its ` +
      `inputs then, grade ${present.grade} with ${present.coverage} % now. Send the same payment later, or at ` +
      'once without the extension answer-preview to take the answer as it is.',
    retryAfterSeconds: RETRY_SECONDS,
    more: {
      quoted_grade: quoted.grade,
      quoted_coverage: quoted.coverage,
      quality_grade: present.grade,
      coverage: present.coverage,
    },
  })
}

/** The reason names nodes and files of ours: that the operator's port tells. */
const hindrances = {
  ledger_writable: 'Answers cannot be made durable at the moment',
  can_settle: 'Payments cannot be settled at the moment',
  clock: 'The clock of this service is off at the moment',
} as const satisfies Record<CheckedSales['check'], string>

function notReady({ check }: CheckedSales): Refusal {
  return refusal('service_not_ready', {
    detail: `${hindrances[check]}. Nothing was charged; ask again in ${RETRY_SECONDS} s.`,
    retryAfterSeconds: RETRY_SECONDS,
    more: { check },
  })
}

function underMaintenance(): Refusal {
  return refusal('maintenance', {
    detail: 'Paid analyses are switched off for maintenance; /health and /coins go on.',
    retryAfterSeconds: MAINTENANCE_RETRY_SECONDS,
  })
}

function send(reply: FastifyReply, { code, facts }: Refusal): void {
  sendProblem(reply, code, facts)
}

/** One per answer, because printing a version of sixteen digits costs as much as two headers. */
const entityTags = new WeakMap<Answer, string>()

/** A view key may hold commas, at which careless readers of `If-None-Match` would cut. */
function entityTag(
  { version }: Document,
  answer: Answer,
  { view, selection }: Pick<AnalysisCall, 'view' | 'selection'>,
): string {
  const held = entityTags.get(answer)
  const whole = held ?? `"${version}-${view.replaceAll(',', '.')}"`
  if (held === undefined) entityTags.set(answer, whole)
  return selection === null ? whole : `${whole.slice(0, -1)}-${selection.key}"`
}

/** What the route tells the payment about itself. */
function saleOf(contract: AnalysisContract, options: AnalysisRoutesOptions): PaidRoute {
  const offer = offerOf(contract, options)
  const bazaar = bazaarOf(offer)
  return {
    priceUsdcAtomic: contract.priceUsdcAtomic,
    description: contract.summary,
    discovery: { pathParams: described(offer, 'path'), queryParams: described(offer, 'query') },
    catalogued: bazaar,
    extensionsOf: listed(bazaar, options),
    entityTagOf: currentTag(contract, options),
    documentOf: documentNames(contract),
  }
}

/** By their published names. */
function described({ parameters, pathParameter }: AnalysisOffer, place: OfferedParameter['in']) {
  const asked = parameters.filter((parameter) => parameter.in === place)
  return Object.fromEntries(
    asked.map(({ name, description }) => [name === 'coin' ? pathParameter : name, description]),
  )
}

/** What a quote says of the answer that it is for, and to catalogues. The same object for the same answer. */
function listed(bazaar: Extensions, options: AnalysisRoutesOptions) {
  const held = new WeakMap<Extensions, Extensions>()
  return (request: FastifyRequest): Extensions => {
    const preview = previewOfCall(request, options)
    const known = held.get(preview)
    const extensions = known ?? { ...preview, ...bazaar }
    if (known === undefined) held.set(preview, extensions)
    return extensions
  }
}

const nothing: Extensions = {}

/**
 * What a quote says of the answer that it is for. It says nothing where an earlier payment turns out to be
 * refused, which is told before a call is looked at.
 */
function previewOfCall(
  request: FastifyRequest,
  { clock, readiness }: AnalysisRoutesOptions,
): Extensions {
  const call = request.analysisCall
  if (call === null || call.found === null) return nothing
  const { document, answer } = call.found
  const previewed = { document, answer, etag: entityTag(document, answer, call) }
  return previewOf(previewed, clock.nowMs(), readiness?.isClockOff() ?? false)
}

/** Entity tag of what a call would buy now, also before its parameters were checked; null for nothing. */
function currentTag(contract: AnalysisContract, options: AnalysisRoutesOptions) {
  const { clock, engine, maintenance } = options
  const read = requestReader(contract)
  return (request: FastifyRequest): string | null => {
    if (maintenance.isOn) return null
    const nowMs = clock.nowMs()
    const call = understand(contract, read(request), request, nowMs, options)
    if (call.kind === 'refusal') return null
    const found = find(contract, call, engine, nowMs)
    return found.kind === 'refusal' ? null : entityTag(found.document, found.answer, call)
  }
}

/** HEAD shows the quote. An answer without its body is worth nothing, so it cannot be bought. */
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
