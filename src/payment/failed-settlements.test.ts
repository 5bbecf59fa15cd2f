import { afterEach, describe, expect, test } from 'vitest'
import { ManualClock } from '../../test/support/manual-clock.ts'
import { hasPostgres, postgresOfWorker } from '../../test/support/postgres.ts'
import type { FailedSettlement, FailedSettlements } from './failed-settlements.ts'
import { AT_ONCE, AT_ONCE_MAX, BARRING_STRIKES } from './failed-settlements.ts'
import type { Ledger } from './ledger/ledger.ts'
import { Postgres } from './ledger/postgres.ts'
import { PostgresLedger } from './ledger/postgres-ledger.ts'
import { SqliteLedger } from './ledger/sqlite-ledger.ts'
import { ledgerEntry, NOW_MS } from './testing/ledger-entry.ts'

const NETWORK = 'eip155:8453'
const CODE = '0xc0de'
const DAY_MS = 86_400_000
const HOUR_MS = 3_600_000
const PLENTY = 10n ** 18n

/** One store that two gateways use, and the ledger beside it. */
type Rig = {
  readonly failures: FailedSettlements
  readonly other: FailedSettlements
  /** Records a paid purchase. */
  sell(nonce: string, payer: string): Promise<void>
  sweep(nowMs: number): Promise<number>
  close(): Promise<void>
}

const sales = (ledger: Ledger) => ({
  sell: async (nonce: string, payer: string) => {
    const entry = ledgerEntry(nonce)
    const key = { ...entry.key, payer }
    await ledger.begin({ ...entry, key }, NOW_MS)
    await ledger.move(key, 'settled', '0xabc', NOW_MS)
  },
  sweep: (nowMs: number) => ledger.sweep(nowMs, 10),
})

async function sqlite(): Promise<Rig> {
  const ledger = new SqliteLedger(':memory:')
  const { failures } = ledger
  return { ...sales(ledger), failures, other: failures, close: () => ledger.close() }
}

async function postgres(): Promise<Rig> {
  const server = await postgresOfWorker()
  const url = await server.createDatabase()
  const open = async (gateway: string) => {
    const db = new Postgres({ url, applicationName: `perpscope test ${gateway}` })
    return { db, ledger: await PostgresLedger.open({ db, gateway, clock: new ManualClock() }) }
  }
  const [one, two] = [await open('one'), await open('two')]
  return {
    ...sales(one.ledger),
    failures: one.ledger.failures,
    other: two.ledger.failures,
    close: async () => {
      for (const { db, ledger } of [one, two]) {
        await ledger.close()
        await db.close()
      }
    },
  }
}

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

const reserved = (payer: string, cost = 300_000n) => ({
  network: NETWORK,
  payer,
  code: CODE,
  cost,
})

describe('failed settlements in SQLite', () => failedSettlementsSuite(sqlite))

describe.skipIf(!hasPostgres)('failed settlements in PostgreSQL', () =>
  failedSettlementsSuite(postgres),
)

