import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { startRoundRobinProxy } from './round-robin-proxy.ts'

const cleanups: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

async function gateway(
  answer: (request: IncomingMessage, reply: ServerResponse) => void,
): Promise<{ readonly port: number; readonly server: Server }> {
  const server = createServer(answer)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  cleanups.push(
    () =>
      new Promise((resolve) => {
        server.close(resolve)
        server.closeAllConnections()
      }),
  )
  return { port: (server.address() as AddressInfo).port, server }
}

async function proxied(...ports: readonly number[]): Promise<string> {
  const { port, server } = await gateway(() => undefined)
  await new Promise((resolve) => server.close(resolve))
  const proxy = await startRoundRobinProxy(port, ports)
  cleanups.push(() => proxy.close())
  return proxy.url
}

test('requests of one caller go to both gateways in turn, with method, headers and body', async () => {
  const echo = (name: string) => async (request: IncomingMessage, reply: ServerResponse) => {
    let body = ''
    for await (const chunk of request) body += String(chunk)
    reply.writeHead(402, { 'payment-required': 'x' })
    reply.end([name, request.method, request.url, request.headers['a'], body].join(' '))
  }
  const one = await gateway(echo('one'))
  const two = await gateway(echo('two'))
  const url = await proxied(one.port, two.port)
  const texts: string[] = []
  for (let call = 0; call < 4; call += 1) {
    const response = await fetch(`${url}/mcp?x`, {
      method: 'POST',
      headers: { a: 'b' },
      body: 'text',
    })
    expect([response.status, response.headers.get('payment-required')]).toEqual([402, 'x'])
    texts.push(await response.text())
  }
  const [first, second] = ['one', 'two'].map((name) => `${name} POST /mcp?x b text`)
  expect(texts).toEqual([second, first, second, first])
})

test('a gateway that is down is skipped', async () => {
  const up = await gateway((_request, reply) => reply.end('up'))
  const down = await gateway(() => undefined)
  await new Promise((resolve) => down.server.close(resolve))
  const url = await proxied(up.port, down.port)
  for (let call = 0; call < 4; call += 1) expect(await (await fetch(url)).text()).toBe('up')
})

test('a request whose caller has gone ends at the gateway as well', async () => {
  const ended = Promise.withResolvers<void>()
  const streaming = await gateway((_request, reply) => {
    reply.once('close', () => ended.resolve())
    reply.write('event: service\n\n')
  })
  const url = await proxied(streaming.port)
  const caller = new AbortController()
  await fetch(url, { signal: caller.signal })
  caller.abort()
  await ended.promise
})

test('a request that a gateway received is not repeated at another one', async () => {
  let received = 0
  const dying = await gateway((request) => {
    received += 1
    request.socket.destroy()
  })
  const url = await proxied(dying.port, dying.port)
  expect((await fetch(url)).status).toBe(502)
  expect(received).toBe(1)
})
