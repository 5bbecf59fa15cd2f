import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { Component } from 'preact'
import { useLayoutEffect, useMemo, useRef } from 'preact/hooks'
import { place, setParameter } from '../shell/router.ts'
import { ScrollRegion } from './scroll-region.tsx'
import type { RowWindow } from './shown-rows.ts'
import { areEnough, shownRows } from './shown-rows.ts'
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

type SortableName<Row> = {
  [Name in keyof Row]-?: Row[Name] extends SortValue | undefined ? Name : never
}[keyof Row] &
  string

type MakeColumn<Row> = <Name extends SortableName<Row>>(
  id: string,
  title: string,
  /** Ends with the name of the member that the column shows. */
  path: `${string}[].${Name}`,
  cell: (value: Row[Name]) => ComponentChildren,
  more?: Pick<Column<Row>, 'isText' | 'widthRem'>,
) => Column<Row>

/** @param columns lists them; `column` makes one that shows one member of a row */
export function columnsOf<Row>(
  columns: (column: MakeColumn<Row>) => readonly Column<Row>[],
): readonly Column<Row>[] {
  return columns((id, title, path, cell, more) => {
    const name = lastNameOf(path)
    return {
      ...{ id, title, path, ...more },
      value: (row) => (row[name] ?? null) as SortValue,
      cell: (row) => cell(row[name]),
    }
  })
}

function lastNameOf<Name extends string>(path: `${string}[].${Name}`): Name {
  return path.slice(path.lastIndexOf('.') + 1) as Name
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
  /** Instead of a table without rows. */
  readonly none?: string
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
  none,
}: DataTableProps<Of>) {
  const sort = readSort(place.value.query.get(parameter))
  const sorted = columns.find(({ id }) => id === sort?.column)
  const isDescending = sort?.isDescending === true
  const inOrder = useMemo(
    () => (sorted ? ordered(rows, sorted.value, isDescending) : rows),
    [rows, sorted, isDescending],
  )
  const inSight = useSignal(FIRST_WINDOW)
  const body = useRef<HTMLTableSectionElement>(null)
  const hasLooked = useRef(false)
  const look = (region: HTMLElement | null | undefined) => {
    // Not the first row, which has no border. Exact, or the rows would move when others are drawn.
    const row = body.current?.querySelector('tr[data-row] + tr[data-row]')
    const rowPx = row?.getBoundingClientRect().height
    if (!region || !rowPx) return
    const seen = { rowPx, scrolledPx: region.scrollTop, heightPx: region.clientHeight }
    const { value } = inSight
    const isMeasured = Math.abs(value.rowPx - rowPx) < 0.1
    // Most scrolling needs no other rows.
    if (isMeasured && areEnough(shownRows(rows.length, value), rows.length, seen)) return
    hasLooked.current = true
    inSight.value = seen
  }
  useLayoutEffect(() => {
    // What was drawn by a look is not looked at: rows of different heights could draw each other for ever.
    const isByLook = hasLooked.current
    hasLooked.current = false
    if (!isByLook) look(body.current?.closest<HTMLElement>('.scroll'))
  })
  if (rows.length === 0 && none !== undefined) return <p class="empty">{none}</p>
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
          <tr aria-rowindex={isWhole ? undefined : 1}>
            {columns.map((column) => (
              <th
                key={column.id}
                scope="col"
                class={column.isText ? 'text' : undefined}
                style={column.widthRem ? { width: `${column.widthRem}rem` } : undefined}
                aria-sort={
                  column !== sorted ? undefined : isDescending ? 'descending' : 'ascending'
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
  // biome-ignore lint/a11y/noAriaHiddenOnFocusable: a row takes no focus
  return <tr class="gap" aria-hidden="true" style={{ height: `${heightPx}px` }} />
}

type CellsProps<Of> = { readonly row: Of; readonly columns: readonly Column<Of>[] }

type RowProps<Of> = CellsProps<Of> & {
  /** Among all rows, of which the header is the first, where some are not drawn. */
  readonly rowIndex: number | undefined
}

function Row<Of>({ rowIndex, ...cells }: RowProps<Of>) {
  return (
    <tr data-row aria-rowindex={rowIndex}>
      <Cells {...cells} />
    </tr>
  )
}

/** Sorting, filtering and scrolling move rows and draw no cell again. */
class Cells<Of> extends Component<CellsProps<Of>> {
  override shouldComponentUpdate({ row, columns }: CellsProps<Of>): boolean {
    return row !== this.props.row || columns !== this.props.columns
  }

  override render({ row, columns }: CellsProps<Of>) {
    return columns.map((column, at) => {
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
    })
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
