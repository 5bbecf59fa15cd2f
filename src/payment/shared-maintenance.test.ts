import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import type { PostgresServer } from '../../test/support/postgres.ts'
import { hasPostgres, postgresOfWorker } from '../../test/support/postgres.ts'
import { systemClock } from '../roles/system-clock.ts'
import { Postgres } from './ledger/postgres.ts'
import { migrateTables } from './ledger/postgres-schema.ts'
import {
  maintenanceTables,
  readMaintenance,
  SharedMaintenance,
  writeMaintenance,
} from './shared-maintenance.ts'

const SINCE_MS = 1_767_225_600_000

describe.skipIf(!hasPostgres)('the maintenance mode of two gateways', () => {
  let server: PostgresServer

  beforeAll(async () => {
    server = await postgresOfWorker()
  })

  async function database() {
    const url = await server.createDatabase()
    const db = new Postgres({ url, applicationName: 'perpscope test' })
    onTestFinished(() => db.close())
    await migrateTables(db, maintenanceTables)
    return { url, db }
  }

  async function gateway({ url, db }: { readonly url: string; readonly db: Postgres }) {
    const failures: unknown[] = []
    const maintenance = await SharedMaintenance.open({
      ...{ url, db, clock: systemClock, onFailure: (cause: unknown) => failures.push(cause) },
    })
    onTestFinished(() => maintenance.close())
    return { maintenance, failures }
  }

  const follows = (maintenance: SharedMaintenance, isOn: boolean) =>
    expect.poll(() => maintenance.isOn, { interval: 10 }).toBe(isOn)

  test('is off at first, and a change at one is followed by the other', async () => {
    const at = await database()
    const [one, two] = [await gateway(at), await gateway(at)]
    expect(one.maintenance.isOn).toBe(false)
    expect(await one.maintenance.set(true, SINCE_MS)).toBe(true)
    expect(one.maintenance.isOn, 'at once').toBe(true)
    await follows(two.maintenance, true)
    expect(two.maintenance.sinceMs).toBe(SINCE_MS)
    expect(await two.maintenance.set(true, SINCE_MS + 1), 'nothing changed').toBe(false)
    expect(two.maintenance.sinceMs).toBe(SINCE_MS)
    expect(await two.maintenance.set(false, SINCE_MS + 2)).toBe(true)
    await follows(one.maintenance, false)
    expect(one.maintenance.sinceMs).toBe(SINCE_MS + 2)
  })

  test('that the command line changes is followed', async () => {
    const at = await database()
    const { maintenance } = await gateway(at)
    await writeMaintenance(at.db, true, SINCE_MS)
    await follows(maintenance, true)
    await writeMaintenance(at.db, false, SINCE_MS)
    await follows(maintenance, false)
  })

  test('stays as it was known while PostgreSQL is away, and survives its crash', async () => {
    const at = await database()
    const { maintenance, failures } = await gateway(at)
    await maintenance.set(true, SINCE_MS)
    onTestFinished(() => server.start())
    await server.crash()
    await expect.poll(() => failures).toHaveLength(1)
    expect(maintenance.isOn).toBe(true)
    await expect(maintenance.set(false, SINCE_MS)).rejects.toMatchObject({
      code: 'postgres_unavailable',
    })
    expect(maintenance.isOn).toBe(true)
    await server.start()
    expect((await gateway(at)).maintenance.isOn, 'a gateway that starts').toBe(true)
    await writeMaintenance(at.db, false, SINCE_MS + 1)
    await follows(maintenance, false)
    expect(failures, 'reported once').toHaveLength(1)
  })

  test('is not followed by a gateway that cannot read it at its start', async () => {
    const at = await database()
    onTestFinished(() => server.start())
    await server.crash()
    await expect(gateway(at)).rejects.toMatchObject({ code: 'postgres_unavailable' })
    await server.start()
    expect(await readMaintenance(at.db)).toEqual({ isOn: false, sinceMs: null, revision: 0n })
  })
})
