import type { ProblemCode } from '../../domain/problem.ts'
import type { AnalysisOffer } from './analysis-offer.ts'
import { answerSchemaName } from './analysis-offer.ts'
import { problemExample } from './problem-schema.ts'
import type { JsonSchema } from './published-schema.ts'
import type { DocumentFacts } from './service-facts.ts'
import { isFree } from './service-facts.ts'
import { schemaRef } from './shared-schemas.ts'

/** An object of OpenAPI 3.1, untyped. */
export type OpenApiObject = Readonly<Record<string, unknown>>

const header = (description: string, example: string, isRequired = false): OpenApiObject => ({
  description,
  ...(isRequired && { required: true }),
  schema: { type: 'string' },
  example,
})

/** Response headers of this service, apart from those of any HTTP server. */
export const responseHeaders = {
  ETag: header('Identifies the rendering and the requested part.', '"42-1h.4h"', true),
  Allow: header('Supported methods.', 'GET, HEAD, OPTIONS'),
  'Retry-After': header('Seconds; equals retry_after in the body.', '5'),
  RateLimit: header('Calls left (r), seconds to the reset (t).', '"ip";r=57;t=12'),
  'RateLimit-Policy': header('Limit: q calls per w seconds.', '"ip";q=60;w=60'),
  'Server-Timing': header(
    'Milliseconds of verification, engine and settlement.',
    'verify;dur=3.1, engine;dur=0.2, settle;dur=410',
  ),
  'Content-Security-Policy': header('Sources that the page may load.', "default-src 'none'"),
  'X-Accel-Buffering': header('Disables buffering in proxies.', 'no'),
  'X-Request-Id': header('Quote it in support requests.', 'm3x9k2-1f'),
  'PAYMENT-REQUIRED': header('Payment terms, x402 version 2: base64 of JSON.', 'eyJ4…', true),
  'PAYMENT-RESPONSE': header('Settlement result, x402 version 2.', 'eyJz…'),
  'X-PAYMENT-RESPONSE': header('Settlement result, x402 version 1.', 'eyJz…'),
} as const satisfies Readonly<Record<string, OpenApiObject>>

type HeaderName = keyof typeof responseHeaders

function headers(...names: readonly HeaderName[]): OpenApiObject {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))
}

/** Responses of an analysis. @param example a full answer; undefined for none */
export function paidResponses(
  offer: AnalysisOffer,
  example: unknown,
  facts: DocumentFacts,
): OpenApiObject {
  const free = isFree(facts)
  const ofPayment: HeaderName[] = free ? [] : ['PAYMENT-RESPONSE', 'X-PAYMENT-RESPONSE']
  return {
    200: {
      description: 'Answer.',
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

function responseRef(name: string): OpenApiObject {
  return { $ref: `#/components/responses/${name}` }
}

/** Responses of many paths. @param codes problems with an example */
export function sharedResponses(
  offer: AnalysisOffer | undefined,
  codes: readonly ProblemCode[],
  facts: DocumentFacts,
): OpenApiObject {
  return {
    Document: documentResponse('Document.', 'application/json', { type: 'object' }),
    Text: documentResponse('Text.', 'text/plain', { type: 'string' }),
    NotModified: {
      description: 'If-None-Match names the current answer. Nothing is charged.',
      headers: headers(
        ...(['ETag', 'Server-Timing', 'Content-Security-Policy'] as const),
        ...(['PAYMENT-RESPONSE', 'X-PAYMENT-RESPONSE'] as const),
      ),
    },
    ...(offer !== undefined && !isFree(facts) && { PaymentRequired: quoteResponse(offer, facts) }),
    Problem: problemResponse(codes),
    RpcRefused: {
      description:
        'Invalid JSON-RPC or protocol version (400), media type (406), body above 64 KB (413), not application/json (415).',
      content: { 'application/json': { schema: schemaRef('JsonRpcResponse') } },
    },
  }
}

/** The 402 of all analyses, with the terms of one as an example. */
function quoteResponse(offer: AnalysisOffer, facts: DocumentFacts): OpenApiObject {
  return {
    description:
      'Payment required: terms in the body (x402 version 1) and in a header (version 2).',
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

/** The body of an unpaid call for the example coin, without `outputSchema`. */
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
      'Error; code states the cause. An incomplete request gets 408 without a body after 10 s.',
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

/** Responses of `/docs`. */
export function docsResponses(): OpenApiObject {
  return {
    200: {
      description: 'Page.',
      headers: headers('Content-Security-Policy', 'ETag'),
      content: { 'text/html': { schema: { type: 'string' } } },
    },
    304: responseRef('NotModified'),
    default: responseRef('Problem'),
  }
}

/** Responses of a free document. */
export function sharedDocument(name: 'Document' | 'Text'): OpenApiObject {
  return {
    200: responseRef(name),
    304: responseRef('NotModified'),
    default: responseRef('Problem'),
  }
}

type DocumentShape = {
  readonly isCached?: boolean
  /** Calls of an address are limited. */
  readonly isLimited?: boolean
}

/** Responses of a free document with a schema. `isCached`: it has an entity tag and answers 304. */
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
  { isCached = true, isLimited = false }: DocumentShape = {},
): OpenApiObject {
  return {
    description,
    headers: headers(
      ...(isCached ? (['ETag'] as const) : []),
      ...(isLimited ? (['RateLimit', 'RateLimit-Policy'] as const) : []),
    ),
    content: { [mediaType]: { schema } },
  }
}

/** Responses of a JSON-RPC path. `streams`: a response may be an event stream. */
export function jsonRpcResponses({ streams }: { readonly streams: boolean }): OpenApiObject {
  const json = { 'application/json': { schema: schemaRef('JsonRpcResponse') } }
  return {
    200: {
      description: 'Result or error.',
      headers: headers(...(streams ? (['X-Accel-Buffering'] as const) : [])),
      content: streams ? { ...json, 'text/event-stream': { schema: { type: 'string' } } } : json,
    },
    202: {
      description: 'Notification accepted; no body.',
    },
    400: responseRef('RpcRefused'),
    ...(streams && { 406: responseRef('RpcRefused') }),
    413: responseRef('RpcRefused'),
    415: responseRef('RpcRefused'),
    default: responseRef('Problem'),
  }
}
