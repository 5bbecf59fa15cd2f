import type { ReadonlySignal } from '@preact/signals'
import { useMemo } from 'preact/hooks'
import type { AnswerInstant } from '../../components/age.tsx'
import { DataTable } from '../../components/data-table.tsx'
import { Panel } from '../../components/panel.tsx'
import type { DocumentState } from '../../live/documents.ts'
import { facts } from '../../live/service.ts'
import type { AnswerOf } from '../../live/use-document.ts'
import { useDocument } from '../../live/use-document.ts'
import { place } from '../../shell/router.ts'
import type { Overview } from './overview.ts'
import { screenerColumns } from './screener-columns.tsx'
import { ScreenerFilterBar } from './screener-filter-bar.tsx'
import { filteredRows, readFilters, screenerRows } from './screener-rows.ts'

type Screener = AnswerOf<'screener'>

/** The largest answers of each kind. */
export const SCREENER = '/screener?view=full&top_n=100'
const SHORT_ROWS = '/screener?view=compact&top_n=200'

/** Every coin in a table; sort and filters are in the address. */
export function ScreenerPanel() {
  const full = useDocument<Screener>(SCREENER)
  return (
    <Panel title="Screener" name={SCREENER} state={full} width="wide">
      {(answer, instant) =>
        // One answer is a purchase; all coins are for the operator.
        facts().port === 'admin' ? (
          <WholeScreener answer={answer} instant={instant} />
        ) : (
          <ScreenerTable answer={answer} short={null} overview={null} instant={instant} />
        )
      }
    </Panel>
  )
}

type ShownProps = { readonly answer: Screener; readonly instant: AnswerInstant }

function WholeScreener({ answer, instant }: ShownProps) {
  const short = useDocument<Screener>(SHORT_ROWS)
  const overview = useDocument<Overview>('/overview')
  return (
    <ScreenerTable
      answer={answer}
      short={answerOf(short)}
      overview={answerOf(overview)}
      instant={instant}
    />
  )
}

type TableProps = ShownProps & {
  readonly short: Screener | null
  readonly overview: Overview | null
}

function ScreenerTable({ answer, short, overview, instant }: TableProps) {
  const closes = useMemo(
    () => overview && new Map(overview.coins.map((row) => [row.coin, row.closes])),
    [overview],
  )
  const columns = useMemo(() => screenerColumns(closes, instant), [closes, instant])
  const filters = readFilters(place.value.query)
  const rows = screenerRows(answer, short)
  const shown = filteredRows(rows, filters)
  return (
    <>
      <ScreenerFilterBar filters={filters} />
      <p class="count" role="status">
        {shown.length} of {rows.length} coins
        {answer.coins_scanned > rows.length && `; ${answer.coins_scanned} are ranked`}
        {rows.length > answer.coins.length &&
          `; the ${answer.coins.length} with the strongest signal have every column`}
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

function answerOf<Answer>({ value }: ReadonlySignal<DocumentState<Answer>>): Answer | null {
  return value.kind === 'answer' ? value.answer : null
}
