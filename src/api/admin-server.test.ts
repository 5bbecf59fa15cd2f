import type { AddressInfo } from 'node:net'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { Counter } from 'prom-client'
import { describe, expect, onTestFinished, test } from 'vitest'
import { OperatingError } from '../domain/errors.ts'
import type { StoreHealth } from '../domain/history.ts'
import type { SourceHealth } from '../link/message.ts'
import { STORE_OK } from '../link/testing/store-ok.ts'
import { adminFixture } from './testing/admin-fixture.ts'

describe('probes', () => {
  test('/livez depends on nothing', async () => {
    const { admin, engine } = adminFixture()
    engine.disconnected()
    expect((await admin.inject('/livez')).statusCode).toBe(200)
  })

  test('/readyz is 200 once the engine speaks and a coin is ready', async () => {
    const { admin } = adminFixture()
    const response = await admin.inject('/readyz?verbose')
    expect(response.statusCode).toBe(200)
    expect(response.json()).toEqual({
      ready: true,
      reasons: [],
      details: {},
      checks: ['engine_connected', 'engine_speaks', 'coin_ready'].map((check) => ({
        check,
        ok: true,
        reason: null,
        since_iso: null,
      })),
    })
  })

  test('/readyz states why it is not ready', async () => {
    const { admin, engine, clock, deliver } = adminFixture()
    clock.advance(60_000)
    expect((await admin.inject('/readyz')).json().reasons).toEqual(['engine_speaks'])
    deliver({ kind: 'universe', listings: [] })
    deliver({ kind: 'documents', documents: [] })
    expect((await admin.inject('/readyz')).json().reasons).toEqual(['coin_ready'])
    engine.disconnected()
    const response = await admin.inject('/readyz')
    expect(response.statusCode).toBe(503)
    expect(response.json()).toEqual({
      ready: false,
      reasons: ['engine_connected', 'engine_speaks', 'coin_ready'],
      details: {
        engine_connected: 'no engine is connected',
        engine_speaks: 'the engine is unavailable',
        coin_ready: 'no coin has data yet',
      },
    })
  })

  test('/readyz names the failed sales checks with reasons', async () => {
    const sinceMs = Date.UTC(2026, 0, 1)
    const { admin } = adminFixture({
      checks: () => [
        { check: 'ledger_writable', fault: { reason: 'the disk of the ledger is full', sinceMs } },
        { check: 'can_settle', fault: null },
        { check: 'clock', fault: null },
      ],
    })
    const response = await admin.inject('/readyz?verbose')
    expect(response.statusCode).toBe(503)
    const body = response.json()
    expect(body).toMatchObject({
      ready: false,
      reasons: ['ledger_writable'],
      details: { ledger_writable: 'the disk of the ledger is full' },
    })
    expect(body.checks).toEqual(
      expect.arrayContaining([
        {
          check: 'ledger_writable',
          ok: false,
          reason: 'the disk of the ledger is full',
          since_iso: '2026-01-01T00:00:00.000Z',
        },
        { check: 'can_settle', ok: true, reason: null, since_iso: null },
        { check: 'clock', ok: true, reason: null, since_iso: null },
      ]),
    )
  })

  test('/readyz/<check> is the status of one check, so that a proxy follows the drain alone', async () => {
    let isDraining = false
    const fault = { reason: 'PostgreSQL does not answer', sinceMs: 0 }
    const { admin, engine } = adminFixture({
      checks: () => [
        { check: 'ledger_writable', fault },
        { check: 'accepts_sales', fault: isDraining ? { ...fault, reason: 'draining' } : null },
      ],
    })
    engine.disconnected()
    const statusOf = async (path: string) => (await admin.inject(path)).statusCode
    const paths = [
      '/readyz',
      '/readyz/accepts_sales',
      '/readyz/ledger_writable',
      '/readyz/no_check',
    ]
    expect(await Promise.all(paths.map(statusOf))).toEqual([503, 200, 503, 404])
    isDraining = true
    expect(await Promise.all(paths.map(statusOf))).toEqual([503, 503, 503, 404])
  })

  test('/readyz/<check> needs no token and gives no reason', async () => {
    const { admin } = adminFixture({ token: 'a'.repeat(32) })
    const response = await admin.inject('/readyz/coin_ready')
    expect([response.statusCode, response.json()]).toEqual([200, { ready: true }])
  })

  test('/metrics prints the registry', async () => {
    const { admin, metrics } = adminFixture()
    new Counter({ name: 'quotes_total', help: 'Quotes.', registers: [metrics] }).inc(3)
    const response = await admin.inject('/metrics')
    expect(response.headers['content-type']).toBe(metrics.contentType)
    expect(response.body).toContain('quotes_total 3')
  })
})

