import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { ManualClock } from '../../../test/support/manual-clock.ts'
import type { PostgresServer } from '../../../test/support/postgres.ts'
import { hasPostgres, postgresOfWorker } from '../../../test/support/postgres.ts'
import type { SqlQuery } from '../ledger/postgres.ts'
import { Postgres } from '../ledger/postgres.ts'
import { migrateTables } from '../ledger/postgres-schema.ts'
import { CollectorLease, collectorTables } from './collector-lease.ts'

describe.skipIf(!hasPostgres)('the right to claim vouchers', () => {
  let server: PostgresServer

  beforeAll(async () => {
    server = await postgresOfWorker()
  })

  async function cluster() {
    const db = new Postgres({
      url: await server.createDatabase(),
      applicationName: 'perpscope test',
    })
    onTestFinished(() => db.close())
    await migrateTables(db, collectorTables)
    const gateways = ['one', 'two'].map((gateway) => {
      const clock = new ManualClock()
      const acquired: string[] = []
      let last: Promise<unknown> = Promise.resolve()
      const query: SqlQuery = <Row>(text: string, values?: readonly unknown[]) => {
        const rows = db.query<Row>(text, values)
        last = rows.catch(() => undefined)
        return rows
      }
      const lease = new CollectorLease({ db: { query }, gateway, clock })
      onTestFinished(() => lease.stop())
      const start = () => lease.start(() => acquired.push(gateway))
      return { clock, lease, acquired, start, asked: () => last }
    })
    return { db, one: gateways[0] as Gateway, two: gateways[1] as Gateway }
  }

  type Gateway = {
    readonly clock: ManualClock
    readonly lease: CollectorLease
    readonly acquired: string[]
    start(): void
    /** Ends with the last statement. */
    asked(): Promise<unknown>
  }

  /** One renewal. */
  async function renew({ clock, asked }: Gateway): Promise<void> {
    clock.advance(3_000)
    await asked()
    await new Promise((resolve) => setImmediate(resolve))
  }

  const held = (gateway: Gateway, isHeld = true) =>
    expect.poll(() => gateway.lease.isHeld).toBe(isHeld)

  test('is with one gateway at a time, and with the other one at once after a stop', async () => {
    const { one, two } = await cluster()
    one.start()
    await held(one)
    two.start()
    for (let renewal = 0; renewal < 5; renewal += 1) {
      await renew(one)
      await renew(two)
      expect([one.lease.isHeld, two.lease.isHeld]).toEqual([true, false])
    }
    expect(one.acquired, 'once').toHaveLength(1)
    await one.lease.stop()
    expect(one.lease.isHeld).toBe(false)
    await renew(two)
    await held(two)
    expect(two.acquired).toHaveLength(1)
  })

  test('passes on when its holder ended, and a holder that froze has lost it', async () => {
    const { db, one, two } = await cluster()
    one.start()
    await held(one)
    two.start()
    await renew(two)
    expect(two.lease.isHeld).toBe(false)
    // As 10 s of the database do.
    await db.query(`UPDATE perpscope.collector SET expires = clock_timestamp() - interval '1 ms'`)
    await renew(two)
    await held(two)
    await renew(one)
    await held(one, false)
  })

  test('ends by itself while PostgreSQL cannot be reached', async () => {
    const { one } = await cluster()
    one.start()
    await held(one)
    onTestFinished(() => server.start())
    await server.crash()
    await renew(one)
    expect(one.lease.isHeld, 'nobody else can have it yet').toBe(true)
    one.clock.advance(8_000)
    expect(one.lease.isHeld).toBe(false)
    await server.start()
    const renewed = async () => {
      await renew(one)
      return one.lease.isHeld
    }
    await expect.poll(renewed).toBe(true)
    expect(one.acquired).toHaveLength(2)
  })
})
