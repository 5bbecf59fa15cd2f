import { connect } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { encodedPayment, newBuyer, signedPayload } from '../src/payment/testing/buyer.ts'
import { eventText } from '../src/payment/testing/event-text.ts'
import { PRICE } from '../src/payment/testing/paid-host.ts'
import { systemClock } from '../src/roles/system-clock.ts'
import type { Gateway, Ground } from './support/attacked.ts'
import {
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

const JUNK = 'e30='
/** Above both limits of these tests, 60 and 30 in a minute of real time. */
const MANY = 80

async function ask(url: string, headers: Record<string, string> = {}) {
  const response = await fetch(url, { headers })
  return { status: response.status, headers: response.headers, text: await response.text() }
}

/** A well-formed payment for the right terms, signed by a key other than the stated payer's. */
async function forgedPayment(): Promise<string> {
  const payTo = ground.chain.accounts.merchant.address
  const nowMs = systemClock.nowMs()
  const signed = await signedPayload(newBuyer(), { amount: PULSE_PRICE, payTo, nowMs })
  signed.payload.authorization.from = newBuyer().address
  return encodedPayment(signed)
}

describe('the limit of an address', () => {
  /** Sequential calls from one address. */
  async function statusesOf(
    app: FastifyInstance,
    headersOf: (index: number) => Record<string, string> | Promise<Record<string, string>>,
    method: 'GET' | 'HEAD' = 'GET',
  ): Promise<number[]> {
    const statuses: number[] = []
    for (let index = 0; index < MANY; index += 1) {
      const headers = await headersOf(index)
      const call = { method, url: '/pulse/BTC', headers, remoteAddress: '192.0.2.1' }
      statuses.push((await app.inject(call)).statusCode)
    }
    return statuses
  }
  const limited = () =>
    ground.gateway({
      quotesPerMinute: 60,
      // After too many failures a caller waits for its turn.
      paymentClock: systemClock,
      limits: { failedPaymentsPerAddressPerMinute: 30 },
    })

  test.each([
    ['junk', () => ({ 'x-payment': JUNK })],
    ['junk of another kind each time', (index: number) => ({ 'x-payment': junkOf(index) })],
    ['an empty payment', () => ({ 'payment-signature': '' })],
    [
      'two payments that differ',
      (index: number) => ({ 'x-payment': JUNK, 'payment-signature': junkOf(index) }),
    ],
    ['a forged payment', async () => ({ 'x-payment': await forgedPayment() })],
    [
      'junk and a forwarded address',
      (index: number) => ({ 'x-payment': JUNK, 'x-forwarded-for': `198.51.100.${index}` }),
    ],
    ['a forwarded address', (index: number) => ({ 'x-forwarded-for': `198.51.100.${index}` })],
    ['another forwarded address', (index: number) => ({ forwarded: `for=198.51.100.${index}` })],
    [
      'the address of a proxy',
      (index: number) => ({ 'x-real-ip': `198.51.100.${index}`, 'cf-connecting-ip': '::1' }),
    ],
  ])('is not lifted by %s', async (_what, headersOf) => {
    const { app } = await limited()
    const statuses = await statusesOf(app, headersOf)
    const first = statuses.indexOf(429)
    expect(first, 'it comes').toBeGreaterThan(0)
    expect(new Set(statuses.slice(first)), 'and stays').toEqual(new Set([429]))
    const elsewhere = { url: '/pulse/BTC', remoteAddress: '192.0.2.2' }
    expect((await app.inject(elsewhere)).statusCode, 'for nobody else').toBe(402)
    const free = { url: '/health', remoteAddress: '192.0.2.1' }
    expect((await app.inject(free)).statusCode, 'for nothing that is free').toBe(200)
  })

  test('is not lifted by HEAD with junk', async () => {
    const { app } = await limited()
    const statuses = await statusesOf(app, () => ({ 'x-payment': JUNK }), 'HEAD')
    expect(statuses.filter((status) => status === 402)).toHaveLength(60)
    expect(statuses.at(-1)).toBe(429)
  })

  test('is shared by a household of IPv6 addresses', async () => {
    const { app } = await limited()
    const statuses: number[] = []
    for (let index = 0; index < MANY; index += 1) {
      const remoteAddress = `2001:db8:1:2::${index.toString(16)}`
      const headers = { 'x-payment': JUNK }
      statuses.push((await app.inject({ url: '/pulse/BTC', headers, remoteAddress })).statusCode)
    }
    expect(statuses.at(-1)).toBe(429)
  })
})

describe('a quote names the configured host', () => {
  test.each([
    ['GET /pulse/BTC HTTP/1.1', 'X-Forwarded-Host: evil.example'],
    ['GET /pulse/BTC HTTP/1.1', 'X-Forwarded-Proto: gopher'],
    ['GET /pulse/BTC HTTP/1.1', 'X-Forwarded-Port: 1'],
    ['GET /pulse/BTC HTTP/1.1', 'Forwarded: host=evil.example;proto=gopher'],
    ['GET /pulse/BTC HTTP/1.1', 'X-Original-Host: evil.example'],
    ['GET http://evil.example/pulse/BTC HTTP/1.1', 'Accept: */*'],
    ['GET http://evil.example:80/pulse/BTC HTTP/1.1', 'X-Forwarded-Host: evil.example'],
  ])('%s with %s', async (requestLine, header) => {
    const reply = await rawExchange(gateway.url, requestOf(requestLine, header))
    const [, encoded = ''] = /^payment-required: (.*)\r$/im.exec(reply) ?? []
    const v2 = JSON.parse(Buffer.from(encoded, 'base64').toString())
    const v1 = JSON.parse(reply.slice(reply.indexOf('\r\n\r\n')))
    const named = [v2.resource.url, v1.accepts[0].resource]
    expect(named).toEqual(Array(2).fill('https://api.example.com/pulse/BTC'))
  })
})

describe('a browser and a shared cache', () => {
  /** One refusal or answer of each kind. */
  const kinds: readonly (readonly [string, number, () => Promise<[string, string?]>])[] = [
    ['a quote', 402, async () => ['/pulse/BTC']],
    ['a malformed payment', 400, async () => ['/pulse/BTC', JUNK]],
    ['a forged payment', 402, async () => ['/pulse/BTC', await forgedPayment()]],
    ['an answer', 200, async () => ['/pulse/BTC', await payment()]],
    ['a payment of elsewhere', 409, async () => ['/pulse/ETH', await used()]],
    ['a repeated answer', 200, async () => ['/pulse/BTC', await used()]],
    ['an unknown coin', 400, async () => ['/pulse/NOPE', await payment()]],
  ]
  const payment = async () => ground.paymentOf(await ground.fundedBuyer())
  const used = async () => {
    const header = await payment()
    expect((await ask(`${gateway.url}/pulse/BTC`, { 'x-payment': header })).status).toBe(200)
    return header
  }

  test.each(kinds)(
    'get %s that is theirs alone to read and nobody’s to keep',
    async (_what, status, make) => {
      const [path, header] = await make()
      const { headers, ...reply } = await ask(gateway.url + path, {
        origin: 'https://agent.example',
        ...(header === undefined ? {} : { 'x-payment': header }),
      })
      expect(reply.status).toBe(status)
      expect(headers.get('cache-control')).toMatch(status === 200 ? /\bprivate\b/ : /\bno-store\b/)
      expect(headers.get('cache-control')).not.toMatch(/public|s-maxage/)
      expect(headers.get('access-control-allow-origin')).toBe('*')
      const exposed = headers.get('access-control-expose-headers') ?? ''
      for (const name of ['PAYMENT-REQUIRED', 'PAYMENT-RESPONSE', 'X-PAYMENT-RESPONSE'])
        expect(exposed.split(', ')).toContain(name)
      if (status === 200) {
        const vary = headers.get('vary') ?? ''
        expect(vary.split(', ')).toEqual(expect.arrayContaining(['X-PAYMENT', 'PAYMENT-SIGNATURE']))
      }
    },
  )

  test('may ask beforehand for free whether they may send a payment', async () => {
    const preflight = await rawExchange(
      gateway.url,
      requestOf(
        'OPTIONS /pulse/BTC HTTP/1.1',
        'Origin: https://agent.example',
        'Access-Control-Request-Method: GET',
        'Access-Control-Request-Headers: access-control-expose-headers, payment-signature, x-payment',
      ),
    )
    expect(statusesIn(preflight)).toEqual([204])
    const allowed = /^access-control-allow-headers: (.*)$/im.exec(preflight)?.[1]?.split(', ')
    expect(allowed).toEqual(
      expect.arrayContaining(['X-PAYMENT', 'PAYMENT-SIGNATURE', 'Access-Control-Expose-Headers']),
    )
  })
})

describe('a condition on a request that pays', () => {
  test.each([
    ['Range', 'bytes=0-9'],
    ['Range', 'bytes=999999-'],
    ['If-Range', '"x"'],
    ['If-None-Match', 'W/"x", "y"'],
    ['If-Match', '"never"'],
    ['If-Modified-Since', 'Sun, 22 Nov 2099 00:00:00 GMT'],
    ['If-Unmodified-Since', 'Thu, 01 Jan 1970 00:00:00 GMT'],
    ['Expect', '100-continue'],
    ['Accept', 'text/csv'],
  ])('%s: %s does not make it pay for less than the whole answer', async (name, value) => {
    const { reply, spent } = await bought(`${name}: ${value}`)
    expect(statusesIn(reply).at(-1)).toBe(200)
    expect(reply).toContain(SOLD)
    expect(reply).toMatch(/\}\}$/)
    expect(spent).toBe(PULSE_PRICE)
  })

  test('If-None-Match: * makes it pay for nothing, which it gets', async () => {
    const { reply, spent } = await bought('If-None-Match: *')
    expect(statusesIn(reply)).toEqual([304])
    expect(reply).not.toContain(SOLD)
    expect(spent).toBe(0n)
  })

  async function bought(condition: string) {
    const buyer = await ground.fundedBuyer()
    const payment = `X-PAYMENT: ${await ground.paymentOf(buyer)}`
    const reply = await rawExchange(
      gateway.url,
      requestOf('GET /pulse/BTC HTTP/1.1', condition, payment),
    )
    return { reply, spent: await ground.spent(buyer) }
  }

  test.each(['br;q=1, identity;q=0', 'gzip', 'identity;q=0'])(
    'Accept-Encoding: %s makes it pay for the whole answer',
    async (codings) => {
      const buyer = await ground.fundedBuyer()
      const header = await ground.paymentOf(buyer)
      const { status, text } = await ask(`${gateway.url}/pulse/BTC`, {
        'x-payment': header,
        'accept-encoding': codings,
      })
      const whole = status === 200 && text.includes(SOLD) && text.endsWith('}}')
      expect(whole, text.slice(0, 100)).toBe(true)
      expect(await ground.spent(buyer)).toBe(PULSE_PRICE)
    },
  )

  test('with the entity tag of what it is about to buy pays for nothing, which it gets', async () => {
    const [first, second] = [await ground.fundedBuyer(), await ground.fundedBuyer()]
    const url = `${gateway.url}/pulse/BTC`
    const bought = await ask(url, { 'x-payment': await ground.paymentOf(first) })
    const etag = bought.headers.get('etag') ?? ''
    const header = await ground.paymentOf(second)
    const { status, text } = await ask(url, { 'x-payment': header, 'if-none-match': etag })
    expect([status, text]).toEqual([304, ''])
    expect(await ground.spent(second)).toBe(0n)
  })

  test('HEAD with a payment that bought shows the quote, and not the answer’s headers', async () => {
    const header = await ground.paymentOf(await ground.fundedBuyer())
    const bought = await ask(`${gateway.url}/pulse/BTC`, { 'x-payment': header })
    expect(bought.status).toBe(200)
    const reply = await rawExchange(
      gateway.url,
      requestOf('HEAD /pulse/BTC HTTP/1.1', `X-PAYMENT: ${header}`),
    )
    expect(statusesIn(reply)).toEqual([402])
    expect(reply).not.toMatch(/^etag:/im)
  })
})

