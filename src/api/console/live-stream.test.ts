import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { get } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { afterEach, describe, expect, onTestFinished, test } from 'vitest'
import type { ConsoleDocumentEvent } from '../../domain/console-protocol.ts'
import type { Document } from '../../domain/document.ts'
import { adminFixture } from '../testing/admin-fixture.ts'
import { consolePage } from '../testing/console-fixture.ts'
import type { GatewayFixture } from '../testing/gateway-fixture.ts'
import { gatewayFixture } from '../testing/gateway-fixture.ts'
import { layOut, pulseLikeDocument, trackRecordLike } from '../testing/pulse-like.ts'
import { SAMPLE_DELAY_MS } from './delayed-documents.ts'

const settings = { page: consolePage(), charts: [trackRecordLike] }

const trackRecord = (version = 1, padding = ''): Document => ({
  key: 'track-record/*',
  version,
  renderedAtMs: 0,
  ...layOut([`{"records":[],"padding":"${padding}"}`]),
  views: {
    all: { kind: 'answer', parts: [0], inputs: [], coveragePct: 100, warnings: [] },
  },
})

describe('the live stream of the public port', () => {
  test('shows nothing of the sample coin before a minute has passed, and then what was', async () => {
    const gateway = await listening()
    const stream = await gateway.open('/pulse/BTC')
    gateway.clock.advance(SAMPLE_DELAY_MS)
    expect(stream.documents()).toEqual([])
    const firstMs = gateway.clock.nowMs()
    gateway.render()
    gateway.clock.advance(5_000)
    expect(await stream.next()).toMatchObject({ name: '/pulse/BTC', answer: { coin: 'BTC' } })
    const [{ at = Number.NaN } = {}] = stream.documents()
    expect(firstMs - at, 'the first is from the start').toBeGreaterThanOrEqual(
      SAMPLE_DELAY_MS - 5_000,
    )
  })

  test('shows at once what is free', async () => {
    const gateway = await listening()
    gateway.deliver({ kind: 'documents', documents: [trackRecord()] })
    const stream = await gateway.open('/track-record')
    expect(await stream.next()).toMatchObject({ name: '/track-record', answer: { records: [] } })
  })

  test.each(['/pulse/kPEPE', '/screener', '/desk/money', '//', '/pulse/BTC?fields=coin'])(
    'refuses %s',
    async (name) => {
      const gateway = await listening()
      const stream = await gateway.open(name)
      expect(await stream.next()).toMatchObject({ name, refusal: { code: 'not_found' } })
      gateway.clock.advance(2 * SAMPLE_DELAY_MS)
      expect(stream.documents().every(({ answer }) => answer === undefined)).toBe(true)
    },
  )

  test('knows a sample coin of a builder-deployed dex by the name that a page writes', async () => {
    const gateway = await listening('xyz:GOLD')
    const stream = await gateway.open('/pulse/xyz%3AGOLD')
    await stream.untilText('event: service')
    expect(stream.documents(), 'it waits for the first answer').toEqual([])
  })

  test('takes the whole name, with a question mark that is not encoded', async () => {
    const gateway = await listening()
    const name = '/pulse/kPEPE?timeframes=15m,1h'
    const stream = await gateway.open(name, {}, decodeURIComponent(gateway.urlOf(name)))
    expect(await stream.next()).toMatchObject({ name })
  })

  test('refuses another parameter', async () => {
    const gateway = await listening()
    const response = await gateway.app.inject('/console/live?doc=/pulse/BTC')
    expect(response.json()).toMatchObject({ code: 'unknown_parameter', did_you_mean: [] })
  })

  test('refuses more documents than a page shows', async () => {
    const gateway = await listening()
    const names = Array.from({ length: 33 }, (_, at) => `document=/pulse/${at}`).join('&')
    expect((await gateway.app.inject(`/console/live?${names}`)).statusCode).toBe(400)
  })

  test('says at once that the engine has ended', async () => {
    const gateway = await listening()
    const stream = await gateway.open('/pulse/BTC')
    gateway.engine.disconnected()
    gateway.clock.advance(500)
    await stream.untilText('"engine":"unavailable"')
  })

  test('sends a version once, and not again to a page that has it', async () => {
    const gateway = await listening()
    gateway.clock.advance(SAMPLE_DELAY_MS + 10_000)
    const stream = await gateway.open('/pulse/BTC')
    await stream.next()
    gateway.clock.advance(4_000)
    expect(stream.documents()).toHaveLength(1)
    const again = await gateway.open('/pulse/BTC', { 'last-event-id': stream.lastId() })
    gateway.clock.advance(1_000)
    await again.untilText('event: service')
    expect(again.documents()).toEqual([])
  })

  describe('for a page that does not read', () => {
    /** More than an operating system holds for a connection. */
    const PADDING = 'x'.repeat(8_000_000)
    const VERSION = /"version":"(\d+)-/g
    const VERSION_CHARS_MAX = 40

    async function stalled() {
      const gateway = await listening()
      const connected = once(gateway.app.server, 'connection')
      const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
      get(gateway.urlOf('/track-record'), resolve).once('error', reject)
      const [socket] = (await connected) as [Socket]
      const response = await promise
      let version = 0
      const deliver = () => {
        version += 1
        gateway.deliver({ kind: 'documents', documents: [trackRecord(version, PADDING)] })
        gateway.clock.advance(500)
      }
      deliver()
      await settled()
      return { ...gateway, socket, response, deliver }
    }

    test('nothing is kept, and it gets the newest version when it reads again', async () => {
      const { socket, response, deliver, clock } = await stalled()
      const heldBytes = socket.writableLength
      expect(heldBytes, 'the connection is full').toBeGreaterThan(0)
      for (let more = 0; more < 10; more += 1) deliver()
      expect(socket.writableLength).toBe(heldBytes)

      const versions: (string | undefined)[] = []
      let rest = ''
      response.setEncoding('utf8').on('data', (more) => {
        rest += more
        let readTo = rest.length - VERSION_CHARS_MAX
        for (const { index, 0: found, 1: version } of rest.matchAll(VERSION)) {
          versions.push(version)
          readTo = Math.max(readTo, index + found.length)
        }
        rest = rest.slice(Math.max(0, readTo))
      })
      while (versions.length < 2) {
        await settled()
        clock.advance(500)
      }
      expect(versions).toEqual(['1', '11'])
    })

    test('the connection is closed after half a minute', async () => {
      const { response, clock } = await stalled()
      const closed = once(response, 'error')
      clock.advance(29_000)
      expect(response.destroyed).toBe(false)
      clock.advance(2_000)
      response.resume()
      await closed
    })
  })

  test('is open to everybody, however many a few addresses open', async () => {
    const gateway = await listening('BTC', ['127.0.0.1'])
    const openFrom = (address: number) =>
      gateway.open('/track-record', { 'x-forwarded-for': `192.0.2.${address}` })
    const first = await openFrom(1)
    for (let address = 1; address <= 16; address += 1)
      for (let more = address === 1 ? 1 : 0; more < 16; more += 1) await openFrom(address)
    expect((await openFrom(1)).status, 'one address').toBe(429)
    const other = await openFrom(99)
    expect(other.status).toBe(200)
    await first.ended
    expect((await openFrom(1)).status, 'the ended page comes back').toBe(429)
    await other.untilText('event: service')
  })

  test('shows that it is alive after the clock was set back', async () => {
    const gateway = await listening()
    const stream = await gateway.open('/pulse/BTC')
    await stream.untilText('event: service')
    gateway.clock.putBack(60_000)
    gateway.clock.advance(500)
    await stream.untilText(`"now":${gateway.clock.nowMs()}`)
  })

  test('ends when the server closes', async () => {
    const gateway = await listening()
    const stream = await gateway.open('/pulse/BTC')
    await gateway.app.close()
    await stream.ended
  })
})

