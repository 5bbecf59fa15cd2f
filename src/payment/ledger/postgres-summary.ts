import type { SqlQuery } from './postgres.ts'
import type { BuyerLine, OpenLine, SalesSummary, SoldLine } from './sales-summary.ts'
import { ageColumn, LARGEST_BUYERS_MAX, sortedOpen } from './sales-summary.ts'

/** Sums of the ledger in PostgreSQL, through the indices of begin and of state. */
export async function postgresSummary(
  query: SqlQuery,
  sinceMs: number,
  nowMs: number,
): Promise<SalesSummary> {
  const sold = await query<SoldLine>(
    `SELECT to_char(to_timestamp(begun_ms / 1000.0) AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS day,
         route COLLATE "C" AS route, network COLLATE "C" AS network,
         count(*)::float8 AS payments, sum(amount)::int8 AS amount
       FROM perpscope.payments WHERE begun_ms >= $1::int8 AND state = 'settled'
       GROUP BY 1, 2, 3 ORDER BY 1, 2, 3`,
    [sinceMs],
  )
  const open = await query<OpenLine>(
    `SELECT state, ${ageColumn('$2::int8')} AS age, count(*)::float8 AS payments,
         sum(amount)::int8 AS amount
       FROM perpscope.payments
       WHERE state IN ('settling', 'unknown', 'unconfirmed', 'lost')
         AND (state <> 'lost' OR begun_ms >= $1::int8)
       GROUP BY 1, 2`,
    [sinceMs, nowMs],
  )
  const largest = await query<BuyerLine & { readonly buyers: number }>(
    `SELECT payer COLLATE "C" AS payer, count(*)::float8 AS payments, sum(amount)::int8 AS amount,
         (count(*) OVER ())::float8 AS buyers
       FROM perpscope.payments WHERE begun_ms >= $1::int8 AND state = 'settled'
       GROUP BY 1 ORDER BY 3 DESC, 1 LIMIT ${LARGEST_BUYERS_MAX}`,
    [sinceMs],
  )
  return {
    sold,
    open: sortedOpen(open),
    buyers: largest[0]?.buyers ?? 0,
    largest: largest.map(({ payer, payments, amount }) => ({ payer, payments, amount })),
  }
}
