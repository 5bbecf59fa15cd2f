import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { ManualClock } from '../../../test/support/manual-clock.ts'
import type { PostgresServer } from '../../../test/support/postgres.ts'
import { hasPostgres, startPostgres } from '../../../test/support/postgres.ts'
import { ledger as printLedger } from '../../roles/ledger.ts'
import { ledgerEntry as entry, NOW_MS } from '../testing/ledger-entry.ts'
import { moveLedger } from './ledger-move.ts'
import { Postgres } from './postgres.ts'
import { PostgresLedger } from './postgres-ledger.ts'
import { SqliteLedger } from './sqlite-ledger.ts'

describe.skipIf(!hasPostgres)('a ledger file that is moved into PostgreSQL', () => {
  let server: PostgresServer

  beforeAll(async () => {
    server = await startPostgres()
  })

  afterAll(() => server.close())

  /** A file with payments of every state, and an empty database. */
  async function written(payments: number) {
    const dataDir = mkdtempSync(join(tmpdir(), 'perpscope-move-'))
    const path = join(dataDir, 'ledger.db')
    const file = new SqliteLedger(path)
    const states = ['settled', 'released', 'unknown', 'unconfirmed', 'lost'] as const
    for (let index = 0; index < payments; index += 1) {
      const one = { ...entry(`0x${index}`), identifier: `order-${index}` }
      await file.begin(one, NOW_MS + index)
      const state = states[index % 6]
      if (state !== undefined) await file.move(one.key, state, '0xabc', NOW_MS + index)
    }
    const cost = { network: 'eip155:8453', purpose: 'settlement', transaction: '0xabc' } as const
    file.costs.record({ ...cost, payments: 7, fee: 10n ** 16n + 3n }, NOW_MS)
    await file.close()
    const url = await server.createDatabase()
    const db = new Postgres({ url, applicationName: 'perpscope test' })
    onTestFinished(async () => {
      await db.close()
      rmSync(dataDir, { recursive: true })
    })
    return { dataDir, path, url, db }
  }

  async function printed(dataDir: string, ledger?: string): Promise<string> {
    let text = ''
    const options = { dataDir, json: true as const, ...(ledger === undefined ? {} : { ledger }) }
    const write = (piece: string) => {
      text += piece
    }
    await printLedger(options, { write, hasColor: false })
    return text
  }

  test('has the same report there, sells on, and is not served again', async () => {
    const { dataDir, path, url, db } = await written(240)
    const before = await printed(dataDir)
    expect(await moveLedger(path, db)).toMatchObject({ payments: 240, amount: 6_000_000n })
    expect(before).toContain('"fees": "0.010000000000000003"')
    expect(await printed(dataDir, url)).toBe(before)
    expect(() => new SqliteLedger(path)).toThrow(/was moved to PostgreSQL/)
    await expect(moveLedger(path, db)).rejects.toMatchObject({ code: 'ledger_moved' })
    const moved = await PostgresLedger.open({ db, clock: new ManualClock(), gateway: 'one' })
    expect(await moved.begin(entry('0x0'), NOW_MS)).toEqual({ kind: 'taken' })
    expect(await moved.find(entry('0x0').key)).toMatchObject({ answer: entry('0x0').answer })
    expect(await moved.begin(entry('new'), NOW_MS)).toMatchObject({ kind: 'begun' })
  })

  test('is continued after an interruption', async () => {
    const { path, db } = await written(250)
    const { query } = db
    let pages = 0
    const cut = Object.assign(Object.create(db) as Postgres, {
      query,
      transaction: async (work: Parameters<Postgres['transaction']>[0]) => {
        pages += 1
        // The first two create the tables.
        if (pages === 4) throw new Error('interrupted')
        return db.transaction(work)
      },
    })
    await expect(moveLedger(path, cut)).rejects.toThrow('interrupted')
    expect(await db.query('SELECT count(*) FROM perpscope.payments')).toEqual([{ count: 100n }])
    expect(await moveLedger(path, db)).toMatchObject({ payments: 250 })
  })

  test('is refused while a service has the file, and into a ledger with other payments', async () => {
    const { path, db } = await written(3)
    const service = new SqliteLedger(path)
    await expect(moveLedger(path, db)).rejects.toMatchObject({ code: 'ledger_unusable' })
    await service.close()
    const other = await PostgresLedger.open({ db, clock: new ManualClock(), gateway: 'one' })
    await other.begin(entry('other'), NOW_MS)
    await expect(moveLedger(path, db)).rejects.toMatchObject({ code: 'ledger_in_use' })
    await new SqliteLedger(path).close()
  })

  test('is not marked if the copy differs', async () => {
    const second = await written(120)
    await moveLedger(second.path, second.db)
    await second.db.query(`UPDATE perpscope.payments SET amount = 1 WHERE id = 5`)
    const third = await written(120)
    await expect(moveLedger(third.path, second.db)).rejects.toMatchObject({
      code: 'ledger_move_differs',
    })
    await new SqliteLedger(third.path).close()
  })
})
