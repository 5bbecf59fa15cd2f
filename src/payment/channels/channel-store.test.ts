import type { Hex } from 'viem'
import { afterEach, describe, expect, test } from 'vitest'
import { ManualClock } from '../../../test/support/manual-clock.ts'
import { hasPostgres, postgresOfWorker } from '../../../test/support/postgres.ts'
import { Postgres } from '../ledger/postgres.ts'
import { PostgresLedger } from '../ledger/postgres-ledger.ts'
import { migrateTables } from '../ledger/postgres-schema.ts'
import { channelConfig as config } from '../testing/channel-config.ts'
import { ledgerEntry, NOW_MS } from '../testing/ledger-entry.ts'
import type { ChannelState } from './channel.ts'
import type { ChannelStore, VoucherSale } from './channel-store.ts'
import { claimOf } from './channel-store.ts'
import { channelTables, PostgresChannelStore } from './postgres-channel-store.ts'
import { SqliteChannelStore } from './sqlite-channel-store.ts'

const ID: Hex = `0x${'ab'.repeat(32)}`
const DAY_MS = 86_400_000
const deposited: ChannelState = {
  balance: 1_000n,
  claimed: 0n,
  withdrawRequestedAtSeconds: 0,
  refundNonce: 0n,
}

/** One store as two gateways have it open. */
type Stores = {
  readonly store: ChannelStore
  readonly other: ChannelStore
  close(): Promise<void>
}

async function sqlite(): Promise<Stores> {
  const store = new SqliteChannelStore(':memory:')
  return { store, other: store, close: async () => store.close() }
}

async function postgres(): Promise<Stores> {
  const server = await postgresOfWorker()
  const url = await server.createDatabase()
  const [one, two] = ['one', 'two'].map(
    (name) => new Postgres({ url, applicationName: `perpscope test ${name}` }),
  ) as [Postgres, Postgres]
  await migrateTables(one, channelTables)
  return {
    store: await gateway(one, 'one'),
    other: await gateway(two, 'two'),
    close: async () => {
      await one.close()
      await two.close()
    },
  }
}

/** A store whose vouchers are in the ledger, as those of a gateway are. */
async function gateway(db: Postgres, name: string): Promise<ChannelStore> {
  const ledger = await PostgresLedger.open({ db, clock: new ManualClock(), gateway: name })
  const store = new PostgresChannelStore(db, name)
  const commit: ChannelStore['commit'] = async (voucher, nowMs) => {
    await ledger.begin(ledgerEntry(voucher.payment.nonce), NOW_MS)
    return store.commit(voucher, nowMs)
  }
  return new Proxy(store, {
    get: (_, name) => {
      if (name === 'commit') return commit
      const member: unknown = Reflect.get(store, name)
      return typeof member === 'function' ? member.bind(store) : member
    },
  })
}

function sale(cumulative: bigint, amount = 100n, hash = `hash of ${cumulative}`): VoucherSale {
  return {
    channelId: ID,
    payment: ledgerEntry(hash).key,
    cumulative,
    amount,
    signature: `0x${cumulative.toString(16).padStart(130, '0')}`,
    hash,
    transaction: '',
  }
}

describe('channels in SQLite', () => channelStoreSuite(sqlite))

describe.skipIf(!hasPostgres)('channels in PostgreSQL', () => channelStoreSuite(postgres))

