import type { LightMyRequestResponse } from 'fastify'
import { describe, expect, test } from 'vitest'
import { universe } from '../compute/testing/tape.ts'
import type { StoreHealth } from '../domain/history.ts'
import { ENGINE_SILENCE_MS_MAX } from '../link/engine-replica.ts'
import { quoteLimit } from '../payment/quote-limit.ts'
import type { ProxyTrust } from './server.ts'
import { FEED_UP, gatewayFixture, quotingGate, STORE_OK } from './testing/gateway-fixture.ts'
import { gatedLikeDocument, pulseLikeDocument } from './testing/pulse-like.ts'

type Fixture = ReturnType<typeof gatewayFixture>

describe('an answer', () => {
  test('is the document with its slots filled', async () => {
    const { app, clock } = gatewayFixture()
    clock.advance(2_500)
    const response = await app.inject('/pulse/BTC')
    expect(response.statusCode).toBe(200)
    expect(response.headers).toMatchObject({
      'content-type': 'application/json; charset=utf-8',
      'cache-control': 'private, max-age=1',
      vary: 'X-PAYMENT, PAYMENT-SIGNATURE, Accept, Origin',
      etag: '"1-1h.4h"',
    })
    expect(response.json()).toMatchObject({
      coin: 'BTC',
      timeframes: { '1h': { candle_freshness_seconds: 2.5 } },
      meta: { data_age_seconds: 2.5, coins_available: 2, quality: { grade: 'A' } },
    })
  })

  test('changes its entity tag with the version and with the view, and with nothing else', async () => {
    const { app, clock, tell } = gatewayFixture()
    const tag = async (url: string) => (await app.inject(url)).headers.etag
    const first = await tag('/pulse/BTC')
    clock.advance(100)
    expect(await tag('/pulse/BTC?timeframes=4h,1h')).toBe(first)
    expect(await tag('/pulse/BTC?timeframes=4h')).not.toBe(first)
    const next = pulseLikeDocument({ coin: 'BTC', confirmedAtMs: clock.nowMs(), version: 2 })
    tell({ kind: 'documents', documents: [next] })
    expect(await tag('/pulse/BTC')).not.toBe(first)
  })

  test.each([
    '/pulse/kPEPE',
    '/pulse/KPEPE',
    '/pulse/kpepe',
    '/pulse/kpepe-perp',
    '/pulse/kPEPE-USD/',
    '/pulse/%6BPEPE',
  ])('%s is kPEPE in the spelling of the venue', async (url) => {
    const { app } = gatewayFixture()
    const body = (await app.inject(url)).json()
    expect(body.coin).toBe('kPEPE')
    expect(body).not.toHaveProperty('requested_coin')
  })

  test.each(['/pulse/xyz:GOLD', '/pulse/XYZ%3Agold', '/pulse/xyz:GOLD-PERP'])(
    '%s is the coin of another dex',
    async (url) => {
      const { app, clock, tell } = gatewayFixture()
      const event = universe(['BTC', 'xyz:GOLD'])
      if (event.kind === 'universe') tell({ kind: 'universe', listings: event.listings })
      const gold = pulseLikeDocument({ coin: 'xyz:GOLD', confirmedAtMs: clock.nowMs(), version: 2 })
      tell({ kind: 'documents', documents: [gold] })
      expect((await app.inject(url)).json().coin).toBe('xyz:GOLD')
      expect((await app.inject('/pulse/GOLD')).statusCode).toBe(400)
    },
  )

  test('says what was asked for where the token is quoted in thousands', async () => {
    const { app } = gatewayFixture()
    const body = (await app.inject('/pulse/pepe')).json()
    expect(body).toMatchObject({
      coin: 'kPEPE',
      requested_coin: 'PEPE',
      unit_multiplier: 1000,
    })
  })

  test.each(['4h', '4H', '4h,4h', '4h&unknown=1'])(
    'of timeframes=%s holds the canonical set',
    async (raw) => {
      const { app } = gatewayFixture()
      const body = (await app.inject(`/pulse/BTC?timeframes=${raw}`)).json()
      expect(Object.keys(body.timeframes)).toEqual(['4h'])
    },
  )

  test('warns of stale data and goes on where no freshness is guaranteed', async () => {
    const { app, clock, tell } = gatewayFixture()
    clock.advance(7_200_001)
    tell({
      kind: 'heartbeat',
      heartbeat: { startedAtMs: 0, feeds: [FEED_UP], sources: [], store: STORE_OK, counts: {} },
    })
    const { meta } = (await app.inject('/pulse/BTC')).json()
    expect(meta).toMatchObject({
      warning: 'stale_data',
      warnings: ['stale_data', 'feed_degraded'],
      quality: { grade: 'D' },
    })
  })
})

