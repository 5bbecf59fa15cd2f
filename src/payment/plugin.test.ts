import { setImmediate } from 'node:timers/promises'
import { fc, test as property } from '@fast-check/vitest'
import type { FastifyInstance, onRequestHookHandler } from 'fastify'
import Fastify from 'fastify'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { ManualClock } from '../../test/support/manual-clock.ts'
import type { Clock } from '../domain/clock.ts'
import { exactEvm } from './evm/exact-evm.ts'
import { base } from './evm/networks.ts'
import { SqliteLedger } from './ledger/sqlite-ledger.ts'
import type { Facilitator } from './payment.ts'
import type { PaymentEvent } from './payment-event.ts'
import type { PaymentOptions } from './plugin.ts'
import { payments } from './plugin.ts'
import { quoteLimit } from './quote-limit.ts'
import { encodedPayment, newBuyer, signedPayload } from './testing/buyer.ts'
import { ledgerEntry, NOW_MS } from './testing/ledger-entry.ts'
import { newSecret } from './testing/new-secret.ts'

const config = { x402: { priceUsdcAtomic: 20_000n, description: 'pulse' } }
const ledgers: SqliteLedger[] = []

afterEach(async () => {
  for (const ledger of ledgers.splice(0)) await ledger.close()
})

function options(): PaymentOptions {
  const ledger = new SqliteLedger(':memory:')
  ledgers.push(ledger)
  const unasked = () => Promise.reject(new Error('nothing here gets as far as the facilitator'))
  return {
    methods: [
      exactEvm({
        network: base,
        payTo: '0x00000000000000000000000000000000000000A1',
        facilitator: { verify: unasked, settle: unasked, outcome: unasked },
      }),
    ],
    ledger,
    clock: new ManualClock(),
    publicUrl: 'https://api.example.com/',
    newSecret,
  }
}

function sellingApp(): FastifyInstance {
  const app = Fastify()
  void app.register(payments, options())
  void app.register((paid, _options, done) => {
    paid.get('/pulse/:coin', { config }, async () => Buffer.from('sold'))
    paid.get('/any/*', { config }, async () => Buffer.from('sold'))
    done()
  })
  app.get('/free', async () => 'free')
  return app
}

describe('a paid route', () => {
  test('is quoted also where a child of the instance declares it', async () => {
    const app = sellingApp()
    expect((await app.inject('/pulse/BTC')).statusCode).toBe(402)
    expect((await app.inject('/free')).statusCode).toBe(200)
    await app.close()
  })

  test('that was added before the plugin stays shut', async () => {
    const app = Fastify()
    app.get('/early', { config }, async () => Buffer.from('sold'))
    await app.register(payments, options())
    const { statusCode, body } = await app.inject('/early')
    expect(statusCode).toBe(500)
    expect(body).not.toContain('sold')
    await app.close()
  })

  test('can only be one that reads', async () => {
    const app = Fastify()
    await app.register(payments, options())
    expect(() => app.post('/pulse', { config }, async () => 'sold')).toThrow(/only GET and HEAD/)
    expect(() =>
      app.route({ method: ['GET', 'POST'], url: '/both', config, handler: async () => 'sold' }),
    ).toThrow(/only GET and HEAD/)
    await app.close()
  })

  test('is not free for a header that is not a payment', async () => {
    const app = sellingApp()
    for (const name of ['x-payment', 'payment-signature', 'X-Payment']) {
      for (const value of ['', ' ', 'null', 'e30=', ',']) {
        const { statusCode } = await app.inject({ url: '/pulse/BTC', headers: { [name]: value } })
        expect(statusCode, `${name}: ${value}`).toBe(400)
      }
    }
    await app.close()
  })
})

/** After a start, as after a closure: no caller could ask before. */
const NO_SWEEP_MS = 2 * 3_600_000

