import { expect, onTestFinished, test, vi } from 'vitest'
import { ManualClock } from '../../test/support/manual-clock.ts'
import { LedgerBusyError } from './ledger/ledger.ts'
import { SqliteLedger } from './ledger/sqlite-ledger.ts'
import type { Payment, PaymentMethod } from './payment.ts'
import { rejection } from './rejection.ts'
import { encodedPayment } from './testing/buyer.ts'
import { newSecret } from './testing/new-secret.ts'
import { PRICE, startPaidHost } from './testing/paid-host.ts'
import { wirePayload } from './wire-payload.ts'

const [scheme, network, asset, payTo] = ['vouchers', 'test:1', '0xa', '0xb'] as const
const extra = { channelState: { charged: PRICE.toString() } }

/** A gateway that sells for vouchers. */
async function gateway(
  ledger: SqliteLedger,
  more: Partial<Pick<Payment, 'check' | 'isOutdated' | 'operation'>> = {},
) {
  const method: PaymentMethod = {
    ...{ scheme, network, asset, payTo, legacyName: null, extra: {} },
    read: (raw, purchase): Payment => ({
      ...purchase,
      ...{ payer: '0xc', nonce: String(raw['total']), hash: String(raw['total']) },
      validBeforeSeconds: 2_000_000_000,
      wire: wirePayload(purchase, raw),
      refusesRepetitions: true,
      check: async () => null,
      verify: async () => ({ kind: 'valid' }),
      settle: async () => ({ kind: 'settled', transaction: '' }),
      outcome: async () => ({ kind: 'unknown', reason: 'nothing is asked' }),
      ...more,
    }),
  }
  const never = () => Promise.reject(new Error('the method settles'))
  const facilitator = { verify: never, settle: never, outcome: never }
  const clock = new ManualClock()
  const host = await startPaidHost({ payTo, facilitator, methods: [method], clock, ledger })
  onTestFinished(() => host.close())
  return host
}

function voucher() {
  const accepted = { scheme, network, asset, amount: PRICE.toString(), payTo, extra: {} }
  const extensions = { 'answer-access': { info: { secret: newSecret() } } }
  const payment = { x402Version: 2, accepted, payload: { total: '1' }, extensions }
  return { url: '/pulse/BTC', headers: { 'payment-signature': encodedPayment(payment) } }
}

test('a copy of a voucher that another gateway sells meanwhile gets its answer, and no request for another', async () => {
  const ledger = new SqliteLedger(':memory:')
  const first = await gateway(ledger)
  const call = voucher()
  let sold = ''
  const second = await gateway(ledger, {
    check: async () => {
      sold = (await first.app.inject(call)).body
      const correction = { scheme, network, extra }
      return { ...rejection('cumulative_amount_mismatch', 'Sign another.'), correction }
    },
  })
  const { statusCode, body } = await second.app.inject(call)
  expect(statusCode).toBe(200)
  expect(body).toBe(sold)
})

test('a refund is refused with 503 while the ledger cannot be read', async () => {
  const ledger = new SqliteLedger(':memory:')
  const host = await gateway(ledger, { operation: 'refund' })
  const away = new LedgerBusyError('PostgreSQL is away', null)
  vi.spyOn(ledger, 'hasSettled').mockRejectedValue(away)
  const { statusCode, body } = await host.app.inject(voucher())
  expect(JSON.parse(body)).toMatchObject({ code: 'ledger_busy', charged: false })
  expect(statusCode).toBe(503)
})

test('vouchers are refused with 503 while their channels cannot be read', async () => {
  const host = await gateway(new SqliteLedger(':memory:'), {
    isOutdated: () => Promise.reject(new LedgerBusyError('PostgreSQL is away', null)),
  })
  const { statusCode, body } = await host.app.inject(voucher())
  expect(JSON.parse(body)).toMatchObject({ code: 'ledger_busy', charged: null })
  expect(statusCode).toBe(503)
})
