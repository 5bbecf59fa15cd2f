import type { AnalysisOffer, OfferedParameter } from './offer-of.ts'
import { compactParameter, fieldsParameter, offerOf } from './offer-of.ts'
import type { OpenApiObject } from './openapi-responses.ts'
import {
  docsResponses,
  document,
  jsonRpcResponses,
  late,
  paidResponses,
  problemRef,
  problemResponse,
  quoteName,
  quoteResponse,
  responseHeaders,
  schemaRef,
} from './openapi-responses.ts'
import {
  answerSchemaName,
  coinsSchema,
  healthSchema,
  indexSchema,
  jsonRpcRequestSchema,
  jsonRpcResponseSchema,
  paymentRequiredSchema,
  pricesSchema,
  problemSchema,
  problemStatuses,
  selectionSchema,
  selectionSchemaName,
} from './openapi-schemas.ts'
import { sampleOf } from './samples.ts'
import type { DocumentFacts } from './service-facts.ts'
import { API_VERSION, isFree, SERVICE_NAME, SERVICE_SUMMARY } from './service-facts.ts'

/** `/openapi.json`: everything that can be asked of the public port, and every way in which it may answer. */
export function openApi(facts: DocumentFacts): OpenApiObject {
  const offers = facts.contracts.map((contract) =>
    offerOf(contract, { exampleCoin: facts.exampleCoin, isFree: isFree(facts) }),
  )
  return {
    openapi: '3.1.0',
    info: {
      title: SERVICE_NAME,
      version: API_VERSION,
      summary: SERVICE_SUMMARY,
      description: [
        'All endpoints but /mcp and /a2a are HTTP GET. HEAD answers as GET does, without a body; of a paid path it shows the quote.',
        'Analyses, /coins and /sample/{analysis} refuse query parameters that are not listed: 400 unknown_parameter, nothing quoted. utm_* and _ are ignored. New members and new words may come; nothing is taken away.',
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
        offers.map((offer) => [offer.template, { get: paidOperation(offer, facts) }]),
      ),
    },
    components: {
      schemas: {
        ...Object.fromEntries(
          offers.flatMap((offer) => [
            [answerSchemaName(offer), offer.outputSchema],
            [selectionSchemaName(offer), selectionSchema(offer)],
          ]),
        ),
        ...Object.fromEntries(
          problemStatuses.map((status) => [`Problem${status}`, problemSchema(status)]),
        ),
        PaymentRequired: paymentRequiredSchema,
        Health: healthSchema,
        Coins: coinsSchema,
        Prices: pricesSchema,
        Index: indexSchema,
        JsonRpcRequest: jsonRpcRequestSchema,
        JsonRpcResponse: jsonRpcResponseSchema,
      },
      responses: {
        ...Object.fromEntries(
          problemStatuses.map((status) => [`Problem${status}`, problemResponse(status)]),
        ),
        ...(!isFree(facts) &&
          Object.fromEntries(
            offers.map((offer) => [quoteName(offer), quoteResponse(offer, facts)]),
          )),
        Late: late,
      },
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

function paidOperation(offer: AnalysisOffer, facts: DocumentFacts): OpenApiObject {
  return {
    operationId: offer.name,
    summary: offer.title,
    description: offer.description,
    tags: ['paid'],
    security: [],
    parameters: offer.parameters.map(({ name, in: place, isRequired, ...parameter }) => ({
      name: place === 'path' ? offer.pathParameter : name,
      in: place,
      required: isRequired,
      description: parameter.description,
      schema: parameter.schema,
      example: parameter.schema.type === 'integer' ? Number(parameter.example) : parameter.example,
    })),
    ...(!isFree(facts) && {
      'x-payment-info': {
        price: { mode: 'fixed', currency: 'USD', amount: offer.priceUsdc },
        protocols: [{ x402: {} }],
      },
    }),
    responses: paidResponses(offer, facts),
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
const anObject = { type: 'object' }
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
      400: problemRef(400),
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
        responses: {
          ...document(
            'A sample; with view or fields the part of it that is asked for.',
            json,
            {
              anyOf: offers.flatMap((offer) => [
                schemaRef(answerSchemaName(offer)),
                schemaRef(selectionSchemaName(offer)),
              ]),
            },
            { example: sampleOf(ids[0] ?? '') },
          ),
          400: problemRef(400),
          404: problemRef(404),
        },
      },
    },
    '/openapi.json': operation(
      'get_openapi',
      'This document',
      document('OpenAPI 3.1.', json, anObject),
    ),
    '/.well-known/agent-card.json': operation(
      'get_agent_card',
      'What another agent must know of this one (A2A)',
      document('An agent card.', json, anObject),
    ),
    '/.well-known/x402': operation(
      'get_payment_manifest',
      'Everything that is sold, for indexers of x402',
      document('The manifest.', json, anObject),
    ),
    '/.well-known/x402.json': operation(
      'get_payment_manifest_json',
      'The same under its other name',
      document('The manifest.', json, anObject),
    ),
    '/llms.txt': operation(
      'get_llms_txt',
      'The service in a page of text, for language models',
      document('Markdown.', 'text/plain', aText),
    ),
    '/llms-full.txt': operation(
      'get_llms_full_txt',
      'All of the documentation as one text',
      document('Markdown.', 'text/plain', aText),
    ),
    '/docs/errors': operation(
      'get_error_guide',
      'What every error code means',
      document('A page.', 'text/html', aText, { isPage: true }),
    ),
    '/robots.txt': operation(
      'get_robots_txt',
      'What crawlers may read: everything',
      document('The rules.', 'text/plain', aText),
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