describe('a refusal', () => {
  type Case = {
    readonly url: string
    readonly status: number
    readonly code: string
    readonly given?: (fixture: Fixture) => void
    readonly more?: Readonly<Record<string, unknown>>
  }

  const speaks = {
    kind: 'heartbeat',
    heartbeat: { startedAtMs: 0, feeds: [], sources: [], store: STORE_OK, counts: {} },
  } as const
  const timeframesFault = { param: 'timeframes', allowed: ['15m', '1h', '4h'] }
  const refusals: readonly Case[] = [
    {
      url: '/pulse/BTCC',
      status: 400,
      code: 'invalid_coin',
      more: { param: 'coin', did_you_mean: ['BTC'] },
    },
    { url: `/pulse/${'B'.repeat(64)}`, status: 400, code: 'invalid_coin' },
    { url: `/pulse/${'B'.repeat(65)}`, status: 400, code: 'invalid_coin' },
    { url: `/pulse/${'B'.repeat(5_000)}`, status: 400, code: 'invalid_coin' },
    { url: '/pulse/..%2f..%2fetc', status: 400, code: 'invalid_coin' },
    { url: '/pulse/BTC%00%0d%0a', status: 400, code: 'invalid_coin' },
    { url: '/pulse/{coin}', status: 400, code: 'invalid_coin' },
    {
      url: '/pulse/BTC?timeframes=5m',
      status: 400,
      code: 'invalid_timeframes',
      more: timeframesFault,
    },
    { url: '/pulse/BTC?timeframes=', status: 400, code: 'invalid_timeframes' },
    { url: '/pulse/BTC?timeframes=1h,', status: 400, code: 'invalid_timeframes' },
    {
      url: '/pulse/BTC?timeframes=1h&timeframes=4h',
      status: 400,
      code: 'invalid_timeframes',
      more: timeframesFault,
    },
    {
      url: '/pulse/BTC?timeframes=15m',
      status: 400,
      code: 'insufficient_candles',
      more: { timeframe: '15m', have: 17, need: 200, retryable: true },
    },
    {
      url: '/pulse/BTC?timeframes=1h',
      status: 503,
      code: 'data_stale',
      more: { retry_after: 5 },
    },
    { url: '/pulse/NEWCOIN', status: 503, code: 'data_stale', more: { retry_after: 5 } },
    {
      url: '/liquidations/BTC',
      status: 503,
      code: 'data_stale',
      more: { retry_after: 5 },
      given: ({ clock, tell }) => {
        clock.advance(60_001)
        tell(speaks)
      },
    },
    {
      url: '/pulse/BTC',
      status: 503,
      code: 'data_stale',
      more: { detail: expect.stringContaining('clock') },
      given: ({ clock, tell }) => {
        const version = 1_000
        const confirmedAtMs = clock.nowMs() + 3_600_000
        tell({
          kind: 'documents',
          documents: [pulseLikeDocument({ coin: 'BTC', confirmedAtMs, version })],
        })
      },
    },
    {
      url: '/liquidations/ETH',
      status: 503,
      code: 'data_stale',
      given: ({ clock, tell }) => {
        const view = { kind: 'missing-input', input: 'open interest' } as const
        tell({ kind: 'documents', documents: [gatedLikeDocument('ETH', clock.nowMs(), view)] })
      },
    },
    {
      url: '/liquidations/ETH',
      status: 503,
      code: 'data_stale',
      more: { detail: 'No exchange tells.', retry_after: 5 },
      given: ({ clock, tell }) => {
        const detail = 'No exchange tells.'
        const view = { kind: 'missing-input', input: 'exchange', detail } as const
        tell({ kind: 'documents', documents: [gatedLikeDocument('ETH', clock.nowMs(), view)] })
      },
    },
    {
      url: '/liquidations/ETH',
      status: 404,
      code: 'coin_not_covered',
      more: { param: 'coin', allowed: ['BTC', 'kPEPE'], retryable: false, charged: false },
      given: ({ clock, tell }) => {
        const view = { kind: 'not-covered', coins: ['BTC', 'kPEPE'] } as const
        tell({ kind: 'documents', documents: [gatedLikeDocument('ETH', clock.nowMs(), view)] })
      },
    },
    {
      url: '/liquidations/ETH',
      status: 503,
      code: 'data_stale',
      more: { detail: expect.stringContaining('at most 10 s'), retry_after: 5 },
      given: ({ clock, tell }) => {
        const nowMs = clock.nowMs()
        const late = { name: 'mark', confirmedAtMs: nowMs - 10_001, cadenceMs: 5_000 }
        const inputs = [{ ...late, isLoadBearing: true, ageMsMax: 10_000 }]
        const facts = { inputs, coveragePct: 100, warnings: [] }
        const view = { kind: 'answer', parts: [0, 1, 2], ...facts } as const
        tell({ kind: 'documents', documents: [gatedLikeDocument('ETH', nowMs, view)] })
      },
    },
    {
      url: '/pulse/BTC',
      status: 500,
      code: 'engine_unavailable',
      given: ({ engine }) => engine.disconnected(),
    },
    {
      url: '/pulse/NEVERHEARD',
      status: 500,
      code: 'engine_unavailable',
      given: ({ engine }) => engine.disconnected(),
    },
    {
      url: '/pulse/BTC',
      status: 504,
      code: 'engine_timeout',
      given: ({ clock }) => clock.advance(ENGINE_SILENCE_MS_MAX + 1),
    },
    {
      url: '/pulse/BTC',
      status: 503,
      code: 'maintenance',
      more: { retry_after: 3600 },
      given: ({ maintenance, clock }) => maintenance.set(true, clock.nowMs()),
    },
    { url: '/pulse', status: 404, code: 'not_found' },
    { url: '/pulse/', status: 404, code: 'not_found' },
    { url: '/pulse/BTC//', status: 404, code: 'not_found' },
    { url: '/PULSE/BTC', status: 404, code: 'not_found' },
    { url: `/${'x'.repeat(300)}`, status: 404, code: 'not_found' },
    { url: '/pulse/%E0%A4%A', status: 400, code: 'invalid_parameter' },
  ]

  test.each(refusals)('$status $code for $url charges nothing', async (given) => {
    const fixture = gatewayFixture()
    given.given?.(fixture)
    const response = await fixture.app.inject(given.url)
    expectProblem(response, given.status, given.code)
    expect(response.json()).toMatchObject(given.more ?? {})
  })

  test('of an error of ours tells nothing about it', async () => {
    const { app } = gatewayFixture()
    app.get('/broken', () => {
      throw new Error('secret of the house')
    })
    const response = await app.inject('/broken')
    expectProblem(response, 500, 'internal_error')
    expect(response.body).not.toContain('secret')
  })

  test('names the path alone, without the query', async () => {
    const { app } = gatewayFixture()
    const response = await app.inject('/pulse/NOPE?timeframes=1h')
    expect(response.json().instance).toBe('/pulse/NOPE')
  })

  test('while nothing is listed yet does not call a coin unknown', async () => {
    const { app, tell } = gatewayFixture()
    tell({ kind: 'universe', listings: [] })
    expectProblem(await app.inject('/pulse/BTC'), 503, 'data_stale')
  })
})

