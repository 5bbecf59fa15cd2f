import { beforeAll, describe } from 'vitest'
import type { PostgresServer } from '../../test/support/postgres.ts'
import { hasPostgres, postgresOfWorker } from '../../test/support/postgres.ts'
import { describeProofLog } from '../../test/support/proof-log-contract.ts'
import { Postgres } from './ledger/postgres.ts'
import { migrateTables } from './ledger/postgres-schema.ts'
import { PostgresProofLog, proofTables } from './postgres-proof-log.ts'

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
        return new PostgresProofLog(db, async () => nowMs())
      },
      async remove() {
        for (const db of opened) await db.close()
      },
    }
  })
})
