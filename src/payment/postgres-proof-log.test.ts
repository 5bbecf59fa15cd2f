import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import type { PostgresServer } from '../../test/support/postgres.ts'
import { hasPostgres, postgresOfWorker } from '../../test/support/postgres.ts'
import { describeProofLog } from '../../test/support/proof-log-contract.ts'
import { Postgres } from './ledger/postgres.ts'
import { migrateTables } from './ledger/postgres-schema.ts'
import { postgresProofLog, proofTables } from './postgres-proof-log.ts'

describe.skipIf(!hasPostgres)('over a server of its own', () => {
  let server: PostgresServer

  beforeAll(async () => {
    server = await postgresOfWorker()
  })

  describeProofLog('PostgreSQL', async () => {
    const url = await server.createDatabase()
    const opened: Postgres[] = []
    return {
      async open(nowMs) {
        const db = new Postgres({ url, applicationName: 'perpscope test' })
        opened.push(db)
        await migrateTables(db, proofTables)
        return postgresProofLog(db, async () => nowMs())
      },
      async remove() {
        for (const db of opened) await db.close()
      },
    }
  })

  test('nothing waits for another gateway that seals', async () => {
    const url = await server.createDatabase()
    const [db, other] = [1, 2].map((at) => new Postgres({ url, applicationName: `test ${at}` }))
    if (db === undefined || other === undefined) throw new Error('two pools')
    onTestFinished(async () => {
      await db.close()
      await other.close()
    })
    await migrateTables(db, proofTables)
    let nowMs = Date.UTC(2026, 0, 1, 12)
    const log = postgresProofLog(db, async () => nowMs)
    const digest = Buffer.alloc(32, 1)
    await log.add('answer', [digest])
    nowMs += 7_200_000
    await other.transaction(async (query) => {
      await query('SELECT pg_advisory_xact_lock(7404001)')
      await log.seal()
      expect(await log.proofOf(digest)).toMatchObject({ state: 'open' })
      await log.add('answer', [Buffer.alloc(32, 2)])
    })
    await log.seal()
    expect(await log.proofOf(digest)).toMatchObject({ state: 'sealed' })
  })
})
