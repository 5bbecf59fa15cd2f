import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { connect } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { describe, expect, onTestFinished, test } from 'vitest'
import { gatewayFixture, quotingGate } from './testing/gateway-fixture.ts'

describe('on a real socket', () => {
  test('an absolute request target behaves as its path', async () => {
    const { app } = gatewayFixture({ payment: quotingGate })
    const reply = await exchange(
      app,
      'GET http://evil.example/pulse/BTC?utm_source=x HTTP/1.1\r\nHost: a',
    )
    expect(reply).toMatch(/^HTTP\/1\.1 402 /)
  })

  test('an absolute request target is refused by its path', async () => {
    const { app } = gatewayFixture()
    const reply = await exchange(app, 'GET http://evil.example/pulse/NOPE HTTP/1.1\r\nHost: a')
    expect(bodyOf(reply)).toMatchObject({ code: 'invalid_coin', instance: '/pulse/NOPE' })
  })

  test('a method that is not ours is told by the path of an absolute target', async () => {
    const { app } = gatewayFixture()
    const reply = await exchange(app, 'DELETE http://evil.example/health HTTP/1.1\r\nHost: a')
    expect(reply).toMatch(/^HTTP\/1\.1 405 /)
  })

  test('a literal placeholder passes the parser', async () => {
    const { app } = gatewayFixture({ payment: quotingGate })
    const reply = await exchange(app, 'GET /pulse/{coin} HTTP/1.1\r\nHost: a')
    expect(reply).toMatch(/^HTTP\/1\.1 402 /)
  })

  test('HEAD sends no byte of a body', async () => {
    const { app } = gatewayFixture()
    const reply = await exchange(app, 'HEAD /pulse/BTC HTTP/1.1\r\nHost: a')
    expect(reply).toMatch(/^HTTP\/1\.1 200 /)
    expect(reply.slice(reply.indexOf('\r\n\r\n') + 4)).toBe('')
  })

  test('too large a header is 431 with a problem body', async () => {
    const { app } = gatewayFixture()
    const large = `X-PAYMENT: ${'a'.repeat(20_000)}`
    const reply = await exchange(app, `GET /pulse/BTC HTTP/1.1\r\nHost: a\r\n${large}`)
    expect(reply).toMatch(/^HTTP\/1\.1 431 Request Header Fields Too Large\r\n/)
    expect(reply).toContain('content-type: application/problem+json')
    expect(reply).toContain('x-content-type-options: nosniff')
    expect(bodyOf(reply)).toMatchObject({ code: 'header_too_large', charged: false })
  })

  test('what is not HTTP is 400 with a problem body', async () => {
    const { app } = gatewayFixture()
    const reply = await exchange(app, '\x16\x03\x01 hello')
    expect(reply).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/)
    expect(bodyOf(reply)).toMatchObject({ code: 'invalid_parameter', charged: false })
  })

  test('what waits on one connection is bounded, and nothing beyond is looked at', async () => {
    const { app } = gatewayFixture()
    let seen = 0
    app.addHook('preHandler', (_request, _reply, done) => {
      seen += 1
      done()
    })
    const request = 'GET /coins HTTP/1.1\r\nHost: a\r\n\r\n'
    const reply = await exchange(app, `${request.repeat(500)}GET /coins HTTP/1.1\r\nHost: a`)
    const statuses = Array.from(reply.matchAll(/HTTP\/1\.1 (\d+)/g), ([, status]) => status)
    expect(statuses, 'the one at work, 64 that wait, and the last word').toEqual([
      ...Array.from({ length: 65 }, () => '200'),
      '429',
    ])
    expect(reply.slice(reply.lastIndexOf('HTTP/1.1'))).toContain('64 requests wait')
    expect(seen).toBe(65)
  })

  test('what waited and is answered counts no more', async () => {
    const { app } = gatewayFixture()
    onTestFinished(() => app.close())
    await app.listen({ host: '127.0.0.1', port: 0 })
    const { port } = app.server.address() as AddressInfo
    const socket = connect(port, '127.0.0.1')
    let got = ''
    for (let turn = 1; turn <= 4; turn += 1) {
      socket.write('GET /health HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(40))
      while (got.split('HTTP/1.1 200').length <= 40 * turn) {
        const [chunk] = await once(socket, 'data')
        got += String(chunk)
        expect(got).not.toContain('HTTP/1.1 429')
      }
    }
    socket.destroy()
  })

  test('time, size and number are bounded', async () => {
    const { server } = gatewayFixture().app
    expect(server.timeout, 'of a caller that reads nothing').toBe(120_000)
    expect(server.headersTimeout).toBe(5_000)
    expect(server.requestTimeout).toBe(10_000)
    expect(server.keepAliveTimeout).toBe(65_000)
    expect(server.maxHeadersCount).toBe(100)
    expect(server.maxConnections).toBe(1_000)
  })
})

/** Sends one request on a socket of its own and reads until the server closes it. */
async function exchange(app: FastifyInstance, head: string): Promise<string> {
  onTestFinished(() => app.close())
  await app.listen({ host: '127.0.0.1', port: 0 })
  const address = app.server.address()
  if (address === null || typeof address === 'string') throw new Error('no TCP address')
  const socket = connect(address.port, '127.0.0.1')
  socket.write(`${head}\r\nConnection: close\r\n\r\n`)
  let reply = ''
  for await (const chunk of socket) reply += String(chunk)
  return reply
}

function bodyOf(reply: string): Record<string, unknown> {
  return JSON.parse(reply.slice(reply.indexOf('\r\n\r\n') + 4))
}
