import { createServer } from 'node:net'

/** The preferred port if it is free, otherwise any. */
export function freePort(wished = 0): Promise<number> {
  const tryPort = (port: number) =>
    new Promise<number>((resolve, reject) => {
      const server = createServer()
      server.once('error', reject)
      server.listen(port, '127.0.0.1', () => {
        const address = server.address()
        const found = typeof address === 'object' && address !== null ? address.port : port
        server.close(() => resolve(found))
      })
    })
  return tryPort(wished).catch(() => tryPort(0))
}