describe('the order of checks', () => {
  const broken = '/pulse/NOPE?timeframes=5m'

  test('puts maintenance before the quote limit and every parameter', async () => {
    let limited = 0
    const { app, maintenance, clock } = gatewayFixture({
      quoteLimit: (_request, _reply, done) => {
        limited += 1
        done()
      },
    })
    maintenance.set(true, clock.nowMs())
    for (const url of [broken, `/pulse/${'x'.repeat(65)}`, '/liquidations/BTC']) {
      const response = await app.inject(url)
      expectProblem(response, 503, 'maintenance')
      expect(response.headers['retry-after']).toBe('3600')
    }
    expect(limited).toBe(0)
    expect((await app.inject('/coins')).statusCode).toBe(200)
    expect((await app.inject('/health')).json()).toMatchObject({
      status: 'degraded',
      kill_switch: 'disabled',
    })
  })

  test('puts the quote limit before the parameters', async () => {
    const { app } = gatewayFixture({
      quoteLimit: (_request, reply) => {
        void reply.code(429).send('slow down')
      },
    })
    expect((await app.inject(broken)).statusCode).toBe(429)
    expect((await app.inject('/health')).statusCode).toBe(200)
  })

  test('puts parameters before the engine', async () => {
    const { app, engine } = gatewayFixture()
    engine.disconnected()
    expectProblem(await app.inject('/pulse/BTC?timeframes=5m'), 400, 'invalid_timeframes')
  })

  test('quotes only what can be answered', async () => {
    const { app } = gatewayFixture({ payment: quotingGate })
    expect((await app.inject('/pulse/BTC')).statusCode).toBe(402)
    expectProblem(await app.inject('/pulse/NEWCOIN'), 503, 'data_stale')
    expectProblem(await app.inject('/pulse/NOPE'), 400, 'invalid_coin')
  })

  test('reads the document again after the payment was checked', async () => {
    const fixture = gatewayFixture({
      payment: (app) => {
        app.addHook('preHandler', (_request, _reply, done) => {
          fixture.engine.disconnected()
          done()
        })
      },
    })
    expectProblem(await fixture.app.inject('/pulse/BTC'), 500, 'engine_unavailable')
  })

  test('honours a kill switch that was thrown while the payment was checked', async () => {
    const fixture = gatewayFixture({
      payment: (app) => {
        app.addHook('preHandler', (_request, _reply, done) => {
          fixture.maintenance.set(true, fixture.clock.nowMs())
          done()
        })
      },
    })
    expectProblem(await fixture.app.inject('/pulse/BTC'), 503, 'maintenance')
  })
})