test('connections are bounded in time and number', () => {
  const { server } = adminFixture().admin
  expect(server.timeout).toBe(120_000)
  expect(server.headersTimeout).toBe(5_000)
  expect(server.maxConnections).toBe(1_000)
})

describe('the history on disk', () => {
  const store: StoreHealth = {
    state: 'degraded',
    reason: 'SQLITE_FULL: database or disk is full',
    sinceMs: 0,
    droppedRows: 7,
    damagedBlocks: 2,
    setAsideFiles: 1,
  }
  const heartbeat = { startedAtMs: 0, feeds: [], sources: [], store, counts: {} }

  test('is reported at /store with the reason', async () => {
    const { admin, deliver } = adminFixture()
    deliver({ kind: 'heartbeat', heartbeat })
    expect((await admin.inject('/store')).json()).toEqual({
      store: {
        state: 'degraded',
        reason: 'SQLITE_FULL: database or disk is full',
        since_iso: '1970-01-01T00:00:00.000Z',
        dropped_rows: 7,
        damaged_blocks: 2,
        set_aside_files: 1,
      },
      recording: null,
    })
  })

  test('is reported with an ended recording until the next heartbeat', async () => {
    const { admin, deliver } = adminFixture()
    const recording = { state: 'stopped', reason: 'it has reached 30 bytes', sinceMs: 0 } as const
    deliver({ kind: 'heartbeat', heartbeat: { ...heartbeat, recording } })
    expect((await admin.inject('/store')).json().recording).toEqual({
      ...{ state: 'stopped', reason: 'it has reached 30 bytes' },
      since_iso: '1970-01-01T00:00:00.000Z',
    })
    deliver({ kind: 'heartbeat', heartbeat })
    expect((await admin.inject('/store')).json().recording).toBeNull()
  })

  test('is measured', async () => {
    const { admin, deliver } = adminFixture()
    expect((await admin.inject('/metrics')).body).toContain('perpscope_store_ok 1')
    deliver({ kind: 'heartbeat', heartbeat })
    const { body } = await admin.inject('/metrics')
    expect(body).toContain('perpscope_store_ok 0')
    expect(body).toContain('perpscope_store_dropped_rows 7')
    expect(body).toContain('perpscope_store_damaged_blocks 2')
    expect(body).toContain('perpscope_store_set_aside_files 1')
  })
})

describe('external sources', () => {
  const sources: SourceHealth[] = [
    { source: 'okx', state: 'up', sinceMs: 0, reason: 'connected' },
    { source: 'solana', state: 'down', sinceMs: 1_000, reason: 'request_failed' },
  ]
  const heartbeat = { startedAtMs: 0, feeds: [], sources, store: STORE_OK, counts: {} }

  test('are listed at /sources with instant and reason', async () => {
    const { admin, deliver } = adminFixture()
    deliver({ kind: 'heartbeat', heartbeat })
    expect((await admin.inject('/sources')).json()).toEqual({
      sources: [
        { source: 'okx', state: 'up', since_iso: '1970-01-01T00:00:00.000Z', reason: 'connected' },
        {
          source: 'solana',
          state: 'down',
          since_iso: '1970-01-01T00:00:01.000Z',
          reason: 'request_failed',
        },
      ],
    })
  })

  test('are measured', async () => {
    const { admin, deliver } = adminFixture()
    deliver({ kind: 'heartbeat', heartbeat })
    const { body } = await admin.inject('/metrics')
    expect(body).toContain('perpscope_source_up{source="okx"} 1')
    expect(body).toContain('perpscope_source_up{source="solana"} 0')
    expect(body).toContain('perpscope_source_in_use{source="solana"} 1')
  })
})

