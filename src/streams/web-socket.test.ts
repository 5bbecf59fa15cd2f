import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { Observable } from 'rxjs'
import { NEVER, of } from 'rxjs'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { reasonOf } from '../domain/errors.ts'
import type { Connect } from './runtime.ts'
import { webSocketConnector } from './web-socket.ts'

/** Nobody listens there. */
const NOBODY = 'ws://127.0.0.1:1'

const servers: WebSocketServer[] = []
afterEach(() => {
  for (const server of servers.splice(0)) {
    for (const client of server.clients) client.terminate()
    server.close()
  }
})

const connectWebSocket = webSocketConnector({
  nowMs: () => performance.now(),
  afterOthers: (task) => setImmediate(task),
})

async function listen(onPeer: (peer: WebSocket, socket: Socket) => void): Promise<string> {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1', perMessageDeflate: true })
  servers.push(server)
  server.on('connection', (peer, { socket }) => onPeer(peer, socket))
  await once(server, 'listening')
  const address = server.address()
  return typeof address === 'object' && address !== null ? `ws://127.0.0.1:${address.port}` : ''
}

type Heard = { readonly frames: readonly string[]; readonly error: unknown }

function hear(stream: Observable<string>): Promise<Heard> {
  return new Promise((resolve) => {
    const frames: string[] = []
    stream.subscribe({
      next: (text) => frames.push(text),
      error: (error) => resolve({ frames, error }),
      complete: () => resolve({ frames, error: undefined }),
    })
  })
}

test('sends what is outbound, emits frames in order, binary ones as the texts they are not, and errors when the peer closes', async () => {
  const url = await listen((peer) => {
    expect(peer.extensions, 'no compression is offered').toBe('')
    peer.on('message', (data) => {
      peer.send(`echo ${String(data)}`)
      peer.send(Buffer.from([1, 0xff]), { binary: true })
      peer.send('last')
      peer.close(1000)
    })
  })
  const heard = await hear(connectWebSocket(url, of('hello')))
  expect(heard.frames).toEqual(['echo hello', '\u0001\ufffd', 'last'])
  expect(heard.error).toMatchObject({ name: 'OperatingError', code: 'socket_closed' })
})

test('a frame beyond the bound ends the connection', async () => {
  const url = await listen((peer) => peer.send('x'.repeat(8 * 1024 * 1024 + 1)))
  const heard = await hear(connectWebSocket(url, NEVER))
  expect(heard).toMatchObject({ frames: [], error: { code: 'socket_failed' } })
})

test('a server that refuses the handshake is quoted with its status', async () => {
  const server = createServer()
  server.on('upgrade', (_, socket) => socket.end('HTTP/1.1 451 Unavailable\r\n\r\n'))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  const heard = await hear(connectWebSocket(`ws://127.0.0.1:${port}`, NEVER))
  server.close()
  expect(heard).toMatchObject({ frames: [], error: { code: 'http_status', status: 451 } })
})

test('errors when nobody listens', async () => {
  const heard = await hear(connectWebSocket(NOBODY, NEVER))
  expect(heard).toMatchObject({ frames: [], error: { code: 'socket_failed' } })
})

test('no failure contains the key of a provider', async () => {
  const url = await listen((peer) => peer.close())
  const { port } = new URL(url)
  const server = createServer()
  server.on('upgrade', (_, socket) => socket.end('HTTP/1.1 401 Unauthorized\r\n\r\n'))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port: refusing } = server.address() as AddressInfo
  for (const one of [port, refusing, 1]) {
    const { error } = await hear(
      connectWebSocket(`ws://user:secret@127.0.0.1:${one}/secret?key=secret`, NEVER),
    )
    expect(reasonOf(error)).toContain(`127.0.0.1:${one}`)
    expect(reasonOf(error)).not.toContain('secret')
  }
  server.close()
})

test('unsubscribing tears the socket down at once, also from a peer that would not answer', async () => {
  let closed: Promise<unknown> | undefined
  const url = await listen((peer) => {
    closed = once(peer, 'close')
    peer.send('first')
  })
  await new Promise<void>((resolve) => {
    const subscription = connectWebSocket(url, NEVER).subscribe(() => {
      subscription.unsubscribe()
      resolve()
    })
  })
  await expect(closed).resolves.toContain(1006)
})

