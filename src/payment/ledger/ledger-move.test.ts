import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Hex } from 'viem'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { ManualClock } from '../../../test/support/manual-clock.ts'
import type { PostgresServer } from '../../../test/support/postgres.ts'
import { hasPostgres, postgresOfWorker } from '../../../test/support/postgres.ts'
import { ledger as printLedger } from '../../roles/ledger.ts'
import { PostgresChannelStore } from '../channels/postgres-channel-store.ts'
import { SqliteChannelStore } from '../channels/sqlite-channel-store.ts'
import { BARRING_STRIKES } from '../failed-settlements.ts'
import { channelConfig } from '../testing/channel-config.ts'
import { ledgerEntry as entry, NOW_MS } from '../testing/ledger-entry.ts'
import { moveLedger } from './ledger-move.ts'
import { Postgres } from './postgres.ts'
import { PostgresLedger } from './postgres-ledger.ts'
import { SqliteLedger } from './sqlite-ledger.ts'

const CHANNELS = [`0x${'ab'.repeat(32)}`, `0x${'0c'.repeat(32)}`] as const
const deposited = { balance: 2n ** 100n, claimed: 0n, withdrawRequestedAtSeconds: 0 }

function voucher(channelId: Hex, cumulative: bigint) {
  return {
    ...{ channelId, payment: entry(`${channelId}:${cumulative}`).key, cumulative, amount: 1n },
    signature: `0x${'1'.repeat(130)}` as Hex,
    ...{ hash: `${channelId} ${cumulative}`, transaction: '' },
  }
}

