import { claimFamilies } from '../../domain/track-record.ts'
import type { AnalysisOffer, OfferedParameter } from './analysis-offer.ts'
import { answerSchemaName, compactParameter, fieldsParameter } from './analysis-offer.ts'
import type { OpenApiObject } from './openapi-responses.ts'
import { docsResponses, document, jsonRpcResponses, sharedDocument } from './openapi-responses.ts'
import { schemaRef } from './shared-schemas.ts'

const JSON_TYPE = 'application/json'

/** `/mcp` and `/a2a`: the payment is part of the messages. */
export function protocolPaths(): OpenApiObject {
  const operation = (
    operationId: string,
    summary: string,
    description: string,
    responses: OpenApiObject,
  ) => ({
    post: {
      operationId,
      summary,
      description,
      tags: ['protocols'],
      security: [],
      requestBody: {
        required: true,
        content: { [JSON_TYPE]: { schema: schemaRef('JsonRpcRequest') } },
      },
      responses,
    },
  })
  return {
    '/mcp': operation(
      'call_mcp',
      'Analyses as MCP tools',
      'Streamable HTTP without sessions; accept application/json and text/event-stream. Payment: params._meta["x402/payment"]; receipt: _meta["x402/payment-response"] of the result.',
      jsonRpcResponses({ streams: true }),
    ),
    '/a2a': operation(
      'call_a2a',
      'Analyses as skills of an A2A agent',
      'JSON-RPC, version 1.0 with the header A2A-Version, else 0.3. Payment by the x402 extension of the agent card.',
      jsonRpcResponses({ streams: false }),
    ),
  }
}

type OperationParts = {
  readonly description?: string
  readonly parameters?: readonly OpenApiObject[]
}

function free(
  operationId: string,
  summary: string,
  responses: OpenApiObject,
  { description, parameters }: OperationParts = {},
) {
  return {
    get: {
      operationId,
      summary,
      ...(description !== undefined && { description }),
      tags: ['free'],
      security: [],
      ...(parameters !== undefined && { parameters }),
      responses,
    },
  }
}

export function freePaths(offers: readonly AnalysisOffer[]): OpenApiObject {
  const json = sharedDocument('Document')
  const text = sharedDocument('Text')
  const live = { isCached: false }
  const described = (description: string, schema: string, shape = {}) =>
    document(description, JSON_TYPE, schemaRef(schema), shape)
  return {
    '/': free('get_index', 'All paths, with prices', described('Index.', 'Index')),
    '/health': free('get_health', 'Service health', described('Always 200.', 'Health', live)),
    '/status': free('get_status', 'Status, source coverage and incidents of 30 days', json),
    '/coins': free(
      'list_coins',
      'Available coins',
      described('Changes with listings.', 'Coins', live),
    ),
    '/pricing': free(
      'get_price_list',
      'Price list and accepted payments',
      described('Price list.', 'Prices'),
    ),
    '/sample/{analysis}': samplePath(offers),
    ...trackRecordPaths(),
    '/openapi.json': free('get_openapi', 'This document', json),
    '/openapi-full.json': free('get_openapi_full', 'The same with descriptions and examples', json),
    '/.well-known/agent-card.json': free('get_agent_card', 'A2A agent card', json),
    '/.well-known/x402': free('get_payment_manifest', 'Paid resources, for x402 indexers', json),
    '/.well-known/x402.json': free('get_payment_manifest_json', 'The same document', json),
    '/llms.txt': free('get_llms_txt', 'Overview for language models', text),
    '/llms-full.txt': free('get_llms_full_txt', 'Whole documentation', text),
    '/docs': free('get_docs', 'This document as a page', docsResponses()),
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
  const ofFamily = free(
    'get_family_record',
    'One family, with windows and status changes',
    responses,
  )
  return {
    '/track-record': free(
      'get_track_record',
      'Estimates against outcomes and a control',
      responses,
    ),
    '/track-record/{family}': { get: { ...ofFamily.get, parameters: [family] } },
    '/track-record/{family}/claims': claimsPath(),
  }
}

function claimsPath(): OpenApiObject {
  const schema = { type: 'string' }
  const next = 'next_after of the last page.'
  return free(
    'list_claims',
    'Claims of a day, with outcomes',
    document('Claims.', JSON_TYPE, { type: 'object' }, limited),
    {
      parameters: [
        { name: 'family', in: 'path', required: true, schema },
        {
          name: 'day',
          in: 'query',
          required: true,
          schema,
          description: 'UTC.',
          example: '2026-01-31',
        },
        { name: 'after', in: 'query', schema, description: next },
      ],
    },
  )
}

/** Where sold answers can be proven. */
export function proofPaths(): OpenApiObject {
  const schema = { type: 'string' }
  return {
    '/proof': free(
      'list_proof_hours',
      'Hourly Merkle roots of answers and claims',
      document('Newest first.', JSON_TYPE, schemaRef('ProofHours'), limited),
      {
        description:
          'RFC 9162. chain: SHA-256 of the previous chain, the hour (64-bit Unix ms) and the root.',
        parameters: [{ name: 'before', in: 'query', schema }],
      },
    ),
    '/proof/{sha256}': free(
      'get_answer_proof',
      'Hour of a sold answer or a claim, with proof',
      document('Proof.', JSON_TYPE, schemaRef('AnswerProof'), limited),
      {
        parameters: [
          {
            name: 'sha256',
            in: 'path',
            required: true,
            description: 'Of the uncoded body, or of the claim.',
            schema,
          },
        ],
      },
    ),
  }
}

function samplePath(offers: readonly AnalysisOffer[]): OpenApiObject {
  const ids = offers.map(({ id }) => id)
  const analysis = {
    name: 'analysis',
    in: 'path',
    required: true,
    description: 'Id of the analysis.',
    schema: { type: 'string', enum: ids },
    example: ids[0],
  }
  return free(
    'get_sample',
    'Free sample answer of one analysis',
    document('The sample, or a part of it.', JSON_TYPE, {
      anyOf: offers.map((offer) => schemaRef(answerSchemaName(offer))),
    }),
    {
      description: 'Of a simulated market: invented figures; meta.sample is true.',
      // Those of the analyses.
      parameters: [analysis, ...[compactParameter, fieldsParameter].map(sharedParameter)],
    },
  )
}

function sharedParameter({ name }: OfferedParameter): OpenApiObject {
  return { $ref: `#/components/parameters/${name}` }
}
