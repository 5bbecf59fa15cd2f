import Fastify from 'fastify'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import type { PostgresServer } from '../../test/support/postgres.ts'
import { hasPostgres, postgresOfWorker } from '../../test/support/postgres.ts'
import { systemClock } from '../roles/system-clock.ts'
import { exactEvm } from './evm/exact-evm.ts'
import { base } from './evm/networks.ts'
import { Postgres } from './ledger/postgres.ts'
import { PostgresLedger } from './ledger/postgres-ledger.ts'
import type { Facilitator, Outcome, Settlement } from './payment.ts'
import { payments } from './plugin.ts'
import { encodedPayment, newBuyer, signedPayload } from './testing/buyer.ts'
import { newSecret } from './testing/new-secret.ts'

const payTo = '0x00000000000000000000000000000000000000A1' as const
const MANY = 100_000
const RETRY_MS = 200
const TRANSACTION = `0x${'12'.repeat(32)}`

/** A chain that settles each nonce once, after a while. */
class Chain implements Facilitator {
  readonly settled = new Map<string, number>()
  delayMs = 5
  onSettled = () => {}

  async verify(): Promise<{ kind: 'valid' }> {
    return { kind: 'valid' }
  }

  async settle(payment: { readonly nonce: string }): Promise<Settlement> {
    await new Promise((resolve) => systemClock.after(this.delayMs, () => resolve(undefined)))
    this.settled.set(payment.nonce, (this.settled.get(payment.nonce) ?? 0) + 1)
    this.onSettled()
    return { kind: 'settled', transaction: TRANSACTION }
  }

  async outcome(payment: { readonly nonce: string }): Promise<Outcome> {
    return this.settled.has(payment.nonce)
      ? { kind: 'settled', transaction: TRANSACTION }
      : { kind: 'unused', asOfSeconds: Math.floor(systemClock.nowMs() / 1_000) }
  }
}

