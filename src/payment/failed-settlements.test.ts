import { rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import type { FailedSettlement } from './failed-settlements.ts'
import { BARRING_STRIKES, FailedSettlements } from './failed-settlements.ts'
import { PaymentLedger } from './ledger.ts'
import { ledgerEntry, NOW_MS } from './testing/ledger-entry.ts'

const NETWORK = 'eip155:8453'
const CODE = '0xc0de'
const DAY_MS = 86_400_000
const path = join(tmpdir(), `failed-settlements-${process.pid}.db`)

afterEach(() => {
  for (const suffix of ['', '-wal', '-shm', '-lock']) rmSync(path + suffix, { force: true })
})

let transactions = 0

function failure(payer: string, changes: Partial<FailedSettlement> = {}): FailedSettlement {
  transactions += 1
  return {
    network: NETWORK,
    payer,
    code: CODE,
    transaction: `0xabc${transactions}`,
    cost: 300_000n,
    strikes: BARRING_STRIKES,
    ...changes,
  }
}

describe('a payer', () => {
  test('that wronged us is barred for 7 days, also after a restart, on its own network', () => {
    const before = new PaymentLedger(path)
    before.failures.failed(failure('0xB'), null, NOW_MS)
    before.close()
    const after = new PaymentLedger(path)
    const barred = (network: string, payer: string, days: number) =>
      after.failures.isBarred({ network, payer }, NOW_MS + days * DAY_MS)
    expect(barred(NETWORK, '0xB', 6.9)).toBe(true)
    expect(barred(NETWORK, '0xB', 7.1)).toBe(false)
    expect(barred(NETWORK, '0xD', 0)).toBe(false)
    expect(barred('eip155:84532', '0xB', 0)).toBe(false)
    after.close()
  })

  test('that ran out of money is barred by the third time', () => {
    const failures = FailedSettlements.inMemory()
    const barred = () => failures.isBarred({ network: NETWORK, payer: '0xB' }, NOW_MS)
    for (const expected of [false, false, true]) {
      failures.failed(failure('0xB', { code: null, strikes: 1 }), null, NOW_MS)
      failures.failed(failure('0xB', { code: null, strikes: 0 }), null, NOW_MS)
      expect(barred()).toBe(expected)
    }
  })
})

describe('the code of wallets', () => {
  test('is barred by the third wallet that is, and never for who has bought here', async () => {
    const ledger = new PaymentLedger(':memory:')
    const { failures } = ledger
    await ledger.begin(ledgerEntry('0x1'), NOW_MS)
    const barred = (payer: string, code = CODE) =>
      failures.isCodeBarred({ network: NETWORK, payer }, code, NOW_MS)
    for (const payer of ['0x1', '0x1', '0x2']) failures.failed(failure(payer), null, NOW_MS)
    failures.failed(failure('0x4', { strikes: 1 }), null, NOW_MS)
    expect(barred('0xB')).toBe(false)
    failures.failed(failure('0x3'), null, NOW_MS)
    expect(barred('0xB')).toBe(true)
    expect(barred('0xB', '0xother')).toBe(false)
    ledger.move(ledgerEntry('0x1').key, 'settled', '0xabc', NOW_MS)
    expect(barred('0xB'), 'it has bought').toBe(false)
    expect(barred('0xD')).toBe(true)
    ledger.close()
  })
})

test('a transaction that is reported twice counts once', () => {
  const failures = FailedSettlements.inMemory()
  const once = failure('0xB')
  expect(failures.failed(once, null, NOW_MS)).toBe(true)
  expect(failures.failed(once, null, NOW_MS)).toBe(false)
  expect(failures.ofContracts(NETWORK, NOW_MS)).toHaveLength(1)
  expect(failures.failed({ ...once, payer: '0xD' }, null, NOW_MS), 'it was shared').toBe(true)
})

test('what is under way counts until it is released, or for an hour', () => {
  const failures = FailedSettlements.inMemory()
  const [first, second] = ['0x1', '0x2'].map((payer) => failures.reserve(failure(payer), NOW_MS))
  expect(failures.inFlight(NETWORK, NOW_MS)).toBe(600_000n)
  failures.release(first as number)
  failures.failed(failure('0x2', { cost: 250_000n }), second as number, NOW_MS)
  expect(failures.inFlight(NETWORK, NOW_MS)).toBe(0n)
  expect(failures.ofContracts(NETWORK, NOW_MS)).toEqual([{ cost: 250_000n, atMs: NOW_MS }])
  failures.failed(failure('0x3', { code: null }), null, NOW_MS)
  expect(failures.ofContracts(NETWORK, NOW_MS), 'of a key').toHaveLength(1)
  failures.reserve(failure('0x4'), NOW_MS)
  expect(failures.inFlight(NETWORK, NOW_MS + 3_600_000)).toBe(0n)
  expect(failures.ofContracts(NETWORK, NOW_MS + 3_600_000)).toEqual([])
})

test('expired blocks are swept with the ledger', () => {
  const ledger = new PaymentLedger(':memory:')
  ledger.failures.failed(failure('0x1'), null, NOW_MS)
  expect(ledger.sweep(NOW_MS + 6 * DAY_MS, 10)).toBe(0)
  expect(ledger.sweep(NOW_MS + 8 * DAY_MS, 10)).toBe(1)
  ledger.close()
})