describe.skipIf(!hasPostgres)('a ledger file that is moved into PostgreSQL', () => {
  let server: PostgresServer

  beforeAll(async () => {
    server = await postgresOfWorker()
  })

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
    return {
      dataDir,
      path,
      files: { ledger: path, channels: join(dataDir, 'channels.db') },
      url,
      db,
    }
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
    const { dataDir, path, files, url, db } = await written(240)
    const before = await printed(dataDir)
    expect(await moveLedger(files, db)).toMatchObject({
      payments: 240,
      amount: 6_000_000n,
      channels: 0,
      failedSettlements: 0,
    })
    expect(before).toContain('"fees": "0.010000000000000003"')
    expect(await printed(dataDir, url)).toBe(before)
    expect(() => new SqliteLedger(path)).toThrow(/was moved to PostgreSQL/)
    await expect(moveLedger(files, db)).rejects.toMatchObject({ code: 'ledger_moved' })
    const moved = await PostgresLedger.open({ db, clock: new ManualClock(), gateway: 'one' })
    expect(await moved.begin(entry('0x0'), NOW_MS)).toEqual({ kind: 'taken' })
    expect(await moved.find(entry('0x0').key)).toMatchObject({ answer: entry('0x0').answer })
    expect(await moved.begin(entry('new'), NOW_MS)).toMatchObject({ kind: 'begun' })
  })

  test.each([
    { table: 'payments', there: { payments: 100n, answers: 0n } },
    { table: 'answers', there: { payments: 250n, answers: 100n } },
  ])('can be repeated after an interruption among the $table', async ({ table, there }) => {
    const { files, db } = await written(250)
    let pages = 0
    const query: Postgres['query'] = async (text, values) => {
      if (text.startsWith(`INSERT INTO perpscope.${table}`)) pages += 1
      if (pages === 2) throw new Error('interrupted')
      return db.query(text, values)
    }
    const transaction: Postgres['transaction'] = (work) => db.transaction(work)
    const cut = Object.assign(Object.create(db) as Postgres, { query, transaction })
    await expect(moveLedger(files, cut)).rejects.toThrow('interrupted')
    const counts = `SELECT (SELECT count(*) FROM perpscope.payments) AS payments,
      (SELECT count(*) FROM perpscope.answers) AS answers`
    expect(await db.query(counts)).toEqual([there])
    expect(await moveLedger(files, db)).toMatchObject({ payments: 250 })
  })

  test('is refused while a service has the file, and into a ledger with other payments', async () => {
    const { path, files, db } = await written(3)
    const service = new SqliteLedger(path)
    await expect(moveLedger(files, db)).rejects.toMatchObject({ code: 'ledger_unusable' })
    await service.close()
    const other = await PostgresLedger.open({ db, clock: new ManualClock(), gateway: 'one' })
    await other.begin(entry('other'), NOW_MS)
    await expect(moveLedger(files, db)).rejects.toMatchObject({ code: 'ledger_in_use' })
    await new SqliteLedger(path).close()
  })

  /** Failures of a barred payer, a reservation, and channels with vouchers whose totals have different lengths. */
  async function withChannels() {
    const one = await written(3)
    const file = new SqliteLedger(one.path)
    const payer = { network: 'eip155:8453', payer: '0xB' }
    for (let at = 0; at < BARRING_STRIKES; at += 1) {
      const failure = { ...payer, code: null, transaction: `0x${at}`, cost: 2n ** 62n, strikes: 1 }
      await file.failures.failed(failure, null, NOW_MS)
    }
    const wanted = { ...payer, code: '0xc0de', cost: 7n }
    const reserved = await file.failures.reserve(wanted, 10n, NOW_MS)
    await file.close()
    const channels = new SqliteChannelStore(one.files.channels)
    for (const id of CHANNELS) {
      await channels.mirror(id, channelConfig, { ...deposited, refundNonce: 2n ** 90n }, NOW_MS)
      for (let total = 1n; total <= 120n; total += 1n)
        expect(await channels.commit(voucher(id, total), NOW_MS)).toBe('committed')
    }
    const before = await channels.channels()
    channels.close()
    return { ...one, payer, reserved, before }
  }

  test('keeps barred payers, reservations, channels and vouchers', async () => {
    const { files, db, payer, reserved, before } = await withChannels()
    const counts = { failedSettlements: 4, channels: 2, vouchers: 240 }
    expect(await moveLedger(files, db)).toMatchObject(counts)
    const { failures } = await PostgresLedger.open({ db, clock: new ManualClock(), gateway: 'one' })
    expect(await failures.isBarred(payer, NOW_MS)).toBe(true)
    const wanted = { ...payer, code: '0xc0de', cost: 4n }
    expect(await failures.reserve(wanted, 10n, NOW_MS), 'the reservation counts').toBeNull()
    await failures.release(reserved ?? 0)
    expect(await failures.reserve(wanted, 10n, NOW_MS)).toBeGreaterThan(reserved ?? 0)
    const store = new PostgresChannelStore(db, 'one')
    expect(await store.channels()).toEqual(before)
    for (const id of CHANNELS)
      expect(await store.sale(id, 100n)).toEqual({
        hash: `${id} 100`,
        transaction: '',
        soldMs: NOW_MS,
      })
    expect(() => new SqliteChannelStore(files.channels)).toThrow(/was moved to PostgreSQL/)
  })

  test.each([
    ['a page of vouchers', /INTO perpscope.channel_sales/, 2],
    ['the comparison of channels', /DECLARE moved_sales/, 1],
  ] as const)('is continued after an interruption at %s', async (_, statement, times) => {
    const { files, db, before } = await withChannels()
    let seen = 0
    const query: Postgres['query'] = async (text, values) => {
      if (statement.test(text)) seen += 1
      if (seen === times) throw new Error('interrupted')
      return db.query(text, values)
    }
    const transaction: Postgres['transaction'] = (work) =>
      db.transaction((inner) =>
        work((text, values) => (statement.test(text) ? query(text, values) : inner(text, values))),
      )
    const cut = Object.assign(Object.create(db) as Postgres, { query, transaction })
    await expect(moveLedger(files, cut)).rejects.toThrow('interrupted')
    new SqliteChannelStore(files.channels).close()
    expect(await moveLedger(files, db)).toMatchObject({ channels: 2, vouchers: 240 })
    expect(await new PostgresChannelStore(db, 'one').channels()).toEqual(before)
  })

  test.each([
    [`UPDATE perpscope.channels SET charged = charged + 1 WHERE id = '${CHANNELS[0]}'`],
    ['DELETE FROM perpscope.channel_sales WHERE cumulative = 7'],
    ['UPDATE perpscope.failed_settlements SET strikes = 0 WHERE id = 1'],
  ])('is not marked after %s', async (change) => {
    const first = await withChannels()
    await moveLedger(first.files, first.db)
    await first.db.query(change)
    const again = await withChannels()
    const moved = moveLedger(again.files, first.db)
    if (change.startsWith('DELETE')) expect(await moved).toMatchObject({ vouchers: 240 })
    else {
      await expect(moved).rejects.toMatchObject({ code: 'ledger_move_differs' })
      await new SqliteLedger(again.path).close()
    }
  })

  test.each([
    ['UPDATE perpscope.payments SET amount = 1 WHERE id = 5'],
    [`UPDATE perpscope.answers SET body = '' WHERE payment_id = 5`],
  ])('is not marked after %s', async (change) => {
    const second = await written(120)
    await moveLedger(second.files, second.db)
    await second.db.query(change)
    const third = await written(120)
    await expect(moveLedger(third.files, second.db)).rejects.toMatchObject({
      code: 'ledger_move_differs',
    })
    await new SqliteLedger(third.path).close()
  })
})