describe('the live stream of the admin port', () => {
  test.each([
    ['is signed out', {}],
    ['is over', {}],
    ['is signed out', { authorization: 'Basic b3BlcmF0b3I6cHJveHk=' }],
    ['is over', { authorization: 'Basic b3BlcmF0b3I6cHJveHk=' }],
  ])('ends when its session %s, with %j', async (end, ofProxy) => {
    const facts = { version: '0.1.0', waysToPay: [] }
    const console = { ...settings, contracts: [], facts, isClockOff: () => false }
    const token = 'a'.repeat(32)
    const { admin, clock } = adminFixture({ token, console })
    onTestFinished(() => admin.close())
    const origin = await admin.listen({ host: '127.0.0.1', port: 0 })
    const headers = {
      host: origin.slice('http://'.length),
      origin,
      cookie: 'perpscope_admin=secret-1',
      ...ofProxy,
    }
    await admin.inject({ method: 'POST', url: '/session', headers, payload: { token } })
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
    get(`${origin}/console/live?document=/desk/health`, { headers }, resolve).once('error', reject)
    const response = await promise
    // The stream is cut off.
    response.once('error', () => {})
    const stream = events(response)
    expect(stream.status).toBe(200)
    await stream.untilText('event: service')
    if (end === 'is over') clock.putBack(-12 * 3_600_000)
    else await admin.inject({ method: 'POST', url: '/session/end', headers })
    clock.advance(500)
    await stream.ended
  })
})

