import type { RpcMethods } from '../json-rpc.ts'
import { rpcReply } from '../json-rpc.ts'
import type { Upstream } from './upstream.ts'

/** A JSON-RPC 2.0 server over HTTP. */
export function jsonRpcServer(answer: RpcMethods): Upstream {
  return {
    request: ({ method, body }) => {
      if (method !== 'POST') return { status: 405, body: '', contentType: 'text/plain' }
      return { status: 200, body: JSON.stringify(rpcReply(answer, body)) }
    },
  }
}