/** What every store promises. */
function channelStoreSuite(open: () => Promise<Stores>): void {
  const opened: Stores[] = []

  afterEach(async () => {
    for (const stores of opened.splice(0)) await stores.close()
  })

  /** A channel with a deposit of 1,000 of which `charged` is sold. */
  async function sold(charged: bigint, state = deposited): Promise<Stores> {
    const stores = await open()
    opened.push(stores)
    const { store } = stores
    await store.mirror(ID, config, state, 1)
    if (charged > 0n) expect(await store.commit(sale(charged, charged), 2)).toBe('committed')
    return stores
  }

  async function found(store: ChannelStore) {
    const channel = await store.find(ID)
    if (channel === null) throw new Error('the channel is stored')
    return channel
  }

  describe('a voucher', () => {
    test('is accepted if it continues from the current sum', async () => {
      const { store, other } = await sold(300n)
      expect(await other.commit(sale(400n), 3)).toBe('committed')
      expect(await store.find(ID)).toEqual({
        ...deposited,
        ...{ id: ID, config, charged: 400n, signature: sale(400n).signature },
        ...{ unclaimedSinceMs: 2, refundSent: null, syncedMs: 1 },
      })
      expect(await store.sale(ID, 400n)).toEqual({
        hash: 'hash of 400',
        transaction: '',
        soldMs: 3,
      })
      expect(await store.sale(ID, 300n)).toEqual({
        hash: 'hash of 300',
        transaction: '',
        soldMs: 2,
      })
    })

    test.each([300n, 200n, 399n, 401n, 500n])(
      'over %i does not go on from 300 by 100',
      async (sum) => {
        const { store } = await sold(300n)
        expect(await store.commit(sale(sum), 3)).toBe('counted')
        expect(await store.find(ID)).toMatchObject({
          charged: 300n,
          signature: sale(300n).signature,
        })
        expect(await store.sale(ID, 400n)).toBeNull()
      },
    )

    test('above the deposit is not taken', async () => {
      const { store } = await sold(950n)
      expect(await store.commit(sale(1_050n), 3)).toBe('uncovered')
      expect(await store.commit(sale(1_000n, 50n), 3)).toBe('committed')
    })

    test('is not taken while a withdrawal is announced', async () => {
      const { store, other } = await sold(300n)
      await other.mirror(ID, config, { ...deposited, withdrawRequestedAtSeconds: 7 }, 3)
      expect(await store.commit(sale(400n), 4)).toBe('uncovered')
      await other.mirror(ID, config, deposited, 5)
      expect(await store.commit(sale(400n), 6)).toBe('committed')
    })

    test('on a new channel continues from the sum that its payer states, never below the claimed sum', async () => {
      const { store } = await sold(0n, { ...deposited, claimed: 200n })
      expect(await store.commit(sale(250n), 2)).toBe('counted')
      expect(await store.commit(sale(600n), 2)).toBe('committed')
      expect(await store.commit(sale(800n), 3), 'from then on it is counted').toBe('counted')
    })

    test('with the same base as another one is sold once by two gateways', async () => {
      const { store, other } = await sold(100n)
      for (let base = 100n; base < 900n; base += 100n) {
        const results = await Promise.all(
          [store, other, store, other].map((gateway, copy) =>
            gateway.commit(sale(base + 100n, 100n, `copy ${copy}`), 3),
          ),
        )
        expect(results.sort()).toEqual(['committed', 'counted', 'counted', 'counted'])
        expect((await store.find(ID))?.charged).toBe(base + 100n)
      }
    })

    test('among different ones raced by two gateways keeps the total monotone', async () => {
      const { store, other } = await sold(100n)
      const totals: bigint[] = []
      const watch = async () => {
        for (let look = 0; look < 20; look += 1) totals.push((await found(other)).charged)
      }
      const sell = async (gateway: ChannelStore, step: bigint) => {
        let sum = 0n
        for (let attempt = 0; attempt < 10; attempt += 1) {
          const { charged } = await found(gateway)
          if ((await gateway.commit(sale(charged + step, step), 3)) === 'committed') sum += step
        }
        return sum
      }
      const [one, two] = await Promise.all([sell(store, 7n), sell(other, 11n), watch()])
      expect((await found(store)).charged).toBe(100n + (one ?? 0n) + (two ?? 0n))
      expect(totals).toEqual([...totals].sort((a, b) => Number(a - b)))
    })
  })

  describe('a refund', () => {
    test('blocks sales at every gateway until the chain counts it', async () => {
      const { store, other } = await sold(300n)
      expect(await store.beginRefund(await found(store))).toBe('begun')
      expect(await other.commit(sale(400n), 3)).toBe('uncovered')
      expect(await other.beginRefund(await found(other)), 'another one').toBe('again')
      await store.mirror(ID, config, { ...deposited, balance: 900n, refundNonce: 1n }, 5)
      expect(await other.commit(sale(400n), 6)).toBe('committed')
      expect(await other.beginRefund(await found(other))).toBe('begun')
      await other.cancelRefund(ID)
      expect(await store.commit(sale(500n), 7), 'a refund that never left').toBe('committed')
    })

    test('that was calculated before a sale or another refund is not begun', async () => {
      const { store, other } = await sold(300n)
      const seen = await found(store)
      expect(await other.commit(sale(400n), 3)).toBe('committed')
      expect(await store.beginRefund(seen)).toBe('changed')
      expect(await store.commit(sale(500n), 4), 'nothing is blocked').toBe('committed')
      const before = await found(store)
      await other.mirror(ID, config, { ...deposited, refundNonce: 1n }, 5)
      expect(await store.beginRefund(before)).toBe('changed')
    })

    test('raced with a sale by two gateways lets one of them through', async () => {
      for (let round = 0; round < 10; round += 1) {
        const { store, other } = await sold(300n)
        const seen = await found(store)
        const [result, begin] = await Promise.all([
          other.commit(sale(400n), 3),
          store.beginRefund(seen),
        ])
        expect([result, begin]).toEqual(
          result === 'committed' ? ['committed', 'changed'] : ['uncovered', 'begun'],
        )
      }
    })
  })

  describe('the mirror of the chain', () => {
    test('forgets no voucher, and knows when all is claimed', async () => {
      const { store } = await sold(300n)
      expect((await store.find(ID))?.unclaimedSinceMs).toBe(2)
      await store.commit(sale(400n), 9)
      expect((await store.find(ID))?.unclaimedSinceMs, 'the oldest counts').toBe(2)
      await store.mirror(ID, config, { ...deposited, claimed: 300n }, 10)
      expect(await store.find(ID)).toMatchObject({
        ...{ charged: 400n, claimed: 300n, unclaimedSinceMs: 2, syncedMs: 10 },
      })
      expect((await store.unclaimed()).map(({ id }) => id)).toEqual([ID])
      await store.mirror(ID, config, { ...deposited, claimed: 400n }, 11)
      const channel = await found(store)
      expect(channel).toMatchObject({ charged: 400n, unclaimedSinceMs: null })
      expect(claimOf(channel)).toBeNull()
      expect(await store.unclaimed()).toEqual([])
    })

    test('that is ahead of us, as after an old backup, takes the place of our count', async () => {
      const { store } = await sold(300n)
      await store.mirror(ID, config, { ...deposited, claimed: 500n }, 3)
      expect(await store.find(ID)).toMatchObject({ charged: 500n, signature: null })
      expect(await store.commit(sale(600n), 4)).toBe('committed')
    })

    test('does not remember channels without money', async () => {
      const { store } = await sold(0n, { ...deposited, balance: 0n })
      expect(await store.find(ID)).toBeNull()
      expect(await store.channels()).toEqual([])
    })

    test('raced with sales by two gateways loses none of them', async () => {
      const { store, other } = await sold(100n)
      const mirror = async () => {
        for (let pass = 0; pass < 8; pass += 1)
          await other.mirror(ID, config, { ...deposited, claimed: 100n }, 10 + pass)
      }
      const sell = async () => {
        for (let sum = 200n; sum <= 900n; sum += 100n)
          expect(await store.commit(sale(sum), 3)).toBe('committed')
      }
      await Promise.all([mirror(), sell()])
      expect(await store.find(ID)).toMatchObject({ charged: 900n, claimed: 100n })
    })
  })

  test('sums above 2^53 stay exact', async () => {
    const dear = 2n ** 100n + 1n
    const { store } = await sold(0n, { ...deposited, balance: 2n ** 120n, refundNonce: 2n ** 90n })
    expect(await store.commit(sale(dear, dear), 2)).toBe('committed')
    expect(await store.commit(sale(dear + 1n, 1n), 3)).toBe('committed')
    expect(await store.find(ID)).toMatchObject({
      charged: dear + 1n,
      balance: 2n ** 120n,
      refundNonce: 2n ** 90n,
    })
    expect(await store.sale(ID, dear)).not.toBeNull()
    expect(await store.sale(ID, dear + 2n)).toBeNull()
  })

  test('old sales are forgotten, the count is not', async () => {
    const { store } = await sold(300n)
    await store.sweep(7 * DAY_MS, 10)
    expect(await store.sale(ID, 300n)).not.toBeNull()
    await store.sweep(9 * DAY_MS, 10)
    expect(await store.sale(ID, 300n)).toBeNull()
    expect((await store.find(ID))?.charged).toBe(300n)
  })
}
