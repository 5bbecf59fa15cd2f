import type { ProblemCode } from '../../domain/problem.ts'
import type { AnalysisOffer } from './offer-of.ts'
import {
  answerSchemaName,
  codesOf,
  problemExample,
  selectionSchemaName,
} from './openapi-schemas.ts'
import type { JsonSchema } from './published-schema.ts'
import { sampleOf } from './samples.ts'
import type { DocumentFacts } from './service-facts.ts'
import { isFree } from './service-facts.ts'

/** An object of OpenAPI 3.1, which has no types of its own here. */
export type OpenApiObject = Readonly<Record<string, unknown>>

const header = (description: string, example: string, isRequired = false): OpenApiObject => ({
  description,
  ...(isRequired && { required: true }),
  schema: { type: 'string' },
  example,
})

/** Every header of ours by its name; what any HTTP server sends is not listed. */
export const responseHeaders: Readonly<Record<string, OpenApiObject>> = {
  'Cache-Control': header('How long it may be kept, and by whom.', 'no-store', true),
  ETag: header('Of this rendering and the part of it that was asked for.', '"42-1h.4h"', true),
  Vary: header('Request headers that the answer depends on.', 'Origin'),
  Link: header(
    'Where the description of the interface, its page and its health are.',
    '</openapi.json>; rel="service-desc"',
  ),
  Allow: header('Methods of this path.', 'GET, HEAD, OPTIONS'),
  'Retry-After': header('Seconds to wait; equals retry_after of the body.', '5'),
  RateLimit: header('What is left of the limit: r calls, for t seconds.', '"ip";r=57;t=12'),
  'RateLimit-Policy': header('The limit: q calls in w seconds.', '"ip";q=60;w=60'),
  'Server-Timing': header(
    'Milliseconds that verifying, answering and settling took.',
    'verify;dur=3.1, engine;dur=0.2, settle;dur=410',
  ),
  'Content-Security-Policy': header(
    'What the page may load: nothing from elsewhere.',
    "default-src 'none'",
  ),
  'X-Accel-Buffering': header('Tells proxies to pass on at once what comes.', 'no'),
  'X-Request-Id': header('For questions about this request.', 'm3x9k2-1f'),
  'PAYMENT-REQUIRED': header('Terms of payment, x402 version 2: base64 of JSON.', 'eyJ4…', true),
  'PAYMENT-RESPONSE': header('What became of the payment, x402 version 2.', 'eyJz…'),
  'X-PAYMENT-RESPONSE': header('The same for clients of x402 version 1.', 'eyJz…'),
}

type HeaderName = keyof typeof responseHeaders

function headers(...names: readonly HeaderName[]): OpenApiObject {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))
}

/** All statuses of a path that is sold, or given away where the service is free. */
export function paidResponses(offer: AnalysisOffer, facts: DocumentFacts): OpenApiObject {
  const free = isFree(facts)
  const problems = [400, 404, 431, 500, 503, 504, ...(free ? [] : [409, 429])]
  return {
    200: answered(offer, free),
    304: notModified(free),
    ...(!free && { 402: { $ref: `#/components/responses/${quoteName(offer)}` } }),
    408: { $ref: '#/components/responses/Late' },
    ...Object.fromEntries(problems.map((status) => [status, problemRef(status)])),
  }
}

export function quoteName(offer: Pick<AnalysisOffer, 'id'>): string {
  return answerSchemaName(offer).replace(/Answer$/, 'Quote')
}

/** With the headers of its payment where it is a purchase that is read again. */
function notModified(free: boolean): OpenApiObject {
  return {
    description: 'The caller has it already, as If-None-Match says. Nothing is charged.',
    headers: answerHeaders(free),
  }
}

function answerHeaders(free: boolean): OpenApiObject {
  const ofPayment: HeaderName[] = free ? [] : ['PAYMENT-RESPONSE', 'X-PAYMENT-RESPONSE']
  return headers('Cache-Control', 'ETag', 'Vary', 'Server-Timing', ...ofPayment)
}

/** Statuses that any path may answer with, however little it does. */
const everywhere: OpenApiObject = {
  408: { $ref: '#/components/responses/Late' },
  431: problemRef(431),
  500: problemRef(500),
}

export function problemRef(status: number): OpenApiObject {
  return { $ref: `#/components/responses/Problem${status}` }
}

function answered(offer: AnalysisOffer, free: boolean): OpenApiObject {
  return {
    description: `${offer.title}.`,
    headers: answerHeaders(free),
    content: {
      'application/json': {
        schema: {
          anyOf: [schemaRef(answerSchemaName(offer)), schemaRef(selectionSchemaName(offer))],
        },
        examples: {
          sample: {
            summary: 'Of the engine on a simulated market: true in form, not in figures.',
            value: sampleOf(offer.id),
          },
        },
      },
    },
  }
}

