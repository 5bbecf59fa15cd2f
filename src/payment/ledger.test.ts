import { createHash } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Entry } from './ledger.ts'
import { PaymentLedger } from './ledger.ts'
import { ledgerEntry as entry, NOW_MS, VALID_BEFORE_SECONDS } from './testing/ledger-entry.ts'

const MINUTE_MS = 60_000

let folder: string
let path: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'perpscope-ledger-'))
  path = join(folder, 'ledger.db')
})

afterEach(() => rmSync(folder, { recursive: true }))

describe('a row', () => {
  test('begins in a folder that is not there yet', () => {
    const ledger = new PaymentLedger(join(folder, 'not', 'yet', 'ledger.db'))
    expect(ledger.counts().settling).toBe(0)
    ledger.close()
  })

  test('gives back what was written, also after the file was opened again', () => {
    const one = entry('0x1')
    const before = new PaymentLedger(path)
    void before.begin(one, NOW_MS)
    before.move(one.key, 'settled', '0xabc', NOW_MS)
    before.close()
    const after = new PaymentLedger(path)
    expect(after.find(one.key)).toEqual({
      state: 'settled',
      binding: one.binding,
      payloadHash: 'hash',
      transaction: '0xabc',
      access: one.access,
      answer: one.answer,
    })
    expect(after.find({ ...one.key, nonce: '0x2' })).toBeNull()
    after.close()
  })

  test('can be begun once, and again only after it was released', async () => {
    const ledger = new PaymentLedger(path)
    const one = entry('0x1')
    for (const state of ['unknown', 'settled'] as const) {
      const other = entry(state)
      void ledger.begin(other, NOW_MS)
      await expect(ledger.begin(other, NOW_MS)).rejects.toThrow(/settled once/)
      ledger.move(other.key, state, null, NOW_MS)
      await expect(ledger.begin(other, NOW_MS)).rejects.toThrow(/settled once/)
    }
    void ledger.begin(one, NOW_MS)
    ledger.move(one.key, 'released', null, NOW_MS)
    void ledger.begin({ ...one, binding: 'another' }, NOW_MS)
    expect(ledger.find(one.key)).toMatchObject({ state: 'settling', binding: 'another' })
    ledger.close()
  })

  test('stays settled after later verdicts', () => {
    const ledger = new PaymentLedger(path)
    const one = entry('0x1')
    void ledger.begin(one, NOW_MS)
    ledger.move(one.key, 'settled', '0xabc', NOW_MS)
    ledger.move(one.key, 'released', null, NOW_MS)
    ledger.move(one.key, 'unknown', '0xdef', NOW_MS)
    expect(ledger.find(one.key)).toMatchObject({ state: 'settled', transaction: '0xabc' })
    ledger.close()
  })
})