test.each([
  { state: 'up', gauges: [1, 0, 1] },
  { state: 'degraded', gauges: [1, 1, 1] },
  { state: 'down', gauges: [0, 0, 1] },
  { state: 'blocked', gauges: [0, 0, 1] },
  { state: 'off', gauges: [0, 0, 0] },
] as const)('a source that is $state: up, degraded and in use are $gauges', async (one) => {
  const { admin, deliver } = adminFixture()
  const sources = [{ source: 'okx', state: one.state, sinceMs: 0, reason: '' }] as const
  const beat = { startedAtMs: 0, feeds: [], sources, store: STORE_OK, counts: {} }
  deliver({ kind: 'heartbeat', heartbeat: beat })
  const { body } = await admin.inject('/metrics')
  for (const [at, name] of ['up', 'degraded', 'in_use'].entries())
    expect(body).toContain(`perpscope_source_${name}{source="okx"} ${one.gauges[at]}`)
})

test.each([
  { state: 'up', isUp: 1 },
  { state: 'degraded', isUp: 1 },
  { state: 'down', isUp: 0 },
] as const)('a feed that is $state is measured as $isUp', async ({ state, isUp }) => {
  const { admin, deliver } = adminFixture()
  const feeds = [{ feed: 'venue', state, sinceMs: 0, reason: 'clock_offset' }]
  const heartbeat = { startedAtMs: 0, feeds, sources: [], store: STORE_OK, counts: {} }
  deliver({ kind: 'heartbeat', heartbeat })
  const { body } = await admin.inject('/metrics')
  expect(body).toContain(`perpscope_feed_up{feed="venue"} ${isUp}`)
})

describe('a request that no route takes', () => {
  test.each([
    ['GET', '/engine/restart', 'POST'],
    ['PUT', '/maintenance', 'GET, HEAD, POST'],
    ['DELETE', '/maintenance/', 'GET, HEAD, POST'],
    ['POST', '/metrics', 'GET, HEAD'],
    ['OPTIONS', '/metrics', 'GET, HEAD'],
  ] as const)('%s %s: 405, allowed are %s', async (method, url, allow) => {
    const response = await adminFixture().admin.inject({ method, url })
    expect(response.statusCode).toBe(405)
    expect(response.headers['allow']).toBe(allow)
    expect(response.json()).toMatchObject({
      ...{ code: 'method_not_allowed', detail: `This path supports ${allow}.` },
    })
  })

  test('names no method to a page of another site', async () => {
    const headers = { origin: 'https://evil.example' }
    const response = await adminFixture().admin.inject({ url: '/engine/restart', headers })
    expect(response.statusCode).toBe(404)
    expect(response.headers).not.toHaveProperty('allow')
  })

  test('a path may end with a slash', async () => {
    expect((await adminFixture().admin.inject('/maintenance/')).json()).toMatchObject({ on: false })
  })

  test('a malformed URL is refused with a problem', async () => {
    const response = await adminFixture().admin.inject('/%zz')
    expect(response.statusCode).toBe(400)
    expect(response.json()).toMatchObject({ code: 'invalid_parameter', param: 'path' })
    expect(response.headers['x-content-type-options']).toBe('nosniff')
  })
})

test('two Host lines are refused: a proxy may have checked the other one', async () => {
  const { admin } = adminFixture()
  onTestFinished(() => admin.close())
  await admin.listen({ host: '127.0.0.1', port: 0 })
  const { port } = admin.server.address() as AddressInfo
  const socket = connect(port, '127.0.0.1')
  socket.end('GET /store HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: evil.example\r\n\r\n')
  expect(await text(socket)).toMatch(/^HTTP\/1\.1 400 .*"param":"Host"/s)
})

