import type { ComponentChildren } from 'preact'
import { place, setParameter } from '../shell/router.ts'
import { ScrollRegion } from './scroll-region.tsx'
import type { SortValue } from './table-order.ts'
import { nextSort, ordered, readSort, sortText } from './table-order.ts'
import { Term } from './term.tsx'

/** In the order of importance: a narrow window shows the first ones, the others are a scroll to the side away. */
export type Column<Row> = {
  readonly id: string
  readonly title: string
  /** Path of the member whose definition the header shows. */
  readonly path?: string
  readonly isText?: boolean
  readonly value: (row: Row) => SortValue
  /** Content of the cell; the value itself if it is missing. */
  readonly cell?: (row: Row) => ComponentChildren
}

type DataTableProps<Row> = {
  /** What the table shows, for screen readers. */
  readonly label: string
  readonly analysis: string
  /** Parameter of the address that keeps the sort. */
  readonly parameter: string
  readonly columns: readonly Column<Row>[]
  /** In the order of the answer. */
  readonly rows: readonly Row[]
  readonly keyOf: (row: Row) => string
}

/** A table that every column sorts; its first column stays in sight. */
export function DataTable<Row>({
  label,
  analysis,
  parameter,
  columns,
  rows,
  keyOf,
}: DataTableProps<Row>) {
  const sort = readSort(place.value.query.get(parameter))
  const sorted = columns.find(({ id }) => id === sort?.column)
  const shown = sorted ? ordered(rows, sorted.value, sort?.isDescending === true) : rows
  const press = ({ id, isText = false }: Column<Row>) =>
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
            <tr key={keyOf(row)}>
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
          ))}
        </tbody>
      </table>
    </ScrollRegion>
  )
}

type HeaderProps<Row> = {
  readonly analysis: string
  readonly column: Column<Row>
  readonly onPress: () => void
}

function Header<Row>({ analysis, column, onPress }: HeaderProps<Row>) {
  if (column.path === undefined)
    return (
      <button type="button" class="sort" onClick={onPress}>
        {column.title}
      </button>
    )
  return (
    <Term analysis={analysis} path={column.path} onPress={onPress}>
      {column.title}
    </Term>
  )
}

function direction(isDescending: boolean | undefined): 'ascending' | 'descending' {
  return isDescending ? 'descending' : 'ascending'
}
