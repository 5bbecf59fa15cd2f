import type { ProblemCode } from '../../domain/problem.ts'
import { problemCodes } from '../../domain/problem.ts'
import { briefSchema } from './brief-schema.ts'
import type { AnalysisOffer, OfferedParameter } from './offer-of.ts'
import { compactParameter, fieldsParameter, offerOf } from './offer-of.ts'
import type { OpenApiObject } from './openapi-responses.ts'
import {
  docsResponses,
  document,
  jsonRpcResponses,
  paidResponses,
  responseHeaders,
  schemaRef,
  sharedDocument,
  sharedResponses,
} from './openapi-responses.ts'
import {
  answerSchemaName,
  coinsSchema,
  dexesSchema,
  healthSchema,
  indexSchema,
  jsonRpcRequestSchema,
  jsonRpcResponseSchema,
  paymentRequiredSchema,
  pricesSchema,
  problemSchema,
} from './openapi-schemas.ts'
import type { JsonSchema } from './published-schema.ts'
import { sampleOf } from './samples.ts'
import type { DocumentFacts } from './service-facts.ts'
import { API_VERSION, isFree, SERVICE_NAME, SERVICE_SUMMARY } from './service-facts.ts'
import { sharedSchemas } from './shared-schemas.ts'

/**
 * `/openapi.json`: everything that can be asked of the public port, and every way in which it may answer. It is read
 * whole by models, so the members of answers have no descriptions in it.
 */
export function openApi(facts: DocumentFacts): OpenApiObject {
  return openApiDocument(facts, {
    answerSchema: (schema) => briefSchema(schema),
    answerExample: () => undefined,
    codes: ['invalid_coin'],
    more: `Descriptions and bounds of all members of answers, and an example of every answer and error: ${facts.publicUrl}/openapi-full.json. A unit is in the name of a member (_bps basis points, _pct percent, _usd USD, _seconds, _hours, _ms), else in x-unit; integers without one are counts.`,
  })
}

/** `/openapi-full.json`: the same with a description of every member of every answer. */
export function openApiFull(facts: DocumentFacts): OpenApiObject {
  return openApiDocument(facts, {
    answerSchema: (schema) => schema,
    answerExample: sampleOf,
    codes: problemCodes.map(({ code }) => code),
    more: `The same without descriptions and bounds of the members of answers: ${facts.publicUrl}/openapi.json.`,
  })
}

type Extent = {
  readonly answerSchema: (schema: JsonSchema) => JsonSchema
  /** Of an analysis by its id. */
  readonly answerExample: (id: string) => unknown
  /** Of problems that are shown. */
  readonly codes: readonly ProblemCode[]
  /** Where the rest is. */
  readonly more: string
}

