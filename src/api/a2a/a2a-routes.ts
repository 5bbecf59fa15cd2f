import type { AgentCard } from '@a2a-js/sdk'
import { A2A_VERSION_HEADER } from '@a2a-js/sdk'
import { LegacyJsonRpcTransportHandler } from '@a2a-js/sdk/compat/v0_3/server'
import {
  DefaultRequestHandler,
  JsonRpcTransportHandler,
  ServerCallContext,
} from '@a2a-js/sdk/server'
import type { FastifyInstance } from 'fastify'
import type { Clock } from '../../domain/clock.ts'
import { agentCard } from '../discovery/agent-card.ts'
import { offerOf } from '../discovery/offer-of.ts'
import type { ServiceFacts } from '../discovery/service-facts.ts'
import { isFree } from '../discovery/service-facts.ts'
import { callInProcess } from '../in-process-call.ts'
import { toolOf } from '../mcp/mcp-tools.ts'
import { ADDRESS, AnalysisAgent } from './analysis-agent.ts'
import { TaskMemory } from './task-memory.ts'

const BODY_BYTES_MAX = 64 * 1_024
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

  app.post('/a2a', { bodyLimit: BODY_BYTES_MAX }, async (request, reply) => {
    const version = request.headers[A2A_VERSION_HEADER.toLowerCase()]
    const requestedVersion =
      typeof version === 'string' && version !== '' ? version : LEGACY_VERSION
    const context = new ServerCallContext({ requestedVersion })
    context.state.set(ADDRESS, request.ip)
    const handler = requestedVersion.startsWith(LEGACY_VERSION) ? before : today
    const answer = await handler.handle(request.body as Record<string, unknown>, context)
    // Streaming is not offered, and the card says so: the one thing that comes of it is an error.
    const body = Symbol.asyncIterator in answer ? (await answer.next()).value : answer
    return reply.header('cache-control', 'no-store').send(body)
  })
}
