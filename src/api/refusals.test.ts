import { describe, expect, onTestFinished, test } from 'vitest'
import { ENGINE_SILENCE_MS_MAX, EngineReplica } from '../link/engine-replica.ts'
import { STORE_OK } from '../link/testing/store-ok.ts'
import { exactEvm } from '../payment/evm/exact-evm.ts'
import { base } from '../payment/evm/networks.ts'
import { SqliteLedger } from '../payment/ledger/sqlite-ledger.ts'
import type { Settlement } from '../payment/payment.ts'
import { payments } from '../payment/plugin.ts'
import { encodedPayment, newBuyer, signedPayload } from '../payment/testing/buyer.ts'
import { newSecret } from '../payment/testing/new-secret.ts'
import { expectProblem } from './testing/expect-problem.ts'
import { gatewayFixture } from './testing/gateway-fixture.ts'
import { gatedLikeDocument, pulseLike, pulseLikeDocument } from './testing/pulse-like.ts'

type Fixture = ReturnType<typeof gatewayFixture>

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
      given: ({ clock, deliver }) => {
        clock.advance(60_001)
        deliver(speaks)
      },
    },
    {
      url: '/pulse/BTC',
      status: 503,
      code: 'data_stale',
      more: { detail: expect.stringContaining('clock') },
      given: ({ clock, deliver }) => {
        const version = 1_000
        const confirmedAtMs = clock.nowMs() + 3_600_000
        deliver({
          kind: 'documents',
          documents: [pulseLikeDocument({ coin: 'BTC', confirmedAtMs, version })],
        })
      },
    },
    {
      url: '/liquidations/ETH',
      status: 503,
      code: 'data_stale',
      given: ({ clock, deliver }) => {
        const view = { kind: 'missing-input', input: 'open_interest' } as const
        deliver({ kind: 'documents', documents: [gatedLikeDocument('ETH', clock.nowMs(), view)] })
      },
    },
    {
      url: '/liquidations/ETH',
      status: 503,
      code: 'data_stale',
      more: {
        detail: expect.stringMatching(/^No exchange responds\. Nothing was charged\./),
        retry_after: 5,
      },
      given: ({ clock, deliver }) => {
        const detail = 'No exchange responds.'
        const view = { kind: 'missing-input', input: 'exchange', detail } as const
        deliver({ kind: 'documents', documents: [gatedLikeDocument('ETH', clock.nowMs(), view)] })
      },
    },
    {
      url: '/liquidations/ETH',
      status: 404,
      code: 'coin_not_covered',
      more: { param: 'coin', allowed: ['BTC', 'kPEPE'], retryable: false, charged: false },
      given: ({ clock, deliver }) => {
        const view = { kind: 'not-covered', coins: ['BTC', 'kPEPE'] } as const
        deliver({ kind: 'documents', documents: [gatedLikeDocument('ETH', clock.nowMs(), view)] })
      },
    },
    {
      url: '/liquidations/ETH',
      status: 503,
      code: 'data_stale',
      more: {
        detail: expect.stringMatching(/^The input mark of ETH is 11 s old; the limit is 10 s\./),
        retry_after: 5,
      },
      given: ({ clock, deliver }) => {
        const nowMs = clock.nowMs()
        const late = { name: 'mark', confirmedAtMs: nowMs - 10_001, cadenceMs: 5_000 }
        const inputs = [{ ...late, isLoadBearing: true, ageMsMax: 10_000 }]
        const facts = { inputs, coveragePct: 100, warnings: [] }
        const view = { kind: 'answer', parts: [0, 1, 2], ...facts } as const
        deliver({ kind: 'documents', documents: [gatedLikeDocument('ETH', nowMs, view)] })
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
    {
      url: '/pulse',
      status: 404,
      code: 'not_found',
      more: {
        detail: 'This path does not exist. The path of pulse is /pulse/{coin}.',
        did_you_mean: ['/pulse/{coin}'],
      },
    },
    {
      url: '/pulse/BTC/USDC',
      status: 404,
      code: 'not_found',
      more: {
        detail:
          'This path does not exist. The path of pulse is /pulse/{coin}. Write a pair as BTC-USDC.',
      },
    },
    { url: '/Puls/BTC', status: 404, code: 'not_found', more: { did_you_mean: ['/pulse/{coin}'] } },
    {
      url: '/sample',
      status: 404,
      code: 'not_found',
      more: { did_you_mean: ['/sample/{analysis}'] },
    },
    {
      url: '/elsewhere',
      status: 404,
      code: 'not_found',
      more: { detail: 'This path does not exist. GET / lists all paths.' },
    },
    { url: '/pulse/', status: 404, code: 'not_found' },
    {
      url: '/pulse/BTC//',
      status: 404,
      code: 'not_found',
      more: {
        detail:
          'This path does not exist. The path of pulse is /pulse/{coin}. The path has an empty segment.',
      },
    },
    ...['/sample//pulse', '//sample/pulse', '/sample/pulse//'].map((url) => ({
      url,
      status: 404,
      code: 'not_found' as const,
      more: {
        detail:
          'This path does not exist. The path of sample is /sample/{analysis}. The path has an empty segment.',
      },
    })),
    {
      url: '/sample/pulse/x',
      status: 404,
      code: 'not_found',
      more: { detail: 'This path does not exist. The path of sample is /sample/{analysis}.' },
    },
    {
      url: '/pulse/BTC?fields=nothing',
      status: 400,
      code: 'invalid_parameter',
      more: {
        detail: 'fields names "nothing", which is not a member of the answer.',
        param: 'fields',
        did_you_mean: [],
      },
    },
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

  test('for a defect does not reveal its cause', async () => {
    const { app } = gatewayFixture()
    app.get('/broken', () => {
      throw new Error('a secret')
    })
    const response = await app.inject('/broken')
    expectProblem(response, 500, 'internal_error')
    expect(response.body).not.toContain('secret')
  })

  test('names the path without the query', async () => {
    const { app } = gatewayFixture()
    const response = await app.inject('/pulse/NOPE?timeframes=1h')
    expect(response.json().instance).toBe('/pulse/NOPE')
  })

  test('while the engine starts states when to call again, and is no server error', async () => {
    const { app } = gatewayFixture({
      engine: new EngineReplica({ analysis: 'pulse', view: pulseLike.defaultView }),
    })
    const response = await app.inject('/pulse/BTC')
    expectProblem(response, 503, 'data_stale')
    expect(response.headers['retry-after']).toBe('5')
    expect(response.json().detail).toBe(
      'The analysis engine is starting. Nothing was charged. Retry in 5 s.',
    )
  })

  test('without a list of coins does not call a coin unknown', async () => {
    const { app, deliver } = gatewayFixture()
    deliver({ kind: 'universe', listings: [] })
    expectProblem(await app.inject('/pulse/BTC'), 503, 'data_stale')
  })
})

