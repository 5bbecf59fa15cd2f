import Table from 'cli-table3'
import type { BookOptions } from '../config/ledger.ts'
import { isoInstant } from '../domain/instant.ts'
import type {
  CostLine,
  LedgerBooks,
  ReportedPayment,
  ReportLine,
} from '../payment/ledger/ledger-books.ts'
import { dimensionsByDefault } from '../payment/ledger/ledger-books.ts'
import { writeBooksCsv } from './books-csv.ts'
import { netOf } from './net-revenue.ts'
import { feeDecimal, feeUnit, usdc } from './network-money.ts'
import { rangeOf, withBooks } from './open-books.ts'

/** Where a command of an operator writes. */
export type Screen = { readonly write: (text: string) => void; readonly hasColor: boolean }

/** `perpscope ledger`: sales, the state of their payments and the fees, by the chosen dimensions. */
export async function ledger(options: BookOptions, { write, hasColor }: Screen): Promise<void> {
  const range = rangeOf(options)
  const by = options.by ?? dimensionsByDefault
  await withBooks(options, async (books) => {
    if (options.csv !== undefined)
      await writeBooksCsv(options.csv, paymentColumns, rowsOf(books.payments(range)))
    const lines = await books.lines(range, by)
    const byNetwork = await books.lines(range, ['network'])
    const found = report(lines, byNetwork, await books.costs(range), options)
    write(options.json ? `${JSON.stringify(found, null, 2)}\n` : table(found, [...by], hasColor))
  })
}

function report(
  lines: readonly ReportLine[],
  byNetwork: readonly ReportLine[],
  costs: readonly CostLine[],
  options: BookOptions,
) {
  return {
    lines: lines.map((line) => ({
      ...line.of,
      state: line.state,
      payments: line.payments,
      usdc: usdc(line.amount),
      ...feesOf(line),
    })),
    settled: totals(byNetwork, ({ state }) => state === 'settled'),
    open: totals(byNetwork, ({ state }) => /^(settling|unknown|unconfirmed)$/.test(state)),
    lost: totals(byNetwork, ({ state }) => state === 'lost'),
    costs: costs.map(({ fee, ...line }) => ({
      ...line,
      fee: feeDecimal(line.network, fee),
      unit: feeUnit(line.network),
    })),
    net: netOf(byNetwork, costs, options),
  }
}

/** The units of networks differ, so a line of several networks has none. */
function feesOf({ of: { network }, state, fee, unknownFees }: ReportLine) {
  if (network === undefined || state !== 'settled') return {}
  return { fee: feeDecimal(network, fee), unit: feeUnit(network), unknown_fees: unknownFees }
}

function table(
  { lines, settled, open, lost, net }: ReturnType<typeof report>,
  by: readonly (keyof ReportLine['of'])[],
  hasColor: boolean,
): string {
  // Anchors and failed settlements cost gas without a sale.
  if (lines.length === 0) return ['no sales in this period', ...net.map(netText), ''].join('\n')
  const names = by.map((name) => (name === 'day' ? 'day (UTC)' : name))
  const rows = new Table({
    head: [...names, 'state', 'payments', 'USDC', 'fees'],
    colAligns: [...names.map(() => 'left' as const), 'left', 'right', 'right', 'right'],
    style: hasColor ? {} : { head: [], border: [] },
  })
  for (const line of lines) {
    const { state, payments, usdc: sum } = line
    const fees = 'fee' in line ? `${line.fee} ${line.unit}` : ''
    rows.push([...by.map((name) => line[name] ?? ''), state, payments, sum, fees])
  }
  const sums = Object.entries({ settled, open, lost })
    .map(([name, { payments, usdc: sum }]) => `${name}: ${payments} for ${sum} USDC`)
    .join('; ')
  return `${[rows.toString(), sums, ...net.map(netText)].join('\n')}\n`
}

function netText(net: ReturnType<typeof netOf>[number]): string {
  const fees = `${net.network}: ${net.settled_usdc} USDC settled, fees ${net.fees} ${net.unit}`
  const unknown =
    net.unknown_fees === 0
      ? ''
      : ` (unknown for ${net.unknown_fees} payments: a facilitator settled them, or an earlier version did)`
  const result =
    net.net_usdc === null
      ? `; give --${net.unit.toLowerCase()}-usd for the net sum`
      : `, net ${net.net_usdc} USDC`
  return fees + unknown + result
}

const paymentColumns = [
  ...(['begun_iso', 'analysis', 'usdc', 'network', 'asset', 'payer', 'nonce'] as const),
  ...(['finality', 'state', 'transaction', 'coin', 'settled_iso', 'fee', 'fee_unit'] as const),
]

async function* rowsOf(payments: ReturnType<LedgerBooks['payments']>) {
  for await (const payment of payments) yield csvRow(payment)
}

function csvRow(payment: ReportedPayment) {
  const { network, asset, payer, nonce, finality, state, transaction, analysis, coin } = payment
  return {
    begun_iso: isoInstant(payment.begunMs),
    ...{ analysis, usdc: usdc(payment.amount), network, asset, payer, nonce, finality, state },
    ...{ transaction, coin },
    settled_iso: payment.settledMs === null ? '' : isoInstant(payment.settledMs),
    fee: payment.fee === null ? '' : feeDecimal(network, payment.fee),
    fee_unit: payment.fee === null ? '' : feeUnit(network),
  }
}

function totals(lines: readonly ReportLine[], counts: (line: ReportLine) => boolean) {
  const counted = lines.filter(counts)
  return {
    payments: counted.reduce((sum, { payments }) => sum + payments, 0),
    usdc: usdc(counted.reduce((sum, { amount }) => sum + amount, 0n)),
  }
}
