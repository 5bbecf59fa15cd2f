import { createHash } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { describeLedger } from '../testing/ledger-contract.ts'
import { ledgerEntry as entry, NOW_MS } from '../testing/ledger-entry.ts'
import { LedgerReport } from './ledger-report.ts'
import { SqliteLedger } from './sqlite-ledger.ts'

let folder: string
let path: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'perpscope-ledger-'))
  path = join(folder, 'ledger.db')
})

afterEach(() => rmSync(folder, { recursive: true }))

describeLedger('SQLite', async () => {
  const own = mkdtempSync(join(tmpdir(), 'perpscope-ledger-'))
  const file = join(own, 'ledger.db')
  return {
    open: async (retention) => new SqliteLedger(file, null, retention),
    damageAnswer: async (nonce) => damage(file, `answer of ${nonce}`),
    finalityOf: async (nonce) => {
      const books = new LedgerReport(file)
      try {
        for await (const payment of books.payments({ sinceMs: 0, untilMs: Infinity }))
          if (payment.nonce === nonce) return payment.finality
        return undefined
      } finally {
        books.close()
      }
    },
    remove: async () => rmSync(own, { recursive: true }),
  }
})

function damage(file: string, text: string): void {
  const bytes = readFileSync(file)
  const at = bytes.indexOf(text)
  expect(at).toBeGreaterThan(0)
  bytes[at] = 0x41
  writeFileSync(file, bytes)
}

test('a ledger begins in a folder that does not exist yet', async () => {
  const ledger = new SqliteLedger(join(folder, 'not', 'yet', 'ledger.db'))
  expect((await ledger.counts()).settling).toBe(0)
  await ledger.close()
})

test('other tasks run while days are summed', async () => {
  const waiting: (() => void)[] = []
  const ledger = new SqliteLedger(':memory:', (task) => waiting.push(task))
  let isDone = false
  const summary = ledger.summary(NOW_MS - 86_400_000, NOW_MS).finally(() => {
    isDone = true
  })
  let pauses = 0
  while (!isDone) {
    const task = waiting.shift()
    if (task !== undefined) pauses += 1
    task?.()
    await Promise.resolve()
  }
  expect(pauses, 'two of each day').toBe(4)
  expect(await summary).toMatchObject({ sold: [], buyers: 0 })
  await ledger.close()
})

describe('rows that come together', () => {
  test('are durable together, and a copy begins once', async () => {
    const turns: (() => void)[] = []
    const ledger = new SqliteLedger(path, (task) => turns.push(task))
    const [one, two] = [entry('0x1'), entry('0x2')]
    const begun = [one, one, two].map((each) => ledger.begin(each, NOW_MS))
    expect(await ledger.find(one.key), 'not before its turn').toBeNull()
    expect(turns).toHaveLength(1)
    for (const turn of turns.splice(0)) turn()
    const kinds = (await Promise.all(begun)).map(({ kind }) => kind)
    expect(kinds).toEqual(['begun', 'taken', 'begun'])
    expect((await ledger.counts()).settling).toBe(2)
    await ledger.close()
  })

  test('are all refused while another program holds the file, and none is lost sight of', async () => {
    const turns: (() => void)[] = []
    const ledger = new SqliteLedger(path, (task) => turns.push(task))
    const begun = ['0x1', '0x2'].map((nonce) => ledger.begin(entry(nonce), NOW_MS))
    const other = new Database(path)
    other.exec('BEGIN IMMEDIATE')
    for (const turn of turns.splice(0)) turn()
    for (const end of await Promise.allSettled(begun))
      expect(end).toMatchObject({ status: 'rejected', reason: { code: 'ledger_busy' } })
    other.exec('COMMIT')
    other.close()
    await ledger.begin({ ...entry('0x1'), finality: 'broadcast' }, NOW_MS)
    expect((await ledger.counts()).settling).toBe(1)
    await ledger.close()
  })

  test('do not hold up one that is owed by a broadcast', async () => {
    const ledger = new SqliteLedger(path, () => undefined)
    await ledger.begin({ ...entry('0x1'), finality: 'broadcast' }, NOW_MS)
    expect(await ledger.exposure()).toBe(25_000n)
    await ledger.close()
  })
})

describe('open payments', () => {
  test('keep what the buyer signed only until the chain has spoken', async () => {
    const ledger = new SqliteLedger(path)
    await ledger.begin(entry('0x1'), NOW_MS)
    await ledger.move(entry('0x1').key, 'settled', '0xabc', NOW_MS)
    const reader = new Database(path, { readonly: true })
    expect(reader.prepare('SELECT payment FROM payments').pluck().all()).toEqual([null])
    reader.close()
    await ledger.close()
  })
})

