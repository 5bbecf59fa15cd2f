import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Registry } from 'prom-client'
import { listeningOn } from '../listening-on.ts'

/** Serves `/metrics` alone. @throws OperatingError if the port cannot be used */
export async function metricsServer(
  metrics: Registry,
  host: string,
  port: number,
): Promise<{ readonly port: number; close(): void }> {
  const server = createServer((request, response) => {
    if (request.url !== '/metrics') {
      response.writeHead(404).end()
      return
    }
    void metrics.metrics().then((text) => {
      response.writeHead(200, { 'content-type': metrics.contentType }).end(text)
    })
  })
  const listening = new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(port, host, resolve)
  })
  await listeningOn('--metrics-port', listening)
  return { port: (server.address() as AddressInfo).port, close: () => void server.close() }
}