describe('a paid path', () => {
  test.each(['/pulse/{coin}', '/pulse/%7Bcoin%7D', '/pulse/%7bcoin%7d/'])(
    'quotes the placeholder %s as the example coin',
    async (url) => {
      const { app } = gatewayFixture({ payment: quotingGate })
      expect((await app.inject(url)).statusCode).toBe(402)
    },
  )

  test('does not sell the placeholder', async () => {
    const { app } = gatewayFixture({ payment: quotingGate })
    const response = await app.inject({ url: '/pulse/{coin}', headers: { 'x-payment': 'e30=' } })
    expectProblem(response, 400, 'invalid_coin', { paymentReusable: true })
  })

  test('quotes a placeholder as the first listed coin where the example is not listed', async () => {
    const { app } = gatewayFixture({ payment: quotingGate, exampleCoin: 'GONE' })
    expect((await app.inject('/pulse/{coin}')).statusCode).toBe(402)
  })

  test('answers HEAD with the quote, even to a payment, and takes nothing', async () => {
    const { app } = gatewayFixture({ payment: quotingGate })
    for (const headers of [{}, { 'x-payment': 'e30=' }, { 'payment-signature': 'e30=' }]) {
      const response = await app.inject({ method: 'HEAD', url: '/pulse/BTC', headers })
      expect(response.statusCode).toBe(402)
      expect(response.body).toBe('')
    }
  })

  test('never lets a HEAD reach an answer, should a gate be open by mistake', async () => {
    const { app } = gatewayFixture({ payment: () => undefined })
    const response = await app.inject({ method: 'HEAD', url: '/pulse/BTC' })
    expect(response.statusCode).toBe(500)
    expect(response.headers).not.toHaveProperty('etag')
  })

  test('tells the gate what it sells by the configuration of the route', async () => {
    const { app } = gatewayFixture({ payment: quotingGate })
    expect((await app.inject('/liquidations/BTC')).json().price).toBe('30000')
  })

  test('has its headers before the gate looks, which removes what came later', async () => {
    const seen: string[] = []
    const { app } = gatewayFixture({
      payment: (paid) => {
        paid.addHook('preHandler', (_request, reply, done) => {
          seen.push(...Object.keys(reply.getHeaders()))
          done()
        })
      },
    })
    await app.inject('/pulse/BTC')
    expect(seen).toEqual(expect.arrayContaining(['x-content-type-options', 'link']))
  })

  test('keeps its hooks to itself', async () => {
    const { app } = gatewayFixture({ payment: quotingGate })
    for (const url of ['/', '/health', '/coins']) {
      expect((await app.inject(url)).statusCode).toBe(200)
    }
  })
})

