import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parse } from 'csv-parse/sync'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { BookOptions } from '../config/ledger.ts'
import { UsageError } from '../config/usage.ts'
import type { PaymentState } from '../payment/ledger/ledger.ts'
import { SqliteLedger } from '../payment/ledger/sqlite-ledger.ts'
import { ledgerEntry } from '../payment/testing/ledger-entry.ts'
import { ledger } from './ledger.ts'
import { refunds } from './ledger-refunds.ts'

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

type Sale = {
  readonly analysis: string
  readonly amount: bigint
  readonly state?: Exclude<PaymentState, 'settling'>
  readonly atMs?: number
  readonly settledMs?: number
  readonly network?: `${string}:${string}`
  readonly payer?: string
  /** null for an analysis of the whole market. */
  readonly coin?: string | null
  readonly transaction?: string
}

function book(sale: Sale): void {
  const { analysis, amount, state = 'settled', atMs = MONDAY_MS, coin = 'BTC' } = sale
  const { network = 'eip155:8453', payer = '0xB', transaction = '0xabc' } = sale
  payments += 1
  const entry = ledgerEntry(`0x${payments}`)
  const key = { network, asset: '0xA', payer, nonce: `0x${payments}` }
  const route = coin === null ? `/${analysis}` : `/${analysis}/:coin`
  const binding = JSON.stringify(['GET', route, JSON.stringify([analysis, coin ?? '', '', ''])])
  const of = { key, route, binding, amount, validBeforeSeconds: atMs / 1_000 + 120 }
  void db.begin({ ...entry, ...of }, atMs)
  const settled = state === 'settled' ? transaction : null
  void db.move(key, state, settled, sale.settledMs ?? atMs)
}

