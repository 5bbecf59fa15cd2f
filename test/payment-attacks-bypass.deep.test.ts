import { METHODS } from 'node:http'
import { Readable } from 'node:stream'
import { fc, test as property } from '@fast-check/vitest'
import Fastify from 'fastify'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { exactEvm } from '../src/payment/evm/exact-evm.ts'
import { base } from '../src/payment/evm/networks.ts'
import { SqliteLedger } from '../src/payment/ledger/sqlite-ledger.ts'
import { payments } from '../src/payment/plugin.ts'
import { newSecret } from '../src/payment/testing/new-secret.ts'
import { systemClock } from '../src/roles/system-clock.ts'
import type { Gateway, Ground } from './support/attacked.ts'
import {
  FUNDS,
  PULSE_PRICE,
  rawExchange,
  requestOf,
  SOLD,
  startGround,
  statusesIn,
} from './support/attacked.ts'

let ground: Ground
let gateway: Gateway

beforeAll(async () => {
  ground = await startGround()
  gateway = await ground.gateway()
})

afterAll(() => ground?.close())

/** Asserts that nothing was sold. @returns the replies */
async function unsold(bytes: string | Buffer): Promise<string> {
  const replies = await rawExchange(gateway.url, bytes)
  expect(replies).not.toContain(SOLD)
  expect(await gateway.ledger.counts(), 'no settlement was begun').toMatchObject(none)
  return replies
}

/** Whether a reply is the free index at `/`, the target of an absolute URL without a path. */
const isFreeIndex = (replies: string) => replies.includes('"service":"perpscope"')
const none = { settling: 0, unknown: 0, settled: 0 }

test('a payment over a raw socket buys, so that what follows could fail', async () => {
  const selling = await ground.gateway()
  const payment = await ground.paymentOf(await ground.fundedBuyer())
  const request = requestOf('GET /pulse/BTC HTTP/1.1', `X-PAYMENT: ${payment}`)
  const reply = await rawExchange(selling.url, request)
  expect(statusesIn(reply)).toEqual([200])
  expect(reply).toContain(SOLD)
})