export function schemaRef(name: string): OpenApiObject {
  return { $ref: `#/components/schemas/${name}` }
}

/** The 402 of one analysis, with the terms as they are quoted. */
export function quoteResponse(offer: AnalysisOffer, facts: DocumentFacts): OpenApiObject {
  return {
    description: 'Not paid yet: terms in the body (x402 version 1) and in a header (version 2).',
    headers: headers(
      ...['PAYMENT-REQUIRED', 'Cache-Control', 'Link', 'RateLimit', 'RateLimit-Policy'],
      ...['PAYMENT-RESPONSE', 'X-PAYMENT-RESPONSE'],
    ),
    content: {
      'application/json': {
        schema: schemaRef('PaymentRequired'),
        examples: { quote: { summary: 'Without a payment.', value: quoteExample(offer, facts) } },
      },
    },
  }
}

/** What an unpaid call of the example coin is answered, without what only catalogues read. */
function quoteExample(offer: AnalysisOffer, facts: DocumentFacts): unknown {
  return {
    x402Version: 1,
    error: 'payment_required',
    accepts: facts.waysToPay
      .filter(({ legacyName }) => legacyName !== null)
      .map(({ scheme, legacyName, asset, payTo, extra }) => ({
        scheme,
        network: legacyName,
        maxAmountRequired: offer.priceUsdcAtomic.toString(),
        resource: facts.publicUrl + offer.path.replace('{coin}', facts.exampleCoin),
        description: offer.title,
        mimeType: 'application/json',
        payTo,
        maxTimeoutSeconds: 120,
        asset,
        extra,
      })),
  }
}

export function problemResponse(status: number): OpenApiObject {
  const codes = codesOf(status)
  return {
    description: `Nothing is sold: ${codes.join(', ')}.`,
    headers: headers(
      ...['Cache-Control', 'Link', 'Retry-After', 'RateLimit', 'RateLimit-Policy'],
      ...['X-Request-Id', 'Allow'],
    ),
    content: {
      'application/problem+json': {
        schema: schemaRef(`Problem${status}`),
        examples: Object.fromEntries(codes.map((code) => [code, problemExampleOf(code)])),
      },
    },
  }
}

function problemExampleOf(code: ProblemCode): OpenApiObject {
  const instance = code === 'coin_not_covered' ? '/basis/PURR' : '/pulse/BTC'
  return { value: problemExample(code, instance) }
}

/** The page that shows the OpenAPI document. */
export function docsResponses(): OpenApiObject {
  return {
    200: {
      description: 'A page.',
      headers: headers('Content-Security-Policy'),
      content: { 'text/html': { schema: { type: 'string' } } },
    },
    ...everywhere,
  }
}

type DocumentShape = {
  readonly isCached?: boolean
  /** With a policy of what it may load. */
  readonly isPage?: boolean
  readonly example?: unknown
}

/** A document that costs nothing. `isCached`: it has an entity tag, and is not sent to whoever has it. */
export function document(
  description: string,
  mediaType: string,
  schema: JsonSchema,
  { isCached = true, isPage = false, example }: DocumentShape = {},
): OpenApiObject {
  const named = headers(
    ...(['Cache-Control', 'Link', 'Vary'] as const),
    ...(isCached ? (['ETag'] as const) : []),
    ...(isPage ? (['Content-Security-Policy'] as const) : []),
  )
  return {
    200: {
      description,
      headers: named,
      content: { [mediaType]: { schema, ...(example !== undefined && { example }) } },
    },
    ...(isCached && {
      304: {
        description: 'The caller has it already, as If-None-Match says.',
        headers: named,
      },
    }),
    ...everywhere,
  }
}

/** Of a path that speaks JSON-RPC. `streams`: a response may come as an event stream. */
export function jsonRpcResponses({ streams }: { readonly streams: boolean }): OpenApiObject {
  const json = { 'application/json': { schema: schemaRef('JsonRpcResponse') } }
  const refused = (description: string): OpenApiObject => ({
    description,
    headers: headers('Cache-Control'),
    content: json,
  })
  return {
    200: {
      description: 'The response; what went wrong with the call itself is told in it.',
      headers: headers('Cache-Control', ...(streams ? (['X-Accel-Buffering'] as const) : [])),
      content: streams ? { ...json, 'text/event-stream': { schema: { type: 'string' } } } : json,
    },
    202: {
      description: 'A notification was received; no body.',
      headers: headers('Cache-Control'),
    },
    ...(streams && { 406: refused('Both media types have to be accepted.') }),
    400: refused('No JSON-RPC, or a version of the protocol that is not spoken.'),
    413: refused('Longer than 64 KB.'),
    415: refused('The body has to be application/json.'),
    ...everywhere,
  }
}

export const late: OpenApiObject = {
  description: 'The request did not arrive in time; no body.',
}
