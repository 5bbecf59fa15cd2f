import { createWriteStream } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import Table from 'cli-table3'
import { stringify } from 'csv-stringify'
import type { LedgerOptions } from '../config/ledger.ts'
import { isoInstant } from '../domain/instant.ts'
import type { ReportedPayment, ReportLine, ReportRange } from '../payment/ledger/ledger-report.ts'
import { LedgerReport } from '../payment/ledger/ledger-report.ts'
import { PostgresReport } from '../payment/ledger/postgres-report.ts'
import { connectLedger } from './connect-ledger.ts'
import { loadSqlite } from './sqlite-binding.ts'

type Totals = { readonly payments: number; readonly usdc: string }

/** `perpscope ledger`: sales and the state of their payments, by day, analysis, network and state. */
export async function ledger(
  options: LedgerOptions,
  { write, hasColor }: { readonly write: (text: string) => void; readonly hasColor: boolean },
): Promise<void> {
  const range = {
    sinceMs: options.since ?? 0,
    untilMs: options.until ?? Number.MAX_SAFE_INTEGER,
  }
  const books = await openReport(options)
  try {
    if (options.csv !== undefined) await exported(books.payments(range), options.csv)
    const lines = await books.lines(range)
    write(options.json ? `${JSON.stringify(report(lines), null, 2)}\n` : table(lines, hasColor))
  } finally {
    await books.close()
  }
}

/** The same report of either store. */
type Books = {
  lines(range: ReportRange): Promise<readonly ReportLine[]> | readonly ReportLine[]
  payments(range: ReportRange): AsyncIterable<ReportedPayment> | Iterable<ReportedPayment>
  close(): Promise<void> | void
}

async function openReport({ ledger: url, dataDir }: LedgerOptions): Promise<Books> {
  if (url === undefined) {
    loadSqlite()
    return new LedgerReport(join(dataDir, 'ledger.db'))
  }
  const db = connectLedger(url)
  try {
    const books = await PostgresReport.open(db)
    return {
      lines: (range) => books.lines(range),
      payments: (range) => books.payments(range),
      close: () => db.close(),
    }
  } catch (cause) {
    await db.close()
    throw cause
  }
}

function report(lines: readonly ReportLine[]) {
  return {
    lines: lines.map(({ day, route, network, state, payments, amountAtomic }) => ({
      day,
      analysis: analysisOf(route),
      network,
      state,
      payments,
      usdc: usdc(amountAtomic),
    })),
    settled: totals(lines, ({ state }) => state === 'settled'),
    open: totals(lines, ({ state }) => /^(settling|unknown|unconfirmed)$/.test(state)),
    lost: totals(lines, ({ state }) => state === 'lost'),
  }
}

function table(lines: readonly ReportLine[], hasColor: boolean): string {
  if (lines.length === 0) return 'no sales in this period\n'
  const rows = new Table({
    head: ['day (UTC)', 'analysis', 'network', 'state', 'payments', 'USDC'],
    colAligns: ['left', 'left', 'left', 'left', 'right', 'right'],
    style: hasColor ? {} : { head: [], border: [] },
  })
  for (const { day, analysis, network, state, payments, usdc: sum } of report(lines).lines)
    rows.push([day, analysis, network, state, payments, sum])
  const { settled, open, lost } = report(lines)
  const sums = Object.entries({ settled, open, lost })
    .map(([name, { payments, usdc: sum }]) => `${name}: ${payments} for ${sum} USDC`)
    .join('; ')
  return `${rows.toString()}\n${sums}\n`
}

async function exported(payments: ReturnType<Books['payments']>, path: string): Promise<void> {
  await pipeline(
    Readable.from(rowsOf(payments)),
    stringify({ header: true }),
    createWriteStream(path),
  )
}

async function* rowsOf(payments: ReturnType<Books['payments']>) {
  for await (const { begunMs, route, amountAtomic, ...payment } of payments)
    yield {
      begun_iso: isoInstant(begunMs),
      analysis: analysisOf(route),
      usdc: usdc(amountAtomic),
      ...payment,
    }
}

function totals(lines: readonly ReportLine[], counts: (line: ReportLine) => boolean): Totals {
  const counted = lines.filter(counts)
  return {
    payments: counted.reduce((sum, { payments }) => sum + payments, 0),
    usdc: usdc(counted.reduce((sum, { amountAtomic }) => sum + amountAtomic, 0)),
  }
}

/** The analysis of a route, such as `pulse` of `/pulse/:coin`. */
function analysisOf(route: string): string {
  return route.split('/')[1] ?? route
}

/** Exact: an amount is a whole number of millionths. */
function usdc(atomic: number): string {
  const digits = String(atomic).padStart(7, '0')
  return `${digits.slice(0, -6)}.${digits.slice(-6)}`
}
