/**
 * Disk that sales take, and the pauses of the gateway thread while old ones are removed in slices.
 * `tsx bench/retention.ts`; `--quick` with fewer sales checks only that everything is removed.
 */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { parseArgs } from 'node:util'
import Database from 'better-sqlite3'
import { SqliteLedger } from '../src/payment/ledger/sqlite-ledger.ts'
import { ledgerEntry, NOW_MS } from '../src/payment/testing/ledger-entry.ts'

const { values: given } = parseArgs({ options: { quick: { type: 'boolean', default: false } } })
const SALES = given.quick ? 2_000 : 50_000
/** Compressed answers of `/pulse` are this long. */
const ANSWER_BYTES = 3_000
/** As in the service. */
const SLICE_ROWS = 64
const WRITTEN_TOGETHER = 500
const DAY_MS = 86_400_000

const folder = mkdtempSync(join(tmpdir(), 'perpscope-retention-'))
const path = join(folder, 'ledger.db')
try {
  const retention = { answersMs: 600_000, paymentsMs: 30 * DAY_MS }
  const ledger = new SqliteLedger(path, (task) => setImmediate(task), retention)
  const answer = { status: 200, headers: {}, body: Buffer.alloc(ANSWER_BYTES, 1) }
  const empty = bytesUsed()
  for (let at = 0; at < SALES; at += WRITTEN_TOGETHER) {
    const entries = Array.from({ length: WRITTEN_TOGETHER }, (_, index) => ({
      ...ledgerEntry(`0x${(at + index).toString(16).padStart(64, '0')}`),
      answer,
    }))
    await Promise.all(entries.map((entry) => ledger.begin(entry, NOW_MS)))
    for (const { key } of entries) {
      const transaction = key.nonce
      await ledger.move(key, 'settled', transaction, NOW_MS)
      const cost = { network: key.network, purpose: 'settlement', payments: 1 } as const
      ledger.costs.record({ ...cost, transaction, fee: 1n }, NOW_MS)
    }
  }
  const full = bytesUsed() - empty
  const answers = await swept(ledger, NOW_MS + DAY_MS)
  const rows = bytesUsed() - empty
  const payments = await swept(ledger, NOW_MS + 31 * DAY_MS)
  assert.equal((await ledger.counts()).settled, 0)
  await ledger.close()
  console.log(
    `${SALES} sales: ${(full / SALES).toFixed(0)} bytes of disk each with an answer of ${ANSWER_BYTES}, ` +
      `${(rows / SALES).toFixed(0)} without`,
  )
  console.log(`removing answers, ${SLICE_ROWS} at once: ${answers}`)
  console.log(`removing payments, ${SLICE_ROWS} at once: ${payments}`)
} finally {
  rmSync(folder, { recursive: true })
}

/** Pages in use; SQLite fills the free ones first. */
function bytesUsed(): number {
  const db = new Database(path, { readonly: true })
  const [size, pages, free] = ['page_size', 'page_count', 'freelist_count'].map((name) =>
    Number(db.pragma(name, { simple: true })),
  )
  db.close()
  return (size ?? 0) * ((pages ?? 0) - (free ?? 0))
}

/** @returns the durations of the slices, each of which blocks the thread */
async function swept(ledger: SqliteLedger, nowMs: number): Promise<string> {
  const tookMs: number[] = []
  for (;;) {
    const startedMs = performance.now()
    const removed = await ledger.sweep(nowMs, SLICE_ROWS)
    tookMs.push(performance.now() - startedMs)
    if (removed < SLICE_ROWS) break
    await new Promise<void>((resolve) => setImmediate(resolve))
  }
  tookMs.sort((one, other) => one - other)
  const at = (share: number) => tookMs[Math.floor(share * (tookMs.length - 1))]?.toFixed(1)
  return `${tookMs.length} slices, p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, longest ${at(1)} ms`
}
