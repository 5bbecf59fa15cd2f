import { claimFamilies } from '../../domain/track-record.ts'
import type { AnalysisOffer, OfferedParameter } from './analysis-offer.ts'
import { answerSchemaName, compactParameter, fieldsParameter } from './analysis-offer.ts'
import type { OpenApiObject } from './openapi-responses.ts'
import {
  docsResponses,
  document,
  jsonRpcResponses,
  schemaRef,
  sharedDocument,
} from './openapi-responses.ts'

const JSON_TYPE = 'application/json'
const free = { tags: ['free'], security: [] }

/** `/mcp` and `/a2a`: the payment is part of the messages. */
export function protocolPaths(): OpenApiObject {
  const operation = (operationId: string, summary: string, description: string) => ({
    operationId,
    summary,
    description,
    tags: ['protocols'],
    security: [],
    requestBody: {
      required: true,
      content: { [JSON_TYPE]: { schema: schemaRef('JsonRpcRequest') } },
    },
  })
  return {
    '/mcp': {
      post: {
        ...operation(
          'call_mcp',
          'Analyses as MCP tools',
          'Streamable HTTP without sessions; accept application/json and text/event-stream. Payment: params._meta["x402/payment"]; receipt: _meta["x402/payment-response"] of the result.',
        ),
        responses: jsonRpcResponses({ streams: true }),
      },
    },
    '/a2a': {
      post: {
        ...operation(
          'call_a2a',
          'Analyses as skills of an A2A agent',
          'JSON-RPC, version 1.0 with the header A2A-Version, else 0.3. Payment by the x402 extension of the agent card.',
        ),
        responses: jsonRpcResponses({ streams: false }),
      },
    },
  }
}

function operation(operationId: string, summary: string, responses: OpenApiObject) {
  return { get: { operationId, summary, ...free, responses } }
}

export function freePaths(offers: readonly AnalysisOffer[]): OpenApiObject {
  return {
    '/': operation(
      'get_index',
      'All paths, with prices',
      document('Index.', JSON_TYPE, schemaRef('Index')),
    ),
    '/health': operation(
      'get_health',
      'Service health',
      document('Always 200.', JSON_TYPE, schemaRef('Health'), { isCached: false }),
    ),
    '/status': operation(
      'get_status',
      'Status, source coverage and incidents of 30 days',
      sharedDocument('Document'),
    ),
    '/coins': operation(
      'list_coins',
      'Available coins',
      document('Changes with listings.', JSON_TYPE, schemaRef('Coins'), { isCached: false }),
    ),
    '/pricing': operation(
      'get_price_list',
      'Price list and accepted payments',
      document('Price list.', JSON_TYPE, schemaRef('Prices')),
    ),
    '/sample/{analysis}': samplePath(offers),
    ...trackRecordPaths(),
    '/openapi.json': operation('get_openapi', 'This document', sharedDocument('Document')),
    '/openapi-full.json': operation(
      'get_openapi_full',
      'The same with descriptions and examples',
      sharedDocument('Document'),
    ),
    '/.well-known/agent-card.json': operation(
      'get_agent_card',
      'A2A agent card',
      sharedDocument('Document'),
    ),
    '/.well-known/x402': operation(
      'get_payment_manifest',
      'Paid resources, for x402 indexers',
      sharedDocument('Document'),
    ),
    '/.well-known/x402.json': operation(
      'get_payment_manifest_json',
      'The same document',
      sharedDocument('Document'),
    ),
    '/llms.txt': operation('get_llms_txt', 'Overview for language models', sharedDocument('Text')),
    '/llms-full.txt': operation('get_llms_full_txt', 'Whole documentation', sharedDocument('Text')),
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

/** Free answers that are read from the disk. */
const limited = { isCached: false, isLimited: true }

function trackRecordPaths(): OpenApiObject {
  const responses = document('Rendered every minute.', JSON_TYPE, schemaRef('RuleRecords'))
  const family = {
    name: 'family',
    in: 'path',
    required: true,
    description: 'Family of estimates; graveyard: dead rules.',
    schema: { type: 'string', enum: [...claimFamilies, 'graveyard'] },
    example: claimFamilies[0],
  }
  const ofFamily = operation(
    'get_family_record',
    'One family, with windows and status changes',
    responses,
  )
  return {
    '/track-record': operation(
      'get_track_record',
      'Estimates against outcomes and a control',
      responses,
    ),
    '/track-record/{family}': { get: { ...ofFamily.get, parameters: [family] } },
    '/track-record/{family}/claims': claimsPath(),
  }
}

function claimsPath(): OpenApiObject {
  const shared = { required: true, schema: { type: 'string' } }
  const next = 'next_after of the last page.'
  return {
    get: {
      operationId: 'list_claims',
      summary: 'Claims of a day, with outcomes',
      ...free,
      parameters: [
        { name: 'family', in: 'path', ...shared },
        { name: 'day', in: 'query', ...shared, description: 'UTC.', example: '2026-01-31' },
        { name: 'after', in: 'query', ...shared, required: false, description: next },
      ],
      responses: document('Claims.', JSON_TYPE, { type: 'object' }, limited),
    },
  }
}

/** Where sold answers can be proven. */
export function proofPaths(): OpenApiObject {
  return {
    '/proof': {
      get: {
        operationId: 'list_proof_hours',
        summary: 'Hourly Merkle roots of answers and claims',
        description:
          'RFC 9162. chain: SHA-256 of the previous chain, the hour (64-bit Unix ms) and the root.',
        ...free,
        parameters: [
          {
            name: 'before',
            in: 'query',
            schema: { type: 'string' },
          },
        ],
        responses: document('Newest first.', JSON_TYPE, schemaRef('ProofHours'), limited),
      },
    },
    '/proof/{sha256}': {
      get: {
        operationId: 'get_answer_proof',
        summary: 'Hour of a sold answer or a claim, with proof',
        ...free,
        parameters: [
          {
            name: 'sha256',
            in: 'path',
            required: true,
            description: 'Of the uncoded body, or of the claim.',
            schema: { type: 'string' },
          },
        ],
        responses: document('Proof.', JSON_TYPE, schemaRef('AnswerProof'), limited),
      },
    },
  }
}

function samplePath(offers: readonly AnalysisOffer[]): OpenApiObject {
  const ids = offers.map(({ id }) => id)
  return {
    get: {
      operationId: 'get_sample',
      summary: 'Free sample answer of one analysis',
      description: 'Of a simulated market: invented figures; meta.sample is true.',
      ...free,
      parameters: [
        {
          name: 'analysis',
          in: 'path',
          required: true,
          description: 'Id of the analysis.',
          schema: { type: 'string', enum: ids },
          example: ids[0],
        },
        ...[compactParameter, fieldsParameter].map(queryParameter),
      ],
      responses: document('The sample, or a part of it.', JSON_TYPE, {
        anyOf: offers.map((offer) => schemaRef(answerSchemaName(offer))),
      }),
    },
  }
}

function queryParameter({ name, description, schema, example }: OfferedParameter): OpenApiObject {
  return { name, in: 'query', required: false, description, schema, example }
}
