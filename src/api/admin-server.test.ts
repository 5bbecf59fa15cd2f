import { Counter, Registry } from 'prom-client'
import { describe, expect, test } from 'vitest'
import { OperatingError } from '../domain/errors.ts'
import type { StoreHealth } from '../domain/history.ts'
import type { SourceHealth } from '../link/message.ts'
import { STORE_OK } from '../link/testing/store-ok.ts'
import { AdminAccess } from './admin-access.ts'
import type { AdminServerOptions } from './admin-server.ts'
import { buildAdminServer } from './admin-server.ts'
import { gatewayFixture } from './testing/gateway-fixture.ts'

describe('probes', () => {
  test('/livez depends on nothing', async () => {
    const { admin, engine } = fixture()
    engine.disconnected()
    expect((await admin.inject('/livez')).statusCode).toBe(200)
  })

  test('/readyz is 200 once the engine speaks and a coin is ready', async () => {
    const { admin } = fixture()
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
    const { admin, engine, clock, deliver } = fixture()
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
    const { admin } = fixture({
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

  test('/metrics prints the registry', async () => {
    const { admin, metrics } = fixture()
    new Counter({ name: 'quotes_total', help: 'Quotes.', registers: [metrics] }).inc(3)
    const response = await admin.inject('/metrics')
    expect(response.headers['content-type']).toBe(metrics.contentType)
    expect(response.body).toContain('quotes_total 3')
  })
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
    const { admin, deliver } = fixture()
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
    const { admin, deliver } = fixture()
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
    const { admin, deliver } = fixture()
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
    const { admin, deliver } = fixture()
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
    const { admin, deliver } = fixture()
    deliver({ kind: 'heartbeat', heartbeat })
    const { body } = await admin.inject('/metrics')
    expect(body).toContain('perpscope_source_up{source="okx"} 1')
    expect(body).toContain('perpscope_source_up{source="solana"} 0')
  })
})

describe('maintenance', () => {
  test('is switched on and off, and the public server follows', async () => {
    const { admin, app, clock } = fixture()
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
    const { admin } = fixture({ maintenance })
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
      const { admin, maintenance } = fixture()
      const response = await admin.inject({
        method: 'POST',
        url: '/maintenance',
        headers: { 'content-type': 'application/json' },
        payload: JSON.stringify(payload),
      })
      expect(response.statusCode).toBe(400)
      expect(response.json().code).toBe('invalid_parameter')
      expect(maintenance.isOn).toBe(false)
    },
  )
})

describe('engine restart', () => {
  test('starts each task', async () => {
    let restarts = 0
    const { admin } = fixture({
      restartEngine: () => {
        restarts += 1
      },
    })
    const response = await admin.inject({ method: 'POST', url: '/engine/restart' })
    expect(response.statusCode).toBe(202)
    expect(restarts).toBe(1)
  })

  test('does not exist if the engine is another process', async () => {
    const { admin } = fixture()
    expect((await admin.inject({ method: 'POST', url: '/engine/restart' })).statusCode).toBe(404)
  })

  test('that fails is reported without the reason', async () => {
    const { admin } = fixture({ restartEngine: () => Promise.reject(new Error('secret')) })
    const response = await admin.inject({ method: 'POST', url: '/engine/restart' })
    expect(response.statusCode).toBe(500)
    expect(response.body).not.toContain('secret')
  })
})

describe('access to the admin port', () => {
  test.each(['localhost:9402', '127.0.0.1:9402', '127.0.0.1', '[::1]:9402', '127.8.9.1:1'])(
    'is open to %s',
    async (host) => {
      const { admin } = fixture()
      expect((await admin.inject({ url: '/livez', headers: { host } })).statusCode).toBe(200)
    },
  )

  test.each([
    { host: 'evil.example:9402' },
    { host: 'localhost.evil.example' },
    { host: '127.0.0.1.evil.example' },
    { host: '10.0.0.1:9402' },
    { host: '127.0.0.1:9402', origin: 'https://evil.example' },
    { host: '127.0.0.1:9402', origin: 'null' },
  ])('is closed to %j', async (headers) => {
    const { admin, maintenance } = fixture()
    const response = await admin.inject({
      method: 'POST',
      url: '/maintenance',
      headers,
      payload: { on: true },
    })
    expect(response.statusCode).toBe(404)
    expect(maintenance.isOn).toBe(false)
  })

  test('serves a page of its own origin', async () => {
    const { admin } = fixture()
    const headers = { host: 'localhost:9402', origin: 'http://localhost:9402' }
    expect((await admin.inject({ url: '/livez', headers })).statusCode).toBe(200)
  })
})

describe('access to the admin port by token', () => {
  const TOKEN = 'a'.repeat(32)
  const host = '10.0.0.7:9402'
  const authorization = `Bearer ${TOKEN}`
  const withToken = () => fixture({ access: new AdminAccess(TOKEN) })

  test('is open to every address that presents the token', async () => {
    const { admin, maintenance } = withToken()
    const headers = { host, authorization }
    const response = await admin.inject({
      ...{ method: 'POST', url: '/maintenance', headers, payload: { on: true } },
    })
    expect(response.statusCode).toBe(200)
    expect(maintenance.isOn).toBe(true)
  })

  test.each([
    ['no token', { host }],
    ['no token on loopback', { host: '127.0.0.1:9402' }],
    ['another token', { host, authorization: `Bearer ${'b'.repeat(32)}` }],
    ['a prefix of the token', { host, authorization: `Bearer ${'a'.repeat(31)}` }],
    ['another scheme', { host, authorization: `Basic ${TOKEN}` }],
    ['a page of another site', { host, authorization, origin: 'https://evil.example' }],
  ])('is closed to %s', async (_case, headers) => {
    const { admin, maintenance } = withToken()
    for (const url of ['/metrics', '/store', '/sources', '/maintenance', '/unknown']) {
      const response = await admin.inject({ url, headers })
      expect(response.statusCode, url).toBe(404)
      expect(response.json().detail, url).toContain('admin token')
    }
    const payload = { on: true }
    await admin.inject({ method: 'POST', url: '/maintenance', headers, payload })
    expect(maintenance.isOn).toBe(false)
  })

  test('probes get their verdict without the token, and no reasons', async () => {
    const { admin, engine } = withToken()
    expect((await admin.inject({ url: '/livez', headers: { host } })).statusCode).toBe(200)
    engine.disconnected()
    const response = await admin.inject({ url: '/readyz?verbose', headers: { host } })
    expect(response.statusCode).toBe(503)
    expect(response.json()).toEqual({ ready: false })
  })
})

function fixture(overrides: Partial<AdminServerOptions> = {}) {
  const gateway = gatewayFixture()
  const metrics = new Registry()
  const { clock, engine, maintenance } = gateway
  const options = {
    ...{ access: new AdminAccess(null), clock, engine, maintenance, metrics },
    ...{ logger: null, console: null, restartEngine: null },
  }
  return { ...gateway, metrics, admin: buildAdminServer({ ...options, ...overrides }) }
}