async function print(options: Partial<BookOptions>) {
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
    book({ analysis: 'pulse', amount: 20_000n, state: 'settled', atMs: MONDAY_MS })
    book({ analysis: 'pulse', amount: 20_000n, state: 'settled', atMs: MONDAY_MS + DAY_MS - 1 })
    book({ analysis: 'pulse', amount: 20_000n, state: 'unknown', atMs: MONDAY_MS })
    book({ analysis: 'pulse', amount: 20_000n, state: 'settled', atMs: MONDAY_MS + DAY_MS })
    book({
      analysis: 'funding',
      amount: 10_001n,
      state: 'settled',
      atMs: MONDAY_MS,
      network: 'solana:x',
    })
    book({ analysis: 'funding', amount: 10_000n, state: 'lost', atMs: MONDAY_MS })
    const { lines, settled, open, lost } = JSON.parse(await print({ json: true }))
    const line = (day: string, analysis: string, network: string, state: string) => ({
      ...{ day, analysis, network, state },
    })
    expect(lines).toMatchObject([
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
    for (const day of [0, 1, 2])
      book({ analysis: 'oi', amount: 10_000n, state: 'settled', atMs: MONDAY_MS + day * DAY_MS })
    const range = { since: MONDAY_MS + DAY_MS, until: MONDAY_MS + 2 * DAY_MS }
    const { lines } = JSON.parse(await print({ ...range, json: true }))
    expect(lines).toMatchObject([{ day: '2026-01-06', payments: 1 }])
  })

  test.each([0, 1])('of a period that ends %d ms before it begins are refused', async (by) => {
    const refused = print({ since: MONDAY_MS, until: MONDAY_MS - by })
    await expect(refused).rejects.toThrow(new UsageError('--since must be before --until'))
  })

  test('are a table for people', async () => {
    book({ analysis: 'pulse', amount: 1_250_000n, state: 'settled', atMs: MONDAY_MS })
    const text = await print({})
    expect(text).toMatch(/2026-01-05 │ pulse\s+│ eip155:8453 │ settled │\s+1 │ 1\.250000 │/)
    expect(text).toContain('settled: 1 for 1.250000 USDC')
  })

  test('say so when nothing was sold', async () => {
    expect(await print({})).toBe('no sales in this period\n')
  })

  test('are exported payment by payment', async () => {
    book({ analysis: 'pulse', amount: 20_000n, state: 'settled', atMs: MONDAY_MS })
    book({ analysis: 'oi', amount: 10_000n, state: 'released', atMs: MONDAY_MS + 1 })
    const csv = join(dataDir, 'books.csv')
    await print({ csv })
    const [head, first, second] = readFileSync(csv, 'utf8').trim().split('\r\n')
    expect(head).toBe(
      'begun_iso,analysis,usdc,network,asset,payer,nonce,finality,state,transaction,coin,settled_iso,fee,fee_unit',
    )
    expect(first).toMatch(
      /^2026-01-05T00:00:00.*,pulse,0\.020000,eip155:8453,.*,settled,0xabc,BTC,2026-01-05T00:00:00\.000Z,,$/,
    )
    expect(second).toMatch(/,oi,0\.010000,.*,released,,BTC,,,$/)
  })

  test('never become a formula of a spreadsheet, and stay one row for each payment', async () => {
    const hostile = ['=cmd|1!A0', '+1', '-1', '@a', '\t=1', '\r=1', 'a,"b"\r\nc']
    for (const payer of hostile) book({ analysis: 'oi', amount: 1n, payer })
    const csv = join(dataDir, 'books.csv')
    await print({ csv })
    const rows = parse(readFileSync(csv), { columns: true }) as { readonly payer: string }[]
    expect(rows.map(({ payer }) => payer)).toEqual([
      ...hostile.slice(0, -1).map((payer) => `'${payer}`),
      hostile.at(-1),
    ])
  })

  test('sum up by payer and coin, with what the fees are', async () => {
    book({ analysis: 'pulse', amount: 20_000n, payer: '0x1', coin: 'BTC', transaction: '0xt' })
    book({ analysis: 'spread', amount: 10_000n, payer: '0x1', coin: 'ETH', transaction: '0xt' })
    book({ analysis: 'screener', amount: 5n, payer: '0x2', coin: null })
    const network = 'eip155:8453'
    const cost = { network, purpose: 'settlement', payments: 2, transaction: '0xt' } as const
    db.costs.record({ ...cost, fee: 1_000_000_000_000_001n }, MONDAY_MS)
    db.costs.record({ ...cost, fee: 1n }, MONDAY_MS)
    const claim = { network, purpose: 'channel', payments: 0, transaction: '0xc' } as const
    db.costs.record({ ...claim, fee: 9n * 10n ** 18n }, MONDAY_MS)
    const found = JSON.parse(
      await print({ json: true, by: ['network', 'payer', 'coin'], ethUsd: 2_000_000_000n }),
    )
    const fees = { unit: 'ETH', unknown_fees: 0, fee: '0.000500000000000000' }
    expect(found.lines).toEqual([
      { ...line('0x1', 'BTC'), payments: 1, usdc: '0.020000', ...fees },
      { ...line('0x1', 'ETH'), payments: 1, usdc: '0.010000', ...fees },
      {
        ...{ ...line('0x2', ''), payments: 1, usdc: '0.000005', unit: 'ETH', unknown_fees: 1 },
        fee: '0.000000000000000000',
      },
    ])
    expect(found.costs).toEqual([
      { ...day('channel'), transactions: 1, fee: '9.000000000000000000' },
      { ...day('settlement'), transactions: 1, fee: '0.001000000000000001' },
    ])
    expect(found.net).toEqual([
      {
        ...{ network, settled_usdc: '0.030005', fees: '9.001000000000000001', unit: 'ETH' },
        ...{ unknown_fees: 1, net_usdc: '-18001.969996' },
      },
    ])
    expect(await print({ by: ['coin'] })).toContain('give --eth-usd for the net sum')

    function line(payer: string, coin: string) {
      return { network, payer, coin, state: 'settled' }
    }
    function day(purpose: string) {
      return { day: '2026-01-05', network, purpose, unit: 'ETH' }
    }
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

describe('the statement of refunds', () => {
  test('does not promise an outcome for a payment that has expired without one', async () => {
    book({ analysis: 'pulse', amount: 20_002n, atMs: MONDAY_MS, state: 'unknown', payer: '0x2' })
    const next = expect.stringMatching(
      /nothing can charge it any more.*"perpscope ledger reconcile".* send 0\.020002 USDC to 0x2/,
    )
    expect(await statement()).toMatchObject([{ payer: '0x2', state: 'unknown', next }])
  })

  async function statement(): Promise<readonly Record<string, string>[]> {
    let text = ''
    const write = (piece: string) => {
      text += piece
    }
    await refunds({ dataDir, json: true }, { write, hasColor: false })
    return (JSON.parse(text) as { rows: Record<string, string>[] }).rows
  }

  test('lists what was settled after its call had ended, and what is open', async () => {
    const nowMs = Date.now()
    book({ analysis: 'pulse', amount: 20_000n, atMs: nowMs, settledMs: nowMs + 1_000 })
    book({
      analysis: 'pulse',
      amount: 20_001n,
      atMs: nowMs,
      settledMs: nowMs + 30_000,
      payer: '0x1',
    })
    book({ analysis: 'pulse', amount: 20_002n, atMs: nowMs, state: 'unknown', payer: '0x2' })
    book({
      analysis: 'pulse',
      amount: 20_003n,
      atMs: MONDAY_MS,
      settledMs: MONDAY_MS + 9_000,
      payer: '0x3',
    })
    book({ analysis: 'pulse', amount: 20_004n, atMs: nowMs, state: 'lost' })
    book({ analysis: 'pulse', amount: 20_005n, atMs: nowMs, state: 'released' })
    await db.sweep(nowMs, 100)
    expect(await statement()).toMatchObject([
      {
        payer: '0x3',
        next: expect.stringMatching(/no longer stored.* send 0\.020003 USDC to 0x3/),
      },
      { payer: '0x1', next: expect.stringMatching(/can fetch the answer until .*0\.020001 USDC/) },
      { payer: '0x2', next: expect.stringContaining('Send nothing back before it is settled') },
    ])
  })

  test('leaves out an answer that has arrived', async () => {
    const nowMs = Date.now()
    book({ analysis: 'pulse', amount: 1n, atMs: nowMs, settledMs: nowMs + 30_000 })
    await db.admitCaller(
      { network: 'eip155:8453', asset: '0xA', payer: '0xB', nonce: `0x${payments}` },
      0,
    )
    expect(await statement()).toEqual([])
  })
})
