import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

export type NodeFault = 'cut' | 'status 500' | 'answer lost'

/** A proxy to the chain's node that sometimes fails. */
export type FlakyNode = { readonly url: string; close(): Promise<void> }

/** @param faultOf called for every request; null: no fault */
export async function startFlakyNode(
  rpcUrl: string,
  faultOf: () => NodeFault | null,
): Promise<FlakyNode> {
  const server = createServer(async (request, response) => {
    try {
      const body = await text(request)
      const fault = faultOf()
      if (fault === 'cut') return response.destroy()
      if (fault === 'status 500') return response.writeHead(500).end('upstream trouble')
      const headers = { 'content-type': 'application/json' }
      const answer = await (await fetch(rpcUrl, { method: 'POST', headers, body })).text()
      if (fault === 'answer lost') return response.destroy()
      return response.writeHead(200, headers).end(answer)
    } catch {
      return response.destroy()
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
