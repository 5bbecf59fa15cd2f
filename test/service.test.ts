import { request as httpRequest } from 'node:http'
import { connect } from 'node:net'
import { registerExactEvmScheme } from '@x402/evm/exact/client'
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import { Compile } from 'typebox/compile'
import { privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { pulse } from '../src/compute/analyses/pulse/pulse.ts'
import { contracts } from '../src/compute/analyses/registry.ts'
import { pathOf } from '../src/domain/contract.ts'
import type { PaymentChoices } from '../src/payment/testing/buyer.ts'
import { encodedPayment, newBuyer, signedPayload } from '../src/payment/testing/buyer.ts'
import { catalog } from '../src/simulator/market/catalog.ts'
import type { Rig } from './support/service.ts'
import {
  fromElsewhere,
  marketCoins,
  runCommand,
  startRig,
  until,
  untilAnswerable,
  untilFresh,
  untilSold,
} from './support/service.ts'

/** Coins of the simulated venue, without those that it has delisted. */
const LISTED = catalog
  .slice(0, Number(marketCoins[1]))
  .filter(([, , , , , , isDelisted]) => !isDelisted)

/**
 * The built service as deployed: a process, an engine thread, a simulated venue and a chain. The parts
 * have their own tests; these cover their interaction.
 */
describe('the service', () => {
  let rig: Rig

  beforeAll(async () => {
    // Without dexes it is known how many coins it will list.
    rig = await startRig({ coins: marketCoins, solana: true, flags: ['--dexes', 'off'] })
    for (const contract of contracts) await untilSold(rig.url, contract, 'BTC')
  })

  afterAll(() => rig?.close())

  // Some of the tests restart the engine or the whole service.
  beforeEach(async () => {
    await untilSold(rig.url, pulse.contract, 'BTC')
    await untilAnswerable(rig.url, 'kPEPE')
  })

  const merchantBalance = () => rig.chain.balanceOf(rig.chain.accounts.merchant.address)
  const buyer = () => privateKeyToAccount(rig.chain.accounts.buyer.privateKey)
  /** Each payment is by a new wallet, because the purchases of one wallet are limited per minute. */
  const pay = async (amount: bigint, changes: Partial<PaymentChoices> = {}) => {
    const wallet = newBuyer()
    await rig.chain.fundUsdc(wallet.address, 1_000_000n)
    const payTo = rig.chain.accounts.merchant.address
    const choices = { amount, payTo, nowMs: Date.now(), ...changes }
    return encodedPayment(await signedPayload(wallet, choices))
  }
  /** An answer, and the headers that bought it. */
  const boughtPulse = async () => {
    const headers = { 'payment-signature': await pay(25_000n) }
    const response = await fetch(`${rig.url}/pulse/BTC`, { headers })
    const bought = await response.text()
    expect(response.status, bought).toBe(200)
    return { headers, bought }
  }
  const client = (signer = buyer()) => {
    const payer = new x402Client()
    registerExactEvmScheme(payer, { signer })
    return payer
  }

  const soldBy = async (payingFetch: typeof fetch, url: string): Promise<unknown> => {
    const response = await untilFresh(payingFetch)(url)
    const body: unknown = await response.json()
    expect({ status: response.status, body }).toEqual({ status: 200, body: expect.anything() })
    return body
  }

  test.each(
    contracts.flatMap((contract) => [
      { id: contract.id, version: 2, contract },
      { id: contract.id, version: 1, contract },
    ]),
  )(
    'sells /$id to @x402/fetch, protocol version $version, at its price',
    async ({ version, contract }) => {
      await untilSold(rig.url, contract, 'BTC')
      const before = await merchantBalance()
      const wallet = newBuyer()
      await rig.chain.fundUsdc(wallet.address, 1_000_000n)
      const speaking = fromElsewhere(version === 2 ? fetch : withoutV2Header)
      const payingFetch = wrapFetchWithPayment(speaking, client(wallet))
      const bought = await soldBy(payingFetch, rig.url + pathOf(contract, 'btc'))
      expect([...Compile(contract.document).Errors(bought)]).toEqual([])
      expect((await merchantBalance()) - before).toBe(contract.priceUsdcAtomic)
    },
  )

  test('answers a coin that is quoted in thousands by its token name, and states it', async () => {
    const url = `${rig.url}/pulse/pepe?timeframes=4h,15m`
    // A coin is listed before its 15-minute candles are there. What is no payment is no quote either, so
    // it may ask as often as it likes, and is refused for itself only where there is something to sell.
    await until('its 15-minute candles are there', async () => {
      const refused = await fetch(url, { headers: { 'x-payment': '%%%' } })
      return ((await refused.json()) as { code: string }).code === 'malformed_payment'
    })
    const body = await soldBy(wrapFetchWithPayment(fetch, client()), url)
    expect(body).toMatchObject({ coin: 'kPEPE', requested_coin: 'PEPE', unit_multiplier: 1000 })
    expect(Object.keys((body as { timeframes: object }).timeframes)).toEqual(['15m', '4h'])
  })

  test('counts the same coins in /coins and in a pulse', async () => {
    const listed = async () =>
      (await (await fetch(`${rig.url}/coins`)).json()) as { count: number; coins: string[] }
    await until('every coin is listed', async () => (await listed()).count === LISTED.length)
    const payingFetch = wrapFetchWithPayment(fetch, client())
    const bought = await soldBy(payingFetch, `${rig.url}/pulse/BTC`)
    expect(bought).toMatchObject({ meta: { coins_available: LISTED.length } })
    expect((await listed()).coins.toSorted()).toEqual(LISTED.map(([coin]) => coin).toSorted())
  })

  describe('refuses without a charge', () => {
    test.each([
      {
        what: 'an unknown coin',
        path: '/pulse/NOPE',
        status: 400,
        code: 'invalid_coin',
        charged: false,
      },
      {
        what: 'a timeframe that is not sold',
        path: '/pulse/BTC?timeframes=5m',
        status: 400,
        code: 'invalid_timeframes',
        charged: false,
      },
      {
        what: 'an unknown path, on which no payment is looked up',
        path: '/pulses/BTC',
        status: 404,
        code: 'not_found',
        charged: null,
      },
    ])('$what', async ({ path, status, code, charged }) => {
      await unchanged(async () => {
        const response = await fetch(rig.url + path, {
          headers: { 'x-payment': await pay(25_000n) },
        })
        expect(response.status).toBe(status)
        expect(response.headers.get('content-type')).toContain('application/problem+json')
        expect(await response.json()).toMatchObject({ status, code, charged })
      })
    })

    test('a garbled payment', async () => {
      await unchanged(async () => {
        const response = await fetch(`${rig.url}/pulse/BTC`, { headers: { 'x-payment': '%%%' } })
        expect(response.status).toBe(400)
        expect(await response.json()).toMatchObject({ code: 'malformed_payment', charged: false })
      })
    })

    test('an oversized payment', async () => {
      await unchanged(async () => {
        const status = await statusOf({ 'x-payment': 'A'.repeat(14_000) })
        expect(status).toBe(400)
        expect(await statusOf({ 'x-payment': 'A'.repeat(40_000) })).toBe(431)
      })
    })

    test('an expired payment', async () => {
      await unchanged(async () => {
        const expired = await pay(25_000n, {
          validBeforeSeconds: BigInt(Math.floor(Date.now() / 1000)) - 1n,
        })
        const response = await fetch(`${rig.url}/pulse/BTC`, { headers: { 'x-payment': expired } })
        expect(response.status).toBe(402)
        expect(await response.json()).toMatchObject({ x402Version: 1 })
      })
    })

    test('the price of something cheaper', async () => {
      await unchanged(async () => {
        const response = await fetch(`${rig.url}/pulse/BTC`, {
          headers: { 'payment-signature': await pay(15_000n) },
        })
        expect(response.status).toBe(402)
      })
    })

    test('HEAD, which shows the quote and nothing else', async () => {
      await unchanged(async () => {
        const response = await fetch(`${rig.url}/pulse/BTC`, {
          method: 'HEAD',
          headers: { 'payment-signature': await pay(25_000n) },
        })
        expect(response.status).toBe(402)
        expect(response.headers.get('payment-required')).not.toBeNull()
      })
    })

    test('an absolute request target, which is a path like any other', async () => {
      await unchanged(async () => {
        const reply = await raw(
          `GET http://elsewhere.example/pulse/BTC HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`,
        )
        expect(reply).toMatch(/^HTTP\/1\.1 402 /)
        expect(reply).not.toContain('indicators')
      })
    })
  })

  test('a payment buys once: again it is replayed for free, on another URL it is refused', async () => {
    const before = await merchantBalance()
    const { headers, bought } = await boughtPulse()
    const again = await fetch(`${rig.url}/pulse/BTC`, { headers })
    expect(await again.text()).toBe(bought)
    const elsewhere = await fetch(`${rig.url}/pulse/kPEPE`, { headers })
    expect(elsewhere.status).toBe(409)
    expect(await elsewhere.json()).toMatchObject({ code: 'payment_replayed', charged: null })
    expect((await merchantBalance()) - before).toBe(25_000n)
  })

  test('the ledger shows in the metrics, by state', async () => {
    await boughtPulse()
    const metrics = await (await fetch(`${rig.adminUrl}/metrics`)).text()
    expect(metrics).toMatch(/^perpscope_payments\{state="settled"\} [1-9]\d*$/m)
    expect(metrics).toMatch(/^perpscope_payments\{state="unknown"\} 0$/m)
  })

  test('an unpaid call with the placeholder of the path template is quoted', async () => {
    expect((await fetch(`${rig.url}/pulse/{coin}`)).status).toBe(402)
  })

  test('maintenance stops what costs money and nothing else, from the command line', async () => {
    const on = await runCommand(['maintenance', 'on', '--admin-port', String(rig.adminPort)])
    try {
      expect(on.code).toBe(0)
      const refused = await fetch(`${rig.url}/pulse/NOPE`)
      expect(refused.status).toBe(503)
      expect(refused.headers.get('retry-after')).toBe('3600')
      expect(await refused.json()).toMatchObject({ code: 'maintenance', retry_after: 3600 })
      expect(await (await fetch(`${rig.url}/health`)).json()).toMatchObject({
        status: 'degraded',
        kill_switch: 'disabled',
      })
      expect((await fetch(`${rig.url}/coins`)).status).toBe(200)
    } finally {
      const off = await runCommand(['maintenance', 'off', '--admin-port', String(rig.adminPort)])
      expect(off.code).toBe(0)
    }
    expect((await fetch(`${rig.url}/pulse/BTC`)).status).toBe(402)
  })

  test('maintenance outlives a crash: a service that restarts does not sell again by itself', async () => {
    await setMaintenance(true)
    try {
      await rig.kill()
      await rig.start()
      expect((await fetch(`${rig.url}/pulse/BTC`)).status).toBe(503)
    } finally {
      await setMaintenance(false)
    }
    await untilSold(rig.url, pulse.contract, 'BTC')
    expect((await fetch(`${rig.url}/pulse/BTC`)).status).toBe(402)
  })

  test('an engine thread that is killed sells nothing, and what was bought is given again; then it is back from its checkpoint', async () => {
    const health = async () =>
      (await (await fetch(`${rig.url}/health`)).json()) as { engine: string; status: string }
    const { headers, bought } = await boughtPulse()
    // Signed before: the engine is back within two seconds on a quick machine.
    const payment = await pay(25_000n)
    await unchanged(async () => {
      const killed = await fetch(`${rig.adminUrl}/engine/restart`, { method: 'POST' })
      expect(killed.status).toBeLessThan(300)
      // Side by side: after one another, the last could come when the engine is back.
      const [{ engine }, repeated, refused] = await Promise.all([
        health(),
        fetch(`${rig.url}/pulse/BTC`, { headers }),
        fetch(`${rig.url}/pulse/BTC`, { headers: { 'x-payment': payment } }),
      ])
      expect(engine).toBe('unavailable')
      expect(await repeated.text()).toBe(bought)
      expect(refused.status).toBe(500)
      expect(await refused.json()).toMatchObject({ code: 'engine_unavailable', charged: false })
    })
    await until('the engine is back', async () => (await health()).engine === 'available')
  })

  test('what was bought is kept during maintenance, and given again after it', async () => {
    const { headers, bought } = await boughtPulse()
    const command = ['maintenance', 'on', '--admin-port', String(rig.adminPort)]
    const { code, errors } = await runCommand(command)
    expect(code, errors).toBe(0)
    try {
      const kept = await fetch(`${rig.url}/pulse/BTC`, { headers })
      expect(kept.status).toBe(503)
      expect(await kept.json()).toMatchObject({ code: 'maintenance', charged: true })
      const fresh = { 'payment-signature': await pay(25_000n) }
      const refused = await fetch(`${rig.url}/pulse/BTC`, { headers: fresh })
      expect(refused.status).toBe(503)
      expect(await refused.json()).toMatchObject({ code: 'maintenance', charged: false })
    } finally {
      await setMaintenance(false)
    }
    expect(await (await fetch(`${rig.url}/pulse/BTC`, { headers })).text()).toBe(bought)
  })

  /** As the command does. */
  async function setMaintenance(on: boolean): Promise<void> {
    const response = await fetch(`${rig.adminUrl}/maintenance`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ on }),
    })
    expect(response.status).toBe(200)
  }

  async function unchanged(scenario: () => Promise<void>): Promise<void> {
    const before = await merchantBalance()
    await scenario()
    expect(await merchantBalance(), 'nothing was charged').toBe(before)
  }

  /** `fetch` refuses to send what a hostile client would. */
  function statusOf(headers: Record<string, string>): Promise<number> {
    return new Promise((resolve, reject) => {
      httpRequest(`${rig.url}/pulse/BTC`, { headers }, (response) => {
        response.resume()
        resolve(response.statusCode ?? 0)
      })
        .on('error', reject)
        .end()
    })
  }

  function raw(text: string): Promise<string> {
    return new Promise((resolve, reject) => {
      let reply = ''
      const socket = connect(Number(new URL(rig.url).port), '127.0.0.1', () => socket.write(text))
      socket.on('data', (chunk) => {
        reply += chunk.toString()
      })
      socket.on('end', () => resolve(reply))
      socket.on('error', reject)
    })
  }
})

/** What a client of the first protocol generation sees. */
const withoutV2Header: typeof fetch = async (input, init) => {
  const response = await fetch(input, init)
  const headers = new Headers(response.headers)
  headers.delete('payment-required')
  return new Response(response.body, { status: response.status, headers })
}