describe('no spelling of a target leads around the payment', () => {
  test.each([
    '/pulse/BTC',
    '/pulse/btc',
    '/Pulse/BTC',
    '//pulse//BTC',
    '/pulse//BTC',
    '/pulse/BTC/',
    '/pulse/BTC//',
    '/pulse/BTC/.',
    '/pulse/BTC/..',
    '/pulse/./BTC',
    '/./pulse/BTC',
    '/coins/../pulse/BTC',
    '/coins/..;/pulse/BTC',
    '/coins/%2e%2e/pulse/BTC',
    '/coins/%252e%252e/pulse/BTC',
    '/%2e/pulse/BTC',
    '/pulse%2FBTC',
    '/pulse%2fBTC',
    '/pulse%252FBTC',
    '/%70%75%6c%73%65/BTC',
    '/pulse/%42%54%43',
    '/pulse/%2542TC',
    '/pulse/BTC%00',
    '/pulse/BTC%00.json',
    '/%00/pulse/BTC',
    '/pulse/BTC%0a',
    '/pulse/BTC%0d%0aX-PAYMENT:%20free',
    '/pulse/BTC%20',
    '/pulse/%20BTC',
    '/pulse/BTC.',
    '/pulse/BTC.json',
    '/pulse/BTC;x402=free',
    '/pulse;a=b/BTC',
    '/pulse/BTC%',
    '/pulse/BTC%zz',
    '/pulse/%c0%afBTC',
    '/pulse/%ef%bc%a2TC',
    '/pulse/%F0%9F%92%A9',
    '/pulse/BTC?',
    '/pulse/BTC??a',
    '/pulse/BTC#top',
    '/pulse/BTC#/../health',
    '/pulse/BTC?x-payment=e30=&payment-signature=e30=',
    '/pulse/BTC?paid=true&price=0&amount=0',
    '/pulse/BTC?timeframes=4h&timeframes[]=4h',
    '/pulse/BTC?timeframes=4h%00',
    '/pulse/BTC?__proto__[x402]=1',
    '/pulse/BTC?constructor[prototype][x402]=1',
    '/pulse/__proto__',
    '/pulse/constructor',
    '\\pulse\\BTC',
    '/pulse\\BTC',
    '/%5cpulse%5cBTC',
    '*',
    'pulse/BTC',
    '?',
    'http://evil.example/pulse/BTC',
    'HTTPS://evil.example:1/pulse/BTC',
    'http://user:secret@evil.example/pulse/BTC',
    'http:/pulse/BTC',
    'http:///pulse/BTC',
    'http://evil.example?/pulse/BTC',
    'file:///pulse/BTC',
    '//evil.example/pulse/BTC',
    '/pulse/{coin}',
    '/pulse/:coin',
    '/pulse/*',
    '/liquidations/BTC/../../pulse/BTC',
  ])('%s', async (target) => {
    const replies = await unsold(requestOf(`GET ${target} HTTP/1.1`))
    expect(replies).toMatch(isFreeIndex(replies) ? / 200 / : /^HTTP\/1\.1 (400|402|404|405) /)
  })

  test.each([
    ['a query of 12,000 characters', `/pulse/BTC?${'a'.repeat(12_000)}`],
    ['a ticker of 12,000 characters', `/pulse/${'B'.repeat(12_000)}`],
    ['4,000 encoded slashes', `/pulse/${'%2f'.repeat(4_000)}BTC`],
    ['6,000 parent folders', `${'/..'.repeat(4_000)}/pulse/BTC`],
  ])('%s', async (_what, target) => {
    const replies = await unsold(requestOf(`GET ${target} HTTP/1.1`))
    expect(replies).toMatch(/^HTTP\/1\.1 (400|402|404) /)
    const [, header = ''] = /^payment-required: (.*)\r$/im.exec(replies) ?? []
    expect(header.length, 'a quote does not grow with what was asked').toBeLessThan(4_096)
  })

  test('a URL beyond the limit is refused as too large', async () => {
    const replies = await unsold(requestOf(`GET /pulse/${'B'.repeat(20_000)} HTTP/1.1`))
    expect(statusesIn(replies)).toEqual([431])
  })

  test('bytes that are no text', async () => {
    const target = Buffer.from([0x2f, 0x70, 0xff, 0xfe, 0x80, 0x2f, 0xc3, 0x28])
    const request = Buffer.concat([
      Buffer.from('GET '),
      target,
      Buffer.from(' HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'),
    ])
    expect(statusesIn(await unsold(request))).toEqual([expect.any(Number)])
  })
})

describe('no method leads around the payment, or takes one', () => {
  test('of all that the parser knows', async () => {
    const buyer = await ground.fundedBuyer()
    const payment = await ground.paymentOf(buyer)
    for (const method of METHODS.filter((name) => name !== 'GET')) {
      const target = method === 'CONNECT' ? 'api.example.com:443' : '/pulse/BTC'
      const request = requestOf(`${method} ${target} HTTP/1.1`, `X-PAYMENT: ${payment}`)
      const replies = await unsold(request)
      expect(statusesIn(replies).filter((status) => status < 400 && status !== 204)).toEqual([])
    }
    expect(await ground.spent(buyer)).toBe(0n)
  })

  test.each(['get', 'Get', 'GETS', 'FREE', 'GET\t', ' GET', 'G\u0000ET'])('%j', async (method) => {
    expect(statusesIn(await unsold(requestOf(`${method} /pulse/BTC HTTP/1.1`)))).toEqual([400])
  })

  test.each(['HTTP/0.9', 'HTTP/1.2', 'HTTP/2.0', 'HTTP/1.1 HTTP/1.1', 'http/1.1', 'ICY'])(
    'in the words of %s',
    async (version) => {
      const replies = await unsold(requestOf(`GET /pulse/BTC ${version}`))
      for (const status of statusesIn(replies)) expect(status).toBeGreaterThanOrEqual(400)
    },
  )

  test('of HTTP/1.0, which needs no Host', async () => {
    const replies = await unsold('GET /pulse/BTC HTTP/1.0\r\n\r\n')
    expect(statusesIn(replies)).toEqual([402])
  })

  test('of HTTP/2 without an agreement', async () => {
    await unsold('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')
  })
})

