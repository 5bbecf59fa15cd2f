import type Database from 'better-sqlite3'
import type { BuyerLine, OpenLine, SalesSummary, SoldLine } from './sales-summary.ts'
import { ageColumn, LARGEST_BUYERS_MAX, sortedOpen } from './sales-summary.ts'

const DAY_MS = 86_400_000

type Day = { readonly fromMs: number; readonly toMs: number }
type Row<Line extends { readonly amount: bigint }> = Omit<Line, 'payments'> & {
  readonly payments: bigint
}

/**
 * Sums one day at a time through the index `payments_begun` and yields between queries, because SQLite blocks the
 * gateway while it reads.
 * @param pause resolves after the waiting tasks
 */
export function sqliteSummary(
  db: Database.Database,
  pause: () => Promise<void>,
): (sinceMs: number, nowMs: number) => Promise<SalesSummary> {
  const { sold, bought, open } = statementsOf(db)
  return async (sinceMs, nowMs) => {
    const lines: SoldLine[] = []
    const buyers = new Map<string, BuyerLine>()
    for (let fromMs = sinceMs; fromMs <= nowMs; ) {
      const toMs = (Math.floor(fromMs / DAY_MS) + 1) * DAY_MS
      // The last day has no end: the clock of another process may be ahead.
      const day = { fromMs, toMs: toMs > nowMs ? Number.MAX_SAFE_INTEGER : toMs }
      for (const line of sold.all(day)) lines.push(lineOf(line))
      await pause()
      for (const row of bought.iterate(day)) add(buyers, lineOf(row))
      await pause()
      fromMs = toMs
    }
    const largest = [...buyers.values()].sort(byAmount)
    return {
      sold: lines,
      open: sortedOpen(open.all({ sinceMs, nowMs }).map(lineOf)),
      buyers: buyers.size,
      largest: largest.slice(0, LARGEST_BUYERS_MAX),
    }
  }
}

function statementsOf(db: Database.Database) {
  return {
    sold: db
      .prepare<[Day], Row<SoldLine>>(`
        SELECT date(begun_ms / 1000, 'unixepoch') AS day, route, network, count(*) AS payments,
            sum(amount) AS amount
          FROM payments INDEXED BY payments_begun
          WHERE begun_ms >= @fromMs AND begun_ms < @toMs AND state = 'settled'
          GROUP BY day, route, network ORDER BY day, route, network`)
      .safeIntegers(),
    bought: db
      .prepare<[Day], Row<BuyerLine>>(`
        SELECT payer, count(*) AS payments, sum(amount) AS amount
          FROM payments INDEXED BY payments_begun
          WHERE begun_ms >= @fromMs AND begun_ms < @toMs AND state = 'settled' GROUP BY payer`)
      .safeIntegers(),
    open: db
      .prepare<[{ readonly sinceMs: number; readonly nowMs: number }], Row<OpenLine>>(`
        SELECT state, ${ageColumn('@nowMs')} AS age, count(*) AS payments, sum(amount) AS amount
          FROM payments INDEXED BY payments_state
          WHERE state IN ('settling', 'unknown', 'unconfirmed', 'lost')
            AND (state <> 'lost' OR begun_ms >= @sinceMs)
          GROUP BY state, age`)
      .safeIntegers(),
  }
}

function add(buyers: Map<string, BuyerLine>, { payer, payments, amount }: BuyerLine): void {
  const before = buyers.get(payer)
  buyers.set(payer, {
    payer,
    payments: payments + (before?.payments ?? 0),
    amount: amount + (before?.amount ?? 0n),
  })
}

/** Largest first, then by payer. */
function byAmount(a: BuyerLine, b: BuyerLine): number {
  if (a.amount !== b.amount) return a.amount > b.amount ? -1 : 1
  return a.payer < b.payer ? -1 : 1
}

function lineOf<Line extends { readonly payments: bigint }>(
  line: Line,
): Omit<Line, 'payments'> & { readonly payments: number } {
  return { ...line, payments: Number(line.payments) }
}
