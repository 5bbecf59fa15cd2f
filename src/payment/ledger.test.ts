import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Entry } from './ledger.ts'
import { PaymentLedger } from './ledger.ts'

const NOW_MS = Date.UTC(2026, 0, 1)
const VALID_BEFORE_SECONDS = NOW_MS / 1_000 + 120
const MINUTE_MS = 60_000

let folder: string
let path: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'perpscope-ledger-'))
  path = join(folder, 'ledger.db')
})

afterEach(() => rmSync(folder, { recursive: true }))

function entry(nonce: string): Entry {
  return {
    key: { network: 'eip155:8453', asset: '0xA', payer: '0xB', nonce },
    binding: '["GET","/pulse/:coin"]',
    payloadHash: 'hash',
    amount: 25_000n,
    validBeforeSeconds: VALID_BEFORE_SECONDS,
    answer: { status: 200, headers: { etag: '"1"' }, body: Buffer.from(`answer of ${nonce}`) },
  }
}

describe('a row', () => {
  test('gives back what was written, also after the file was opened again', () => {
    const one = entry('0x1')
    const before = new PaymentLedger(path)
    before.begin(one, NOW_MS)
    before.move(one.key, 'settled', '0xabc', NOW_MS)
    before.close()
    const after = new PaymentLedger(path)
    expect(after.find(one.key)).toEqual({
      state: 'settled',
      binding: one.binding,
      payloadHash: 'hash',
      transaction: '0xabc',
      answer: one.answer,
    })
    expect(after.find({ ...one.key, nonce: '0x2' })).toBeNull()
    after.close()
  })

  test('can be begun once, and again only after it was released', () => {
    const ledger = new PaymentLedger(path)
    const one = entry('0x1')
    for (const state of ['unknown', 'settled'] as const) {
      const other = entry(state)
      ledger.begin(other, NOW_MS)
      expect(() => ledger.begin(other, NOW_MS)).toThrow(/settled once/)
      ledger.move(other.key, state, null, NOW_MS)
      expect(() => ledger.begin(other, NOW_MS)).toThrow(/settled once/)
    }
    ledger.begin(one, NOW_MS)
    ledger.move(one.key, 'released', null, NOW_MS)
    ledger.begin({ ...one, binding: 'another' }, NOW_MS)
    expect(ledger.find(one.key)).toMatchObject({ state: 'settling', binding: 'another' })
    ledger.close()
  })

  test('stays settled whatever is said later', () => {
    const ledger = new PaymentLedger(path)
    const one = entry('0x1')
    ledger.begin(one, NOW_MS)
    ledger.move(one.key, 'settled', '0xabc', NOW_MS)
    ledger.move(one.key, 'released', null, NOW_MS)
    ledger.move(one.key, 'unknown', '0xdef', NOW_MS)
    expect(ledger.find(one.key)).toMatchObject({ state: 'settled', transaction: '0xabc' })
    ledger.close()
  })
})

describe('the sweep', () => {
  test('removes a settled row ten minutes after its authorization ran out', () => {
    const ledger = new PaymentLedger(path)
    const one = entry('0x1')
    ledger.begin(one, NOW_MS)
    ledger.move(one.key, 'settled', '0xabc', NOW_MS)
    const endMs = VALID_BEFORE_SECONDS * 1_000 + 10 * MINUTE_MS
    expect(ledger.sweep(endMs, 100)).toBe(0)
    expect(ledger.sweep(endMs + 1, 100)).toBe(1)
    expect(ledger.find(one.key)).toBeNull()
    ledger.close()
  })

  test('keeps an open outcome for days', () => {
    const ledger = new PaymentLedger(path)
    ledger.begin(entry('settling'), NOW_MS)
    ledger.begin(entry('unknown'), NOW_MS)
    ledger.move(entry('unknown').key, 'unknown', null, NOW_MS)
    expect(ledger.sweep(NOW_MS + 6 * 24 * 60 * MINUTE_MS, 100)).toBe(0)
    expect(ledger.sweep(NOW_MS + 8 * 24 * 60 * MINUTE_MS, 100)).toBe(2)
    ledger.close()
  })

  test('works in slices', () => {
    const ledger = new PaymentLedger(path)
    for (let index = 0; index < 7; index += 1) ledger.begin(entry(String(index)), NOW_MS)
    const farMs = NOW_MS + 365 * 24 * 60 * MINUTE_MS
    expect([ledger.sweep(farMs, 3), ledger.sweep(farMs, 3), ledger.sweep(farMs, 3)]).toEqual([
      3, 3, 1,
    ])
    ledger.close()
  })
})

describe('a ledger is refused', () => {
  test('when another process holds it', () => {
    const ledger = new PaymentLedger(path)
    ledger.begin(entry('0x1'), NOW_MS)
    expect(() => new PaymentLedger(path)).toThrow(/cannot be used/)
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
  before.begin(one, NOW_MS)
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