describe('no header stands for a payment', () => {
  const receipt = Buffer.from('{"success":true,"transaction":"0x1"}').toString('base64')
  test.each([
    `X-PAYMENT-RESPONSE: ${receipt}`,
    `PAYMENT-RESPONSE: ${receipt}`,
    `PAYMENT-REQUIRED: ${receipt}`,
    'X-PAYMENT-VERIFIED: true',
    'X402-Paid: true',
    'X-PAYMENT-: e30=',
    'X_PAYMENT: e30=',
    'Authorization: Bearer paid',
    'Cookie: x-payment=e30=',
    'SIGN-IN-WITH-X: e30=',
    'X-OFFER: signed',
    'X-Original-URL: /health',
    'X-Rewrite-URL: /health',
    'X-HTTP-Method-Override: HEAD',
    'X-Forwarded-For: 127.0.0.1',
    'X-Forwarded-Prefix: /health',
    'Forwarded: for=127.0.0.1;host=127.0.0.1',
    'Accept: text/html',
    'Accept-Encoding: gzip, br',
    'Expect: 100-continue',
    'Range: bytes=0-99',
    'Range: bytes=-1',
    'If-Range: "x"',
    'If-None-Match: *',
    'If-Match: *',
    'If-Modified-Since: Sun, 22 Nov 2099 00:00:00 GMT',
    'If-Unmodified-Since: Thu, 01 Jan 1970 00:00:00 GMT',
    'Upgrade: websocket',
    'Upgrade: h2c',
    'Purpose: prefetch',
    'Origin: null',
    'TE: trailers',
  ])('%s', async (header) => {
    const replies = await unsold(requestOf('GET /pulse/BTC HTTP/1.1', header))
    expect(statusesIn(replies).filter((status) => status !== 100)).toEqual([402])
  })

  test('not the entity tag of the very answer that is sold', async () => {
    const selling = await ground.gateway()
    const payment = await ground.paymentOf(await ground.fundedBuyer())
    const bought = await fetch(`${selling.url}/pulse/BTC`, { headers: { 'x-payment': payment } })
    const etag = bought.headers.get('etag') ?? ''
    expect(etag).not.toBe('')
    const free = await rawExchange(
      selling.url,
      requestOf('GET /pulse/BTC HTTP/1.1', `If-None-Match: ${etag}`),
    )
    expect(statusesIn(free), '304 would tell that nothing has changed, for nothing').toEqual([402])
  })
})