function openApiDocument(
  facts: DocumentFacts,
  { answerSchema, answerExample, codes, more }: Extent,
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
        'All endpoints but /mcp and /a2a are HTTP GET. HEAD answers as GET does, without a body; of a paid path it shows the quote. Bodies are compressed (br, gzip) where Accept-Encoding allows it. Every response has Cache-Control, most have Vary; Link of all but answers names this document (service-desc), /docs (service-doc) and /health (status).',
        'Analyses, /coins and /sample/{analysis} refuse query parameters that are not listed: 400 unknown_parameter, nothing quoted. utm_* and _ are ignored. New members and new words may come; nothing is taken away.',
        'A schema of an answer is of the whole answer. With fields or view=compact members that it requires are absent unless they were asked for; those that are there are as described.',
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
      { name: 'paid', description: isFree(facts) ? 'Analyses.' : 'Analyses, paid per call.' },
      { name: 'free', description: 'What can be asked, and how the service is.' },
      { name: 'protocols', description: 'The same analyses for clients of MCP and A2A.' },
    ],
    security: [],
    paths: {
      ...freePaths(offers),
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
        Health: healthSchema,
        Coins: coinsSchema,
        Dexes: dexesSchema,
        Prices: pricesSchema,
        Index: indexSchema,
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

/** Up to 4,000 characters that an agent reads before anything else. */
function guidance(offers: readonly AnalysisOffer[], facts: DocumentFacts): string {
  const cost = isFree(facts)
    ? 'Every answer is free here.'
    : 'Call a path, read the terms in the 402, sign, and send the same request with PAYMENT-SIGNATURE or X-PAYMENT. An error costs nothing. When a connection breaks send the very same request again, payment and extensions included: the stored answer comes back for free.'
  return [
    `${SERVICE_SUMMARY} ${cost}`,
    'Tickers come from GET /coins. GET /sample/{analysis} shows a whole answer for free. view=compact makes answers short, fields picks members. Read meta.quality before you rely on an answer.',
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
    externalDocs: {
      url: `${facts.publicUrl}/sample/${offer.id}`,
    },
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

/** Those that more than one analysis has, by name. */
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
    required: isRequired,
    description,
    schema,
    example: schema.type === 'integer' ? Number(example) : example,
  }
}

function queryParameter({ name, description, schema, example }: OfferedParameter): OpenApiObject {
  return { name, in: 'query', required: false, description, schema, example }
}

/** Where agents call the analyses as tools, or as skills; their payment travels within the messages. */
function protocolPaths(): OpenApiObject {
  const operation = (operationId: string, summary: string, description: string) => ({
    operationId,
    summary,
    description,
    tags: ['protocols'],
    security: [],
    requestBody: {
      required: true,
      content: { 'application/json': { schema: schemaRef('JsonRpcRequest') } },
    },
  })
  return {
    '/mcp': {
      post: {
        ...operation(
          'call_mcp',
          'Every analysis as an MCP tool',
          'Streamable HTTP without sessions: accept application/json and text/event-stream. A payment is params._meta["x402/payment"], its receipt _meta["x402/payment-response"] of the result.',
        ),
        responses: jsonRpcResponses({ streams: true }),
      },
    },
    '/a2a': {
      post: {
        ...operation(
          'call_a2a',
          'Every analysis as a skill of an A2A agent',
          'JSON-RPC of version 1.0 with the header A2A-Version, of 0.3 without. Payment by the extension that the agent card names.',
        ),
        responses: jsonRpcResponses({ streams: false }),
      },
    },
  }
}

const free = { tags: ['free'], security: [] }
const aText = { type: 'string' }

function freePaths(offers: readonly AnalysisOffer[]): OpenApiObject {
  const ids = offers.map(({ id }) => id)
  const operation = (operationId: string, summary: string, responses: OpenApiObject) => ({
    get: { operationId, summary, ...free, responses },
  })
  const json = 'application/json'
  return {
    '/': operation(
      'get_index',
      'What there is, with prices',
      document('The index.', json, schemaRef('Index')),
    ),
    '/health': operation(
      'get_health',
      'How the service is',
      document('Always 200.', json, schemaRef('Health'), { isCached: false }),
    ),
    '/coins': operation('list_coins', 'Coins that can be asked for now', {
      ...document('Read it rather than to know it by heart.', json, schemaRef('Coins'), {
        isCached: false,
      }),
    }),
    '/pricing': operation(
      'get_price_list',
      'What every analysis costs, and how to pay',
      document('The same prices as in every quote.', json, schemaRef('Prices')),
    ),
    '/sample/{analysis}': {
      get: {
        operationId: 'get_sample',
        summary: 'A whole answer of one analysis, for free',
        description:
          'Given by the engine on a simulated market: true in form, invented in figures. meta.sample is true.',
        ...free,
        parameters: [
          {
            name: 'analysis',
            in: 'path',
            required: true,
            description: 'Which one.',
            schema: { type: 'string', enum: ids },
            example: ids[0],
          },
          ...[compactParameter, fieldsParameter].map(queryParameter),
        ],
        responses: document('A sample; with view or fields the part that is asked for.', json, {
          anyOf: offers.map((offer) => schemaRef(answerSchemaName(offer))),
        }),
      },
    },
    '/openapi.json': operation('get_openapi', 'This document', sharedDocument('Document')),
    '/openapi-full.json': operation(
      'get_openapi_full',
      'This document with a description of every member of every answer',
      sharedDocument('Document'),
    ),
    '/.well-known/agent-card.json': operation(
      'get_agent_card',
      'What another agent must know of this one (A2A)',
      sharedDocument('Document'),
    ),
    '/.well-known/x402': operation(
      'get_payment_manifest',
      'Everything that is sold, for indexers of x402',
      sharedDocument('Document'),
    ),
    '/.well-known/x402.json': operation(
      'get_payment_manifest_json',
      'The same under its other name',
      sharedDocument('Document'),
    ),
    '/llms.txt': operation(
      'get_llms_txt',
      'The service in a page of text, for language models',
      sharedDocument('Text'),
    ),
    '/llms-full.txt': operation(
      'get_llms_full_txt',
      'All of the documentation as one text',
      sharedDocument('Text'),
    ),
    '/docs/errors': operation(
      'get_error_guide',
      'What every error code means',
      document('A page.', 'text/html', aText, { isPage: true }),
    ),
    '/robots.txt': operation(
      'get_robots_txt',
      'What crawlers may read: everything',
      sharedDocument('Text'),
    ),
    '/favicon.svg': operation(
      'get_favicon',
      'The sign of the service',
      document('An image.', 'image/svg+xml', aText),
    ),
    '/favicon.ico': operation(
      'get_favicon_ico',
      'The same for browsers that ask for no other',
      document('An image.', 'image/x-icon', aText),
    ),
    '/docs': {
      get: {
        operationId: 'get_docs',
        summary: 'This document as a page',
        ...free,
        responses: docsResponses(),
      },
    },
  }
}
