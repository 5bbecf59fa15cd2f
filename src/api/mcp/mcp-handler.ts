import assert from 'node:assert/strict'
import type { CallToolRequest, CallToolResult, Tool } from '@modelcontextprotocol/server'
import { createMcpHandler, isSpecType, Server } from '@modelcontextprotocol/server'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { problem } from '../../domain/problem.ts'
import { aboutPayment } from '../../payment/refusals.ts'
import { offerOf } from '../discovery/analysis-offer.ts'
import type { ServiceFacts } from '../discovery/service-facts.ts'
import { isFree, SERVICE_NAME, SERVICE_SUMMARY } from '../discovery/service-facts.ts'
import { callInProcess } from '../in-process-call.ts'
import type { JsonRpcMessage } from '../json-rpc-scope.ts'
import { unknownParameter } from '../unknown-parameter.ts'
import type { AnalysisTool } from './mcp-tools.ts'
import { toolOf } from './mcp-tools.ts'

/** Keys of `_meta`: the payment of a call, and the receipt of its result (x402 transport for MCP). */
const PAYMENT = 'x402/payment'
const RECEIPT = 'x402/payment-response'
/** Headers that pass the caller's address and request id through the SDK, which copies the request. */
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
    title: 'Available coins',
    description: 'Use when you need the tickers that the other tools take. Free.',
    inputSchema: { type: 'object', properties: {}, additionalProperties: false },
    outputSchema: { type: 'object' },
    annotations,
    path: '/coins',
  },
  {
    name: 'get_price_list',
    title: 'Price list',
    description:
      'Use when you plan purchases. Returns the price of each tool and the accepted payments. Free.',
    inputSchema: { type: 'object', properties: {}, additionalProperties: false },
    outputSchema: { type: 'object' },
    annotations,
    path: '/pricing',
  },
]

/** Calls of the tools, and the other requests of MCP. */
export type McpHandler = {
  /** Requests whose parameters the SDK checks, with an internal error for others. */
  isMalformed(message: JsonRpcMessage): boolean
  answer(request: FastifyRequest, message: JsonRpcMessage): Promise<Response>
  close(): Promise<void>
}

export function mcpHandler(
  app: FastifyInstance,
  facts: ServiceFacts & { readonly exampleCoin: string },
): McpHandler {
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
    assert(address, 'a call without an address would bypass the limits')
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
    if (free === undefined && tool === undefined)
      return failure(`Unknown tool ${params.name}. tools/list returns all tools.`)
    const args = params.arguments ?? {}
    const { properties } = (tool ?? free)?.inputSchema ?? {}
    const payment = params._meta?.[PAYMENT] ?? null
    // A tool takes fewer parameters than its path, and ignores none.
    const unknown = unknownParameter(Object.keys(args), Object.keys(properties ?? {}))
    if (unknown !== null) {
      const facts = payment === null ? unknown.facts : aboutPayment(unknown.facts, null)
      return failure(problem(unknown.code, facts, { instance: '/mcp', requestId }).body)
    }
    const url = tool === undefined ? (free?.path ?? '') : tool.urlOf(args)
    const result = await callInProcess(app, { url, payment, address })
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

  // Not the target of the request: in absolute form it may have a user, which `Request` refuses.
  const endpoint = new URL('/mcp', facts.publicUrl)
  return {
    isMalformed,
    answer: (request, message) =>
      handler.fetch(webRequest(request, endpoint), { parsedBody: message }),
    close: () => handler.close(),
  }
}

function isMalformed(message: JsonRpcMessage): boolean {
  if (message['method'] === 'initialize') return !isSpecType.InitializeRequest(message)
  return message['method'] === 'tools/list' && !isSpecType.ListToolsRequest(message)
}

function listing({ urlOf: _, ...tool }: AnalysisTool): Tool {
  return { ...(tool as Omit<Tool, 'annotations'>), annotations }
}

function failure(text: string): CallToolResult {
  return { isError: true, content: [{ type: 'text', text }] }
}

/** Without the body, which is passed separately. */
function webRequest(request: FastifyRequest, url: URL): Request {
  const { method, ip, id } = request
  const entries = Object.entries(request.headers).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, String(value)] as [string, string]],
  )
  const headers = new Headers(entries)
  // Last, so that they override headers of the caller.
  headers.set(CALLER, ip)
  headers.set(REQUEST_ID, id)
  return new Request(url, { method, headers })
}
