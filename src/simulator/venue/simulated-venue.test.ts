import { once } from 'node:events'
import { request } from 'node:http'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { ManualClock } from '../../../test/support/manual-clock.ts'
import { seededMarket } from '../market/seeded-market.ts'
import type { SimulatedVenue } from './simulated-venue.ts'
import { startSimulatedVenue } from './simulated-venue.ts'

const startMs = Date.UTC(2026, 9, 7, 15, 7, 33, 211)
const jsonHeaders = { 'content-type': 'application/json' }

describe('the simulated venue on its sockets', () => {
  let venue: SimulatedVenue
  let clock: ManualClock

  beforeEach(async () => {
    clock = new ManualClock(startMs)
    venue = await startSimulatedVenue({
      market: seededMarket({ seed: 5, startMs }),
      clock,
      port: 0,
    })
  })

  afterEach(() => venue.close())

  const open = async (): Promise<WebSocket> => {
    const socket = new WebSocket(venue.wsUrl)
    await once(socket, 'open')
    return socket
  }

  /** Sends a ping and waits for its pong: everything sent before has been handled by then. */
  const settle = async (socket: WebSocket): Promise<void> => {
    socket.send('{"method":"ping"}')
    for (;;) {
      const [data] = await once(socket, 'message')
      if (String(data) === '{"channel":"pong"}') return
    }
  }

  test('reports its addresses', () => {
    expect(venue.wsUrl).toMatch(/^ws:\/\/127\.0\.0\.1:\d+\/ws$/)
    expect(venue.httpUrl).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/info$/)
    expect(venue.clockShiftMs).toBeUndefined()
  })

  test.each([
    ['a request', 'POST', '/info', jsonHeaders, '{"type":"exchangeStatus"}', 200],
    ['another content type', 'POST', '/info', { 'content-type': 'text/plain' }, '{}', 415],
    ['another method', 'GET', '/info', {}, null, 405],
    ['another path', 'POST', '/exchange', jsonHeaders, '{}', 404],
    ['bad JSON', 'POST', '/info', jsonHeaders, '{', 400],
    ['an unknown dex', 'POST', '/info', jsonHeaders, '{"type":"meta","dex":"nope"}', 500],
    ['a huge body', 'POST', '/info', jsonHeaders, ' '.repeat(100_000), 413],
  ])('answers %s', async (_, method, path, headers, body, status) => {
    const response = await fetch(new URL(path, venue.httpUrl), { method, headers, body })
    expect(response.status).toBe(status)
    const isJson = response.headers.get('content-type') === 'application/json'
    expect(isJson).toBe(status === 200 || status === 500)
    await response.text()
  })

  test('answers a target that is no URL', async () => {
    const { hostname, port } = new URL(venue.httpUrl)
    const answered = request({ hostname, port, path: '//' }).end()
    const [response] = await once(answered, 'response')
    expect(response.resume().statusCode).toBe(404)
  })

  test('no header states limits, and no reply is compressed', async () => {
    const read = async (): Promise<{ status: number; names: string[] }> => {
      const headers = { ...jsonHeaders, 'accept-encoding': 'gzip, br' }
      const body = '{"type":"perpDexs"}'
      const response = await fetch(venue.httpUrl, { method: 'POST', headers, body })
      await response.text()
      return { status: response.status, names: [...response.headers.keys()] }
    }
    const replies = await Promise.all(Array.from({ length: 61 }, read))
    const statuses = replies.map(({ status }) => status)
    expect(statuses.toSorted()).toEqual([...Array(60).fill(200), 429])
    for (const { names } of replies) {
      expect(names).not.toContain('content-encoding')
      expect(names.filter((name) => /limit|retry/.test(name))).toEqual([])
    }
  })

  test('a request that hangs stays open until the client gives up; then others are answered', async () => {
    const body = '{"type":"exchangeStatus"}'
    const ask = (signal: AbortSignal | null = null): Promise<Response> =>
      fetch(venue.httpUrl, { method: 'POST', headers: jsonHeaders, body, signal })
    venue.inject({ kind: 'rest-outage', how: 'hang', durationMs: 5000 })
    const patience = new AbortController()
    const hanging = ask(patience.signal)
    const socket = await open()
    const first = await Promise.race([
      hanging.then(() => 'answered'),
      settle(socket).then(() => 'pong'),
    ])
    expect(first).toBe('pong')
    socket.terminate()
    patience.abort()
    await expect(hanging).rejects.toThrow()
    clock.advance(5000)
    expect((await ask()).status).toBe(200)
  })

  test('a half-open connection is silent, and reset at the end', async () => {
    const socket = await open()
    await settle(socket)
    let messages = 0
    socket.on('message', () => messages++)
    venue.inject({ kind: 'half-open', durationMs: 20_000 })
    socket.send('{"method":"ping"}')
    const other = await open()
    await settle(other)
    expect(messages).toBe(0)
    const closed = once(socket, 'close')
    clock.advance(20_000)
    expect((await closed)[0]).toBe(1006)
    expect(messages).toBe(0)
    await settle(other)
    other.terminate()
  })

  test('a half-open connection answers neither a ping of the protocol nor a closing handshake', async () => {
    const [socket, other] = [await open(), await open()]
    let answers = 0
    for (const answer of ['pong', 'close']) socket.on(answer, () => answers++)
    venue.inject({ kind: 'half-open', durationMs: 20_000, connection: 0 })
    socket.ping()
    socket.close(1000)
    await settle(other)
    await settle(other)
    expect(answers).toBe(0)
    const closed = once(socket, 'close')
    clock.advance(20_000)
    expect((await closed)[0]).toBe(1006)
    other.terminate()
  })

  test('a refused connection is opened and ends with 1006 within a second', async () => {
    venue.inject({ kind: 'refuse-connections', durationMs: 20_000 })
    const socket = await open()
    const closed = once(socket, 'close')
    clock.advance(1000)
    expect((await closed)[0]).toBe(1006)
  })

  test('speaks on its websocket, uncompressed', async () => {
    const socket = await open()
    expect(socket.extensions).toBe('')
    const answered = once(socket, 'message')
    socket.send('{"method":"subscribe","subscription":{"type":"allMids"}}')
    const [data] = await answered
    expect(JSON.parse(String(data))).toEqual({
      channel: 'subscriptionResponse',
      data: { method: 'subscribe', subscription: { type: 'allMids' } },
    })
    socket.terminate()
  })

  test('an unknown coin ends the connection with 1006', async () => {
    const socket = await open()
    socket.send('{"method":"subscribe","subscription":{"type":"trades","coin":"btc"}}')
    await settle(socket)
    const closed = once(socket, 'close')
    clock.advance(200)
    expect((await closed)[0]).toBe(1006)
  })

  test('dropped connections see 1006, and the address may connect again', async () => {
    const socket = await open()
    const closed = once(socket, 'close')
    venue.dropConnections()
    expect((await closed)[0]).toBe(1006)
    const again = await open()
    await settle(again)
    again.terminate()
  })

  test('a connection that is ended with 1000 is closed by a handshake', async () => {
    const socket = await open()
    const closed = once(socket, 'close')
    venue.inject({ kind: 'drop-connections', code: 1000 })
    expect((await closed)[0]).toBe(1000)
  })

  test('an eleventh connection is not kept', async () => {
    const sockets = await Promise.all(Array.from({ length: 10 }, open))
    const eleventh = new WebSocket(venue.wsUrl)
    const [code] = await once(eleventh, 'close')
    expect(code).toBe(1006)
    for (const socket of sockets) socket.terminate()
  })

  test('close ends connections and frees the port', async () => {
    const socket = await open()
    const closed = once(socket, 'close')
    await venue.close()
    await closed
    await expect(fetch(venue.httpUrl, { method: 'POST' })).rejects.toThrow()
  })
})