describe('methods', () => {
  test.each(['POST', 'PUT', 'PATCH', 'DELETE', 'TRACE', 'PROPFIND'] as const)(
    '%s on a known path is 405 and names what is allowed',
    async (method) => {
      const { app } = gatewayFixture({ payment: quotingGate })
      for (const url of ['/pulse/BTC', '/health', '/']) {
        // The type of `inject` knows only the common methods; the parser knows them all.
        const response = await app.inject({ method: method as 'POST', url })
        expectProblem(response, 405, 'method_not_allowed')
        expect(response.headers.allow).toBe('GET, HEAD, OPTIONS')
      }
    },
  )

  test('a body that nobody asked for is not even read', async () => {
    const { app } = gatewayFixture()
    const response = await app.inject({
      method: 'POST',
      url: '/pulse/BTC',
      headers: { 'content-type': 'application/json' },
      payload: '{broken',
    })
    expectProblem(response, 405, 'method_not_allowed')
  })

  test('a preflight is answered before any payment logic, also under maintenance', async () => {
    const { app, maintenance, clock } = gatewayFixture({ payment: quotingGate })
    maintenance.set(true, clock.nowMs())
    const response = await app.inject({
      method: 'OPTIONS',
      url: '/pulse/BTC',
      headers: { origin: 'https://agent.example', 'access-control-request-method': 'GET' },
    })
    expect(response.statusCode).toBe(204)
    expect(response.body).toBe('')
    expect(response.headers).toMatchObject({
      'access-control-allow-origin': '*',
      'access-control-allow-methods': 'GET, HEAD, OPTIONS',
      allow: 'GET, HEAD, OPTIONS',
    })
    expect(response.headers['access-control-allow-headers']).toContain('X-PAYMENT')
  })

  test('a page of another origin may read an answer and the terms of payment', async () => {
    const { app } = gatewayFixture({ payment: quotingGate })
    const quote = await app.inject({ url: '/pulse/BTC', headers: { origin: 'https://a.example' } })
    expect(quote.statusCode).toBe(402)
    expect(quote.headers).toMatchObject({
      'access-control-allow-origin': '*',
      'access-control-expose-headers': expect.stringContaining('PAYMENT-REQUIRED'),
    })
    const unasked = await app.inject('/coins')
    expect(unasked.headers, 'nobody else pays for the bytes').not.toHaveProperty(
      'access-control-allow-origin',
    )
    expect(unasked.headers.vary).toBe('Origin')
  })

  test('HEAD on a free path is GET without the body', async () => {
    const { app } = gatewayFixture()
    for (const url of ['/', '/health', '/coins', '/pulse/BTC']) {
      const [head, get] = await Promise.all([
        app.inject({ method: 'HEAD', url }),
        app.inject({ method: 'GET', url }),
      ])
      expect(head.statusCode).toBe(200)
      expect(head.body).toBe('')
      expect(head.headers['content-length']).toBe(get.headers['content-length'])
    }
  })
})

