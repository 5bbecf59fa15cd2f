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
      found: expect.stringMatching(
        /^PostgreSQL \d+\.\d+.*, round trip \d+\.\d ms, no ledger yet.*synchronous_commit on$/,
      ),
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

  test.each([
    ['a later', '99', 'fail', /^serve would not start/],
    ['an earlier', '0', 'warn', /^serve migrates them/],
  ])('finds tables of %s version', async (words, version, status, advice) => {
    const url = await server.createDatabase()
    const db = new Postgres({ url, applicationName: 'perpscope test' })
    await PostgresLedger.open({ db, clock: new ManualClock(), gateway: 'one' })
    await db.query(
      `UPDATE perpscope.versions SET version = ${version} WHERE name = 'failed_settlements'`,
    )
    await db.close()
    expect(await checkSharedLedger(url)).toMatchObject({
      status,
      found: expect.stringContaining(`tables of ${words} version of perpscope: failed_settlements`),
      advice: expect.stringMatching(advice),
    })
  })

  test('finds a login, a database and rights that are wrong, and shows no password', async () => {
    const url = await server.createDatabase()
    const db = new Postgres({ url, applicationName: 'perpscope test' })
    await PostgresLedger.open({ db, clock: new ManualClock(), gateway: 'one' })
    await db.query('CREATE ROLE doctor_narrow LOGIN')
    await db.close()
    const adviceFor = async (one: string) => {
      const finding = await checkSharedLedger(one)
      expect(finding.status).toBe('fail')
      expect(JSON.stringify(finding)).not.toContain('secret')
      return finding.advice
    }
    expect(await adviceFor(url.replace('postgres@', 'nobody:secret@'))).toMatch(/^check user/)
    expect(await adviceFor(`${url}_absent`)).toMatch(/^create the database/)
    expect(await adviceFor(url.replace('postgres@', 'doctor_narrow:secret@'))).toMatch(
      /^GRANT the user/,
    )
  })
})
