import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

/** Between a service and its node. It lets everything pass until it keeps a transaction back. */
export type TransactionGate = {
  /** @returns the URL at which the service reaches the node at `rpcUrl` */
  to(rpcUrl: string): string
  /**
   * Keeps back the transaction that is sent as the `at`-th from now on: its request, so that the chain does not get it,
   * or the reply, so that the service does not get it. No later one passes either, until `open`.
   * @returns resolves when it is kept back
   */
  keepBack(at: number, part: 'request' | 'reply'): Promise<void>
  open(): void
  close(): Promise<void>
}

type Kept = {
  readonly at: number
  readonly part: 'request' | 'reply'
  readonly resolve: () => void
}

export async function transactionGate(): Promise<TransactionGate> {
  let target = ''
  let kept: Kept | null = null
  const sent = new Set<string>()

  const server = createServer((request, response) => {
    // A killed service ends its connections within a request.
    void pass(request, response).catch(() => response.destroy())
  })
  const pass = async (request: IncomingMessage, response: ServerResponse) => {
    const body = await text(request)
    const transaction = transactionIn(body)
    const gate = transaction === null ? null : kept
    const isShut = gate !== null && sent.size >= gate.at
    if (transaction !== null) sent.add(transaction)
    if (isShut) return
    const isKept = gate !== null && sent.size >= gate.at
    if (isKept && gate.part === 'request') return gate.resolve()
    const headers = { 'content-type': 'application/json' }
    const reply = await (await fetch(target, { method: 'POST', headers, body })).text()
    if (isKept) return gate.resolve()
    response.writeHead(200, headers).end(reply)
  }
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    to: (rpcUrl) => {
      target = rpcUrl
      return `http://127.0.0.1:${port}`
    },
    keepBack: (at, part) =>
      new Promise((resolve) => {
        sent.clear()
        kept = { at, part, resolve }
      }),
    open: () => {
      kept = null
    },
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** The signed bytes; null for other requests. The service asks with empty ones whether the node has the method. */
function transactionIn(body: string): string | null {
  const { method, params } = JSON.parse(body) as { method?: string; params?: readonly string[] }
  const [bytes = '0x'] = params ?? []
  return method?.startsWith('eth_sendRawTransaction') && bytes !== '0x' ? bytes : null
}