describe('the caller', () => {
  const proxy = '10.0.0.1'
  /** Whose allowance a second call uses, that comes by the same connection from somebody else. */
  const statuses = async (trustProxy: ProxyTrust | undefined, ...forwardedFor: string[]) => {
    const { app } = gatewayFixture({
      quoteLimit: quoteLimit(1),
      payment: quotingGate,
      ...(trustProxy === undefined ? {} : { trustProxy }),
    })
    const seen: number[] = []
    for (const value of forwardedFor) {
      const headers = { 'x-forwarded-for': value }
      const call = { url: '/pulse/BTC', headers, remoteAddress: proxy }
      seen.push((await app.inject(call)).statusCode)
    }
    return seen
  }

  test('is who connects, whatever a header says', async () => {
    expect(await statuses(undefined, '1.1.1.1', '2.2.2.2')).toEqual([402, 429])
  })

  test.each<{ readonly trust: ProxyTrust }>([{ trust: 1 }, { trust: ['10.0.0.0/8'] }])(
    'is who connected to a trusted proxy: $trust',
    async ({ trust }) => {
      expect(await statuses(trust, '1.1.1.1', '2.2.2.2', '2.2.2.2')).toEqual([402, 402, 429])
      expect(await statuses(trust, '1.1.1.1, 3.3.3.3', '2.2.2.2, 3.3.3.3')).toEqual([402, 429])
    },
  )

  test('is who connects, when that is not the proxy that is trusted', async () => {
    expect(await statuses(['10.0.0.2'], '1.1.1.1', '2.2.2.2')).toEqual([402, 429])
  })
})