describe('maintenance', () => {
  test('is switched on and off, and the public server follows', async () => {
    const { admin, app, clock } = adminFixture()
    clock.advance(1_000)
    const on = await admin.inject({ method: 'POST', url: '/maintenance', payload: { on: true } })
    expect(on.json()).toEqual({ on: true, since_iso: '2026-01-01T00:00:01.000Z' })
    expect((await app.inject('/pulse/BTC')).statusCode).toBe(503)
    clock.advance(1_000)
    await admin.inject({ method: 'POST', url: '/maintenance', payload: { on: true } })
    expect((await admin.inject('/maintenance')).json().since_iso).toBe('2026-01-01T00:00:01.000Z')
    await admin.inject({ method: 'POST', url: '/maintenance', payload: { on: false } })
    expect((await app.inject('/pulse/BTC')).statusCode).toBe(200)
  })

  test('that cannot be stored is as before', async () => {
    const maintenance = {
      isOn: false,
      sinceMs: 0,
      set: () => Promise.reject(new OperatingError('postgres_unavailable', 'it is away')),
    }
    const { admin } = adminFixture({ maintenance })
    const response = await admin.inject({
      method: 'POST',
      url: '/maintenance',
      payload: { on: true },
    })
    expect(response.statusCode).toBe(503)
    expect(response.json()).toMatchObject({ code: 'ledger_busy', retry_after: 5 })
    expect((await admin.inject('/maintenance')).json()).toMatchObject({ on: false })
  })

  test.each([{ on: 'true' }, {}, { on: true, more: 1 }, [], null])(
    'ignores the malformed order %j',
    async (payload) => {
      const { admin, maintenance } = adminFixture()
      const response = await admin.inject({
        method: 'POST',
        url: '/maintenance',
        headers: { 'content-type': 'application/json' },
        payload: JSON.stringify(payload),
      })
      expect(response.statusCode).toBe(400)
      expect(response.json()).toMatchObject({
        code: 'invalid_parameter',
        detail: 'Send {"on": true} or {"on": false} as application/json, at most 1024 bytes.',
      })
      expect(maintenance.isOn).toBe(false)
    },
  )
})

describe('engine restart', () => {
  test('starts each task', async () => {
    let restarts = 0
    const { admin } = adminFixture({
      restartEngine: () => {
        restarts += 1
      },
    })
    const response = await admin.inject({ method: 'POST', url: '/engine/restart' })
    expect(response.statusCode).toBe(202)
    expect(restarts).toBe(1)
  })

  test('does not exist if the engine is another process', async () => {
    const { admin } = adminFixture()
    expect((await admin.inject({ method: 'POST', url: '/engine/restart' })).statusCode).toBe(404)
  })

  test('that fails is reported without the reason', async () => {
    const { admin } = adminFixture({ restartEngine: () => Promise.reject(new Error('secret')) })
    const response = await admin.inject({ method: 'POST', url: '/engine/restart' })
    expect(response.statusCode).toBe(500)
    expect(response.body).not.toContain('secret')
  })
})

describe('the desk', () => {
  test('is served by path', async () => {
    const { admin } = adminFixture()
    expect((await admin.inject('/desk/health')).json()).toMatchObject({ version: '0.1.0' })
    expect((await admin.inject('/desk/money')).json()).toMatchObject({
      sales: null,
      reason: 'Answers are free.',
    })
    expect((await admin.inject('/desk/control')).json()).toMatchObject({
      maintenance: { isOn: false },
      doctor: { state: 'never' },
    })
  })

  test('starts the doctor, once at a time', async () => {
    const { admin } = adminFixture()
    const start = () => admin.inject({ method: 'POST', url: '/doctor' })
    expect((await start()).statusCode).toBe(202)
    expect((await admin.inject('/desk/control')).json().doctor.state).toBe('running')
    const again = await start()
    expect(again.statusCode).toBe(503)
    expect(again.headers['retry-after']).toBe('10')
  })

  test.each(['/doctor', '/engine/restart', '/session/end'])(
    '%s changes nothing by GET',
    async (url) => {
      let restarts = 0
      const { admin } = adminFixture({
        restartEngine: () => {
          restarts += 1
        },
      })
      expect((await admin.inject(url)).statusCode).toBe(405)
      expect((await admin.inject('/desk/control')).json().doctor.state).toBe('never')
      expect(restarts).toBe(0)
    },
  )
})
