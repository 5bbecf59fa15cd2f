import { once } from 'node:events'
import type { RequestListener, Server } from 'node:http'
import { createServer } from 'node:http'
import { firstValueFrom, lastValueFrom, take, tap, toArray } from 'rxjs'
import { afterEach, expect, test } from 'vitest'
import { reasonOf } from '../domain/errors.ts'
import { followText, getText, postJson } from './http-exchange.ts'

const servers: Server[] = []
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections()
    server.close()
  }
})

async function listen(handler: RequestListener): Promise<string> {
  const server = createServer(handler)
  servers.push(server)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  return typeof address === 'object' && address !== null ? `http://127.0.0.1:${address.port}` : ''
}

test('posts JSON and emits the reply whatever its status', async () => {
  const url = await listen((request, response) => {
    let body = ''
    request.on('data', (chunk) => (body += chunk))
    request.on('end', () => {
      response.writeHead(422)
      response.end(`${request.method} ${request.headers['content-type']} ${body}`)
    })
  })
  expect(await firstValueFrom(postJson(url, { type: 'meta' }))).toEqual({
    status: 422,
    body: 'POST application/json {"type":"meta"}',
  })
})

test('a body beyond the bound is refused', async () => {
  const url = await listen((_, response) => {
    response.end(Buffer.alloc(16 * 1024 * 1024 + 1, 0x20))
  })
  await expect(firstValueFrom(postJson(url, {}))).rejects.toMatchObject({
    code: 'reply_too_large',
  })
})

test('a broken exchange is an operating error', async () => {
  const url = await listen((request) => request.socket.destroy())
  await expect(firstValueFrom(postJson(url, {}))).rejects.toMatchObject({
    name: 'OperatingError',
    code: 'request_failed',
  })
})

test('no failure contains the key of a provider', async () => {
  const large = await listen((_, response) => response.end(Buffer.alloc(16 * 1024 * 1024 + 1)))
  const refusing = await listen((_, response) => response.writeHead(401).end())
  for (const url of [large, refusing, 'http://127.0.0.1:1']) {
    const { host } = new URL(url)
    const secret = `http://user:secret@${host}/secret?key=secret`
    const call = url === refusing ? firstValueFrom(followText(secret)) : undefined
    const reason = await (call ?? firstValueFrom(getText(secret))).then(String, reasonOf)
    expect(reason).toContain(host)
    expect(reason).not.toContain('secret')
  }
})

test('unsubscribing aborts the exchange', async () => {
  let closed: Promise<unknown> | undefined
  let arrived = () => {}
  const received = new Promise<void>((resolve) => {
    arrived = resolve
  })
  const url = await listen((request) => {
    closed = once(request.socket, 'close')
    arrived()
  })
  const subscription = postJson(url, {}).subscribe()
  await received
  subscription.unsubscribe()
  await expect(closed).resolves.toBeDefined()
})

test('gets with the headers that were asked for', async () => {
  const url = await listen((request, response) => {
    response.end(`${request.method} ${request.headers.authorization}`)
  })
  expect(await firstValueFrom(getText(url, { authorization: 'Bearer k' }))).toEqual({
    status: 200,
    body: 'GET Bearer k',
  })
})

test('follows a body piece by piece, characters whole, until it ends', async () => {
  const bytes = Buffer.from('data: ß\n\n')
  let sendRest = () => {}
  const url = await listen((_, response) => {
    response.write(bytes.subarray(0, 7))
    sendRest = () => response.end(bytes.subarray(7))
  })
  // The second half of the character is sent when the first has arrived.
  const pieces = await lastValueFrom(
    followText(url).pipe(
      tap(() => sendRest()),
      toArray(),
    ),
  )
  expect(pieces).toEqual(['data: ', 'ß\n\n'])
})

test('a refused stream reports its status', async () => {
  const url = await listen((_, response) => {
    response.writeHead(401)
    response.end('no key')
  })
  await expect(firstValueFrom(followText(url))).rejects.toMatchObject({
    code: 'http_status',
    status: 401,
  })
})

test('unsubscribing ends what is followed', async () => {
  let closed: Promise<unknown> | undefined
  const url = await listen((request, response) => {
    closed = once(request.socket, 'close')
    response.write('first')
  })
  expect(await firstValueFrom(followText(url).pipe(take(1)))).toBe('first')
  await expect(closed).resolves.toBeDefined()
})
