import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
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
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', resolve)
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

async function serve(
  answer: RpcMethods,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const body = request.method === 'POST' ? await bodyOf(request) : null
  if (body === null) {
    response.writeHead(request.method === 'POST' ? 413 : 405).end()
    return
  }
  const reply = JSON.stringify(rpcReply(answer, body))
  response.writeHead(200, { 'content-type': 'application/json; charset=utf-8' }).end(reply)
}

/** Null where it is too long. */
async function bodyOf(request: IncomingMessage): Promise<string | null> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > BODY_BYTES_MAX) return null
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}