describe('no framing smuggles a payment or a request past the other', () => {
  const inner = 'GET /pulse/BTC HTTP/1.1\r\nHost: x\r\n\r\n'
  const chunk = `${inner.length.toString(16)}\r\n${inner}\r\n0\r\n\r\n`

  test.each([
    ['a chunked body that holds a request', ['Transfer-Encoding: chunked'], chunk, [402]],
    ['a measured body that holds a request', [`Content-Length: ${inner.length}`], inner, [402]],
  ])('%s', async (_what, headers, body, statuses) => {
    const replies = await unsold(requestOf('GET /pulse/BTC HTTP/1.1', ...headers) + body)
    expect(statusesIn(replies), 'a body is no second request').toEqual(statuses)
  })

  test.each([
    ['two ways to measure', ['Transfer-Encoding: chunked', 'Content-Length: 4']],
    ['two measures', ['Content-Length: 0', 'Content-Length: 40']],
    ['a list of measures', ['Content-Length: 0, 40']],
    ['a signed measure', ['Content-Length: +4']],
    ['a negative measure', ['Content-Length: -1']],
    ['a hexadecimal measure', ['Content-Length: 0x4']],
    ['a measure beyond numbers', [`Content-Length: ${'9'.repeat(30)}`]],
    ['chunks that are not last', ['Transfer-Encoding: chunked, identity']],
    ['chunks in disguise', ['Transfer-Encoding: xchunked']],
    ['chunks twice', ['Transfer-Encoding: chunked', 'Transfer-Encoding: chunked']],
  ])('%s', async (_what, headers) => {
    const replies = await unsold(requestOf('GET /pulse/BTC HTTP/1.1', ...headers) + chunk)
    // Bytes after an ambiguous length must not be answered as a separate request.
    expect(statusesIn(replies).length).toBeLessThanOrEqual(2)
    for (const status of statusesIn(replies)) expect([400, 402, 408]).toContain(status)
  })

  test.each([
    ['a size that is none', 'zz\r\nGET /pulse/BTC\r\n0\r\n\r\n'],
    ['a size beyond numbers', `${'f'.repeat(20)}\r\nx\r\n0\r\n\r\n`],
    ['an extension without end', `1;${'a'.repeat(20_000)}\r\nx\r\n0\r\n\r\n`],
    ['a negative size', '-1\r\nx\r\n0\r\n\r\n'],
  ])('a chunk with %s', async (_what, body) => {
    await unsold(requestOf('GET /pulse/BTC HTTP/1.1', 'Transfer-Encoding: chunked') + body)
  })

  test.each([
    [
      'in a trailer',
      (header: string) =>
        requestOf('GET /pulse/BTC HTTP/1.1', 'Transfer-Encoding: chunked', 'Trailer: X-PAYMENT') +
        `1\r\nx\r\n0\r\n${header}\r\n\r\n`,
      [402],
    ],
    [
      'in a body',
      (header: string) =>
        `${requestOf('GET /pulse/BTC HTTP/1.1', `Content-Length: ${header.length}`)}${header}`,
      [402],
    ],
    [
      'with a space before its colon',
      (header: string) => requestOf('GET /pulse/BTC HTTP/1.1', header.replace(':', ' :')),
      [400],
    ],
    [
      'in two halves',
      (header: string) =>
        requestOf(
          'GET /pulse/BTC HTTP/1.1',
          header.slice(0, 200),
          `X-PAYMENT: ${header.slice(200)}`,
        ),
      [400],
    ],
    [
      'twice',
      (header: string) => requestOf('GET /pulse/BTC HTTP/1.1', header, header.toLowerCase()),
      [400],
    ],
    [
      'beside an empty one',
      (header: string) => requestOf('GET /pulse/BTC HTTP/1.1', header, 'PAYMENT-SIGNATURE:'),
      [400],
    ],
    [
      'behind a bare carriage return',
      (header: string) => requestOf('GET /pulse/BTC HTTP/1.1', `Accept: a\r${header}`),
      [400],
    ],
    [
      'behind a zero byte',
      (header: string) => requestOf('GET /pulse/BTC HTTP/1.1', `Accept: a\u0000`, header),
      [400],
    ],
    [
      'in the request line',
      (header: string) => requestOf(`GET /pulse/BTC?${header.replace(': ', '=')} HTTP/1.1`),
      [400],
    ],
  ] as const)('a payment %s is none', async (_what, request, statuses) => {
    const buyer = await ground.fundedBuyer()
    const header = `X-PAYMENT: ${await ground.paymentOf(buyer)}`
    expect(statusesIn(await unsold(request(header)))).toEqual(statuses)
    expect(await ground.spent(buyer)).toBe(0n)
  })

  test('a payment pays for its own request and not for those behind it', async () => {
    const selling = await ground.gateway()
    const buyer = await ground.fundedBuyer()
    const paid = `GET /pulse/BTC HTTP/1.1\r\nHost: x\r\nX-PAYMENT: ${await ground.paymentOf(buyer)}\r\n\r\n`
    const replies = await rawExchange(
      selling.url,
      paid + inner + requestOf('GET /pulse/ETH HTTP/1.1'),
    )
    expect(statusesIn(replies)).toEqual([200, 402, 402])
    expect(await ground.spent(buyer)).toBe(PULSE_PRICE)
  })
})

describe('what is garbled at random', () => {
  const whole = requestOf(
    'GET /pulse/BTC?timeframes=4h HTTP/1.1',
    'Accept: application/json',
    'X-PAYMENT: e30=',
  )
  const end = Buffer.from(requestOf('GET /health HTTP/1.1'))
  const byte = fc.oneof(
    fc.constantFrom(0, 9, 10, 13, 32, 35, 37, 44, 46, 47, 58, 59, 63, 92, 127, 128, 255),
    fc.integer({ min: 0, max: 255 }),
  )
  const change = fc.record({
    at: fc.nat({ max: whole.length - 1 }),
    kind: fc.constantFrom('replace', 'insert', 'remove'),
    byte,
  })

  property.prop([fc.array(change, { minLength: 1, maxLength: 6 })], { numRuns: 120 })(
    'sells nothing',
    async (changes) => {
      const bytes = [...Buffer.from(whole)]
      for (const { at, kind, byte: next } of changes) {
        bytes.splice(at, kind === 'insert' ? 0 : 1, ...(kind === 'remove' ? [] : [next]))
      }
      // The second request ends a truncated head, and the connection of one that no longer says so.
      const replies = await rawExchange(gateway.url, Buffer.from([...bytes, ...end]))
      expect(replies).not.toContain(SOLD)
      for (const status of statusesIn(replies)) expect([...free, ...refused]).toContain(status)
    },
  )

  /** 503: a garbled timeframe may be valid but absent from the fixture. */
  const refused = [400, 402, 404, 405, 408, 413, 417, 429, 431, 503]
  /** The free index at `/` and its preflight. */
  const free = [100, 200, 204]
})

