import type { ComponentChildren } from 'preact'
import { Component } from 'preact'
import { place, setParameter } from '../shell/router.ts'
import { ScrollRegion } from './scroll-region.tsx'
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

/** A table that every column sorts; its first column stays in sight. */
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
  const shown = sorted ? ordered(rows, sorted.value, sort?.isDescending === true) : rows
  const press = ({ id, isText = false }: Column<Of>) =>
    setParameter(parameter, sortText(nextSort(sort, id, isText)))
  return (
    <ScrollRegion label={label} isTall={true}>
      <table class="data">
        <thead>
          <tr>
            {columns.map((column) => (
              <th
                key={column.id}
                scope="col"
                class={column.isText ? 'text' : undefined}
                aria-sort={column === sorted ? direction(sort?.isDescending) : undefined}
              >
                <Header analysis={analysis} column={column} onPress={() => press(column)} />
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {shown.map((row) => (
            <Row key={keyOf(row)} row={row} columns={columns} />
          ))}
        </tbody>
      </table>
    </ScrollRegion>
  )
}

type RowProps<Of> = { readonly row: Of; readonly columns: readonly Column<Of>[] }

/** Sorting and filtering move rows and draw none again. */
class Row<Of> extends Component<RowProps<Of>> {
  override shouldComponentUpdate({ row, columns }: RowProps<Of>): boolean {
    return row !== this.props.row || columns !== this.props.columns
  }

  override render({ row, columns }: RowProps<Of>) {
    return (
      <tr>
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

function direction(isDescending: boolean | undefined): 'ascending' | 'descending' {
  return isDescending ? 'descending' : 'ascending'
}
