import type { FastifyInstance } from 'fastify'
import type { ServiceFacts } from '../discovery/service-facts.ts'
import type { FairQueue } from '../fair-queue.ts'
import { invalidParams, isRequestId, jsonRpcScope, parsedMessage } from '../json-rpc-scope.ts'
import type { McpHandler } from './mcp-handler.ts'

/**
 * The analyses as MCP tools at `/mcp`: streamable HTTP without sessions. A tool call becomes a call of the HTTP path;
 * the payment is in `_meta`, as the x402 transport for MCP defines.
 */
export function mcpRoutes(
  app: FastifyInstance,
  facts: ServiceFacts & { readonly exampleCoin: string },
  calls: FairQueue,
): void {
  // The SDK takes 4 MB of heap, and many a service has no caller of MCP.
  let loading: Promise<McpHandler> | undefined
  const load = () => {
    loading ??= import('./mcp-handler.ts').then(({ mcpHandler }) => mcpHandler(app, facts))
    // The next call tries again.
    loading.catch(() => {
      loading = undefined
    })
    return loading
  }

  // Without sessions GET and DELETE answer 405, as MCP requires.
  jsonRpcScope(app, calls, (scope) => {
    scope.post('/mcp', async (request, reply) => {
      const parsed = parsedMessage(request.body)
      if ('error' in parsed)
        return reply.code(400).header('cache-control', 'no-store').send(parsed.error)
      const handler = await load()
      const { id, method } = parsed.message
      if (isRequestId(id) && handler.isMalformed(parsed.message)) {
        const detail = `The parameters of ${method} are not those of the protocol.`
        return reply.header('cache-control', 'no-store').send(invalidParams(detail, id))
      }
      const response = await handler.answer(request, parsed.message)
      // The server decides whether to keep the connection.
      response.headers.delete('connection')
      return reply.header('cache-control', 'no-store').send(response)
    })
  })
  app.addHook('onClose', async () => (await loading?.catch(() => undefined))?.close())
}
