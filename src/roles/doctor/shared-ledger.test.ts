import { beforeAll, describe, expect, test } from 'vitest'
import { ManualClock } from '../../../test/support/manual-clock.ts'
import type { PostgresServer } from '../../../test/support/postgres.ts'
import { hasPostgres, postgresOfWorker } from '../../../test/support/postgres.ts'
import { Postgres } from '../../payment/ledger/postgres.ts'
import { PostgresLedger } from '../../payment/ledger/postgres-ledger.ts'
import { ledgerEntry, NOW_MS } from '../../payment/testing/ledger-entry.ts'
import { checkSharedLedger } from './shared-ledger.ts'

describe.skipIf(!hasPostgres)('the check of a shared ledger', () => {
  let server: PostgresServer

  beforeAll(async () => {
    server = await postgresOfWorker()
  })

  test('names version and payments, and what is wrong', async () => {
    const url = await server.createDatabase()
    expect(await checkSharedLedger(url)).toMatchObject({
      status: 'ok',
      found: expect.stringMatching(/^PostgreSQL \d+\.\d+.*no ledger yet.*synchronous_commit on$/),
    })
    const db = new Postgres({ url, applicationName: 'perpscope test' })
    const ledger = await PostgresLedger.open({ db, clock: new ManualClock(), gateway: 'one' })
    await ledger.begin(ledgerEntry('0x1'), NOW_MS)
    expect(await checkSharedLedger(url)).toMatchObject({
      found: expect.stringContaining('1 payments'),
    })
    const [{ name } = { name: '' }] = await db.query<{ name: string }>(
      'SELECT current_database() AS name',
    )
    await db.query(`ALTER DATABASE ${name} SET synchronous_commit = off`)
    expect(await checkSharedLedger(url)).toMatchObject({ status: 'warn' })
    await db.query(`ALTER DATABASE ${name} SET default_transaction_read_only = on`)
    expect(await checkSharedLedger(url)).toMatchObject({ status: 'fail' })
    await db.close()
    const away = url.replace(`:${server.port}/`, ':1/')
    expect(await checkSharedLedger(away)).toMatchObject({
      status: 'fail',
      found: expect.stringContaining('PostgreSQL is not available'),
    })
  })
})
