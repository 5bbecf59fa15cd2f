import type { Hex } from 'viem'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { ManualClock } from '../../../test/support/manual-clock.ts'
import type { PostgresServer } from '../../../test/support/postgres.ts'
import { hasPostgres, postgresOfWorker } from '../../../test/support/postgres.ts'
import { base } from '../evm/networks.ts'
import type { SqlQuery } from '../ledger/postgres.ts'
import { Postgres } from '../ledger/postgres.ts'
import { PostgresLedger } from '../ledger/postgres-ledger.ts'
import { migrateTables } from '../ledger/postgres-schema.ts'
import { channelConfig as config } from '../testing/channel-config.ts'
import { ledgerEntry, NOW_MS } from '../testing/ledger-entry.ts'
import { batchSettlement } from './batch-settlement.ts'
import { wireOfPayload } from './channel-payload.ts'
import type { ChannelRegistry } from './channel-registry.ts'
import type { VoucherSale } from './channel-store.ts'
import { channelTables, PostgresChannelStore } from './postgres-channel-store.ts'

const ID: Hex = `0x${'ab'.repeat(32)}`
const state = { balance: 1_000n, claimed: 0n, withdrawRequestedAtSeconds: 0, refundNonce: 0n }
const { key } = ledgerEntry('voucher')
const voucher: VoucherSale = {
  ...{ channelId: ID, payment: key, cumulative: 100n, amount: 100n },
  ...{ signature: `0x${'01'.repeat(65)}`, hash: 'hash', transaction: '' },
}

describe.skipIf(!hasPostgres)('a gateway that froze between the claim and its voucher', () => {
  let server: PostgresServer

  beforeAll(async () => {
    server = await postgresOfWorker()
  })

  /** Two gateways; the first has begun a payment and is not seen any more. */
  async function begun() {
    const url = await server.createDatabase()
    const gateways = await Promise.all(
      ['one', 'two'].map(async (gateway) => {
        const db = new Postgres({ url, applicationName: `perpscope test ${gateway}` })
        onTestFinished(() => db.close())
        const ledger = await PostgresLedger.open({ db, clock: new ManualClock(), gateway })
        await migrateTables(db, channelTables)
        return { db, ledger, store: new PostgresChannelStore(db, gateway) }
      }),
    )
    const [one, two] = gateways
    if (one === undefined || two === undefined) throw new Error('there are two gateways')
    await one.store.mirror(ID, config, state, 1)
    expect(await one.ledger.begin(ledgerEntry('voucher'), NOW_MS)).toMatchObject({ kind: 'begun' })
    return { one, two }
  }

  test('charges nothing once another one has released the payment', async () => {
    const { one, two } = await begun()
    await two.ledger.interrupted()
    expect(await two.ledger.nextOpen(NOW_MS, NOW_MS)).toMatchObject({ key })
    await two.ledger.move(key, 'released', null, NOW_MS)
    expect(await one.store.commit(voucher, NOW_MS)).toBe('superseded')
    expect(await two.store.find(ID)).toMatchObject({ charged: 0n, signature: null })
    expect(await two.store.sale(ID, 100n)).toBeNull()
  })

  test('charges nothing while another one asks for the outcome', async () => {
    const { one, two } = await begun()
    expect(await two.ledger.takeOver(key)).toBe(true)
    expect(await one.store.commit(voucher, NOW_MS)).toBe('superseded')
    expect(await two.store.commit(voucher, NOW_MS), 'but the other one may').toBe('committed')
  })

  test('charges a payment that was only marked, and the other one finds the sale', async () => {
    const { one, two } = await begun()
    await two.ledger.interrupted()
    expect(await one.store.commit(voucher, NOW_MS)).toBe('committed')
    expect(await two.store.sale(ID, 100n)).toMatchObject({ hash: 'hash' })
  })

  test('raced with the other one, it is charged or taken over, never both', async () => {
    for (let round = 0; round < 10; round += 1) {
      const { one, two } = await begun()
      const [result, sale] = await Promise.all([
        one.store.commit(voucher, NOW_MS),
        two.ledger.takeOver(key).then(() => two.store.sale(ID, 100n)),
      ])
      expect(sale === null).toBe(result === 'superseded')
    }
  })
})

describe.skipIf(!hasPostgres)('a voucher whose record is delayed', () => {
  /** A payment by voucher over a connection that delays its record until `release`. */
  async function delayed() {
    const server = await postgresOfWorker()
    const url = await server.createDatabase()
    const db = new Postgres({ url, applicationName: 'perpscope test' })
    onTestFinished(() => db.close())
    const clock = new ManualClock(NOW_MS)
    const ledger = await PostgresLedger.open({ db, clock, gateway: 'one' })
    await migrateTables(db, channelTables)
    const { promise: isReleased, resolve: release } = Promise.withResolvers<void>()
    const { promise: isSent, resolve: sent } = Promise.withResolvers<void>()
    const query: SqlQuery = async (text, values) => {
      if (text.includes('INTO perpscope.channel_sales')) {
        sent()
        await isReleased
      }
      return db.query(text, values)
    }
    const store = new PostgresChannelStore({ query } as Postgres, 'one')
    await store.mirror(ID, config, state, 1)
    const registry = { store, chain: { authorizer: config.receiverAuthorizer } }
    const method = batchSettlement({
      ...{ network: base, payTo: config.receiver, withdrawDelaySeconds: 900, clock },
      registry: registry as unknown as ChannelRegistry,
    })
    const { scheme, network, asset, payTo } = method
    const terms = { scheme, network, asset, payTo, amount: '100', maxTimeoutSeconds: 60, extra: {} }
    const { signature } = voucher
    const payload = { config, voucher: { channelId: ID, cumulative: 100n, signature } } as const
    const payment = method.read(wireOfPayload({ ...payload, kind: 'voucher' }), {
      requirement: { method, amount: 100n, wire: terms },
      resourceUrl: 'https://api.example.com/pulse/BTC',
    })
    const entry = ledgerEntry(payment.nonce)
    const key = { network, asset, payer: payment.payer, nonce: payment.nonce }
    expect(await ledger.begin({ ...entry, key }, NOW_MS)).toMatchObject({ kind: 'begun' })
    const settling = payment.settle('confirmed')
    await isSent
    return { clock, ledger, key, payment, store, settling, release }
  }

  test('charges nothing once its outcome was found to be none', async () => {
    const { clock, ledger, key, payment, store, settling, release } = await delayed()
    clock.advance(10_000)
    await ledger.move(key, 'unknown', null, clock.nowMs())
    expect(await payment.outcome()).toEqual({ kind: 'forfeited' })
    release()
    expect(await settling).toMatchObject({ kind: 'unreachable' })
    expect(await store.find(ID)).toMatchObject({ charged: 0n, signature: null })
  })

  test('is charged while its request waits, whatever changed the channel', async () => {
    const { store, settling, release } = await delayed()
    await store.mirror(ID, config, { ...state, balance: 2_000n }, 2)
    release()
    expect(await settling).toEqual({ kind: 'settled', transaction: '' })
    expect(await store.find(ID)).toMatchObject({ charged: 100n, balance: 2_000n })
  })
})
