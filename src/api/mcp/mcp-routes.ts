import assert from 'node:assert/strict'
import type { CallToolRequest, CallToolResult, Tool } from '@modelcontextprotocol/server'
import { createMcpHandler, Server } from '@modelcontextprotocol/server'
import type { PaymentPayload } from '@x402/core/types'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { problem } from '../../domain/problem.ts'
import { offerOf } from '../discovery/offer-of.ts'
import type { ServiceFacts } from '../discovery/service-facts.ts'
import { isFree, SERVICE_NAME, SERVICE_SUMMARY } from '../discovery/service-facts.ts'
import type { FairQueue } from '../fair-queue.ts'
import { callInProcess } from '../in-process-call.ts'
import { jsonRpcScope, parsedMessage } from '../json-rpc-scope.ts'
import { unknownParameter } from '../unknown-parameter.ts'
import type { AnalysisTool } from './mcp-tools.ts'
import { toolOf } from './mcp-tools.ts'

/** In what a caller sends to say that it pays, and in what it gets back. */
const PAYMENT = 'x402/payment'
const RECEIPT = 'x402/payment-response'
/** Who sent a message, and in which request. Headers of ours, because the SDK may hand over a copy of it. */
const CALLER = 'x-caller-address'
const REQUEST_ID = 'x-caller-request'

const annotations = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: true,
} as const

const freeTools: readonly (Tool & { readonly path: string })[] = [
  {
    name: 'list_coins',
    title: 'Coins that can be asked about',
    description: 'Use when you need the tickers of this service. Free.',
    inputSchema: { type: 'object', properties: {}, additionalProperties: false },
    outputSchema: { type: 'object' },
    annotations,
    path: '/coins',
  },
  {
    name: 'get_price_list',
    title: 'What each analysis costs',
    description:
      'Use when you plan what to buy: the price of every tool, and the ways to pay. Free.',
    inputSchema: { type: 'object', properties: {}, additionalProperties: false },
    outputSchema: { type: 'object' },
    annotations,
    path: '/pricing',
  },
]

/**
 * The analyses as MCP tools at `/mcp`, streamable HTTP without sessions. A tool call becomes a call of the
 * path that sells the same; payment travels in `_meta`, as x402 has it for MCP.
 */
export function mcpRoutes(
  app: FastifyInstance,
  facts: ServiceFacts & { readonly exampleCoin: string },
  calls: FairQueue,
): void {
  const tools = facts.contracts.map((contract) =>
    toolOf(offerOf(contract, { exampleCoin: facts.exampleCoin, isFree: isFree(facts) })),
  )
  const byName = new Map(tools.map((tool) => [tool.name, tool]))
  const listed = {
    tools: [...tools.map(listing), ...freeTools.map(({ path: _, ...tool }) => tool)],
  }
  const handler = createMcpHandler(({ requestInfo }) => {
    const address = requestInfo?.headers.get(CALLER)
    const requestId = requestInfo?.headers.get(REQUEST_ID) ?? ''
    assert(address, 'callers without an address would share their limits')
    const server = new Server(
      { name: SERVICE_NAME, version: facts.version, title: SERVICE_NAME },
      { capabilities: { tools: {} }, instructions: SERVICE_SUMMARY },
    )
    server.setRequestHandler('tools/list', () => listed)
    server.setRequestHandler('tools/call', ({ params }) => called(params, address, requestId))
    return server
  })

  async function called(
    params: CallToolRequest['params'],
    address: string,
    requestId: string,
  ): Promise<CallToolResult> {
    const free = freeTools.find(({ name }) => name === params.name)
    const tool = byName.get(params.name)
    if (free === undefined && tool === undefined) return failure(`there is no tool ${params.name}`)
    const args = params.arguments ?? {}
    const { properties } = (tool ?? free)?.inputSchema ?? {}
    const payment = params._meta?.[PAYMENT]
    // The schema of a tool names fewer parameters than its path takes, and utm_* is nothing that a model says.
    const unknown = unknownParameter(Object.keys(args), Object.keys(properties ?? {}))
    if (unknown !== null) {
      const facts = { ...unknown.facts, paymentReusable: payment !== undefined }
      return failure(problem(unknown.code, facts, { instance: '/mcp', requestId }).body)
    }
    const url = tool === undefined ? (free?.path ?? '') : tool.urlOf(args)
    if (payment !== undefined && (typeof payment !== 'object' || payment === null))
      return failure(`_meta["${PAYMENT}"] must be an x402 PaymentPayload`)
    const result = await callInProcess(app, {
      url,
      payment: (payment as PaymentPayload | undefined) ?? null,
      address,
    })
    switch (result.kind) {
      case 'answer':
        return {
          content: [{ type: 'text', text: JSON.stringify(result.answer) }],
          structuredContent: result.answer,
          ...(result.receipt !== null && { _meta: { [RECEIPT]: result.receipt } }),
        }
      case 'payment-required': {
        const required = {
          ...result.required,
          ...(result.rejection && { diagnostics: result.rejection }),
        }
        return {
          isError: true,
          content: [{ type: 'text', text: JSON.stringify(required) }],
          structuredContent: required,
        }
      }
      case 'refused':
        return failure(JSON.stringify(result.problem))
      default:
        return result satisfies never
    }
  }

  // Without sessions there is nothing to GET or to DELETE: 405, as the protocol has it.
  jsonRpcScope(app, calls, (scope) => {
    scope.post('/mcp', async (request, reply) => {
      const parsed = parsedMessage(request.body)
      if ('error' in parsed)
        return reply.code(400).header('cache-control', 'no-store').send(parsed.error)
      const response = await handler.fetch(webRequest(request, facts.publicUrl), {
        parsedBody: parsed.message,
      })
      // Whether a connection is kept is for the server to say, above all while it closes.
      response.headers.delete('connection')
      return reply.header('cache-control', 'no-store').send(response)
    })
  })
  app.addHook('onClose', () => handler.close())
}

function listing({ urlOf: _, ...tool }: AnalysisTool): Tool {
  return { ...(tool as Omit<Tool, 'annotations'>), annotations }
}

function failure(text: string): CallToolResult {
  return { isError: true, content: [{ type: 'text', text }] }
}

/** Without the body, which is given beside it. */
function webRequest(request: FastifyRequest, publicUrl: string): Request {
  const { method, url, ip, id } = request
  const entries = Object.entries(request.headers).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, String(value)] as [string, string]],
  )
  const headers = new Headers(entries)
  // Last, whatever a caller says of itself.
  headers.set(CALLER, ip)
  headers.set(REQUEST_ID, id)
  return new Request(new URL(url, publicUrl), { method, headers })
}
