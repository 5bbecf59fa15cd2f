import { parsedJson } from '../domain/json.ts'

export type RpcAnswer =
  | { readonly result: unknown }
  | { readonly error: { readonly code: number; readonly message: string; readonly data?: unknown } }

/** @returns the answer to one method, as of now */
export type RpcMethods = (method: string, params: readonly unknown[]) => RpcAnswer

const BATCH_MAX = 100

/** The reply of a JSON-RPC 2.0 server to one request or a batch: https://www.jsonrpc.org/specification */
export function rpcReply(answer: RpcMethods, body: string): unknown {
  const request = parsedJson(body)
  if (request === undefined)
    return { jsonrpc: '2.0', ...rpcFailure(-32700, 'Parse error'), id: null }
  if (!Array.isArray(request)) return replyToOne(answer, request)
  if (request.length === 0 || request.length > BATCH_MAX)
    return { jsonrpc: '2.0', ...rpcFailure(-32600, 'Invalid request'), id: null }
  return request.map((one) => replyToOne(answer, one))
}

export function rpcFailure(code: number, message: string, data?: unknown): RpcAnswer {
  return { error: { code, message, ...(data !== undefined && { data }) } }
}

function replyToOne(answer: RpcMethods, request: unknown): unknown {
  const { id = null, method, params } = (request ?? {}) as Record<string, unknown>
  const list = Array.isArray(params) ? params : []
  return { jsonrpc: '2.0', ...answered(answer, method, list), id }
}

function answered(answer: RpcMethods, method: unknown, params: readonly unknown[]): RpcAnswer {
  if (typeof method !== 'string') return rpcFailure(-32600, 'Invalid request')
  try {
    return answer(method, params)
  } catch {
    // A call that a simulation does not foresee fails alone; thrown, it would end the process.
    return rpcFailure(-32603, 'Internal error')
  }
}