describe('the gate fails shut', () => {
  const garbage: readonly (readonly [string, unknown])[] = [
    ['nothing', undefined],
    ['null', null],
    ['a word', 'valid'],
    ['true', true],
    ['an empty object', {}],
    ['another spelling of yes', { kind: 'VALID' }],
    ['the words of another interface', { isValid: true, success: true }],
  ]

  test.each(garbage)('at a facilitator that verifies with %s', async (_what, told) => {
    const host = await ground.host({
      facilitator: { ...ground.facilitator, verify: async () => told as never },
    })
    const buyer = await ground.fundedBuyer()
    const payment = await ground.paymentOf(buyer, { amount: 20_000n })
    const { status } = await fetch(`${host.url}/pulse/BTC`, { headers: { 'x-payment': payment } })
    expect(status).toBeGreaterThanOrEqual(400)
    expect(host.runs()).toBe(0)
    expect(await ground.spent(buyer)).toBe(0n)
  })

  test.each(garbage)('at a facilitator that settles with %s', async (_what, told) => {
    const host = await ground.host({
      facilitator: { ...ground.facilitator, settle: async () => told as never },
    })
    const buyer = await ground.fundedBuyer()
    const payment = await ground.paymentOf(buyer, { amount: 20_000n })
    const answer = await fetch(`${host.url}/pulse/BTC`, { headers: { 'x-payment': payment } })
    expect(answer.status).toBeGreaterThanOrEqual(400)
    expect(await answer.text(), 'the answer was not released').not.toContain('"run"')
  })

  test('at a ledger that cannot be read', async () => {
    const host = await ground.host()
    const buyer = await ground.fundedBuyer()
    const payment = await ground.paymentOf(buyer, { amount: 20_000n })
    await host.ledger.close()
    const { status } = await fetch(`${host.url}/pulse/BTC`, { headers: { 'x-payment': payment } })
    expect(status).toBeGreaterThanOrEqual(500)
    expect(host.runs()).toBe(0)
    expect(await ground.spent(buyer)).toBe(0n)
  })

  test.each([
    ['a stream', () => Readable.from(['{"sold', '":true}'])],
    ['a stream without end', () => Readable.from(endless())],
    ['a response of its own', () => new Response('{"sold":true}')],
    ['nothing', () => undefined],
  ])('at a handler that answers with %s', async (_what, body) => {
    const app = Fastify({ forceCloseConnections: true })
    const ledger = new SqliteLedger(':memory:')
    await app.register(payments, {
      methods: [
        exactEvm({
          network: base,
          payTo: ground.chain.accounts.merchant.address,
          facilitator: ground.facilitator,
        }),
      ],
      ledger,
      clock: systemClock,
      publicUrl: 'https://api.example.com',
      newSecret,
    })
    const config = { x402: { priceUsdcAtomic: PULSE_PRICE, description: 'Sells no bytes' } }
    app.get('/odd', { config }, async (_request, reply) => reply.send(body()))
    const url = await app.listen({ host: '127.0.0.1', port: 0 })
    const buyer = await ground.fundedBuyer()
    const payment = await ground.paymentOf(buyer)
    const reply = await fetch(`${url}/odd`, { headers: { 'x-payment': payment } })
    const text = await reply.text()
    await app.close()
    await ledger.close()
    expect(reply.status).toBe(500)
    expect(text).not.toContain('sold')
    expect(await ground.chain.balanceOf(buyer.address)).toBe(FUNDS)
  })
})

async function* endless(): AsyncGenerator<string> {
  for (;;) yield '{"sold":true}'
}