describe('rows that come together', () => {
  test('are durable together, and one that must not begin fails alone', async () => {
    const turns: (() => void)[] = []
    const ledger = new PaymentLedger(path, (task) => turns.push(task))
    const [one, two] = [entry('0x1'), entry('0x2')]
    const begun = [one, one, two].map((each) => ledger.begin(each, NOW_MS))
    const ends = Promise.allSettled(begun)
    expect(ledger.find(one.key), 'not before its turn').toBeNull()
    expect(turns).toHaveLength(1)
    for (const turn of turns.splice(0)) turn()
    expect((await ends).map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    expect(ledger.counts().settling).toBe(2)
    ledger.close()
  })

  test('are all refused while another program holds the file, and none is lost sight of', async () => {
    const turns: (() => void)[] = []
    const ledger = new PaymentLedger(path, (task) => turns.push(task))
    const begun = ['0x1', '0x2'].map((nonce) => ledger.begin(entry(nonce), NOW_MS))
    const other = new Database(path)
    other.exec('BEGIN IMMEDIATE')
    for (const turn of turns.splice(0)) turn()
    for (const end of await Promise.allSettled(begun))
      expect(end).toMatchObject({ status: 'rejected', reason: { code: 'ledger_busy' } })
    other.exec('COMMIT')
    other.close()
    void ledger.begin({ ...entry('0x1'), finality: 'broadcast' }, NOW_MS)
    expect(ledger.counts().settling).toBe(1)
    ledger.close()
  })

  test('do not hold up one that is owed by a broadcast', () => {
    const ledger = new PaymentLedger(path, () => undefined)
    void ledger.begin({ ...entry('0x1'), finality: 'broadcast' }, NOW_MS)
    expect(ledger.exposure('0xB').total).toBe(25_000n)
    ledger.close()
  })
})

describe('the sweep', () => {
  test('removes a settled row ten minutes after its authorization ran out', () => {
    const ledger = new PaymentLedger(path)
    const one = entry('0x1')
    void ledger.begin(one, NOW_MS)
    ledger.move(one.key, 'settled', '0xabc', NOW_MS)
    const endMs = VALID_BEFORE_SECONDS * 1_000 + 10 * MINUTE_MS
    expect(ledger.sweep(endMs, 100)).toBe(0)
    expect(ledger.sweep(endMs + 1, 100)).toBe(1)
    expect(ledger.find(one.key), 'the books remember it').toMatchObject({
      state: 'settled',
      answer: null,
    })
    ledger.close()
  })

  test('removes a refused settlement after a day', () => {
    const ledger = new PaymentLedger(path)
    const one = entry('0x1')
    void ledger.begin(one, NOW_MS)
    ledger.move(one.key, 'released', null, NOW_MS)
    expect(ledger.sweep(NOW_MS + 24 * 60 * MINUTE_MS, 100)).toBe(0)
    expect(ledger.counts().released).toBe(1)
    expect(ledger.sweep(NOW_MS + 24 * 60 * MINUTE_MS + 1, 100)).toBe(1)
    expect(ledger.find(one.key)).toBeNull()
    expect(ledger.counts().released).toBe(0)
    ledger.close()
  })

  test('keeps an open outcome for days', () => {
    const ledger = new PaymentLedger(path)
    void ledger.begin(entry('settling'), NOW_MS)
    void ledger.begin(entry('unknown'), NOW_MS)
    ledger.move(entry('unknown').key, 'unknown', null, NOW_MS)
    expect(ledger.sweep(NOW_MS + 6 * 24 * 60 * MINUTE_MS, 100)).toBe(0)
    expect(ledger.sweep(NOW_MS + 8 * 24 * 60 * MINUTE_MS, 100)).toBe(2)
    ledger.close()
  })

  test('keeps the answer of a payment that was found settled long after it ran out', () => {
    const ledger = new PaymentLedger(path)
    const { key } = entry('0x1')
    void ledger.begin(entry('0x1'), NOW_MS)
    ledger.move(key, 'unknown', null, NOW_MS)
    const foundMs = VALID_BEFORE_SECONDS * 1_000 + 60 * MINUTE_MS
    ledger.move(key, 'settled', '0xabc', foundMs)
    expect(ledger.sweep(foundMs + 6 * 24 * 60 * MINUTE_MS, 100), 'its buyer may come back').toBe(0)
    expect(ledger.find(key)?.answer).not.toBeNull()
    expect(ledger.sweep(foundMs + 8 * 24 * 60 * MINUTE_MS, 100)).toBe(1)
    ledger.close()
  })

  test('keeps an open outcome no longer for being looked at', () => {
    const ledger = new PaymentLedger(path)
    const { key } = entry('0x1')
    void ledger.begin(entry('0x1'), NOW_MS)
    const weekMs = 7 * 24 * 60 * MINUTE_MS
    for (const atMs of [NOW_MS, NOW_MS + weekMs]) ledger.move(key, 'unknown', null, atMs)
    expect(ledger.sweep(VALID_BEFORE_SECONDS * 1_000 + weekMs + 1, 100)).toBe(1)
    ledger.close()
  })

  test('counts from the settlement where that came after the payment ran out', () => {
    const ledger = new PaymentLedger(path)
    const { key } = entry('0x1')
    void ledger.begin(entry('0x1'), NOW_MS)
    ledger.move(key, 'unconfirmed', '0xabc', NOW_MS)
    const finalMs = VALID_BEFORE_SECONDS * 1_000 + 60 * MINUTE_MS
    ledger.move(key, 'settled', '0xabc', finalMs)
    expect(ledger.sweep(finalMs + 10 * MINUTE_MS, 100)).toBe(0)
    expect(ledger.sweep(finalMs + 10 * MINUTE_MS + 1, 100)).toBe(1)
    ledger.close()
  })

  test('works in slices', () => {
    const ledger = new PaymentLedger(path)
    for (let index = 0; index < 7; index += 1) void ledger.begin(entry(String(index)), NOW_MS)
    const farMs = NOW_MS + 365 * 24 * 60 * MINUTE_MS
    expect([ledger.sweep(farMs, 3), ledger.sweep(farMs, 3), ledger.sweep(farMs, 3)]).toEqual([
      3, 3, 1,
    ])
    ledger.close()
  })
})

describe('open payments', () => {
  test('are those of which the chain has not said the last word, the longest waiting first', () => {
    const ledger = new PaymentLedger(path)
    for (const [index, state] of (
      ['unconfirmed', 'settled', 'unknown', 'lost'] as const
    ).entries()) {
      void ledger.begin(entry(state), NOW_MS)
      ledger.move(entry(state).key, state, null, NOW_MS + 10 - index)
    }
    void ledger.begin(entry('settling'), NOW_MS)
    const nonces = (untouchedSinceMs: number) =>
      ledger.open(untouchedSinceMs, 10).map(({ key, wire: { payload } }) => [key.nonce, payload])
    expect(nonces(NOW_MS + 10)).toEqual([
      ['unknown', { nonce: 'unknown' }],
      ['unconfirmed', { nonce: 'unconfirmed' }],
    ])
    expect(nonces(NOW_MS + 9)).toEqual([['unknown', { nonce: 'unknown' }]])
    ledger.close()
  })

  test('include, after a crash, what was being settled', () => {
    const before = new PaymentLedger(path)
    void before.begin(entry('0x1'), NOW_MS)
    before.close()
    const after = new PaymentLedger(path)
    after.interrupted()
    expect(after.open(NOW_MS, 10)).toMatchObject([{ key: { nonce: '0x1' }, state: 'unknown' }])
    expect(after.counts()).toMatchObject({ settling: 0, unknown: 1 })
    after.close()
  })

  test('keep what the buyer signed only until the chain has spoken', () => {
    const ledger = new PaymentLedger(path)
    void ledger.begin(entry('0x1'), NOW_MS)
    ledger.move(entry('0x1').key, 'settled', '0xabc', NOW_MS)
    const reader = new Database(path, { readonly: true })
    expect(reader.prepare('SELECT payment FROM payments').pluck().all()).toEqual([null])
    reader.close()
    ledger.close()
  })
})

test('what is owed counts answers given on a broadcast, until they are confirmed or lost', () => {
  const ledger = new PaymentLedger(path)
  const begin = (nonce: string, payer: string, finality: Entry['finality']) => {
    const one = entry(nonce)
    const key = { ...one.key, payer }
    void ledger.begin({ ...one, key, finality }, NOW_MS)
    return key
  }
  const [first] = [begin('1', '0xB', 'broadcast'), begin('2', '0xD', 'broadcast')]
  begin('3', '0xB', 'confirmed')
  expect(ledger.exposure('0xB')).toEqual({ payer: 25_000n, total: 50_000n })
  ledger.move(first, 'unconfirmed', '0xabc', NOW_MS)
  expect(ledger.exposure('0xB')).toEqual({ payer: 25_000n, total: 50_000n })
  expect(ledger.hasLost('0xB')).toBe(false)
  ledger.move(first, 'lost', null, NOW_MS)
  expect(ledger.exposure('0xB')).toEqual({ payer: 0n, total: 25_000n })
  expect(ledger.hasLost('0xB')).toBe(true)
  ledger.close()
})

test('a payment is found by its identifier, for its payer only', () => {
  const ledger = new PaymentLedger(path)
  void ledger.begin({ ...entry('0x1'), identifier: 'order-1' }, NOW_MS)
  expect(ledger.findByIdentifier('0xB', 'order-1')).toEqual(entry('0x1').key)
  expect(ledger.findByIdentifier('0xD', 'order-1')).toBeNull()
  expect(ledger.findByIdentifier('0xB', 'order-2')).toBeNull()
  ledger.move(entry('0x1').key, 'released', null, NOW_MS)
  expect(ledger.findByIdentifier('0xB', 'order-1'), 'it was refused').toBeNull()
  ledger.close()
})

test('counts are those of the file, also after it was opened again', () => {
  const before = new PaymentLedger(path)
  for (const state of ['unknown', 'settled', 'released'] as const) {
    void before.begin(entry(state), NOW_MS)
    before.move(entry(state).key, state, null, NOW_MS)
  }
  void before.begin(entry('released'), NOW_MS)
  const counts = { settling: 1, unknown: 1, unconfirmed: 0, settled: 1, released: 0, lost: 0 }
  expect(before.counts()).toEqual(counts)
  before.close()
  const after = new PaymentLedger(path)
  expect(after.counts()).toEqual(counts)
  after.close()
})

test('a file of version 1 is taken over with its answers', () => {
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

  const ledger = new PaymentLedger(path)
  expect(ledger.find(entry('settled').key)).toEqual({
    state: 'settled',
    binding: '["GET","/pulse/:coin",[],[]]',
    payloadHash: 'hash',
    transaction: '0xabc',
    access: null,
    answer: { status: 200, headers: { etag: '1' }, body },
  })
  expect(ledger.find(entry('settling').key)).toMatchObject({ state: 'settling', answer: { body } })
  expect(ledger.find(entry('released').key)).toMatchObject({ state: 'released', answer: null })
  expect(ledger.counts()).toMatchObject({ settled: 1, settling: 1, released: 1 })
  ledger.close()
})

describe('a ledger is refused', () => {
  test('when another process holds it', () => {
    const ledger = new PaymentLedger(path)
    void ledger.begin(entry('0x1'), NOW_MS)
    expect(() => new PaymentLedger(path)).toThrow(/is locked by another program/)
    ledger.close()
  })

  test('when a later version wrote it', () => {
    const db = new Database(path)
    db.pragma('user_version = 99')
    db.close()
    expect(() => new PaymentLedger(path)).toThrow(/schema 99/)
  })

  test('when it is no database', () => {
    writeFileSync(path, 'x'.repeat(10_000))
    expect(() => new PaymentLedger(path)).toThrow(/cannot be used/)
  })
})

test('a damaged answer is not given out', () => {
  const one = entry('0x1')
  const before = new PaymentLedger(path)
  void before.begin(one, NOW_MS)
  before.close()
  const bytes = readFileSync(path)
  const at = bytes.indexOf('answer of 0x1')
  expect(at).toBeGreaterThan(0)
  bytes[at] = 0x41
  writeFileSync(path, bytes)
  const after = new PaymentLedger(path)
  expect(() => after.find(one.key)).toThrow(/damaged/)
  after.close()
})

test('a file of version 2 is migrated, without access to answers that were sold before', () => {
  const one = entry('0x1')
  const before = new PaymentLedger(path)
  void before.begin(one, NOW_MS)
  before.move(one.key, 'settled', '0xabc', NOW_MS)
  before.close()
  const db = new Database(path)
  db.exec(`DROP TABLE failed_settlements; ALTER TABLE payments DROP COLUMN access;
    ALTER TABLE payments DROP COLUMN caller_until_ms; PRAGMA user_version = 2`)
  db.close()
  const ledger = new PaymentLedger(path)
  expect(ledger.find(one.key)).toMatchObject({ state: 'settled', access: null, answer: one.answer })
  expect(ledger.failures.isBarred({ network: one.key.network, payer: '0xB' }, NOW_MS)).toBe(false)
  void ledger.begin(entry('0x2'), NOW_MS)
  expect(ledger.find(entry('0x2').key)?.access).toEqual(entry('0x2').access)
  ledger.close()
})

test('a row remembers until when the address that paid has access', () => {
  const ledger = new PaymentLedger(':memory:')
  const one = entry('0x1')
  void ledger.begin(one, NOW_MS)
  ledger.admitCaller(one.key, 0)
  expect(ledger.find(one.key)?.access).toEqual({ ...one.access, callerUntilMs: 0 })
  ledger.close()
})