describe.skipIf(!hasPostgres)('gateways over PostgreSQL', () => {
  let server: PostgresServer
  let gateways = 0

  beforeAll(async () => {
    server = await postgresOfWorker()
  })

  /** @returns the app, and its ledger */
  async function gateway(url: string, chain: Chain) {
    gateways += 1
    const db = new Postgres({ url, applicationName: 'perpscope test' })
    const options = { db, clock: systemClock, gateway: `gateway-${gateways}` }
    const ledger = await PostgresLedger.open(options)
    await ledger.join({ 'pay-to': payTo })
    const app = Fastify()
    await app.register(payments, {
      methods: [exactEvm({ network: base, payTo, facilitator: chain as Facilitator<never> })],
      ledger,
      clock: systemClock,
      publicUrl: 'https://api.example.com',
      newSecret,
      limits: {
        paidCallsPerWalletPerMinute: MANY,
        failedPaymentsPerAddressPerMinute: MANY,
        repeatedPaymentsPerAddressPerMinute: MANY,
        unverifiedPaymentsPerAddressPerMinute: MANY,
        unverifiedPaymentsPerSecond: MANY,
      },
    })
    const config = { x402: { priceUsdcAtomic: 20_000n, description: 'pulse' } }
    let runs = 0
    app.get('/pulse/:coin', { config }, async () => {
      runs += 1
      return Buffer.from(`answer ${gateways}/${runs}`)
    })
    onTestFinished(async () => {
      await app.close()
      await ledger.close()
      await db.close()
    })
    return { app, ledger }
  }

  type Gateway = Awaited<ReturnType<typeof gateway>>

  async function signed(): Promise<string> {
    const terms = { amount: 20_000n, payTo, nowMs: systemClock.nowMs() }
    return encodedPayment(await signedPayload(newBuyer(), terms))
  }

  async function ask({ app }: Gateway, payment: string) {
    const headers = { 'payment-signature': payment }
    const { statusCode, body } = await app.inject({ url: '/pulse/BTC', headers })
    return { status: statusCode, body }
  }

  /** Repeats a payment as a client does, until it is answered. */
  async function bought(at: readonly Gateway[], payment: string, copy: number): Promise<string> {
    for (let attempt = 0; ; attempt += 1) {
      const one = at[(copy + attempt) % at.length]
      if (one === undefined) throw new Error('there is a gateway')
      const { status, body } = await ask(one, payment)
      if (status === 200) return body
      if (status !== 503) throw new Error(`${status} ${body}`)
      await new Promise((resolve) => systemClock.after(RETRY_MS, () => resolve(undefined)))
    }
  }

  async function both(chain: Chain): Promise<readonly [Gateway, Gateway]> {
    const url = await server.createDatabase()
    return [await gateway(url, chain), await gateway(url, chain)]
  }

  test('settle each of 60 payments once that come four times, and answer every copy alike', async () => {
    const chain = new Chain()
    const pair = await both(chain)
    const sent = await Promise.all(Array.from({ length: 60 }, signed))
    const answers = await Promise.all(
      sent.map((payment) => Promise.all([0, 1, 2, 3].map((copy) => bought(pair, payment, copy)))),
    )
    for (const copies of answers) expect(new Set(copies).size).toBe(1)
    expect(chain.settled.size).toBe(60)
    expect(new Set(chain.settled.values())).toEqual(new Set([1]))
  })

  test('settle each payment once while PostgreSQL crashes and returns', async () => {
    const chain = new Chain()
    const pair = await both(chain)
    const sent = await Promise.all(Array.from({ length: 60 }, signed))
    const isUnderWay = new Promise<void>((resolve) => {
      chain.onSettled = () => {
        if (chain.settled.size >= 10) resolve()
      }
    })
    // Copies stay at their gateway: where a payment was begun, its outcome is found at once, and elsewhere after a minute.
    const buying = sent.map((payment) =>
      Promise.all([...pair, ...pair].map((one) => bought([one], payment, 0))),
    )
    await isUnderWay
    onTestFinished(() => server.start())
    await server.crash()
    await server.start()
    for (const copies of await Promise.all(buying)) expect(new Set(copies).size).toBe(1)
    expect(chain.settled.size).toBe(60)
    expect(new Set(chain.settled.values())).toEqual(new Set([1]))
  })

  test('answer for a gateway that froze before its settlement, and nothing is paid twice', async () => {
    const chain = new Chain()
    const [first, second] = await both(chain)
    const payment = await signed()
    let resume = () => {}
    const frozen = new Promise<void>((resolve) => {
      resume = resolve
    })
    const settle = chain.settle.bind(chain)
    let isFirst = true
    chain.settle = async (one) => {
      if (isFirst) {
        isFirst = false
        await frozen
        // The nonce is used by then.
        if (chain.settled.has(one.nonce)) return { kind: 'rejected', reason: 'nonce_already_used' }
      }
      return settle(one)
    }
    const atFirst = ask(first, payment)
    await expect.poll(() => isFirst).toBe(false)
    // The first gateway counts as ended once it was not seen for 15 s.
    await first.ledger.close()
    await second.ledger.interrupted()
    const { status, body } = await ask(second, payment)
    expect(status).toBe(200)
    resume()
    expect((await atFirst).status).toBe(200)
    expect((await ask(first, payment)).body).toBe(body)
    expect([...chain.settled.values()]).toEqual([1])
  })

  test('refuse without a charge while PostgreSQL is away, and sell when it is back', async () => {
    const chain = new Chain()
    const [first] = await both(chain)
    const payment = await signed()
    onTestFinished(() => server.start())
    await server.crash()
    const { status, body } = await ask(first, payment)
    expect(status).toBe(503)
    expect(JSON.parse(body)).toMatchObject({ code: 'ledger_busy', charged: null })
    expect(chain.settled.size).toBe(0)
    await server.start()
    await expect.poll(async () => (await ask(first, payment)).status).toBe(200)
    expect(chain.settled.size).toBe(1)
  })
})
