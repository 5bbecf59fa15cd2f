import { beforeAll, describe, expect, test } from 'vitest'
import type { PostgresServer } from '../../../test/support/postgres.ts'
import { hasPostgres, postgresOfWorker } from '../../../test/support/postgres.ts'
import type { ServicePart } from './running-service.ts'
import { stopAll } from './running-service.ts'
import { connectSharedLedger } from './shared-ledger.ts'

describe.skipIf(!hasPostgres)('the ledger of all gateways', () => {
  let server: PostgresServer

  beforeAll(async () => {
    server = await postgresOfWorker()
  })

  test('and the proof log use no connection of each other', async () => {
    const url = await server.createDatabase()
    const retention = { answersMs: 60_000, paymentsMs: null }
    const opened: ServicePart[] = []
    const { db, proofs } = await connectSharedLedger(url, 'test', retention, opened)
    let end = () => {}
    const ended = new Promise<void>((resolve) => {
      end = resolve
    })
    // Each of them holds a connection.
    const transactions = Array.from({ length: 10 }, () => db.transaction(() => ended))
    expect(await proofs.hours(null, 1)).toEqual([])
    end()
    await Promise.all(transactions)
    await stopAll(opened)
  })
})
