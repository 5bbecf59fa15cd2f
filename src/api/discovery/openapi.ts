import type { ProblemCode } from '../../domain/problem.ts'
import { problemCodes } from '../../domain/problem.ts'
import type { AnalysisOffer, OfferedParameter } from './analysis-offer.ts'
import { answerSchemaName, offerOf } from './analysis-offer.ts'
import { briefSchema, outlineSchema } from './brief-schema.ts'
import {
  coinsSchema,
  dexesSchema,
  healthSchema,
  indexSchema,
  pricesSchema,
} from './free-schemas.ts'
import { freePaths, proofPaths, protocolPaths } from './openapi-paths.ts'
import type { OpenApiObject } from './openapi-responses.ts'
import { paidResponses, responseHeaders, sharedResponses } from './openapi-responses.ts'
import { problemSchema } from './problem-schema.ts'
import { answerProofSchema, proofHoursSchema } from './proof-schemas.ts'
import {
  jsonRpcRequestSchema,
  jsonRpcResponseSchema,
  paymentRequiredSchema,
} from './protocol-schemas.ts'
import type { JsonSchema } from './published-schema.ts'
import { publishedSchema } from './published-schema.ts'
import { sampleAnswer } from './samples.ts'
import type { DocumentFacts } from './service-facts.ts'
import { API_VERSION, isFree, SERVICE_NAME, SERVICE_SUMMARY } from './service-facts.ts'
import { sharedSchemas } from './shared-schemas.ts'

/**
 * `/openapi.json`: all paths and responses of the public port. Models read the whole document, so fields of answers
 * have no descriptions.
 */
export function openApi(facts: DocumentFacts): OpenApiObject {
  return openApiDocument(facts, {
    answerSchema: (schema) => briefSchema(schema),
    recordSchema: outlineSchema,
    answerExample: () => undefined,
    codes: ['invalid_coin'],
    more: `Field descriptions, bounds and examples: ${facts.publicUrl}/openapi-full.json. Units are suffixes of field names (_bps basis points, _pct percent, _usd USD, _seconds, _hours, _ms) or in x-unit; integers without a unit are counts.`,
  })
}

/** `/openapi-full.json`: the same with a description of each field. */
export function openApiFull(facts: DocumentFacts): OpenApiObject {
  return openApiDocument(facts, {
    answerSchema: (schema) => schema,
    recordSchema: (schema) => schema,
    answerExample: sampleAnswer,
    codes: problemCodes.map(({ code }) => code),
    more: `Short form without field descriptions: ${facts.publicUrl}/openapi.json.`,
  })
}

/** What the two documents differ in. */
type Extent = {
  readonly answerSchema: (schema: JsonSchema) => JsonSchema
  /** Of the track record. */
  readonly recordSchema: (schema: JsonSchema) => JsonSchema
  /** By the id of the analysis. */
  readonly answerExample: (id: string) => unknown
  /** Codes that have an example. */
  readonly codes: readonly ProblemCode[]
  /** Refers to the other document. */
  readonly more: string
}

function openApiDocument(
  facts: DocumentFacts,
  { answerSchema, recordSchema, answerExample, codes, more }: Extent,
): OpenApiObject {
  const offers = facts.contracts.map((contract) =>
    offerOf(contract, { exampleCoin: facts.exampleCoin, isFree: isFree(facts) }),
  )
  const parameters = sharedParameters(offers)
  const answers = sharedSchemas(
    Object.fromEntries(
      offers.map((offer) => [answerSchemaName(offer), answerSchema(offer.outputSchema)]),
    ),
  )
  return {
    openapi: '3.1.0',
    info: {
      title: SERVICE_NAME,
      version: API_VERSION,
      summary: SERVICE_SUMMARY,
      description: [
        'All endpoints except /mcp and /a2a use GET. HEAD returns the headers of GET, on a paid path the quote. Bodies are compressed (br, gzip) if Accept-Encoding allows it. All responses but answers link (Link) this document (service-desc), /docs (service-doc) and /health (status).',
        'Analyses, /coins and /sample/{analysis} refuse unlisted query parameters with 400 unknown_parameter, without a quote. utm_* and _ are ignored. Fields and enum values may be added; none is removed.',
        'Answer schemas describe the full answer. With fields or view=compact, omitted fields are absent even if required.',
        more,
      ].join('\n\n'),
      contact: {
        name: SERVICE_NAME,
        url: facts.publicUrl,
        ...(facts.contactEmail !== undefined && { email: facts.contactEmail }),
      },
      license: { name: 'MIT', identifier: 'MIT' },
      'x-guidance': guidance(offers, facts),
    },
    servers: [{ url: facts.publicUrl }],
    tags: [
      {
        name: 'paid',
        description: isFree(facts) ? 'Analyses.' : 'Analyses, paid per call in USDC.',
      },
      {
        name: 'free',
        description: 'Available coins, prices, samples, service health and documents.',
      },
      { name: 'protocols', description: 'The analyses over MCP and A2A.' },
    ],
    security: [],
    paths: {
      ...freePaths(offers),
      ...(facts.hasProofs === true && proofPaths()),
      ...protocolPaths(),
      ...Object.fromEntries(
        offers.map((offer) => [
          offer.template,
          { get: paidOperation(offer, parameters, answerExample(offer.id), facts) },
        ]),
      ),
    },
    components: {
      schemas: {
        ...answers,
        Problem: problemSchema,
        PaymentRequired: paymentRequiredSchema,
        Health: answerSchema(healthSchema),
        Coins: coinsSchema,
        Dexes: answerSchema(dexesSchema),
        Prices: pricesSchema,
        Index: indexSchema,
        RuleRecords: recordSchema(publishedSchema(facts.trackRecord.document)),
        ...(facts.hasProofs === true && {
          ProofHours: proofHoursSchema,
          AnswerProof: answerProofSchema,
        }),
        JsonRpcRequest: jsonRpcRequestSchema,
        JsonRpcResponse: jsonRpcResponseSchema,
      },
      parameters,
      responses: sharedResponses(offers[0], codes, facts),
      headers: responseHeaders,
    },
    'x-agentcash-guidance': { llmsTxtUrl: `${facts.publicUrl}/llms.txt` },
  }
}

