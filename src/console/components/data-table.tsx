import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { Component } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { place, setParameter } from '../shell/router.ts'
import { ScrollRegion } from './scroll-region.tsx'
import type { RowWindow } from './shown-rows.ts'
import { shownRows } from './shown-rows.ts'
import type { SortValue } from './table-order.ts'
import { nextSort, ordered, readSort, sortText } from './table-order.ts'
import { Term } from './term.tsx'

/** One column. List columns by importance: a narrow window shows the first ones without scrolling. */
export type Column<Row> = {
  readonly id: string
  readonly title: string
  /** Path of the member whose definition the header shows. */
  readonly path?: string
  /** Analysis that `path` belongs to; the table's by default. */
  readonly analysis?: string
  readonly isText?: boolean
  /** If every column has one, widths do not depend on the rows that are drawn. */
  readonly widthRem?: number
  readonly value: (row: Row) => SortValue
  /** Content of the cell; the value itself if it is missing. */
  readonly cell?: (row: Row) => ComponentChildren
}

type DataTableProps<Of> = {
  /** What the table shows, for screen readers. */
  readonly label: string
  readonly analysis: string
  /** Parameter of the address that keeps the sort. */
  readonly parameter: string
  readonly columns: readonly Column<Of>[]
  /** In the order of the answer. */
  readonly rows: readonly Of[]
  readonly keyOf: (row: Of) => string
}

/** Before a row is measured. */
const FIRST_WINDOW: RowWindow = { rowPx: 27, scrolledPx: 0, heightPx: 740 }

/** A table that every column sorts; its first column stays in sight. Of many rows those in sight are drawn. */
export function DataTable<Of>({
  label,
  analysis,
  parameter,
  columns,
  rows,
  keyOf,
}: DataTableProps<Of>) {
  const sort = readSort(place.value.query.get(parameter))
  const sorted = columns.find(({ id }) => id === sort?.column)
  const inOrder = sorted ? ordered(rows, sorted.value, sort?.isDescending === true) : rows
  const inSight = useSignal(FIRST_WINDOW)
  const body = useRef<HTMLTableSectionElement>(null)
  const look = (region: HTMLElement | null | undefined) => {
    const rowPx = body.current?.querySelector<HTMLElement>('tr[data-row]')?.offsetHeight
    if (!region || !rowPx) return
    const { scrollTop, clientHeight } = region
    const { value } = inSight
    if (value.rowPx === rowPx && value.scrolledPx === scrollTop && value.heightPx === clientHeight)
      return
    inSight.value = { rowPx, scrolledPx: scrollTop, heightPx: clientHeight }
  }
  useLayoutEffect(() => look(body.current?.closest<HTMLElement>('.scroll')))
  const { from, to } = shownRows(rows.length, inSight.value)
  const shown = inOrder.slice(from, to)
  const isWhole = shown.length === rows.length
  const widthRem = columns.reduce((sum, column) => sum + (column.widthRem ?? Number.NaN), 0)
  const press = ({ id, isText = false }: Column<Of>) =>
    setParameter(parameter, sortText(nextSort(sort, id, isText)))
  return (
    <ScrollRegion label={label} isTall={true} onScroll={look}>
      <table
        class={Number.isNaN(widthRem) ? 'data' : 'data fixed'}
        aria-rowcount={isWhole ? undefined : rows.length + 1}
        style={Number.isNaN(widthRem) ? undefined : { minWidth: `${widthRem}rem` }}
      >
        <thead>
          <tr>
            {columns.map((column) => (
              <th
                key={column.id}
                scope="col"
                class={column.isText ? 'text' : undefined}
                style={column.widthRem ? { width: `${column.widthRem}rem` } : undefined}
                aria-sort={
                  column !== sorted ? undefined : sort?.isDescending ? 'descending' : 'ascending'
                }
              >
                <Header analysis={analysis} column={column} onPress={() => press(column)} />
              </th>
            ))}
          </tr>
        </thead>
        <tbody ref={body}>
          {from > 0 && <Gap key="before" heightPx={from * inSight.value.rowPx} />}
          {shown.map((row, at) => (
            <Row
              key={keyOf(row)}
              row={row}
              columns={columns}
              // The header is row 1.
              rowIndex={isWhole ? undefined : from + at + 2}
            />
          ))}
          {to < rows.length && (
            <Gap key="after" heightPx={(rows.length - to) * inSight.value.rowPx} />
          )}
        </tbody>
      </table>
    </ScrollRegion>
  )
}

/** Stands for the rows that are not drawn. */
function Gap({ heightPx }: { readonly heightPx: number }) {
  return <tr class="gap" style={{ height: `${heightPx}px` }} />
}

type RowProps<Of> = {
  readonly row: Of
  readonly columns: readonly Column<Of>[]
  /** Among all rows, where some are not drawn. */
  readonly rowIndex: number | undefined
}

/** Sorting and filtering move rows and draw none again. */
class Row<Of> extends Component<RowProps<Of>> {
  override shouldComponentUpdate({ row, columns, rowIndex }: RowProps<Of>): boolean {
    const { props } = this
    return row !== props.row || columns !== props.columns || rowIndex !== props.rowIndex
  }

  override render({ row, columns, rowIndex }: RowProps<Of>) {
    return (
      <tr data-row aria-rowindex={rowIndex}>
        {columns.map((column, at) => {
          const content = column.cell ? column.cell(row) : column.value(row)
          return at === 0 ? (
            <th key={column.id} scope="row">
              {content}
            </th>
          ) : (
            <td key={column.id} class={column.isText ? 'text' : undefined}>
              {content}
            </td>
          )
        })}
      </tr>
    )
  }
}

type HeaderProps<Of> = {
  readonly analysis: string
  readonly column: Column<Of>
  readonly onPress: () => void
}

function Header<Of>({ analysis, column, onPress }: HeaderProps<Of>) {
  if (column.path === undefined)
    return (
      <button type="button" class="sort" onClick={onPress}>
        {column.title}
      </button>
    )
  return (
    <Term analysis={column.analysis ?? analysis} path={column.path} onPress={onPress}>
      {column.title}
    </Term>
  )
}
