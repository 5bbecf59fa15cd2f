import { once } from 'node:events'
import type { AddressInfo, Socket } from 'node:net'
import { connect } from 'node:net'
import { Readable } from 'node:stream'
import type { FastifyInstance } from 'fastify'
import { describe, expect, onTestFinished, test } from 'vitest'
import { isTrustedProxy } from './proxy-trust.ts'
import { adminFixture } from './testing/admin-fixture.ts'
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

  test('an absolute request target with an invalid port is refused with the reason', async () => {
    const { app } = gatewayFixture()
    const reply = await exchange(app, 'GET http://a:99999/health HTTP/1.1\r\nHost: a')
    expect(bodyOf(reply)).toMatchObject({
      ...{ status: 400, detail: expect.stringContaining('is not a valid URL') },
    })
  })

  test('an absolute request target with a user behaves as its path for MCP', async () => {
    const { app } = gatewayFixture()
    const body = '{"jsonrpc":"2.0","id":1,"method":"ping"}'
    const lines = [
      ...['POST http://me:word@a/mcp HTTP/1.1', 'Host: a', `Content-Length: ${body.length}`],
      ...['Content-Type: application/json', 'Accept: application/json, text/event-stream'],
    ]
    expect(await exchange(app, lines.join('\r\n'), body)).toMatch(/^HTTP\/1\.1 200 /)
  })

  test('an unsupported method with an absolute target is 405 by its path', async () => {
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
    expect(bodyOf(reply)).toMatchObject({ code: 'header_too_large', charged: null })
  })

  test('what is not HTTP is 400 with a problem body', async () => {
    const { app } = gatewayFixture()
    const reply = await exchange(app, '\x16\x03\x01 hello')
    expect(reply).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/)
    expect(bodyOf(reply)).toMatchObject({ code: 'invalid_parameter', charged: null })
  })

  test('an unknown expectation is ignored, also on the admin port', async () => {
    const { app } = gatewayFixture({ payment: quotingGate })
    const reply = await exchange(app, 'GET /pulse/BTC HTTP/1.1\r\nHost: a\r\nExpect: foo')
    expect(reply).toMatch(/^HTTP\/1\.1 402 /)
    expect(reply).toContain('x-content-type-options: nosniff')
    const { admin } = adminFixture()
    const alive = await exchange(admin, 'GET /livez HTTP/1.1\r\nHost: localhost\r\nExpect: foo')
    expect(alive).toMatch(/^HTTP\/1\.1 200 /)
    expect(alive).toContain('x-content-type-options: nosniff')
  })

  test.each([
    [
      'a POST whose body does not arrive is 408: nothing was begun',
      'POST /mcp',
      /^HTTP\/1\.1 408 /,
    ],
    ['a GET, which does not wait for its body, may be charged: no response', 'GET /slow', /^$/],
  ])('%s', async (_what, line, expected) => {
    const { app } = gatewayFixture()
    app.get('/slow', () => new Promise(() => undefined))
    app.server.on('request', ({ socket }) => {
      const timedOut = Object.assign(new Error('late'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' })
      setImmediate(() => app.server.emit('clientError', timedOut, socket))
    })
    const lines = [`${line} HTTP/1.1`, 'Host: a', 'Content-Type: application/json']
    expect(await exchange(app, [...lines, 'Content-Length: 99'].join('\r\n'), '{')).toMatch(
      expected,
    )
  })

  test.each([
    ['two Host lines', 'Host: a\r\nHost: b'],
    ['the same Host line twice', 'Host: a\r\nhost: a'],
    ['two Host lines far apart', `Host: a\r\n${'x: y\r\n'.repeat(90)}HOST: b`],
    ['no Host line', 'X-Other: a'],
    ['a Host line with a path', 'Host: a/b'],
    ['a Host line with a user', 'Host: you@a'],
  ])('%s: 400 on every path, and nothing is handled', async (_what, lines) => {
    const { app } = gatewayFixture({ payment: quotingGate })
    onTestFinished(() => app.close())
    let handled = 0
    app.addHook('preHandler', (_request, _reply, done) => {
      handled += 1
      done()
    })
    const good = 'GET /health HTTP/1.1\r\nHost: a\r\n\r\n'
    const bad = ['/pulse/BTC', '/mcp', '/nowhere']
      .map((path) => `GET ${path} HTTP/1.1\r\n${lines}\r\n\r\n`)
      .join('')
    const reply = await exchange(app, `${good}${bad}GET /health HTTP/1.1\r\nHost: a`)
    const statuses = Array.from(reply.matchAll(/HTTP\/1\.1 (\d+)/g), ([, status]) => status)
    expect(statuses).toEqual(['200', '400', '400', '400', '200'])
    expect(reply).toContain('"param":"Host"')
    expect(handled).toBe(2)
  })

  test('more header lines than are read: 431, whatever stands in the last', async () => {
    const { app } = gatewayFixture({ payment: quotingGate })
    const many = 'x: y\r\n'.repeat(150)
    const reply = await exchange(app, `GET /pulse/BTC HTTP/1.1\r\nHost: a\r\n${many}Host: b`)
    expect(reply).toMatch(/^HTTP\/1\.1 431 /)
    expect(bodyOf(reply)).toMatchObject({ code: 'header_too_large', charged: null })
  })

  test.each(['a', 'a.example:8402', '127.0.0.1', '[::1]:8402', ''])(
    'Host: %s is served',
    async (host) => {
      const { app } = gatewayFixture()
      expect(await exchange(app, `GET /health HTTP/1.1\r\nHost: ${host}`)).toMatch(
        /^HTTP\/1\.1 200 /,
      )
    },
  )

  test('pending requests of one connection are bounded, and further ones are not processed', async () => {
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
    expect(reply.slice(reply.lastIndexOf('HTTP/1.1'))).toContain('64 requests are pending')
    expect(seen).toBe(65)
  })

  test('what stands behind an answer that closes the connection is not begun', async () => {
    const { app } = gatewayFixture()
    let begun = 0
    app.addHook('preHandler', (_request, _reply, done) => {
      begun += 1
      done()
    })
    const closing = 'GET /coins HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'
    const reply = await exchange(app, `${closing}GET /pulse/BTC HTTP/1.1\r\nHost: a`)
    expect(reply.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200'])
    expect(begun).toBe(1)
  })

  test('answered requests no longer count', async () => {
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
    expect(server.maxHeadersCount).toBe(101)
    expect(server.maxConnections).toBe(1_000)
  })
})

describe('connections of one address', () => {
  const MANY = 200
  const BOUND = 128

  test('are bounded before a byte is read, and those of others are not', async () => {
    const { app, opened, ask } = await listening()
    let seen = 0
    app.server.on('request', () => {
      seen += 1
    })
    const request = 'GET /health HTTP/1.1\r\nHost: a\r\n\r\n'
    const sockets = await opened('127.0.0.1', MANY, request)
    await expect.poll(() => sockets.filter(({ isClosed }) => isClosed).length).toBe(MANY - BOUND)
    await expect.poll(() => seen).toBe(BOUND)
    const refused = sockets.filter(({ isClosed }) => isClosed)
    expect(refused[0]?.text).toMatch(/^HTTP\/1\.1 429 Too Many Requests\r\n/)
    expect(bodyOf(refused[0]?.text ?? '')).toMatchObject({
      code: 'rate_limited',
      retryable: true,
      charged: false,
      detail: expect.stringContaining('from this IP address'),
    })
    expect(await ask('127.0.0.2')).toMatch(/^HTTP\/1\.1 200 /)
  })

  test('may be opened again once others have ended', async () => {
    const { opened, ask } = await listening()
    const sockets = await opened('127.0.0.1', BOUND)
    expect(await ask('127.0.0.1')).toMatch(/^HTTP\/1\.1 429 /)
    sockets[0]?.socket.destroy()
    await expect.poll(() => ask('127.0.0.1')).toMatch(/^HTTP\/1\.1 200 /)
  })

  test.each([
    { limit: '1,000', openFilesMax: undefined, connectionsMax: 1_000 },
    { limit: 'a third of what the process may open', openFilesMax: 301, connectionsMax: 100 },
  ])('that are idle make room for another address below $limit', async (limits) => {
    const { openFilesMax, connectionsMax } = limits
    const { app, opened } = await listening(openFilesMax === undefined ? {} : { openFilesMax })
    expect(app.server.maxConnections).toBe(connectionsMax)
    // None of nine has more than another, and together they want more than there are.
    for (let round = 0; round < connectionsMax / 8; round += 1)
      for (let host = 1; host <= 9; host += 1) await opened(`127.0.0.${host}`, 1)
    for (let host = 10; host <= 40; host += 1) {
      const request = 'GET /health HTTP/1.1\r\nHost: a\r\n\r\n'
      const [other] = await opened(`127.0.0.${host}`, 1, request)
      await expect.poll(() => other?.text).toMatch(/^HTTP\/1\.1 200 /)
    }
  })

  test('that are at work are not closed for another address', async () => {
    const [held, release] = gate()
    const { opened } = await listening({
      payment: (paid) => {
        paid.addHook('preHandler', () => held)
      },
    })
    const request = 'GET /pulse/BTC HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'
    const working = await opened('127.0.0.1', BOUND, request)
    for (let host = 2; host <= 9; host += 1) await opened(`127.0.0.${host}`, 110)
    await opened('127.0.0.10', 50)
    expect(working.filter(({ isClosed }) => isClosed)).toEqual([])
    release()
    for (const { ended } of working) expect(await ended).toMatch(/^HTTP\/1\.1 200 /)
  })

  test('that are at work are not closed when no more are accepted', async () => {
    const [held, release] = gate()
    const { opened, openedInTurn } = await listening({
      payment: (paid) => {
        paid.addHook('preHandler', () => held)
      },
    })
    const request = 'GET /pulse/BTC HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'
    const working = await openedInTurn(1_000, request)
    await Promise.all((await opened('127.0.0.1', 3)).map(({ ended }) => ended))
    expect(working.filter(({ isClosed }) => isClosed)).toEqual([])
    release()
    for (const { ended } of working) expect(await ended).toMatch(/^HTTP\/1\.1 200 /)
  })

  test('that are idle make room where no address has more than one', async () => {
    const { opened, ask } = await listening()
    const request = 'GET /health HTTP/1.1\r\nHost: a\r\n\r\n'
    for (let host = 0; host < 1_000; host += 1)
      await opened(`127.1.${Math.trunc(host / 250)}.${1 + (host % 250)}`, 1, request)
    expect(await ask('127.0.0.1')).toMatch(/^HTTP\/1\.1 200 /)
  })

  test.each([
    {
      what: 'whose request does not end',
      request: 'POST /mcp HTTP/1.1\r\nHost: a\r\nContent-Length: 99\r\n\r\n{',
    },
    {
      what: 'whose answer does not end',
      request: 'GET /endless HTTP/1.1\r\nHost: a\r\n\r\n',
    },
  ])('$what make room for smaller addresses', async ({ request }) => {
    const { openedInTurn, ask } = await listening()
    await openedInTurn(1_000, request)
    // At once, so that none of them has begun when the next one is accepted.
    const hosts = Array.from({ length: 50 }, (_, host) => `127.0.1.${host}`)
    for (const answer of await Promise.all(hosts.map(ask)))
      expect(answer).toMatch(/^HTTP\/1\.1 200 /)
  })

  test('that are idle make room for a trusted proxy', async () => {
    const { opened } = await listening({ trustProxy: ['127.0.0.1'] })
    const request = 'GET /health HTTP/1.1\r\nHost: a\r\n\r\n'
    for (let host = 2; host <= 9; host += 1) await opened(`127.0.0.${host}`, 120, request)
    for (let call = 0; call < MANY; call += 1) {
      const [ofProxy] = await opened('127.0.0.1', 1, request)
      if (ofProxy !== undefined) await Promise.race([once(ofProxy.socket, 'data'), ofProxy.ended])
      expect(ofProxy?.text).toMatch(/^HTTP\/1\.1 200 /)
    }
  })

  test('of a trusted proxy are not bounded, and those that pass it by are', async () => {
    const { opened } = await listening({ trustProxy: ['127.0.0.1'] })
    const ofProxy = await opened('127.0.0.1', MANY)
    const direct = await opened('127.0.0.2', MANY)
    await expect.poll(() => direct.filter(({ isClosed }) => isClosed).length).toBe(MANY - BOUND)
    expect(ofProxy.filter(({ isClosed }) => isClosed)).toEqual([])
  })

  test.each([
    { trust: 1, loopback: true, other: true },
    { trust: 0, loopback: false, other: false },
    { trust: ['loopback'], loopback: true, other: false },
    { trust: ['uniquelocal', '::1'], loopback: false, other: true },
  ])('trusting $trust', ({ trust, loopback, other }) => {
    const isProxy = isTrustedProxy(trust)
    for (const address of ['127.0.0.5', '::ffff:127.0.0.5']) expect(isProxy(address)).toBe(loopback)
    for (const address of ['10.1.2.3', 'fd00::7']) expect(isProxy(address)).toBe(other)
    expect(isProxy('fe80::1%eth0')).toBe(trust === 1)
  })
})

/** A gateway, and sockets to it from any loopback address. */
async function listening(options: Parameters<typeof gatewayFixture>[0] = {}) {
  const { app } = gatewayFixture(options)
  app.get('/endless', (_request, reply) => {
    const begun = new Readable({ read: () => undefined })
    begun.push('begun')
    return reply.send(begun)
  })
  const sockets: Socket[] = []
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    return app.close()
  })
  await app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = app.server.address() as AddressInfo
  const open = async (localAddress: string, text = '') => {
    const socket = connect({ port, host: '127.0.0.1', localAddress })
    sockets.push(socket)
    // A reset says no more than that there is no more to come.
    socket.on('error', () => undefined)
    let got = ''
    socket.on('data', (chunk) => {
      got += String(chunk)
    })
    const ended = new Promise<string>((resolve) => {
      socket.once('close', () => resolve(got))
    })
    await once(socket, 'connect')
    socket.write(text)
    return {
      socket,
      ended,
      get text() {
        return got
      },
      get isClosed() {
        return socket.closed
      },
    }
  }
  return {
    app,
    opened: (localAddress: string, count: number, text?: string) =>
      Promise.all(Array.from({ length: count }, () => open(localAddress, text))),
    /** Of twenty addresses. The next one is opened when the request of the one before was received. */
    openedInTurn: async (count: number, text: string) => {
      const all: Awaited<ReturnType<typeof open>>[] = []
      while (all.length < count) {
        const received = once(app.server, 'request')
        all.push(await open(`127.0.0.${2 + (all.length % 20)}`, text))
        await received
      }
      return all
    },
    ask: async (localAddress: string) =>
      (await open(localAddress, 'GET /health HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'))
        .ended,
  }
}

function gate(): readonly [Promise<void>, () => void] {
  let open = () => {}
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return [opened, open]
}

/** Sends one request on a socket of its own and reads until the server closes it. */
async function exchange(app: FastifyInstance, head: string, body = ''): Promise<string> {
  onTestFinished(() => app.close())
  await app.listen({ host: '127.0.0.1', port: 0 })
  const address = app.server.address()
  if (address === null || typeof address === 'string') throw new Error('no TCP address')
  const socket = connect(address.port, '127.0.0.1')
  socket.write(`${head}\r\nConnection: close\r\n\r\n${body}`)
  let reply = ''
  for await (const chunk of socket) reply += String(chunk)
  return reply
}

function bodyOf(reply: string): Record<string, unknown> {
  return JSON.parse(reply.slice(reply.indexOf('\r\n\r\n') + 4))
}
