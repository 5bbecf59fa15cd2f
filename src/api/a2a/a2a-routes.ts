import type { AgentCard } from '@a2a-js/sdk'
import { A2A_VERSION_HEADER } from '@a2a-js/sdk'
import { LegacyJsonRpcTransportHandler } from '@a2a-js/sdk/compat/v0_3/server'
import {
  DefaultRequestHandler,
  JsonRpcTransportHandler,
  ServerCallContext,
} from '@a2a-js/sdk/server'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Clock } from '../../domain/clock.ts'
import { agentCard } from '../discovery/agent-card.ts'
import { offerOf } from '../discovery/offer-of.ts'
import type { ServiceFacts } from '../discovery/service-facts.ts'
import { isFree } from '../discovery/service-facts.ts'
import { callInProcess } from '../in-process-call.ts'
import { jsonRpcScope, parsedMessage } from '../json-rpc-scope.ts'
import { toolOf } from '../mcp/mcp-tools.ts'
import { ADDRESS, AnalysisAgent } from './analysis-agent.ts'
import { TaskMemory } from './task-memory.ts'

const LEGACY_VERSION = '0.3'

/** The analyses as an A2A agent: JSON-RPC at `/a2a`, in the words of 1.0 and, where a caller names no version, of 0.3. */
export function a2aRoutes(
  app: FastifyInstance,
  facts: ServiceFacts & { readonly exampleCoin: string; readonly clock: Clock },
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
  const requests = new DefaultRequestHandler(card, new TaskMemory(facts.clock), agent)
  const today = new JsonRpcTransportHandler(requests)
  const before = new LegacyJsonRpcTransportHandler(requests)

  jsonRpcScope(app, (scope) => {
    scope.post('/a2a', async (request, reply) => {
      reply.header('cache-control', 'no-store')
      const parsed = parsedMessage(request.body)
      return 'error' in parsed
        ? reply.code(400).send(parsed.error)
        : reply.send(await answered(parsed.message, request))
    })
  })

  async function answered(message: Readonly<Record<string, unknown>>, request: FastifyRequest) {
    const version = request.headers[A2A_VERSION_HEADER.toLowerCase()]
    const requestedVersion =
      typeof version === 'string' && version !== '' ? version : LEGACY_VERSION
    const context = new ServerCallContext({ requestedVersion })
    context.state.set(ADDRESS, request.ip)
    const handler = requestedVersion.startsWith(LEGACY_VERSION) ? before : today
    const answer = await handler.handle(message, context)
    // Streaming is not offered, and the card says so: the one thing that comes of it is an error.
    return Symbol.asyncIterator in answer ? (await answer.next()).value : answer
  }
}