const opened: GatewayFixture[] = []
afterEach(() => Promise.all(opened.splice(0).map(({ app }) => app.close())))

/** A gateway on a port, with a manual clock. */
async function listening(sampleCoin = 'BTC', trustProxy: readonly string[] = []) {
  const gateway = gatewayFixture({ console: { ...settings, sampleCoin }, trustProxy })
  opened.push(gateway)
  await gateway.app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = gateway.app.server.address() as AddressInfo
  const urlOf = (name: string) =>
    `http://127.0.0.1:${port}/console/live?document=${encodeURIComponent(name)}`
  let version = 1
  return {
    ...gateway,
    render: () => {
      version += 1
      gateway.deliver({
        kind: 'documents',
        documents: [
          { ...pulseLikeDocument({ coin: 'BTC', confirmedAtMs: gateway.clock.nowMs() }), version },
        ],
      })
    },
    urlOf,
    open: async (name: string, headers = {}, url = urlOf(name)) => {
      const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
      get(url, { headers }, resolve).once('error', reject)
      return events(await promise)
    },
  }
}

/** After everything that the reader accepts has been sent. */
async function settled(): Promise<void> {
  for (let turns = 0; turns < 100; turns += 1) await new Promise((done) => setImmediate(done))
}

function events(response: IncomingMessage) {
  let text = ''
  let arrived = Promise.withResolvers<void>()
  response.setEncoding('utf8').on('data', (more) => {
    text += more
    arrived.resolve()
    arrived = Promise.withResolvers()
  })
  const untilText = async (wanted: string | RegExp) => {
    while (text.search(wanted) < 0) await arrived.promise
  }
  const documents = (): ConsoleDocumentEvent[] =>
    Array.from(text.matchAll(/^event: document\nid: .*\ndata: (.*)$/gm), ([, data = '']) =>
      JSON.parse(data),
    )
  return {
    status: response.statusCode,
    documents,
    untilText,
    next: async () => {
      await untilText(/^event: document\nid: .*\ndata: .*\n\n/m)
      return documents()[0]
    },
    lastId: () => Array.from(text.matchAll(/^id: (.*)$/gm)).at(-1)?.[1] ?? '',
    ended: new Promise((done) => response.once('close', done)),
  }
}
