import { afterEach, beforeAll, describe, expect, test } from 'vitest'
import { contracts } from '../src/compute/analyses/registry.ts'
import { STORE_OK } from '../src/link/testing/store-ok.ts'
import { base } from '../src/payment/evm/networks.ts'
import { encodedPayment, newBuyer, signedPayload } from '../src/payment/testing/buyer.ts'
import type { DiscoveryGateway, StandingMarket } from './support/discovery-gateway.ts'
import { discoveryGateway, PAY_TO, standingMarket } from './support/discovery-gateway.ts'

let market: StandingMarket
let opened: DiscoveryGateway[] = []

beforeAll(() => {
  market = standingMarket()
})

afterEach(async () => {
  await Promise.all(opened.map((gateway) => gateway.close()))
  opened = []
})

function gateway(): DiscoveryGateway {
  const started = discoveryGateway(market, 'x402')
  opened.push(started)
  return started
}

function payment(analysis: string): Promise<unknown> {
  const amount = contracts.find(({ id }) => id === analysis)?.priceUsdcAtomic ?? 0n
  const terms = { amount, payTo: PAY_TO as `0x${string}`, nowMs: market.nowMs, network: base }
  return signedPayload(newBuyer(), terms)
}

async function paidHeaders(analysis: string) {
  return { 'payment-signature': encodedPayment(await payment(analysis)) }
}

describe('a payment that comes again', () => {
  test.each([
    ['/pulse/BTC', '/pulse/btc'],
    ['/pulse/BTC', '/pulse/%42tc-perp/?timeframes=4h,1h&view=full&utm_source=x'],
    ['/pulse/BTC?timeframes=4h,1h', '/pulse/BTC?timeframes=1h,4h'],
    ['/pulse/BTC?fields=price,confluence', '/pulse/BTC?_=1&fields=confluence,price'],
    ['/funding/BTC', '/funding/BTC?lookback_hours=24'],
    ['/screener', '/screener?view=full&top_n=50'],
    ['/sentiment?bucket=scores', '/sentiment'],
  ])('for %s buys %s: it is the same document', async (first, again) => {
    const { app } = gateway()
    const headers = await paidHeaders(first.split(/[/?]/)[1] ?? '')
    const bought = await app.inject({ url: first, headers })
    expect(bought.statusCode, bought.body).toBe(200)
    const repeated = await app.inject({ url: again, headers })
    expect(repeated.statusCode, repeated.body).toBe(200)
    expect(repeated.body).toBe(bought.body)
  })

  test.each(['/pulse/ETH', '/pulse/BTC?timeframes=4h', '/pulse/BTC?view=compact'])(
    'does not buy %s beside /pulse/BTC',
    async (other) => {
      const { app } = gateway()
      const headers = await paidHeaders('pulse')
      expect((await app.inject({ url: '/pulse/BTC', headers })).statusCode).toBe(200)
      const refused = await app.inject({ url: other, headers })
      expect(refused.json()).toMatchObject({ code: 'payment_replayed', charged: null })
    },
  )

  test('under another spelling finds its answer while there is no engine', async () => {
    const { app } = gateway()
    const headers = await paidHeaders('pulse')
    const bought = await app.inject({ url: '/pulse/BTC', headers })
    market.engine.disconnected()
    try {
      const repeated = await app.inject({ url: '/pulse/btc-usd?timeframes=4h,1h', headers })
      expect(repeated.body).toBe(bought.body)
    } finally {
      const feeds = [
        { feed: 'venue', state: 'up', sinceMs: market.nowMs, reason: 'connected' } as const,
      ]
      const known = { feeds, sources: [], store: STORE_OK, counts: {} }
      const heartbeat = { startedAtMs: market.nowMs, ...known }
      market.engine.apply({ kind: 'heartbeat', heartbeat }, market.nowMs)
    }
  })
})

describe('a parameter that nobody knows', () => {
  test('is refused before any quote and any charge, and the payment stays good', async () => {
    const { app } = gateway()
    const url = '/pulse/BTC?timeframe=15m'
    const quoted = await app.inject(url)
    expect(quoted.statusCode).toBe(400)
    expect(quoted.headers).not.toHaveProperty('payment-required')
    const headers = await paidHeaders('pulse')
    const refused = await app.inject({ url, headers })
    expect(refused.json()).toMatchObject({
      code: 'unknown_parameter',
      param: 'timeframe',
      allowed: ['timeframes', 'view', 'fields'],
      did_you_mean: ['timeframes'],
      charged: false,
      payment_reusable: true,
    })
    expect((await app.inject({ url: '/pulse/BTC', headers })).statusCode).toBe(200)
  })

  test.each(contracts)('is refused by $id', async ({ id, scope }) => {
    const { app } = gateway()
    const path = scope === 'coin' ? `/${id}/BTC` : `/${id}`
    for (const name of ['limit', 'coin', 'UTM_source', '__proto__']) {
      const refused = await app.inject(`${path}?${name}=1`)
      expect(refused.json(), name).toMatchObject({ code: 'unknown_parameter', param: name })
    }
    expect((await app.inject(`${path}?utm_source=x&utm_source=y&_=`)).statusCode).toBe(402)
  })

  test.each([
    ['get_pulse', { coin: 'BTC', timeframe: '15m' }, 'timeframe', ['timeframes']],
    ['get_pulse', { coin: 'BTC', utm_source: 'x' }, 'utm_source', []],
    ['get_oi', { coin: 'BTC', fields: 'price' }, 'fields', []],
    ['get_screener', { coin: 'BTC' }, 'coin', []],
    ['list_coins', { limit: 5 }, 'limit', []],
  ])('is refused as an argument of the tool %s: %j', async (name, args, param, meant) => {
    const { app } = gateway()
    const meta = { 'x402/payment': await payment(name.replace('get_', '')) }
    const { isError, content } = await called(app, { name, arguments: args, _meta: meta })
    expect(isError).toBe(true)
    expect(JSON.parse(content[0]?.text ?? '')).toMatchObject({
      code: 'unknown_parameter',
      param,
      did_you_mean: meant,
      // It was not looked up.
      charged: null,
      payment_reusable: true,
      request_id: expect.stringMatching(/-/),
    })
  })

  test.each([
    ['pulse BTC 15m', '15m'],
    ['screener BTC', 'coin'],
    ['{"analysis":"pulse","coin":"BTC","timeframe":"15m"}', 'timeframe'],
    ['{"analysis":"depeg","coin":"BTC"}', 'coin'],
  ])('is refused in the message %s', async (text, param) => {
    const { app } = gateway()
    const message = {
      kind: 'message',
      role: 'user',
      messageId: 'm',
      parts: [{ kind: 'text', text }],
    }
    const payload = { jsonrpc: '2.0', id: 1, method: 'message/send', params: { message } }
    const { result } = (await app.inject({ method: 'POST', url: '/a2a', payload })).json()
    expect(result.status.state).toBe('failed')
    expect(result.metadata.problem).toMatchObject({ code: 'unknown_parameter', param })
  })
})

async function called(app: DiscoveryGateway['app'], params: unknown) {
  const response = await app.inject({
    method: 'POST',
    url: '/mcp',
    headers: { accept: 'application/json, text/event-stream' },
    payload: { jsonrpc: '2.0', id: 1, method: 'tools/call', params } as object,
  })
  const text = response.body.replace(/^event: .*\ndata: /, '')
  return (
    JSON.parse(text) as {
      result: { isError: boolean; content: readonly { readonly text: string }[] }
    }
  ).result
}
