import type { FastifyInstance } from 'fastify'
import { describe, expect, test } from 'vitest'
import { universe } from '../compute/testing/tape.ts'
import { STORE_OK } from '../link/testing/store-ok.ts'
import { quoteLimit } from '../payment/quote-limit.ts'
import type { SalesCheck, SalesReadiness } from '../payment/sales-readiness.ts'
import { expectProblem } from './testing/expect-problem.ts'
import { FEED_UP, gatewayFixture, quotingGate } from './testing/gateway-fixture.ts'
import { pulseLikeDocument } from './testing/pulse-like.ts'

/** Passes every call as paid, with this echo of the quote. */
const paidWith = (info: unknown) => (paid: FastifyInstance) => {
  paid.addHook('preHandler', (request, _reply, done) => {
    request.paymentExtensions = { 'answer-preview': { info } }
    request.isPaymentUsed = false
    done()
  })
}

describe('an echoed quality', () => {
  const bought = async (info: unknown) => {
    const { app, clock, deliver } = gatewayFixture({ payment: paidWith(info) })
    const document = pulseLikeDocument({
      ...{ coin: 'BTC', confirmedAtMs: clock.nowMs(), version: 2, coveragePct: 50 },
    })
    deliver({ kind: 'documents', documents: [document] })
    return app.inject({ url: '/pulse/BTC', headers: { 'x-payment': 'e30=' } })
  }

  test.each([
    [{ quality_grade: 'A' }, 'quoted grade A, now grade C with 50 %'],
    [{ quality_grade: 'b', etag: '"1"' }, 'quoted grade B, now grade C with 50 %'],
    [{ coverage: 60 }, 'quoted 60 % coverage, now grade C with 50 %'],
    [{ quality_grade: 'A', coverage: 100 }, 'quoted grade A with 100 % coverage, now grade C'],
  ])('%j is a condition of the sale', async (info, detail) => {
    const response = await bought(info)
    expectProblem(response, 503, 'data_stale', { paymentReusable: true })
    expect(response.json().detail).toContain(detail)
  })

  test.each([
    ['.quality_grade', { quality_grade: 'ZZ' }],
    ['.coverage', { quality_grade: 'A', coverage: '100' }],
    ['', 'A'],
  ])('that is invalid in info%s is refused without a charge', async (path, info) => {
    const response = await bought(info)
    expectProblem(response, 400, 'malformed_payment', { paymentReusable: true })
    expect(response.json().param).toBe(`extensions.answer-preview.info${path}`)
  })

  test.each([{}, { quality_grade: 'C' }, { coverage: 50 }, { quality_grade: 'c', coverage: 51 }])(
    '%j that holds buys the answer',
    async (info) => {
      expect((await bought(info)).statusCode).toBe(200)
    },
  )
})