test('answers whose time ran out while the service was down wait for their buyers', async () => {
  const { ledger, ...rest } = options()
  const entry = ledgerEntry('0x1')
  await ledger.begin(entry, NOW_MS)
  await ledger.move(entry.key, 'settled', '0xabc', NOW_MS)
  const clock = new ManualClock(NOW_MS + 86_400_000)
  const app = Fastify()
  await app.register(payments, { ...rest, ledger, clock })
  clock.advance(NO_SWEEP_MS)
  expect((await ledger.find(entry.key))?.answer).not.toBeNull()
  clock.advance(10_000)
  expect((await ledger.find(entry.key))?.answer).toBeNull()
  await app.close()
})

test('a clock that was set an hour ahead removes no answer before its time', async () => {
  const { ledger, ...rest } = options()
  const entry = ledgerEntry('0x1')
  const manual = new ManualClock(NOW_MS)
  let aheadMs = 0
  const clock: Clock = {
    nowMs: () => manual.nowMs() + aheadMs,
    after: (delayMs, task) => manual.after(delayMs, task),
    every: (periodMs, task) => manual.every(periodMs, task),
  }
  const app = Fastify()
  await app.register(payments, { ...rest, ledger, clock, isClockOff: () => aheadMs !== 0 })
  manual.advance(NO_SWEEP_MS + 20_000)
  // The sweep of this time ends, so that the next one is due while the clock is ahead.
  await setImmediate()
  await ledger.begin({ ...entry, validBeforeSeconds: manual.nowMs() / 1_000 + 120 }, manual.nowMs())
  await ledger.move(entry.key, 'settled', '0xabc', manual.nowMs())
  aheadMs = 3_600_000
  manual.advance(60_000)
  expect((await ledger.find(entry.key))?.answer).not.toBeNull()
  aheadMs = 0
  manual.advance(2 * NO_SWEEP_MS)
  expect((await ledger.find(entry.key))?.answer).toBeNull()
  await app.close()
})

test('a sweep that fails is reported and retried', async () => {
  const { ledger, ...rest } = options()
  const events: PaymentEvent[] = []
  const app = Fastify()
  const manual = new ManualClock()
  await app.register(payments, {
    ...rest,
    ledger,
    clock: manual,
    onEvent: (event) => events.push(event),
  })
  await ledger.close()
  manual.advance(NO_SWEEP_MS)
  for (const tries of [1, 2]) {
    manual.advance(10_000)
    await expect.poll(() => events.length, { interval: 1 }).toBe(tries)
  }
  expect(events[0]).toMatchObject({ kind: 'failed', route: null, cause: expect.any(Error) })
  await app.close()
})

describe('a payment that was used', () => {
  const payTo = '0x00000000000000000000000000000000000000A1'

  async function sold(repeatedPaymentsPerAddressPerMinute: number) {
    const { clock, ...rest } = options()
    const facilitator: Facilitator = {
      verify: async () => ({ kind: 'valid' }),
      settle: async () => ({ kind: 'settled', transaction: '0xabc' }),
      outcome: async () => ({ kind: 'unused', asOfSeconds: 0 }),
    }
    const app = Fastify()
    await app.register(payments, {
      ...rest,
      clock,
      methods: [exactEvm({ network: base, payTo, facilitator })],
      limits: { repeatedPaymentsPerAddressPerMinute },
    })
    app.get('/pulse/:coin', { config }, async () => Buffer.from('sold'))
    const payment = await signedPayload(newBuyer(), {
      amount: 20_000n,
      payTo,
      nowMs: clock.nowMs(),
    })
    const reply = (url: string, sent: object, remoteAddress = '192.0.2.1') => {
      const headers = { 'payment-signature': encodedPayment(sent) }
      return app.inject({ url, headers, remoteAddress })
    }
    const ask = async (...call: Parameters<typeof reply>) => (await reply(...call)).statusCode
    expect(await ask('/pulse/BTC', payment)).toBe(200)
    const { extensions: _secret, ...rebuilt } = payment
    return { app, ask, reply, payment, rebuilt }
  }

  test('is refused alike for the call that it bought and for others, to whoever cannot show its secret', async () => {
    const { app, ask, payment, rebuilt } = await sold(100)
    for (const url of ['/pulse/BTC', '/pulse/ETH']) expect(await ask(url, rebuilt), url).toBe(409)
    const another = {
      ...payment,
      extensions: { 'answer-access': { info: { secret: newSecret() } } },
    }
    for (const url of ['/pulse/BTC', '/pulse/ETH']) expect(await ask(url, another), url).toBe(409)
    expect(await ask('/pulse/BTC', payment, '203.0.113.9'), 'its buyer, from elsewhere').toBe(200)
    await app.close()
  })

  test('limits what comes with a used payment, whether it is right or wrong, and denies no charge', async () => {
    const { app, ask, reply, payment, rebuilt } = await sold(3)
    expect(await ask('/pulse/ETH', rebuilt)).toBe(409)
    expect(await ask('/pulse/BTC', rebuilt)).toBe(409)
    expect(await ask('/pulse/BTC', payment)).toBe(200)
    for (const sent of [rebuilt, payment])
      for (const url of ['/pulse/BTC', '/pulse/ETH']) {
        const refused = (await reply(url, sent)).json()
        expect(refused).toMatchObject({ status: 429, charged: null, payment_reusable: true })
      }
    expect(await ask('/pulse/BTC', payment, '203.0.113.9'), 'another address').toBe(200)
    await app.close()
  })
})