describe('free paths', () => {
  test('list the coins whose default pulse can be answered', async () => {
    const { app } = gatewayFixture()
    const response = await app.inject('/coins')
    expect(response.json()).toEqual({
      coins: ['BTC', 'kPEPE'],
      count: 2,
      timestamp_iso: '2026-01-01T00:00:00.000Z',
    })
    expect(response.headers['cache-control']).toBe('public, max-age=60')
  })

  test('say that all is well', async () => {
    const { app, clock } = gatewayFixture()
    clock.advance(1_500)
    const response = await app.inject('/health')
    expect(response.headers['cache-control']).toBe('no-store')
    expect(response.json()).toEqual({
      status: 'ok',
      engine: 'available',
      kill_switch: 'enabled',
      version: '0.1.0',
      feeds: [
        { feed: 'venue', state: 'up', since_iso: '1970-01-01T00:00:00.000Z', reason: 'connected' },
      ],
      store: {
        state: 'ok',
        since_iso: '1970-01-01T00:00:00.000Z',
        dropped_rows: 0,
        damaged_blocks: 0,
      },
      uptime_seconds: 1,
      since_iso: '2026-01-01T00:00:00.000Z',
    })
  })

  test('tell that history does not reach the disk, and not which file it is', async () => {
    const { app, engine, tell } = gatewayFixture()
    const store: StoreHealth = {
      state: 'degraded',
      reason: 'the history /var/lib/x cannot be used',
      sinceMs: 0,
      droppedRows: 7,
      damagedBlocks: 2,
    }
    tell({
      kind: 'heartbeat',
      heartbeat: { startedAtMs: 0, feeds: [FEED_UP], sources: [], store, counts: {} },
    })
    const health = await app.inject('/health')
    expect(health.json()).toMatchObject({
      status: 'ok',
      store: { state: 'degraded', dropped_rows: 7, damaged_blocks: 2 },
    })
    expect(health.body).not.toContain('/var/lib')
    engine.disconnected()
    expect((await app.inject('/health')).json().store).toBeNull()
  })

  test('do not call a feed up that nobody hears any more', async () => {
    const { app, engine } = gatewayFixture()
    engine.disconnected()
    expect((await app.inject('/health')).json().feeds).toEqual([
      { feed: 'venue', state: 'down', since_iso: null, reason: 'engine unavailable' },
    ])
  })

  test.each([
    [
      'the engine is gone',
      { status: 'degraded', engine: 'unavailable' },
      ({ engine }: Fixture) => engine.disconnected(),
    ],
    [
      'the engine is silent',
      { status: 'degraded', engine: 'available' },
      ({ clock }: Fixture) => clock.advance(ENGINE_SILENCE_MS_MAX + 1),
    ],
    [
      'a feed is down',
      { status: 'degraded', engine: 'available' },
      ({ tell }: Fixture) =>
        tell({
          kind: 'heartbeat',
          heartbeat: {
            startedAtMs: 0,
            feeds: [{ ...FEED_UP, state: 'down' }],
            sources: [],
            store: STORE_OK,
            counts: {},
          },
        }),
    ],
  ] as const)('stay at 200 when %s', async (_title, expected, given) => {
    const fixture = gatewayFixture()
    given(fixture)
    const response = await fixture.app.inject('/health')
    expect(response.statusCode).toBe(200)
    expect(response.json()).toMatchObject(expected)
    expect((await fixture.app.inject('/coins')).statusCode).toBe(200)
  })

  test('name every paid path with its price', async () => {
    const { app } = gatewayFixture()
    expect((await app.inject('/')).json().paid).toContainEqual({
      path: '/pulse/{coin}',
      summary: 'Multi-timeframe technical analysis',
      price_usdc: '0.025',
    })
  })
})

describe('the access log', () => {
  test('is one line a request and holds neither query nor payment', async () => {
    const lines: string[] = []
    const { default: pino } = await import('pino')
    const logger = pino({ base: null }, { write: (line: string) => lines.push(line) })
    const { app } = gatewayFixture({ logger, accessLog: true })
    await app.inject({
      url: '/pulse/BTC?timeframes=4h&token=secret',
      headers: { 'x-payment': 'secret' },
    })
    expect(lines).toHaveLength(1)
    expect(lines[0]).not.toContain('secret')
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({
      msg: 'request',
      method: 'GET',
      path: '/pulse/BTC',
      status: 200,
      ms: expect.any(Number),
      bytes: expect.any(Number),
      request_id: expect.any(String),
    })
  })
})

/** The members of contract 3.5 and the headers that every response has. */
function expectProblem(
  response: LightMyRequestResponse,
  status: number,
  code: string,
  { paymentReusable = false } = {},
): void {
  expect(response.statusCode, response.body).toBe(status)
  const body = response.json()
  expect(body).toMatchObject({
    type: `/docs/errors#${code}`,
    title: expect.any(String),
    status,
    detail: expect.any(String),
    instance: expect.stringMatching(/^\//),
    code,
    error: expect.any(String),
    retryable: expect.any(Boolean),
    charged: false,
    payment_reusable: paymentReusable,
    request_id: response.headers['x-request-id'],
  })
  const { headers } = response
  expect(headers['content-type']).toBe('application/problem+json; charset=utf-8')
  expect(headers['cache-control']).toBe('no-store')
  expect(body.retry_after).toBe(
    headers['retry-after'] === undefined ? null : Number(headers['retry-after']),
  )
  expect(headers).toMatchObject({
    'x-content-type-options': 'nosniff',
    link: expect.stringContaining('rel="service-desc"'),
  })
  expect(headers).not.toHaveProperty('etag')
}