/** What every store promises. */
function failedSettlementsSuite(open: () => Promise<Rig>): void {
  const rigs: Rig[] = []

  afterEach(async () => {
    for (const rig of rigs.splice(0)) await rig.close()
  })

  async function opened(): Promise<Rig> {
    const rig = await open()
    rigs.push(rig)
    return rig
  }

  test('bar a payer that wronged us for 7 days, on its own network', async () => {
    const { failures, other } = await opened()
    await failures.failed(failure('0xB'), null, NOW_MS)
    const barred = (network: string, payer: string, days: number) =>
      other.isBarred({ network, payer }, NOW_MS + days * DAY_MS)
    expect(await barred(NETWORK, '0xB', 6.9)).toBe(true)
    expect(await barred(NETWORK, '0xB', 7.1)).toBe(false)
    expect(await barred(NETWORK, '0xD', 0)).toBe(false)
    expect(await barred('eip155:84532', '0xB', 0)).toBe(false)
  })

  test('bar a payer that ran out of money the third time', async () => {
    const { failures } = await opened()
    for (const expected of [false, false, true]) {
      await failures.failed(failure('0xB', { code: null, strikes: 1 }), null, NOW_MS)
      await failures.failed(failure('0xB', { code: null, strikes: 0 }), null, NOW_MS)
      expect(await failures.isBarred({ network: NETWORK, payer: '0xB' }, NOW_MS)).toBe(expected)
    }
  })

  test('bar the code of three barred wallets, except for a wallet that has bought here', async () => {
    const { failures, sell } = await opened()
    const barred = (payer: string, code = CODE) =>
      failures.isCodeBarred({ network: NETWORK, payer }, code, NOW_MS)
    for (const payer of ['0x1', '0x1', '0x2']) await failures.failed(failure(payer), null, NOW_MS)
    await failures.failed(failure('0x4', { strikes: 1 }), null, NOW_MS)
    expect(await barred('0xB')).toBe(false)
    await failures.failed(failure('0x3'), null, NOW_MS)
    expect(await barred('0xB')).toBe(true)
    expect(await barred('0xB', '0xother')).toBe(false)
    await sell('0x1', '0xB')
    expect(await barred('0xB'), 'it has bought').toBe(false)
    expect(await barred('0xD')).toBe(true)
  })

  test('allow a wallet as many settlements at once as it has purchases, within limits', async () => {
    const { failures, sell } = await opened()
    const atOnceMax = () => failures.atOnceMax({ network: NETWORK, payer: '0xB' })
    expect(await atOnceMax()).toBe(AT_ONCE)
    for (let count = 0; count < 5; count += 1) await sell(`0x${count}`, '0xB')
    expect(await atOnceMax()).toBe(5)
    for (let count = 5; count <= AT_ONCE_MAX; count += 1) await sell(`0x${count}`, '0xB')
    expect(await atOnceMax()).toBe(AT_ONCE_MAX)
    expect(await failures.atOnceMax({ network: 'eip155:1', payer: '0xB' })).toBe(AT_ONCE)
  })

  test('count a transaction once for each payer', async () => {
    const { failures, other } = await opened()
    const once = failure('0xB')
    expect(await failures.failed(once, null, NOW_MS)).toBe(true)
    expect(await other.failed(once, null, NOW_MS)).toBe(false)
    expect(await failures.ofContracts(NETWORK, NOW_MS)).toHaveLength(1)
    expect(await failures.failed({ ...once, payer: '0xD' }, null, NOW_MS), 'shared').toBe(true)
  })

  test('count a reservation until it is released, or for an hour', async () => {
    const { failures } = await opened()
    const [first, second] = [
      await failures.reserve(reserved('0x1'), 900_000n, NOW_MS),
      await failures.reserve(reserved('0x2'), 900_000n, NOW_MS),
    ]
    expect(await failures.reserve(reserved('0x3'), 900_000n, NOW_MS)).not.toBeNull()
    expect(await failures.reserve(reserved('0x4'), 900_000n, NOW_MS)).toBeNull()
    await failures.release(first ?? 0)
    await failures.failed(failure('0x2', { cost: 250_000n }), second, NOW_MS)
    expect(await failures.ofContracts(NETWORK, NOW_MS)).toEqual([{ cost: 250_000n, atMs: NOW_MS }])
    expect(await failures.reserve(reserved('0x4', 350_001n), 900_000n, NOW_MS)).toBeNull()
    expect(await failures.reserve(reserved('0x4', 350_000n), 900_000n, NOW_MS)).not.toBeNull()
    // A gateway that ended releases nothing.
    const later = NOW_MS + HOUR_MS
    expect(await failures.reserve(reserved('0x5', 900_000n), 900_000n, later)).not.toBeNull()
    expect(await failures.ofContracts(NETWORK, later)).toEqual([])
  })

  test('keep the reservation of a failure that cannot be recorded', async () => {
    const { failures } = await opened()
    const id = await failures.reserve(reserved('0x1'), 300_000n, NOW_MS)
    await expect(failures.failed(failure('0x1', { strikes: 0.5 }), id, NOW_MS)).rejects.toThrow()
    expect(await failures.reserve(reserved('0x2', 1n), 300_000n, NOW_MS)).toBeNull()
  })

  test('never reserve more than the limit for two gateways that reserve at once', async () => {
    const { failures, other } = await opened()
    // They take turns. More than both pools have connections would also wait for one, at most 3 s.
    const attempts = Array.from({ length: 20 }, (_, index) =>
      (index % 2 === 0 ? failures : other).reserve(reserved(`0x${index}`), 3_000_000n, NOW_MS),
    )
    const granted = (await Promise.all(attempts)).filter((id) => id !== null)
    expect(granted).toHaveLength(10)
    expect(new Set(granted).size).toBe(10)
  })

  test('of keys and of other networks do not count for contract wallets', async () => {
    const { failures } = await opened()
    await failures.failed(failure('0x1', { code: null }), null, NOW_MS)
    await failures.failed(failure('0x2', { network: 'eip155:84532' }), null, NOW_MS)
    expect(await failures.ofContracts(NETWORK, NOW_MS)).toEqual([])
    expect(await failures.reserve(reserved('0x3', 1n), 1n, NOW_MS)).not.toBeNull()
  })

  test('keep sums above 2^53 exact', async () => {
    const { failures } = await opened()
    const cost = 2n ** 53n + 1n
    expect(await failures.reserve(reserved('0x1', cost), PLENTY, NOW_MS)).not.toBeNull()
    expect(await failures.reserve(reserved('0x2', cost), 2n * cost - 1n, NOW_MS)).toBeNull()
    expect(await failures.reserve(reserved('0x2', cost), 2n * cost, NOW_MS)).not.toBeNull()
    await failures.failed(failure('0x3', { cost }), null, NOW_MS)
    expect(await failures.ofContracts(NETWORK, NOW_MS)).toEqual([{ cost, atMs: NOW_MS }])
  })

  test('are swept with the ledger after their time', async () => {
    const { failures, sweep } = await opened()
    await failures.failed(failure('0x1'), null, NOW_MS)
    expect(await sweep(NOW_MS + 6 * DAY_MS)).toBe(0)
    expect(await sweep(NOW_MS + 8 * DAY_MS)).toBe(1)
  })
}
