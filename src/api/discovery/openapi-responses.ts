import type { ProblemCode } from '../../domain/problem.ts'
import type { AnalysisOffer } from './offer-of.ts'
import { answerSchemaName, problemExample } from './openapi-schemas.ts'
import type { JsonSchema } from './published-schema.ts'
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

/** Every header of ours by its name; headers that any HTTP server sends are not listed, and those of all responses are described once. */
export const responseHeaders = {
  ETag: header('Of this rendering and the part of it that was asked for.', '"42-1h.4h"', true),
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
} as const satisfies Readonly<Record<string, OpenApiObject>>

type HeaderName = keyof typeof responseHeaders

function headers(...names: readonly HeaderName[]): OpenApiObject {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))
}

/**
 * All statuses of a path that is sold, or given away where the service is free.
 * @param example a whole answer; undefined for none
 */
export function paidResponses(
  offer: AnalysisOffer,
  example: unknown,
  facts: DocumentFacts,
): OpenApiObject {
  const free = isFree(facts)
  const ofPayment: HeaderName[] = free ? [] : ['PAYMENT-RESPONSE', 'X-PAYMENT-RESPONSE']
  return {
    200: {
      description: 'The answer.',
      headers: headers('ETag', 'Server-Timing', ...ofPayment),
      content: {
        'application/json': {
          schema: schemaRef(answerSchemaName(offer)),
          ...(example !== undefined && { example }),
        },
      },
    },
    304: responseRef('NotModified'),
    ...(!free && { 402: responseRef('PaymentRequired') }),
    default: responseRef('Problem'),
  }
}

export function schemaRef(name: string): OpenApiObject {
  return { $ref: `#/components/schemas/${name}` }
}

function responseRef(name: string): OpenApiObject {
  return { $ref: `#/components/responses/${name}` }
}

/** Responses that many paths have. @param codes of problems, each of which is shown */
export function sharedResponses(
  offer: AnalysisOffer | undefined,
  codes: readonly ProblemCode[],
  facts: DocumentFacts,
): OpenApiObject {
  return {
    Document: documentResponse('The document.', 'application/json', { type: 'object' }),
    Text: documentResponse('The text.', 'text/plain', { type: 'string' }),
    NotModified: {
      description: 'The caller has it already, as If-None-Match says. Nothing is charged.',
      headers: headers(
        ...(['ETag', 'Server-Timing', 'Content-Security-Policy'] as const),
        ...(['PAYMENT-RESPONSE', 'X-PAYMENT-RESPONSE'] as const),
      ),
    },
    ...(offer !== undefined && !isFree(facts) && { PaymentRequired: quoteResponse(offer, facts) }),
    Problem: problemResponse(codes),
    RpcRefused: {
      description:
        'No JSON-RPC, or a version of the protocol that is not spoken (400); media types that are not accepted (406); longer than 64 KB (413); no application/json (415).',
      content: { 'application/json': { schema: schemaRef('JsonRpcResponse') } },
    },
  }
}

/** The 402 of every analysis, with the terms of one of them as they are quoted. */
function quoteResponse(offer: AnalysisOffer, facts: DocumentFacts): OpenApiObject {
  return {
    description: 'Not paid yet: terms in the body (x402 version 1) and in a header (version 2).',
    headers: headers(
      ...(['PAYMENT-REQUIRED', 'RateLimit', 'RateLimit-Policy'] as const),
      ...(['PAYMENT-RESPONSE', 'X-PAYMENT-RESPONSE'] as const),
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

function problemResponse(codes: readonly ProblemCode[]): OpenApiObject {
  return {
    description:
      'Nothing is sold: status and code say why. A request that does not arrive in time is 408 without a body.',
    headers: headers('Retry-After', 'RateLimit', 'RateLimit-Policy', 'X-Request-Id', 'Allow'),
    content: {
      'application/problem+json': {
        schema: schemaRef('Problem'),
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
      headers: headers('Content-Security-Policy', 'ETag'),
      content: { 'text/html': { schema: { type: 'string' } } },
    },
    304: responseRef('NotModified'),
    default: responseRef('Problem'),
  }
}

/** A document that costs nothing, by the name of its response. */
export function sharedDocument(name: 'Document' | 'Text'): OpenApiObject {
  return {
    200: responseRef(name),
    304: responseRef('NotModified'),
    default: responseRef('Problem'),
  }
}

type DocumentShape = {
  readonly isCached?: boolean
  /** With a policy of what it may load. */
  readonly isPage?: boolean
}

/** A document that costs nothing. `isCached`: it has an entity tag, and is not sent to whoever has it. */
export function document(
  description: string,
  mediaType: string,
  schema: JsonSchema,
  shape: DocumentShape = {},
): OpenApiObject {
  return {
    200: documentResponse(description, mediaType, schema, shape),
    ...((shape.isCached ?? true) && { 304: responseRef('NotModified') }),
    default: responseRef('Problem'),
  }
}

function documentResponse(
  description: string,
  mediaType: string,
  schema: JsonSchema,
  { isCached = true, isPage = false }: DocumentShape = {},
): OpenApiObject {
  return {
    description,
    headers: headers(
      ...(isCached ? (['ETag'] as const) : []),
      ...(isPage ? (['Content-Security-Policy'] as const) : []),
    ),
    content: { [mediaType]: { schema } },
  }
}

/** Of a path that speaks JSON-RPC. `streams`: a response may come as an event stream. */
export function jsonRpcResponses({ streams }: { readonly streams: boolean }): OpenApiObject {
  const json = { 'application/json': { schema: schemaRef('JsonRpcResponse') } }
  return {
    200: {
      description: 'The response; what went wrong with the call itself is told in it.',
      headers: headers(...(streams ? (['X-Accel-Buffering'] as const) : [])),
      content: streams ? { ...json, 'text/event-stream': { schema: { type: 'string' } } } : json,
    },
    202: {
      description: 'A notification was received; no body.',
    },
    400: responseRef('RpcRefused'),
    ...(streams && { 406: responseRef('RpcRefused') }),
    413: responseRef('RpcRefused'),
    415: responseRef('RpcRefused'),
    default: responseRef('Problem'),
  }
}