describe('an answer', () => {
  test('returns the document with filled slots', async () => {
    const { app, clock } = gatewayFixture()
    clock.advance(2_500)
    const response = await app.inject('/pulse/BTC')
    expect(response.statusCode).toBe(200)
    expect(response.headers).toMatchObject({
      'content-type': 'application/json; charset=utf-8',
      'cache-control': 'private, max-age=1',
      vary: 'X-PAYMENT, PAYMENT-SIGNATURE, Accept, Accept-Encoding, Origin',
      etag: '"1-1h.4h"',
    })
    expect(response.json()).toMatchObject({
      coin: 'BTC',
      timeframes: { '1h': { candle_freshness_seconds: 2.5 } },
      meta: { data_age_seconds: 2.5, coins_available: 2, quality: { grade: 'A' } },
    })
  })

  test('has an entity tag of version and view only', async () => {
    const { app, clock, deliver } = gatewayFixture()
    const tag = async (url: string) => (await app.inject(url)).headers.etag
    const first = await tag('/pulse/BTC')
    clock.advance(100)
    expect(await tag('/pulse/BTC?timeframes=4h,1h')).toBe(first)
    expect(await tag('/pulse/BTC?timeframes=4h')).not.toBe(first)
    const next = pulseLikeDocument({ coin: 'BTC', confirmedAtMs: clock.nowMs(), version: 2 })
    deliver({ kind: 'documents', documents: [next] })
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
      const { app, clock, deliver } = gatewayFixture()
      const event = universe(['BTC', 'xyz:GOLD'])
      if (event.kind === 'universe') deliver({ kind: 'universe', listings: event.listings })
      const gold = pulseLikeDocument({ coin: 'xyz:GOLD', confirmedAtMs: clock.nowMs(), version: 2 })
      deliver({ kind: 'documents', documents: [gold] })
      expect((await app.inject(url)).json().coin).toBe('xyz:GOLD')
      expect((await app.inject('/pulse/GOLD')).statusCode).toBe(400)
    },
  )

  test('names the requested token if it is quoted in thousands', async () => {
    const { app } = gatewayFixture()
    const body = (await app.inject('/pulse/pepe')).json()
    expect(body).toMatchObject({
      coin: 'kPEPE',
      requested_coin: 'PEPE',
      unit_multiplier: 1000,
    })
  })

  test.each(['4h', '4H', '4h,4h', '4h&utm_source=a&utm_source=b&_=1'])(
    'of timeframes=%s holds the canonical set',
    async (raw) => {
      const { app } = gatewayFixture()
      const body = (await app.inject(`/pulse/BTC?timeframes=${raw}`)).json()
      expect(Object.keys(body.timeframes)).toEqual(['4h'])
    },
  )

  test('warns of stale data if the contract has no age limit', async () => {
    const { app, clock, deliver } = gatewayFixture()
    clock.advance(7_200_001)
    deliver({
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

describe('the order of checks', () => {
  const broken = '/pulse/NOPE?timeframes=5m'

  test('puts maintenance before the quote limit and every parameter', async () => {
    let limited = 0
    const { app, maintenance, clock } = gatewayFixture({
      quoteLimit: {
        ...quoteLimit(1),
        async onRequest() {
          limited += 1
        },
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
      quoteLimit: {
        ...quoteLimit(1),
        onRequest: async (_request, reply) => reply.code(429).send('slow down'),
      },
    })
    expect((await app.inject(broken)).statusCode).toBe(429)
    expect((await app.inject('/health')).statusCode).toBe(200)
  })

  test('counts calls with a payment in the quote limit only if their parameters are refused', async () => {
    const { app, engine } = gatewayFixture({ payment: quotingGate, quoteLimit: quoteLimit(2) })
    const reusable = { paymentReusable: true }
    const paying = (url: string) => app.inject({ url, headers: { 'x-payment': '%' } })
    for (const _ of [1, 2, 3]) expect((await paying('/pulse/BTC')).statusCode).toBe(200)
    for (const _ of [1, 2, 3])
      expectProblem(await paying('/pulse/NEWCOIN'), 503, 'data_stale', {
        ...reusable,
        charged: null,
      })
    for (const _ of [1, 2])
      expectProblem(await paying(broken), 400, 'invalid_timeframes', { ...reusable, charged: null })
    const limited = await paying(broken)
    expectProblem(limited, 429, 'rate_limited', { ...reusable, charged: null })
    expect(limited.headers['ratelimit']).toMatch(/^"ip";r=0;t=\d+$/)
    expect((await app.inject('/pulse/BTC')).statusCode).toBe(429)
    expect((await paying('/pulse/BTC')).statusCode, 'a call that can be sold').toBe(200)
    engine.disconnected()
    expectProblem(await paying('/pulse/BTC'), 500, 'engine_unavailable', {
      ...reusable,
      charged: null,
    })
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

  test('puts sales readiness after the answer and before the quote', async () => {
    const checks: SalesCheck[] = [
      ...([
        'ledger_writable',
        'can_settle',
        'clock',
        'accepts_sales',
        'engine_agrees',
        'engine_clock',
      ] as const),
    ]
    for (const check of checks) {
      const sales = { hindrance: () => ({ check, fault: { reason: 'secret', sinceMs: 0 } }) }
      const readiness = { isClockOff: () => false, sales: sales as unknown as SalesReadiness }
      const { app, maintenance, clock } = gatewayFixture({ payment: quotingGate, readiness })
      expectProblem(await app.inject('/pulse/NEWCOIN'), 503, 'data_stale')
      const response = await app.inject('/pulse/BTC')
      expectProblem(response, 503, 'service_not_ready')
      expect(response.headers['retry-after']).toBe('5')
      expect(response.json().check).toBe(check)
      expect(response.body, 'names of nodes and files are not for strangers').not.toContain(
        'secret',
      )
      maintenance.set(true, clock.nowMs())
      expectProblem(await app.inject('/pulse/BTC'), 503, 'maintenance')
    }
  })

  test('while the clock is off gives free answers below grade A', async () => {
    const readiness = { isClockOff: () => isOff, sales: null }
    let isOff = true
    const { app } = gatewayFixture({ readiness })
    const { meta } = (await app.inject('/pulse/BTC')).json()
    expect(meta).toMatchObject({ quality: { grade: 'C' }, warnings: ['clock_off'] })
    expect((await app.inject('/health')).json()).toMatchObject({
      status: 'degraded',
      checks: { clock: false },
    })
    isOff = false
    expect((await app.inject('/pulse/BTC')).json().meta.quality.grade).toBe('A')
    expect((await app.inject('/health')).json()).toMatchObject({ status: 'ok' })
  })

  test('reads the document again after the payment was verified', async () => {
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

  test('honours a kill switch that was set while the payment was verified', async () => {
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
    // The gate of this test looks no payment up.
    expectProblem(response, 400, 'invalid_coin', { paymentReusable: true, charged: null })
  })

  test('quotes a placeholder as the first listed coin if the example is not listed', async () => {
    const { app } = gatewayFixture({ payment: quotingGate, exampleCoin: 'GONE' })
    expect((await app.inject('/pulse/{coin}')).statusCode).toBe(402)
  })

  test('answers HEAD with the quote, also with a payment, and charges nothing', async () => {
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

  test('describes the sale in the configuration of the route', async () => {
    const { app } = gatewayFixture({ payment: quotingGate })
    expect((await app.inject('/liquidations/BTC')).json().price).toBe('30000')
  })

  test('has its headers before the payment gate, which removes later ones', async () => {
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

  test('keeps its hooks in its scope', async () => {
    const { app } = gatewayFixture({ payment: quotingGate })
    for (const url of ['/', '/health', '/coins']) {
      expect((await app.inject(url)).statusCode).toBe(200)
    }
  })
})
