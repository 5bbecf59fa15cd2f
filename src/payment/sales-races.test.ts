import { fc, test as property } from '@fast-check/vitest'
import Fastify from 'fastify'
import { expect } from 'vitest'
import { ManualClock } from '../../test/support/manual-clock.ts'
import { exactEvm } from './evm/exact-evm.ts'
import { base } from './evm/networks.ts'
import type { Ledger } from './ledger/ledger.ts'
import { SqliteLedger } from './ledger/sqlite-ledger.ts'
import type { Facilitator } from './payment.ts'
import { payments } from './plugin.ts'
import { encodedPayment, newBuyer, signedPayload } from './testing/buyer.ts'
import { newSecret } from './testing/new-secret.ts'

const payTo = '0x00000000000000000000000000000000000000A1' as const
const NOW_MS = Date.UTC(2026, 0, 1)
const MANY = 1_000

const buyer = newBuyer()
const terms = { amount: 20_000n, payTo, nowMs: NOW_MS }
const header = encodedPayment(await signedPayload(buyer, terms))

/** A ledger whose replies come in any order. */
function delayed(ledger: Ledger, scheduler: fc.Scheduler): Ledger {
  return new Proxy(ledger, {
    get(target, name: keyof Ledger) {
      const method = target[name].bind(target) as (...args: unknown[]) => Promise<unknown>
      return async (...args: unknown[]) => {
        await scheduler.schedule(Promise.resolve(), `before ${name}`)
        const reply = await method(...args)
        await scheduler.schedule(Promise.resolve(), `after ${name}`)
        return reply
      }
    },
  })
}

async function gateway(ledger: Ledger, facilitator: Facilitator) {
  const app = Fastify()
  await app.register(payments, {
    methods: [exactEvm({ network: base, payTo, facilitator })],
    ledger,
    clock: new ManualClock(NOW_MS),
    publicUrl: 'https://api.example.com',
    newSecret,
    limits: {
      paidCallsPerWalletPerMinute: MANY,
      repeatedPaymentsPerAddressPerMinute: MANY,
      unverifiedPaymentsPerAddressPerMinute: MANY,
      unverifiedPaymentsPerSecond: MANY,
    },
  })
  const config = { x402: { priceUsdcAtomic: 20_000n, description: 'pulse' } }
  app.get('/:analysis/:coin', { config }, async () => Buffer.from('sold'))
  return app
}

property.prop([fc.scheduler(), fc.boolean()], { numRuns: 60 })(
  'of copies in any order one is settled, and the others get its answer or wait',
  async (scheduler, isForOtherCall) => {
    const ledger = new SqliteLedger(':memory:')
    let settlements = 0
    const facilitator: Facilitator = {
      verify: async () => ({ kind: 'valid' }),
      settle: async () => {
        settlements += 1
        return { kind: 'settled', transaction: `0x${'12'.repeat(32)}` }
      },
      outcome: async () => ({ kind: 'unused', asOfSeconds: 0 }),
    }
    const app = await gateway(delayed(ledger, scheduler), facilitator)
    const ask = async (copy: number) => {
      const url = isForOtherCall && copy % 2 === 1 ? '/pulse/ETH' : '/pulse/BTC'
      const headers = { 'payment-signature': header }
      return (await app.inject({ url, headers })).statusCode
    }
    const statuses = await scheduler.waitFor(Promise.all([0, 1, 2, 3].map(ask)))
    expect(settlements).toBe(1)
    expect(statuses).toContain(200)
    for (const status of statuses) expect([200, 409, 503]).toContain(status)
    if (!isForOtherCall) expect(new Set(statuses)).toEqual(new Set([200]))
    await app.close()
    await ledger.close()
  },
)
