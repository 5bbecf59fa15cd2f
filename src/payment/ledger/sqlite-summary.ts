import type Database from 'better-sqlite3'
import type { BuyerLine, OpenLine, SalesSummary, SoldLine } from './sales-summary.ts'
import { ageColumn, LARGEST_BUYERS_MAX, sortedOpen } from './sales-summary.ts'

type Since = { readonly sinceMs: number }
type Row<Line extends { readonly amount: bigint }> = Omit<Line, 'amount' | 'payments'> & {
  readonly payments: bigint
  readonly amount: bigint
}

/** Reads sums through the indices of begin and of state, so that a long ledger costs no more than its window. */
export function sqliteSummary(
  db: Database.Database,
): (sinceMs: number, nowMs: number) => SalesSummary {
  const sold = db
    .prepare<[Since], Row<SoldLine>>(`
      SELECT date(begun_ms / 1000, 'unixepoch') AS day, route, network, count(*) AS payments,
          sum(amount) AS amount
        FROM payments INDEXED BY payments_begun
        WHERE begun_ms >= @sinceMs AND state = 'settled'
        GROUP BY day, route, network ORDER BY day, route, network`)
    .safeIntegers()
  const open = db
    .prepare<[Since & { readonly nowMs: number }], Row<OpenLine>>(`
      SELECT state, ${ageColumn('@nowMs')} AS age, count(*) AS payments, sum(amount) AS amount
        FROM payments INDEXED BY payments_state
        WHERE state IN ('settling', 'unknown', 'unconfirmed', 'lost')
          AND (state <> 'lost' OR begun_ms >= @sinceMs)
        GROUP BY state, age`)
    .safeIntegers()
  const largest = db
    .prepare<[Since], Row<BuyerLine> & { readonly buyers: bigint }>(`
      SELECT payer, count(*) AS payments, sum(amount) AS amount, count(*) OVER () AS buyers
        FROM payments INDEXED BY payments_begun
        WHERE begun_ms >= @sinceMs AND state = 'settled'
        GROUP BY payer ORDER BY sum(amount) DESC, payer LIMIT ${LARGEST_BUYERS_MAX}`)
    .safeIntegers()
  return (sinceMs, nowMs) => {
    const rows = largest.all({ sinceMs })
    return {
      sold: sold.all({ sinceMs }).map(counted),
      open: sortedOpen(open.all({ sinceMs, nowMs }).map(counted)),
      buyers: Number(rows[0]?.buyers ?? 0n),
      largest: rows.map(({ payer, payments, amount }) => counted({ payer, payments, amount })),
    }
  }
}

function counted<Line extends { readonly payments: bigint }>(
  line: Line,
): Omit<Line, 'payments'> & { readonly payments: number } {
  return { ...line, payments: Number(line.payments) }
}
