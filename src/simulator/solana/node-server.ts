import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import { bodyOf, close, listen } from '../http-server.ts'
import type { RpcMethods } from '../json-rpc.ts'
import { rpcReply } from '../json-rpc.ts'
import type { RpcMethod } from './rpc-methods.ts'
import { rpcMethods } from './rpc-methods.ts'

/** What a node of Solana reads of one request. */
const BODY_BYTES_MAX = 50 * 1_024

export type NodeServer = { readonly url: string; close(): Promise<void> }

/** JSON-RPC over HTTP on loopback. @param port 0 for any */
export async function startNode(
  calls: ReadonlyMap<string, RpcMethod>,
  port: number,
): Promise<NodeServer> {
  const answer = rpcMethods(calls)
  const server = createServer((request, response) => {
    // The body of an aborted upload cannot be read.
    serve(answer, request, response).catch(() => response.destroy())
  })
  const url = `http://127.0.0.1:${await listen(server, '127.0.0.1', port)}`
  return { url, close: () => close(server) }
}

async function serve(
  answer: RpcMethods,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const body = request.method === 'POST' ? await bodyOf(request, BODY_BYTES_MAX) : null
  if (body === null) {
    response.writeHead(request.method === 'POST' ? 413 : 405).end()
    return
  }
  const reply = JSON.stringify(rpcReply(answer, body))
  response.writeHead(200, { 'content-type': 'application/json; charset=utf-8' }).end(reply)
}
