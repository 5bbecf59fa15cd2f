import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { ManualClock } from '../../../test/support/manual-clock.ts'
import { hasPostgres, postgresOfWorker } from '../../../test/support/postgres.ts'
import { ledgerEntry, NOW_MS } from '../testing/ledger-entry.ts'
import type { LedgerBooks } from './ledger-books.ts'
import { LedgerReport } from './ledger-report.ts'
import { Postgres } from './postgres.ts'
import { PostgresLedger } from './postgres-ledger.ts'
import { postgresBooks } from './postgres-report.ts'
import { SqliteLedger } from './sqlite-ledger.ts'

type Stores = {
  readonly ledger: SqliteLedger | PostgresLedger
  readonly books: () => Promise<LedgerBooks>
}

const DAY_MS = 86_400_000
const ALL = { sinceMs: 0, untilMs: Number.MAX_SAFE_INTEGER }
/** More than a page. */
const PAYMENTS = 1_003
/** Three of them exceed 64 bits. */
const FEE = 5_000_000_000_000_000_001n
const NETWORK = 'eip155:8453'

async function inFile(): Promise<Stores> {
  const folder = mkdtempSync(join(tmpdir(), 'perpscope-books-'))
  const path = join(folder, 'ledger.db')
  const ledger = new SqliteLedger(path)
  onTestFinished(async () => {
    await ledger.close()
    rmSync(folder, { recursive: true })
  })
  return {
    ledger,
    books: async () => {
      const books = new LedgerReport(path)
      onTestFinished(() => books.close())
      return books
    },
  }
}

async function inPostgres(): Promise<Stores> {
  const url = await (await postgresOfWorker()).createDatabase()
  const db = new Postgres({ url, applicationName: 'perpscope test' })
  const ledger = await PostgresLedger.open({ db, clock: new ManualClock(), gateway: 'one' })
  await ledger.join({})
  onTestFinished(async () => {
    await ledger.close()
    await db.close()
  })
  return { ledger, books: () => postgresBooks(db) }
}

describe.each([
  ['SQLite', inFile, true],
  ['PostgreSQL', inPostgres, hasPostgres],
])('the books in %s', (_, open, isThere) => {
  test.skipIf(!isThere)('list every payment once, in the order of their begin', async () => {
    const { ledger, books } = await open()
    for (let at = 0; at < PAYMENTS; at += 1)
      await ledger.begin(ledgerEntry(`0x${at}`), NOW_MS + (at % 7))
    const found: string[] = []
    const begins: number[] = []
    for await (const { nonce, begunMs } of (await books()).payments(ALL)) {
      found.push(nonce)
      begins.push(begunMs)
    }
    expect(new Set(found).size).toBe(PAYMENTS)
    expect(found).toHaveLength(PAYMENTS)
    expect(begins).toEqual(begins.toSorted((one, other) => one - other))
  })

  test.skipIf(!isThere)('sum amounts, fees and fees that are unknown', async () => {
    const { ledger, books } = await open()
    const binding = JSON.stringify(['GET', '/pulse/:coin', JSON.stringify(['pulse', 'BTC'])])
    for (const nonce of ['0x1', '0x2', '0x3', '0x4', '0x5:7']) {
      const entry = { ...ledgerEntry(nonce), binding }
      await ledger.begin(entry, NOW_MS)
      const transaction = nonce === '0x5:7' ? '' : `0xt${nonce}`
      await ledger.move(entry.key, 'settled', transaction, NOW_MS + 1)
    }
    await ledger.begin(ledgerEntry('0x6'), NOW_MS + DAY_MS)
    for (const [index, nonce] of ['0x1', '0x2', '0x3'].entries())
      ledger.costs.record(
        {
          ...{ network: NETWORK, transaction: `0xt${nonce}`, purpose: 'settlement' },
          ...{ payments: index + 1, fee: FEE },
        },
        NOW_MS,
      )
    ledger.costs.record(
      { network: NETWORK, transaction: '0xc', purpose: 'channel', payments: 0, fee: 7n },
      NOW_MS,
    )
    // `record` does not wait for the disk or the server.
    const read = await books()
    const written = async () => (await read.costs(ALL)).map(({ transactions }) => transactions)
    await expect.poll(written).toEqual([1, 3])
    const [day, next] = [NOW_MS, NOW_MS + DAY_MS].map((ms) =>
      new Date(ms).toISOString().slice(0, 10),
    )
    expect(await read.lines(ALL, ['day', 'coin', 'network'])).toEqual([
      {
        of: { day, coin: 'BTC', network: NETWORK },
        ...{ state: 'settled', payments: 5, amount: 125_000n },
        fee: FEE + FEE / 2n + FEE / 3n,
        unknownFees: 1,
      },
      {
        of: { day: next, coin: '', network: NETWORK },
        ...{ state: 'settling', payments: 1, amount: 25_000n, fee: 0n, unknownFees: 0 },
      },
    ])
    expect(await read.lines({ sinceMs: NOW_MS + 1, untilMs: NOW_MS + DAY_MS })).toEqual([])
    expect(await read.costs(ALL)).toEqual([
      { day, network: NETWORK, purpose: 'channel', fee: 7n, transactions: 1 },
      { day, network: NETWORK, purpose: 'settlement', fee: 3n * FEE, transactions: 3 },
    ])
    const fees = new Map<string, bigint | null>()
    for await (const { nonce, fee } of read.payments(ALL)) fees.set(nonce, fee)
    expect(fees.get('0x2')).toBe(FEE / 2n)
    expect(fees.get('0x4')).toBeNull()
  })
})
