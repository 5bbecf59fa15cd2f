import { expect, test } from 'vitest'
import { ManualClock } from '../../../test/support/manual-clock.ts'
import { base } from '../evm/networks.ts'
import { channelConfig as config } from '../testing/channel-config.ts'
import { batchSettlement } from './batch-settlement.ts'
import type { ChannelPayload } from './channel-payload.ts'
import { wireOfPayload } from './channel-payload.ts'
import type { ChannelRegistry } from './channel-registry.ts'

const signature = `0x${'01'.repeat(65)}` as const
const salt = `0x${'02'.repeat(32)}` as const
const voucher = { channelId: salt, cumulative: 100n, signature }
const away = (): Promise<never> => Promise.reject(new Error('the database is away'))

/** A payment whose chain answers nothing: an attempt to use it would end with a TypeError. */
function paymentOf(payload: ChannelPayload, store: object, more: object = {}) {
  const registry = { store, chain: { authorizer: config.receiverAuthorizer }, ...more }
  const method = batchSettlement({
    ...{ network: base, payTo: config.receiver, withdrawDelaySeconds: 900 },
    ...{ registry: registry as unknown as ChannelRegistry, clock: new ManualClock() },
  })
  const wire = {
    ...{ scheme: method.scheme, network: method.network, asset: method.asset, amount: '100' },
    ...{ payTo: method.payTo, maxTimeoutSeconds: 60, extra: {} },
  }
  return method.read(
    { ...wireOfPayload(payload) },
    {
      requirement: { method, amount: 100n, wire },
      resourceUrl: 'https://api.example.com/pulse/BTC',
    },
  )
}

test.each([
  ['a voucher whose sale cannot be read', { kind: 'voucher' }, { sale: away }],
  [
    'a deposit whose sale cannot be read',
    {
      kind: 'deposit',
      deposit: { amount: 100n, validAfter: 0n, validBefore: 2n ** 40n, salt, signature },
    },
    { sale: away },
  ],
  [
    'a voucher whose channel cannot be read',
    { kind: 'voucher' },
    { sale: () => Promise.resolve(null), find: away },
  ],
] as const)('%s is not settled: nothing was sent or charged', async (_what, kind, store) => {
  const payment = paymentOf({ config, voucher, ...kind }, store)
  expect(await payment.settle('confirmed')).toEqual({
    kind: 'unreachable',
    reason: 'the payment channels cannot be read: the database is away',
  })
})

test('a refund that cannot be recorded is not sent', async () => {
  const channel = { config, charged: 100n, balance: 300n, refundNonce: 0n, signature }
  const registry = {
    refundAlone: (_id: unknown, refund: () => Promise<unknown>) => refund(),
    sync: async () => channel,
    wasJustRefunded: () => false,
  }
  const refund = { config, voucher, kind: 'refund', amount: null } as const
  const payment = paymentOf(refund, { beginRefund: away }, registry)
  expect(await payment.settle('confirmed')).toEqual({
    kind: 'unreachable',
    reason: 'the payment channels cannot be written: the database is away',
  })
})