describe('a refusal of a payment', () => {
  const payTo = '0x00000000000000000000000000000000000000A1'

  /** A gateway that sells, and a payment that bought `/pulse/BTC` for a caller whose proof is lost. */
  async function sold({ isReleased = false } = {}) {
    const ledger = new SqliteLedger(':memory:')
    const settlement: Settlement = isReleased
      ? { kind: 'unreachable', reason: 'refused' }
      : { kind: 'settled', transaction: '0xabc' }
    const facilitator = {
      verify: async () => ({ kind: 'valid' }) as const,
      settle: async () => settlement,
      outcome: async () => ({ kind: 'unused', asOfSeconds: 0 }) as const,
    }
    const methods = [exactEvm({ network: base, payTo, facilitator })]
    const publicUrl = 'https://api.example.com'
    const fixture = gatewayFixture({
      payment: async (paid) => {
        await paid.register(payments, {
          ...{ methods, ledger, publicUrl, newSecret, clock: fixture.clock },
        })
      },
      discovery: { publicUrl, waysToPay: methods },
    })
    const { app, clock } = fixture
    onTestFinished(async () => {
      await app.close()
      await ledger.close()
    })
    const signed = async () => {
      const amount = pulseLike.priceUsdcAtomic
      return signedPayload(newBuyer(), { amount, payTo, nowMs: clock.nowMs() })
    }
    const ask = (payment: object, url: string, method: 'GET' | 'POST' = 'GET') =>
      app.inject({ method, url, headers: { 'payment-signature': encodedPayment(payment) } })
    const { extensions: secret, ...used } = await signed()
    const first = await ask({ ...used, extensions: secret }, '/pulse/BTC')
    expect(first.statusCode).toBe(isReleased ? 503 : 200)
    const close = () => fixture.maintenance.set(true, clock.nowMs())
    return { app, ask, close, used, fresh: await signed() }
  }

  test.each([
    ['/pulse/BTC?x=1', 'unknown_parameter'],
    ['/pulse/NOPE', 'invalid_coin'],
    ['/pulse/NEWCOIN', 'data_stale'],
    ['/liquidations/NOPE', 'invalid_coin'],
  ])('that was used, for %s: %s denies no charge', async (url, code) => {
    const { ask, used, fresh } = await sold()
    const refused = (await ask(used, url)).json()
    expect(refused).toMatchObject({ code, charged: null, payment_reusable: false })
    expect(refused.detail).toContain(
      'Nothing was charged for this request. An earlier request may have charged this payment.',
    )
    expect(refused.detail).not.toContain('Nothing was charged. ')
    const other = (await ask(fresh, url)).json()
    expect(other).toMatchObject({ code, charged: false, payment_reusable: true })
    expect(other.detail).not.toContain('earlier request')
  })

  test('that was released denies no charge: its transfer may be on chain after all', async () => {
    const { ask, close, used } = await sold({ isReleased: true })
    const refused = { charged: null, payment_reusable: true }
    expect((await ask(used, '/pulse/NOPE')).json()).toMatchObject({
      code: 'invalid_coin',
      ...refused,
    })
    close()
    expect((await ask(used, '/pulse/BTC')).json()).toMatchObject({
      code: 'maintenance',
      ...refused,
    })
  })

  test('that was used denies no charge during maintenance', async () => {
    const { ask, close, used, fresh } = await sold()
    close()
    const refused = (await ask(used, '/pulse/BTC')).json()
    expect(refused).toMatchObject({
      ...{ code: 'maintenance', charged: null, payment_reusable: false },
      detail:
        'Paid analyses are disabled for maintenance; /health and /coins remain available. Nothing was charged for ' +
        'this request. An earlier request may have charged this payment.',
    })
    expect((await ask(fresh, '/pulse/BTC')).json()).toMatchObject({
      ...{ code: 'maintenance', charged: false, payment_reusable: true },
    })
  })

  test.each([
    ['/pulses', 'GET', 'not_found'],
    ['/pulse/BTC', 'POST', 'method_not_allowed'],
    ['/pulse/%E0%A4%A', 'GET', 'invalid_parameter'],
  ] as const)(
    'for %s by %s, before its look-up, denies no charge: %s',
    async (url, method, code) => {
      const { ask, used, fresh } = await sold()
      for (const payment of [used, fresh])
        expect((await ask(payment, url, method)).json()).toMatchObject({
          ...{ code, charged: null, payment_reusable: true },
          detail: expect.stringContaining('An earlier request may have charged this payment.'),
        })
    },
  )
})