describe('the resource of a quote', () => {
  let app: FastifyInstance
  beforeAll(() => {
    app = sellingApp()
  })
  afterAll(() => app.close())

  property.prop([fc.string({ unit: 'grapheme-composite', maxLength: 900 }), fc.string()], {
    numRuns: 200,
  })('is always a bounded URL below the public one', async (path, query) => {
    const url = `/any/${encodeURI(path.replaceAll('.', ''))}?q=${query.replace(/[^ -~]/g, '')}`
    const { statusCode, body, headers } = await app.inject({ url })
    expect(statusCode).toBe(402)
    const v2 = JSON.parse(
      Buffer.from(String(headers['payment-required']), 'base64').toString('utf8'),
    )
    const { resource } = JSON.parse(body).accepts[0]
    expect(resource).toBe(v2.resource.url)
    expect(resource).toMatch(/^https:\/\/api\.example\.com\/any\//)
    expect(resource.length).toBeLessThanOrEqual(700)
    expect(String(headers['payment-required']).length).toBeLessThan(4_096)
  })
})

test('a quote that fails by our fault does not count in the limit of its address', async () => {
  const app = Fastify()
  await app.register(payments, options())
  let isBroken = true
  const fail: onRequestHookHandler = (_request, reply, done) => {
    if (isBroken) void reply.code(503).send('not now')
    else done()
  }
  app.get('/pulse/:coin', { config, onRequest: [quoteLimit(1).onRequest, fail] }, async () => '')
  for (const _ of [1, 2, 3]) expect((await app.inject('/pulse/BTC')).statusCode).toBe(503)
  isBroken = false
  expect((await app.inject('/pulse/BTC')).statusCode).toBe(402)
  expect((await app.inject('/pulse/BTC')).statusCode).toBe(429)
  await app.close()
})

test('the quote limit is a hook that a host can put before its other checks', async () => {
  const limit: onRequestHookHandler = quoteLimit(1).onRequest
  const app = Fastify()
  await app.register(payments, options())
  app.get('/pulse/:coin', { config, onRequest: [limit] }, async () => Buffer.from('sold'))
  expect((await app.inject('/pulse/BTC')).statusCode).toBe(402)
  const { statusCode, headers } = await app.inject('/pulse/BTC')
  expect(statusCode).toBe(429)
  expect(headers['ratelimit']).toMatch(/^"ip";r=0;t=\d+$/)
  const paying = await app.inject({ url: '/pulse/BTC', headers: { 'x-payment': '?' } })
  expect(paying.statusCode, 'paying calls are not quotes').toBe(400)
  const head = await app.inject({
    method: 'HEAD',
    url: '/pulse/BTC',
    headers: { 'x-payment': '?' },
  })
  expect(head.statusCode, 'HEAD pays for nothing').toBe(429)
  await app.close()
})
