import { useMemo } from 'preact/hooks'
import type { AnswerInstant } from '../../components/age.tsx'
import { DataTable } from '../../components/data-table.tsx'
import { Panel } from '../../components/panel.tsx'
import { facts } from '../../live/service.ts'
import type { AnswerOf } from '../../live/use-document.ts'
import { useDocument } from '../../live/use-document.ts'
import { place } from '../../shell/router.ts'
import { pathOfOffer } from '../../wallet/call-path.ts'
import type { Overview } from './overview.ts'
import { screenerColumns } from './screener-columns.tsx'
import { ScreenerFilterBar } from './screener-filter-bar.tsx'
import type { ScreenerRow } from './screener-rows.ts'
import { filteredRows, readFilters } from './screener-rows.ts'

type Screener = AnswerOf<'screener'>

/** One answer is a purchase; the operator sees all coins. */
export function screenerName(): string {
  return facts().port === 'admin'
    ? '/screener?view=all'
    : pathOfOffer({ id: 'screener', scope: 'market' }, '')
}

/** Every coin in a table; sort and filters are in the address. */
export function ScreenerPanel() {
  const name = screenerName()
  return (
    <Panel<Screener> title="Screener" name={name} width="wide">
      {(answer, instant) =>
        // The recent closes are not sold.
        facts().port === 'admin' ? (
          <WithCloses answer={answer} instant={instant} />
        ) : (
          <ScreenerTable answer={answer} overview={null} instant={instant} />
        )
      }
    </Panel>
  )
}

type ShownProps = { readonly answer: Screener; readonly instant: AnswerInstant }

function WithCloses({ answer, instant }: ShownProps) {
  const { value } = useDocument<Overview>('/overview')
  const overview = value.kind === 'answer' ? value.answer : null
  return <ScreenerTable answer={answer} overview={overview} instant={instant} />
}

type TableProps = ShownProps & {
  readonly overview: Overview | null
}

function ScreenerTable({ answer, overview, instant }: TableProps) {
  const closes = useMemo(
    () => overview && new Map(overview.coins.map((row) => [row.coin, row.closes])),
    [overview],
  )
  const columns = useMemo(() => screenerColumns(closes, instant), [closes, instant])
  const filters = readFilters(place.value.query)
  const rows: readonly ScreenerRow[] = answer.coins
  const shown = filteredRows(rows, filters)
  return (
    <>
      <ScreenerFilterBar filters={filters} />
      <p class="count" role="status">
        {shown.length} of {rows.length} coins
        {answer.coins_scanned > rows.length && `; ${answer.coins_scanned} are ranked`}
      </p>
      <DataTable
        label="Rows of the screener"
        analysis="screener"
        parameter="sort"
        columns={columns}
        rows={shown}
        keyOf={({ coin }) => coin}
      />
      {shown.length === 0 && <p class="empty">No coin passes these filters.</p>}
    </>
  )
}
