import Table from 'cli-table3'
import type { BookOptions } from '../config/ledger.ts'
import { isoInstant } from '../domain/instant.ts'
import type { ReportedPayment } from '../payment/ledger/ledger-books.ts'
import { isVoucher } from '../payment/ledger/ledger-books.ts'
import { writeBooksCsv } from './books-csv.ts'
import type { Screen } from './ledger.ts'
import { usdc } from './network-money.ts'
import { rangeOf, withBooks } from './open-books.ts'
import { systemClock } from './system-clock.ts'

/** A call that waits for its settlement in the ordinary way has its answer earlier. */
const ANSWERED_MS_MAX = 5_000
/** After the expiry of a payment; a service with a node has found its outcome by then. */
const ENDED_AFTER_MS = 600_000

const STATEMENT = [
  'A payment of scheme exact is a transfer that nobody can take back. perpscope has no key of the payee and sends no money.',
  'A refund of such a payment is a transfer that you make from the wallet of the payee to the payer of the row.',
  'The buyer gets its answer without paying again while it is stored: it repeats the call with the same payment.',
  'What is not spent of a payment channel belongs to its payer, who gets it back by the scheme itself.',
]

const columns = [
  ...(['begun_iso', 'network', 'payer', 'usdc', 'state', 'transaction', 'nonce'] as const),
  ...(['answer_until_iso', 'next'] as const),
]

type RefundRow = Readonly<Record<(typeof columns)[number], string>>

/** `perpscope ledger refunds`: paid calls whose answer may not have arrived, and what can be done for their buyers. */
export async function refunds(options: BookOptions, { write, hasColor }: Screen): Promise<void> {
  const rows = await withBooks(options, async (books) => {
    const found: RefundRow[] = []
    for await (const payment of books.payments(rangeOf(options)))
      if (mayLackAnswer(payment)) found.push(rowOf(payment, systemClock.nowMs()))
    return found
  })
  if (options.csv !== undefined) await writeBooksCsv(options.csv, columns, rows)
  write(options.json ? `${JSON.stringify({ statement: STATEMENT, rows }, null, 2)}\n` : text(rows))

  function text(all: readonly RefundRow[]): string {
    const statement = `${STATEMENT.join('\n')}\n`
    if (all.length === 0)
      return `${statement}no paid call without its answer is known in this period\n`
    const table = new Table({
      head: ['begun', 'network', 'payer', 'USDC', 'state', 'next'],
      colAligns: ['left', 'left', 'left', 'right', 'left', 'left'],
      colWidths: [null, null, null, null, null, 60],
      wordWrap: true,
      style: hasColor ? {} : { head: [], border: [] },
    })
    for (const { begun_iso, network, payer, usdc: sum, state, next } of all)
      table.push([begun_iso, network, payer, sum, state, next])
    return `${statement}${table.toString()}\n`
  }
}

/**
 * An answer of another finality than `confirmed` was sent before its settlement. The ledger stores `confirmed` for a
 * payment whose outcome was unknown, because its answer was not sent.
 */
function mayLackAnswer(payment: ReportedPayment): boolean {
  const { state, finality, begunMs, settledMs, isDelivered } = payment
  if (isDelivered || isVoucher(payment)) return false
  if (state === 'unknown' || state === 'settling') return true
  return (
    state === 'settled' &&
    finality === 'confirmed' &&
    settledMs !== null &&
    settledMs - begunMs > ANSWERED_MS_MAX
  )
}

function rowOf(payment: ReportedPayment, nowMs: number): RefundRow {
  const { begunMs, network, payer, amount, state, transaction, nonce, answerUntilMs } = payment
  return {
    ...{ begun_iso: isoInstant(begunMs), network, payer, usdc: usdc(amount), state, nonce },
    transaction: transaction ?? '',
    answer_until_iso: answerUntilMs === null ? '' : isoInstant(answerUntilMs),
    next: nextStep(payment, nowMs),
  }
}

function nextStep(
  { state, payer, amount, answerUntilMs, validBeforeMs }: ReportedPayment,
  nowMs: number,
): string {
  if (state !== 'settled' && nowMs > validBeforeMs + ENDED_AFTER_MS)
    return `The outcome is not known, and the payment has expired: nothing can charge it any more. If the service has no node to ask, "perpscope ledger reconcile" with one shows whether it was paid; if it was, send ${usdc(amount)} USDC to ${payer}.`
  if (state !== 'settled')
    return 'The outcome is not known yet, and a running service asks the chain for it. Send nothing back before it is settled.'
  return answerUntilMs !== null && answerUntilMs > nowMs
    ? `Paid after the call had ended. The buyer can fetch the answer until ${isoInstant(answerUntilMs)}; if it reports that it did not, send ${usdc(amount)} USDC to ${payer}.`
    : `Paid after the call had ended, and the answer is no longer stored. If the buyer reports that it has none, send ${usdc(amount)} USDC to ${payer}.`
}
