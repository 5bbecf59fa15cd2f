import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Entry, PaymentState } from '../payment/ledger/ledger.ts'
import { SqliteLedger } from '../payment/ledger/sqlite-ledger.ts'
import { ledger } from './ledger.ts'

const DAY_MS = 86_400_000
const MONDAY_MS = Date.UTC(2026, 0, 5)

let dataDir: string
let db: SqliteLedger

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'perpscope-books-'))
  db = new SqliteLedger(join(dataDir, 'ledger.db'))
})

afterEach(async () => {
  await db.close()
  rmSync(dataDir, { recursive: true })
})

let payments = 0

function book(
  analysis: string,
  amount: bigint,
  state: Exclude<PaymentState, 'settling'>,
  atMs: number,
  network: `${string}:${string}` = 'eip155:8453',
): void {
  payments += 1
  const key = { network, asset: '0xA', payer: '0xB', nonce: `0x${payments}` }
  const accepted: Entry['wire']['accepted'] = {
    scheme: 'exact',
    network,
    asset: '0xA',
    amount: String(amount),
    payTo: '0xC',
    maxTimeoutSeconds: 120,
    extra: {},
  }
  void db.begin(
    {
      key,
      route: `/${analysis}/:coin`,
      binding: '',
      payloadHash: '',
      identifier: null,
      access: { secrets: [], caller: '', callerUntilMs: 0 },
      amount,
      finality: 'confirmed',
      exposure: { payerMax: 0n, totalMax: 0n },
      validBeforeSeconds: atMs / 1_000 + 120,
      wire: { x402Version: 2, accepted, payload: {} },
      answer: { status: 200, headers: {}, body: Buffer.from('x') },
    },
    atMs,
  )
  void db.move(key, state, state === 'settled' ? '0xabc' : null, atMs)
}

async function print(options: { since?: number; until?: number; csv?: string; json?: true }) {
  let text = ''
  await ledger(
    { dataDir, ...options },
    {
      write: (piece) => {
        text += piece
      },
      hasColor: false,
    },
  )
  return text
}

describe('the books', () => {
  test('sum up by day, analysis, network and state, while the service writes them', async () => {
    book('pulse', 20_000n, 'settled', MONDAY_MS)
    book('pulse', 20_000n, 'settled', MONDAY_MS + DAY_MS - 1)
    book('pulse', 20_000n, 'unknown', MONDAY_MS)
    book('pulse', 20_000n, 'settled', MONDAY_MS + DAY_MS)
    book('funding', 10_001n, 'settled', MONDAY_MS, 'solana:x')
    book('funding', 10_000n, 'lost', MONDAY_MS)
    const { lines, settled, open, lost } = JSON.parse(await print({ json: true }))
    const line = (day: string, analysis: string, network: string, state: string) => ({
      ...{ day, analysis, network, state },
    })
    expect(lines).toEqual([
      { ...line('2026-01-05', 'funding', 'eip155:8453', 'lost'), payments: 1, usdc: '0.010000' },
      { ...line('2026-01-05', 'funding', 'solana:x', 'settled'), payments: 1, usdc: '0.010001' },
      { ...line('2026-01-05', 'pulse', 'eip155:8453', 'settled'), payments: 2, usdc: '0.040000' },
      { ...line('2026-01-05', 'pulse', 'eip155:8453', 'unknown'), payments: 1, usdc: '0.020000' },
      { ...line('2026-01-06', 'pulse', 'eip155:8453', 'settled'), payments: 1, usdc: '0.020000' },
    ])
    expect({ settled, open, lost }).toEqual({
      settled: { payments: 4, usdc: '0.070001' },
      open: { payments: 1, usdc: '0.020000' },
      lost: { payments: 1, usdc: '0.010000' },
    })
  })

  test('can be cut to a time', async () => {
    for (const day of [0, 1, 2]) book('oi', 10_000n, 'settled', MONDAY_MS + day * DAY_MS)
    const range = { since: MONDAY_MS + DAY_MS, until: MONDAY_MS + 2 * DAY_MS }
    const { lines } = JSON.parse(await print({ ...range, json: true }))
    expect(lines).toMatchObject([{ day: '2026-01-06', payments: 1 }])
  })

  test('are a table for people', async () => {
    book('pulse', 1_250_000n, 'settled', MONDAY_MS)
    const text = await print({})
    expect(text).toMatch(/2026-01-05 │ pulse\s+│ eip155:8453 │ settled │\s+1 │ 1\.250000 │/)
    expect(text).toContain('settled: 1 for 1.250000 USDC')
  })

  test('say so when nothing was sold', async () => {
    expect(await print({})).toBe('no sales in this period\n')
  })

  test('are exported payment by payment', async () => {
    book('pulse', 20_000n, 'settled', MONDAY_MS)
    book('oi', 10_000n, 'released', MONDAY_MS + 1)
    const csv = join(dataDir, 'books.csv')
    await print({ csv })
    const [head, first, second] = readFileSync(csv, 'utf8').trim().split('\n')
    expect(head).toBe(
      'begun_iso,analysis,usdc,network,asset,payer,nonce,finality,state,transaction',
    )
    expect(first).toMatch(/^2026-01-05T00:00:00.*,pulse,0\.020000,eip155:8453,.*,settled,0xabc$/)
    expect(second).toMatch(/,oi,0\.010000,.*,released,$/)
  })

  test('in an empty file are said to be none, and what to do', async () => {
    const empty = mkdtempSync(join(tmpdir(), 'perpscope-books-'))
    writeFileSync(join(empty, 'ledger.db'), '')
    await expect(ledger({ dataDir: empty }, { write: () => {}, hasColor: false })).rejects.toThrow(
      /is not a ledger: it has no tables \(0 bytes\).*perpscope restore/,
    )
    rmSync(empty, { recursive: true })
  })

  test('that do not exist are named', async () => {
    await expect(
      ledger({ dataDir: '/nowhere' }, { write: () => {}, hasColor: false }),
    ).rejects.toThrow('there is no payment ledger at /nowhere/ledger.db')
  })
})

test('a ledger that cannot be examined is not called absent', async () => {
  symlinkSync('loop', join(dataDir, 'loop'))
  const print = () =>
    ledger({ dataDir: join(dataDir, 'loop') }, { write: () => {}, hasColor: false })
  await expect(print()).rejects.toMatchObject({ code: 'ledger_unusable', cause: { code: 'ELOOP' } })
})