/** `x-guidance`: up to 4,000 characters that agents read first. */
function guidance(offers: readonly AnalysisOffer[], facts: DocumentFacts): string {
  const cost = isFree(facts)
    ? 'All answers are free.'
    : 'Call a path, sign the payment terms of the 402, and repeat the request with PAYMENT-SIGNATURE or X-PAYMENT. Errors are not charged. After a broken connection repeat the identical request, payment and extensions included: the stored answer is returned without a second charge.'
  return [
    `${SERVICE_SUMMARY} ${cost}`,
    'GET /coins lists tickers. GET /sample/{analysis} returns a free sample answer. view=compact shortens answers, fields selects fields. Check meta.quality before you rely on an answer.',
    ...offers.map(
      ({ template, priceUsdc, title }) =>
        `${template}${isFree(facts) ? '' : ` (${priceUsdc} USDC)`}: ${title}`,
    ),
  ].join('\n')
}

function paidOperation(
  offer: AnalysisOffer,
  shared: OpenApiObject,
  example: unknown,
  facts: DocumentFacts,
): OpenApiObject {
  return {
    operationId: offer.name,
    summary: offer.title,
    description: offer.description,
    // The short document names /sample/{analysis} once, in its guidance.
    ...(example !== undefined && {
      externalDocs: { url: `${facts.publicUrl}/sample/${offer.id}` },
    }),
    tags: ['paid'],
    security: [],
    parameters: offer.parameters.map((parameter) =>
      Object.hasOwn(shared, parameter.name) && isSame(shared[parameter.name], parameter, offer)
        ? { $ref: `#/components/parameters/${parameter.name}` }
        : parameterObject(parameter, offer),
    ),
    ...(!isFree(facts) && {
      'x-payment-info': {
        price: { mode: 'fixed', currency: 'USD', amount: offer.priceUsdc },
        protocols: [{ x402: {} }],
      },
    }),
    responses: paidResponses(offer, example, facts),
  }
}

/** Parameters that several analyses share unchanged, by name; reversed, so that the first form of a name wins. */
function sharedParameters(offers: readonly AnalysisOffer[]): OpenApiObject {
  const all = offers.flatMap((offer) =>
    offer.parameters.map(
      (parameter) => [parameter.name, parameterObject(parameter, offer)] as const,
    ),
  )
  const texts = all.map(([, parameter]) => JSON.stringify(parameter))
  return Object.fromEntries(
    all.filter((_, index) => texts.indexOf(texts[index] ?? '') < index).reverse(),
  )
}

function isSame(shared: unknown, parameter: OfferedParameter, offer: AnalysisOffer): boolean {
  return JSON.stringify(shared) === JSON.stringify(parameterObject(parameter, offer))
}

function parameterObject(
  { name, in: place, isRequired, description, schema, example }: OfferedParameter,
  { pathParameter }: AnalysisOffer,
): OpenApiObject {
  return {
    name: place === 'path' ? pathParameter : name,
    in: place,
    ...(isRequired && { required: true }),
    description,
    schema,
    example: schema.type === 'integer' ? Number(example) : example,
  }
}
