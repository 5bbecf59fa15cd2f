import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import type { PostgresServer } from '../../../test/support/postgres.ts'
import { emptyDatabase, hasPostgres, postgresOfWorker } from '../../../test/support/postgres.ts'
import { Postgres, PostgresUnavailableError, violates } from './postgres.ts'
import { migrateTables } from './postgres-schema.ts'

const applicationName = 'perpscope test'

describe.skipIf(!hasPostgres)('a connection to PostgreSQL', () => {
  let server: PostgresServer
  let url: string

  beforeAll(async () => {
    server = await postgresOfWorker()
    url = await server.createDatabase()
  })

  beforeEach(() => emptyDatabase(url))

  function connected(): Postgres {
    const db = new Postgres({ url, applicationName })
    onTestFinished(() => db.close())
    return db
  }

  test('returns whole numbers exactly', async () => {
    const db = connected()
    const rows = await db.query<{ money: bigint; bytes: Buffer; ms: number }>(
      'SELECT 9007199254740993::int8 AS money, $1::bytea AS bytes, 5::float8 AS ms',
      [Buffer.from('x')],
    )
    expect(rows).toEqual([{ money: 9_007_199_254_740_993n, bytes: Buffer.from('x'), ms: 5 }])
  })

  test('prepares a statement with values once in a connection', async () => {
    const db = connected()
    const prepared = await db.transaction(async (query) => {
      for (const n of [1, 2, 3]) await query('SELECT $1::int AS n', [n])
      return query(`SELECT generic_plans + custom_plans AS runs FROM pg_prepared_statements
        WHERE statement LIKE 'SELECT $1::int%'`)
    })
    expect(prepared).toEqual([{ runs: 3n }])
  })

  test('rolls back all statements of a failed transaction', async () => {
    const db = connected()
    await db.query('CREATE TABLE numbers (n int CONSTRAINT once UNIQUE)')
    const failed = db.transaction(async (query) => {
      await query('INSERT INTO numbers VALUES (1)')
      await query('INSERT INTO numbers VALUES (1)')
    })
    await expect(failed).rejects.toSatisfy((cause) => violates(cause, 'once'))
    expect(await db.query('SELECT * FROM numbers')).toEqual([])
    await db.transaction((query) => query('INSERT INTO numbers VALUES (2)'))
    expect(await db.query('SELECT * FROM numbers')).toEqual([{ n: 2 }])
  })

  test('reports a crash of the server and recovers after its return', async () => {
    const db = connected()
    await db.query('CREATE TABLE numbers (n int)')
    onTestFinished(() => server.start())
    const split = db.transaction(async (query) => {
      await query('INSERT INTO numbers VALUES (1)')
      await server.crash()
    })
    await expect(split).rejects.toMatchObject({ code: 'postgres_unavailable', mayBeDone: true })
    await expect(db.query('SELECT 1')).rejects.toThrow(PostgresUnavailableError)
    await server.start()
    expect(await db.query('SELECT * FROM numbers')).toEqual([])
  })

  test('reports that nothing was done if a transaction ends before its commit', async () => {
    const db = connected()
    const ended = db.transaction(async (query) => {
      await query('SELECT pg_terminate_backend(pg_backend_pid())')
    })
    await expect(ended).rejects.toMatchObject({
      code: 'postgres_unavailable',
      mayBeDone: false,
    })
    expect(await db.query('SELECT 1 AS one')).toEqual([{ one: 1 }])
  })

  test('ends a statement that waits too long for a lock', async () => {
    const db = connected()
    await db.query('CREATE TABLE numbers (n int)')
    await db.transaction(async (query) => {
      await query('LOCK TABLE numbers')
      await expect(db.query('INSERT INTO numbers VALUES (1)')).rejects.toMatchObject({
        code: 'postgres_unavailable',
        mayBeDone: false,
      })
    })
  })
})

/** A message of the server: its type, and its length with the body. */
function message(type: string, body: Buffer): Buffer {
  const length = Buffer.alloc(4)
  length.writeInt32BE(4 + body.length)
  return Buffer.concat([Buffer.from(type), length, body])
}

test('a server that ends a connection in the packet that opens it is reported, and ends no process', async () => {
  const fields = ['SFATAL', 'C57P01', 'Mterminating connection due to administrator command', '']
  const packet = Buffer.concat([
    message('R', Buffer.alloc(4)),
    message('Z', Buffer.from('I')),
    message('E', Buffer.from(fields.map((field) => `${field}\0`).join(''))),
  ])
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    socket.once('data', () => socket.end(packet))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  const db = new Postgres({ url: `postgres://postgres@127.0.0.1:${port}/any`, applicationName })
  onTestFinished(() => db.close())
  await expect(db.query('SELECT 1')).rejects.toThrow(PostgresUnavailableError)
})

test('a server that accepts and never answers is reported in time', async () => {
  const silent = createServer().listen(0, '127.0.0.1')
  await once(silent, 'listening')
  const { port } = silent.address() as { port: number }
  const db = new Postgres({ url: `postgres://x@127.0.0.1:${port}/x`, applicationName })
  onTestFinished(async () => {
    await db.close()
    silent.close()
  })
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => {
    vi.useRealTimers()
  })
  const reported = expect(db.query('SELECT 1')).rejects.toMatchObject({ mayBeDone: false })
  await once(silent, 'connection')
  await vi.advanceTimersByTimeAsync(3_000)
  await reported
})

describe.skipIf(!hasPostgres)('tables in PostgreSQL', () => {
  let server: PostgresServer
  const first = { name: 'books', scripts: ['CREATE TABLE perpscope.books (id int PRIMARY KEY)'] }
  const second = {
    name: 'books',
    scripts: [...first.scripts, 'ALTER TABLE perpscope.books ADD COLUMN title text'],
  }

  beforeAll(async () => {
    server = await postgresOfWorker()
  })

  test('are created once by gateways that start at once, and migrated with their rows', async () => {
    const url = await server.createDatabase()
    const dbs = [1, 2, 3, 4].map(() => new Postgres({ url, applicationName }))
    onTestFinished(async () => {
      for (const db of dbs) await db.close()
    })
    const [db] = dbs
    if (db === undefined) throw new Error('there are four')
    await Promise.all(dbs.map((each) => migrateTables(each, first)))
    await db.query('INSERT INTO perpscope.books VALUES (1)')
    await Promise.all(dbs.map((each) => migrateTables(each, second)))
    expect(await db.query('SELECT * FROM perpscope.books')).toEqual([{ id: 1, title: null }])
    await expect(migrateTables(db, first)).rejects.toMatchObject({ code: 'ledger_version' })
  })
})