describe('a caller that hangs up', () => {
  /** Sends a request and closes the connection at `moment`. */
  async function leaveAt(url: string, header: string, path: string, moment: Promise<void>) {
    const { port, hostname } = new URL(url)
    const socket = connect(Number(port), hostname)
    socket.on('error', () => undefined)
    socket.write(requestOf(`GET ${path} HTTP/1.1`, `X-PAYMENT: ${header}`))
    await moment
    socket.destroy()
    await new Promise((resolve) => socket.once('close', resolve))
  }
  function gate() {
    let open: () => void = () => undefined
    const opened = new Promise<void>((resolve) => {
      open = resolve
    })
    return { opened, open }
  }

  test.each(['verify', 'work', 'settle'] as const)(
    'during %s finds what it paid for when it comes back, paid once',
    async (moment) => {
      const [reached, gone] = [gate(), gate()]
      const hold = async (at: typeof moment) => {
        if (at !== moment) return
        reached.open()
        await gone.opened
      }
      const { facilitator } = ground
      const host = await ground.host({
        atWork: () => hold('work'),
        facilitator: {
          ...facilitator,
          verify: async (payment) => {
            await hold('verify')
            return facilitator.verify(payment)
          },
          settle: async (payment) => {
            await hold('settle')
            return facilitator.settle(payment)
          },
        },
      })
      const buyer = await ground.fundedBuyer()
      const header = await ground.paymentOf(buyer, { amount: PRICE })
      await leaveAt(host.url, header, '/slow/BTC', reached.opened)
      const again = ask(`${host.url}/slow/BTC`, { 'x-payment': header })
      gone.open()
      const { status, text } = await again
      expect([status, text]).toEqual([200, '{"coin":{"coin":"BTC"},"run":1}'])
      expect(host.runs()).toBe(1)
      expect(await ground.spent(buyer)).toBe(PRICE)
    },
  )
})

