import assert from 'node:assert/strict'
import type { IncomingMessage, Server } from 'node:http'

/** @param port 0 for any. @returns the port */
export async function listen(server: Server, host: string, port: number): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, resolve)
  })
  const address = server.address()
  assert(address !== null && typeof address === 'object', 'the server listens on a port')
  return address.port
}

/** Ends all connections. */
export function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve())
    server.closeAllConnections()
  })
}

/** Null where it is too long. */
export async function bodyOf(request: IncomingMessage, bytesMax: number): Promise<string | null> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes <= bytesMax) chunks.push(chunk)
  }
  return bytes > bytesMax ? null : Buffer.concat(chunks).toString('utf8')
}
