import type { AgentCard } from '@a2a-js/sdk'
import { A2A_VERSION_HEADER, Extensions, HTTP_EXTENSION_HEADER } from '@a2a-js/sdk'
import { LegacyJsonRpcTransportHandler } from '@a2a-js/sdk/compat/v0_3/server'
import { A2AError, RequestMalformedError, toJsonRpcError } from '@a2a-js/sdk/errors'
import { JsonRpcTransportHandler, ServerCallContext, validateVersion } from '@a2a-js/sdk/server'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Clock } from '../../domain/clock.ts'
import { agentCard } from '../discovery/agent-card.ts'
import { offerOf } from '../discovery/analysis-offer.ts'
import type { ServiceFacts } from '../discovery/service-facts.ts'
import { isFree } from '../discovery/service-facts.ts'
import type { FairQueue } from '../fair-queue.ts'
import { callInProcess } from '../in-process-call.ts'
import type { JsonRpcMessage } from '../json-rpc-scope.ts'
import { invalidRequest, isRequestId, jsonRpcScope, parsedMessage } from '../json-rpc-scope.ts'
import { toolOf } from '../mcp/mcp-tools.ts'
import { ADDRESS, AnalysisAgent } from './analysis-agent.ts'
import { BoundedTaskStore } from './bounded-task-store.ts'
import { paramsFault } from './params-fault.ts'
import { TaskRequests } from './task-requests.ts'

const LEGACY_VERSION = '0.3'
/** Headers of versions 1.0 and 0.3. */
const EXTENSION_HEADERS = [HTTP_EXTENSION_HEADER, `X-${HTTP_EXTENSION_HEADER}`]

/** The analyses as an A2A agent: JSON-RPC at `/a2a`, version 1.0, or 0.3 for callers that name no version. */
export function a2aRoutes(
  app: FastifyInstance,
  facts: ServiceFacts & { readonly exampleCoin: string; readonly clock: Clock },
  calls: FairQueue,
): void {
  const options = { exampleCoin: facts.exampleCoin, isFree: isFree(facts) }
  const tools = new Map(
    facts.contracts.map((contract) => [contract.id, toolOf(offerOf(contract, options))]),
  )
  const agent = new AnalysisAgent({
    tools,
    call: (call) => callInProcess(app, call),
    clock: facts.clock,
  })
  const card = agentCard(facts) as AgentCard
  const requests = new TaskRequests(card, new BoundedTaskStore(facts.clock), agent)
  const current = new JsonRpcTransportHandler(requests)
  const legacy = new LegacyJsonRpcTransportHandler(requests)

  jsonRpcScope(app, calls, (scope) => {
    scope.post('/a2a', async (request, reply) => {
      reply.header('cache-control', 'no-store').headers(activatedExtensions(card, request))
      const parsed = parsedMessage(request.body)
      if ('error' in parsed) return reply.code(400).send(parsed.error)
      // A notification has no response, so it cannot request or pay for anything.
      if (!('id' in parsed.message)) return reply.code(202).send()
      const { id, method, params = {} } = parsed.message
      if (typeof method !== 'string' || !(id === null || isRequestId(id)))
        return reply
          .code(400)
          .send(invalidRequest('method must be a string, and id, too, or an integer.', id))
      return reply.send(await handleMessage({ ...parsed.message, params }, request))
    })
  })

  async function handleMessage(message: JsonRpcMessage, request: FastifyRequest) {
    const { params, id = null } = message
    // Tenants are not used, and the SDK would keep state for each one.
    if (typeof params === 'object' && params !== null) Reflect.deleteProperty(params, 'tenant')
    const requestedVersion = versionOf(request)
    const context = new ServerCallContext({ requestedVersion })
    context.state.set(ADDRESS, request.ip)
    const handler = requestedVersion === LEGACY_VERSION ? legacy : current
    try {
      validateVersion(requestedVersion, card, 'JSONRPC')
      const fault = paramsFault(message)
      if (fault !== null) throw new RequestMalformedError(fault)
      const answer = await handler.handle(message, context)
      // Streaming is not supported, so the only item is an error.
      return Symbol.asyncIterator in answer ? (await answer.next()).value : answer
    } catch (error) {
      if (!(error instanceof A2AError)) throw error
      return { jsonrpc: '2.0', id, error: toJsonRpcError(error) }
    }
  }
}

/** Major and minor only, as on the card; the protocol ignores the patch number. */
function versionOf({ headers }: FastifyRequest): string {
  const version = headers[A2A_VERSION_HEADER.toLowerCase()]
  return typeof version === 'string' && version !== ''
    ? version.split('.').slice(0, 2).join('.')
    : LEGACY_VERSION
}

/** Response headers with the requested extensions that the card offers, named as in the request. */
function activatedExtensions({ capabilities }: AgentCard, { headers }: FastifyRequest) {
  const offered = new Set(capabilities?.extensions?.map(({ uri }) => uri))
  return Object.fromEntries(
    EXTENSION_HEADERS.flatMap((name) => {
      const requested = Extensions.parseServiceParameter(String(headers[name.toLowerCase()] ?? ''))
      const both = requested.filter((uri) => offered.has(uri))
      return both.length === 0 ? [] : [[name, Extensions.toServiceParameter(both)]]
    }),
  )
}
