import type { SalesFigures } from '../../../domain/desk-reports.ts'
import { count } from '../../components/format.ts'
import { numbers, Table, words } from '../../components/table.tsx'
import { networkName } from '../../wallet/networks.ts'
import { sumOf, usdc } from '../desk/amounts.ts'
import { Part } from '../desk/part.tsx'

const DAYS = 7
const DAY_MS = 86_400_000

type Earnings = SalesFigures['earnings']
type EarningsProps = Pick<SalesFigures, 'earnings' | 'sinceMs'>

/** Earnings by day, and by analysis and network. */
export function EarningsPart({ earnings, sinceMs }: EarningsProps) {
  return (
    <>
      <Part title="Earnings by day" note="Settled payments by the UTC day of their sale, in USDC.">
        <ByDay earnings={earnings} sinceMs={sinceMs} />
      </Part>
      <Part title="Earnings by analysis and network" note="All seven days, in USDC.">
        <ByAnalysis earnings={earnings} />
      </Part>
    </>
  )
}

/** The newest day first. */
function ByDay({ earnings, sinceMs }: EarningsProps) {
  const days = Array.from({ length: DAYS }, (_, at) => {
    const ms = sinceMs + (DAYS - 1 - at) * DAY_MS
    const name = new Date(ms).toISOString().slice(0, 10)
    const lines = earnings.filter(({ day }) => day === name)
    return { ms, sales: salesIn(lines), amount: Number(sumOf(lines)) }
  })
  const largest = Math.max(1, ...days.map(({ amount }) => amount))
  return (
    <Table
      label="Table: Earnings by day"
      columns={[words('Day'), numbers('Sales'), numbers('USDC'), words('Share of the best day')]}
      rows={days.map(({ ms, sales, amount }) => ({
        key: String(ms),
        cells: [
          // In one line.
          dayFormat.format(ms).replaceAll(' ', '\u00a0'),
          count(sales),
          usdc(String(amount)),
          <ShareBar key="share" percent={Math.round((100 * amount) / largest)} />,
        ],
      }))}
    />
  )
}

function ShareBar({ percent }: { readonly percent: number }) {
  return (
    <span class="share-bar">
      <span class="visually-hidden">{percent} %</span>
      <span aria-hidden="true" style={{ width: `${percent}%` }} />
    </span>
  )
}

/** The largest first. */
function ByAnalysis({ earnings }: { readonly earnings: Earnings }) {
  const groups = new Map<string, Earnings[number][]>()
  for (const line of earnings) {
    const key = `${line.route} ${line.network}`
    groups.set(key, [...(groups.get(key) ?? []), line])
  }
  const rows = [...groups].map(([key, lines]) => ({ key, lines, amount: sumOf(lines) }))
  rows.sort((a, b) => (a.amount < b.amount ? 1 : a.amount > b.amount ? -1 : 0))
  return (
    <Table
      label="Table: Earnings by analysis and network"
      columns={[words('Analysis'), words('Network'), numbers('Sales'), numbers('USDC')]}
      rows={rows.map(({ key, lines, amount }) => ({
        key,
        cells: [
          <code key="route">{lines[0]?.route}</code>,
          networkName(lines[0]?.network ?? ''),
          count(salesIn(lines)),
          usdc(amount),
        ],
      }))}
      none="Nothing was sold in these days."
    />
  )
}

function salesIn(lines: Earnings): number {
  return lines.reduce((sum, { payments }) => sum + payments, 0)
}

const dayFormat = new Intl.DateTimeFormat('en-GB', {
  ...{ weekday: 'short', day: 'numeric', month: 'short', timeZone: 'UTC' },
})