test('unsubscribing before the connection stands raises nothing', async () => {
  let errors = 0
  const url = await listen(() => {})
  const subscription = connectWebSocket(url, NEVER).subscribe({ error: () => (errors += 1) })
  subscription.unsubscribe()
  await hear(connectWebSocket(NOBODY, NEVER))
  expect(errors).toBe(0)
})

test('lets others run amid a burst, and loses none of it', async () => {
  const burst = Array.from({ length: 400 }, (_, at) => `${at} ${'x'.repeat(4_000)}`)
  const url = await listen((peer) => {
    for (const text of burst) peer.send(text)
    peer.close()
  })
  let [nowMs, turns] = [0, 0]
  const connect = webSocketConnector({
    nowMs: () => nowMs++,
    afterOthers: (task) => {
      turns += 1
      setImmediate(task)
    },
  })
  const { frames, error } = await hear(connect(url, NEVER))
  expect(frames).toEqual(burst)
  expect(error, 'that it ended is told after all frames').toMatchObject({ code: 'socket_closed' })
  expect(
    turns,
    'each of five frames, as it takes a millisecond to look at the clock',
  ).toBeGreaterThan(60)
})

describe('while frames wait for others to run', () => {
  /** What would run once the others have; a test decides when that is. */
  let later: (() => void)[]
  let connect: Connect
  beforeEach(() => {
    // Its own: a socket of the test before may still report that it closed.
    const tasks: (() => void)[] = []
    later = tasks
    let nowMs = 0
    connect = webSocketConnector({
      nowMs: () => nowMs++,
      afterOthers: (task) => tasks.push(task),
    })
  })

  async function letOthersRun(): Promise<void> {
    for (const task of later.splice(0)) task()
    await new Promise((resolve) => setImmediate(resolve))
  }

  test('their peer is kept waiting instead of filling our memory', async () => {
    const sent = Array.from({ length: 500 }, (_, at) => `${at} ${'x'.repeat(100_000)}`)
    let isAllTaken = false
    const url = await listen((peer) => {
      for (const text of sent) peer.send(text)
      peer.send('last', () => {
        isAllTaken = true
      })
    })
    const frames: string[] = []
    const subscription = connect(url, NEVER).subscribe((text) => frames.push(text))
    const others = await listen((peer) => peer.on('message', (data) => peer.send(String(data))))
    const other = new WebSocket(others)
    await once(other, 'open')
    for (let trip = 0; trip < 1_000 && !isAllTaken; trip += 1) {
      other.send('round trip')
      await once(other, 'message')
    }
    other.terminate()
    expect(isAllTaken, '50 MB are more than the system keeps for us').toBe(false)
    while (frames.length <= sent.length) await letOthersRun()
    subscription.unsubscribe()
    expect(frames).toEqual([...sent, 'last'])
  })

  test('a connection that is refused harms nobody, and its failure follows them', async () => {
    const url = await listen((peer, socket) => {
      // In one packet, so that some of them wait.
      socket.cork()
      for (let at = 0; at < 20; at += 1) peer.send(String(at))
      socket.uncork()
    })
    const emit = vi.spyOn(WebSocket.prototype, 'emit')
    onTestFinished(() => emit.mockRestore())
    const arrived = (event: string, from: string) =>
      emit.mock.calls.filter(
        ([name], at) => name === event && (emit.mock.contexts[at] as WebSocket).url === `${from}/`,
      ).length
    const emitted: string[] = []
    const subscription = connect(url, NEVER).subscribe((text) => emitted.push(text))
    while (later.length === 0) await new Promise((resolve) => setImmediate(resolve))
    connect(NOBODY, NEVER).subscribe({ error: ({ code }) => emitted.push(code) })
    while (arrived('error', NOBODY) === 0) await new Promise((resolve) => setImmediate(resolve))
    const frames = Array.from({ length: arrived('message', url) }, (_, at) => String(at))
    expect(emitted.length, 'some of the frames wait').toBeLessThan(frames.length)
    while (emitted.length <= frames.length) await letOthersRun()
    subscription.unsubscribe()
    // Frames that arrived after the refusal are behind it.
    expect(emitted.slice(0, frames.length + 1)).toEqual([...frames, 'socket_failed'])
  })
})