test('no event tells a signature, whatever became of the payment', async () => {
  const signatures: string[] = []
  const own = await ground.gateway({ limits: { paidCallsPerWalletPerMinute: 2 } })
  const buyer = await ground.fundedBuyer()
  const payTo = ground.chain.accounts.merchant.address
  for (const choices of [{}, {}, {}, { amount: 1n }, { validBeforeSeconds: 1n }]) {
    const nowMs = systemClock.nowMs()
    const signed = await signedPayload(buyer, { amount: PULSE_PRICE, payTo, nowMs, ...choices })
    const { signature } = signed.payload
    signatures.push(signature.slice(2), signature.slice(2).toUpperCase())
    const header = encodedPayment(signed)
    signatures.push(header)
    for (const path of ['/pulse/BTC', '/pulse/BTC', '/pulse/ETH', '/pulse/NOPE'])
      await ask(own.url + path, { 'x-payment': header })
    await ask(`${own.url}/pulse/BTC`, { 'x-payment': `${header},` })
  }
  const told = eventText(own.events)
  const kinds = new Set(own.events.map(({ kind }) => kind))
  for (const kind of ['settled', 'rejected', 'malformed', 'conflict', 'limited', 'replayed'])
    expect(kinds).toContain(kind)
  for (const signature of signatures) expect(told).not.toContain(signature)
})

/** Base64 of an object that is not a payment, different for each index. */
function junkOf(index: number): string {
  return Buffer.from(JSON.stringify({ x402Version: index })).toString('base64')
}