test('a file of version 1 is taken over with its answers', async () => {
  const db = new Database(path)
  db.exec(`CREATE TABLE payments (
      network TEXT NOT NULL, asset TEXT NOT NULL, payer TEXT NOT NULL, nonce TEXT NOT NULL,
      state TEXT NOT NULL CHECK (state IN ('settling', 'unknown', 'settled', 'released')),
      binding TEXT NOT NULL, payload_hash TEXT NOT NULL, amount TEXT NOT NULL,
      transaction_hash TEXT, status INTEGER NOT NULL, headers TEXT NOT NULL, body BLOB NOT NULL,
      answer_hash BLOB NOT NULL, valid_before_ms INTEGER NOT NULL, expires_ms INTEGER NOT NULL,
      updated_ms INTEGER NOT NULL, PRIMARY KEY (network, asset, payer, nonce)
    ) STRICT;
    CREATE INDEX payments_expiry ON payments (expires_ms)`)
  const body = Buffer.from('answer')
  const hash = createHash('sha256').update('{"etag":"1"}').update(body).digest()
  const insert = db.prepare(`INSERT INTO payments VALUES ('eip155:8453', '0xA', '0xB', ?, ?,
    '["GET","/pulse/:coin",[],[]]', 'hash', '25000', '0xabc', 200, '{"etag":"1"}', ?, ?, 2000, 3000, 1000)`)
  for (const state of ['settled', 'settling', 'released']) insert.run(state, state, body, hash)
  db.pragma('user_version = 1')
  db.close()

  const ledger = new SqliteLedger(path)
  expect(await ledger.find(entry('settled').key)).toEqual({
    state: 'settled',
    binding: '["GET","/pulse/:coin",[],[]]',
    payloadHash: 'hash',
    transaction: '0xabc',
    access: null,
    answer: { status: 200, headers: { etag: '1' }, body },
  })
  expect(await ledger.find(entry('settling').key)).toMatchObject({
    state: 'settling',
    answer: { body },
  })
  expect(await ledger.find(entry('released').key)).toMatchObject({
    state: 'released',
    answer: null,
  })
  expect(await ledger.counts()).toMatchObject({ settled: 1, settling: 1, released: 1 })
  await ledger.close()
})

test('a file that is locked at the start gives up no sale in progress, and the earlier ones later', async () => {
  const before = new SqliteLedger(path)
  await before.begin(entry('0x1'), NOW_MS)
  await before.close()
  const ledger = new SqliteLedger(path)
  const other = new Database(path)
  other.exec('BEGIN IMMEDIATE')
  await expect(ledger.interrupted(NOW_MS + 1_000)).rejects.toThrow(/locked/)
  other.exec('COMMIT')
  other.close()
  await ledger.begin(entry('0x2'), NOW_MS + 2_000)
  await ledger.interrupted(NOW_MS + 6_000)
  expect(await ledger.counts()).toMatchObject({ settling: 2, unknown: 0 })
  await ledger.interrupted(NOW_MS + 61_000)
  expect(await ledger.find(entry('0x1').key)).toMatchObject({ state: 'unknown' })
  expect(await ledger.find(entry('0x2').key)).toMatchObject({ state: 'settling' })
  await ledger.close()
})

describe('a ledger is refused', () => {
  test('when another process holds it', async () => {
    const ledger = new SqliteLedger(path)
    await ledger.begin(entry('0x1'), NOW_MS)
    expect(() => new SqliteLedger(path)).toThrow(/is locked by another program/)
    await ledger.close()
  })

  test('when a later version wrote it', () => {
    const db = new Database(path)
    db.pragma('user_version = 99')
    db.close()
    expect(() => new SqliteLedger(path)).toThrow(/schema 99/)
  })

  test('when it is no database', () => {
    writeFileSync(path, 'x'.repeat(10_000))
    expect(() => new SqliteLedger(path)).toThrow(/cannot be used/)
  })
})

test('a file of version 2 is migrated, without access to answers that were sold before', async () => {
  const one = entry('0x1')
  const before = new SqliteLedger(path)
  await before.begin(one, NOW_MS)
  await before.move(one.key, 'settled', '0xabc', NOW_MS)
  await before.close()
  const db = new Database(path)
  db.exec(`DROP TABLE failed_settlements; ALTER TABLE payments DROP COLUMN access;
    ALTER TABLE payments DROP COLUMN caller_until_ms; PRAGMA user_version = 2`)
  db.close()
  const ledger = new SqliteLedger(path)
  expect(await ledger.find(one.key)).toMatchObject({
    state: 'settled',
    access: null,
    answer: one.answer,
  })
  expect(await ledger.failures.isBarred({ network: one.key.network, payer: '0xB' }, NOW_MS)).toBe(
    false,
  )
  await ledger.begin(entry('0x2'), NOW_MS)
  expect((await ledger.find(entry('0x2').key))?.access).toEqual(entry('0x2').access)
  await ledger.close()
})

test('what a failing disk did not take is not counted, and is sold later', async () => {
  const ledger = new SqliteLedger(path)
  await ledger.begin(entry('0x1'), NOW_MS)
  const full = () => {
    throw new Database.SqliteError('database or disk is full', 'SQLITE_FULL')
  }
  // As SQLite reports a full disk: at the commit.
  const commit = vi.spyOn(Database.prototype, 'transaction').mockImplementation(() => {
    const failing = { immediate: full }
    return failing as unknown as ReturnType<Database.Database['transaction']>
  })
  await expect(ledger.begin(entry('0x2'), NOW_MS)).rejects.toMatchObject({
    code: 'ledger_busy',
    message: 'the disk of the payment ledger is full; nothing was written',
  })
  await expect(ledger.move(entry('0x1').key, 'settled', '0xa', NOW_MS)).rejects.toMatchObject({
    code: 'ledger_busy',
  })
  commit.mockRestore()
  expect(await ledger.counts()).toMatchObject({ settling: 1, settled: 0 })
  expect(await ledger.begin(entry('0x2'), NOW_MS)).toMatchObject({ kind: 'begun' })
  await ledger.close()
})
