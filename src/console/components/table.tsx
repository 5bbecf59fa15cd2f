import type { ComponentChildren } from 'preact'
import { ScrollRegion } from './scroll-region.tsx'
import { Term } from './term.tsx'

export type HeadColumn = {
  readonly title: string
  /** Path of the member whose definition the title shows. */
  readonly path?: string
  /** Analysis that `path` belongs to; the table's by default. */
  readonly analysis?: string
  /** Words, or sentences, which may be broken into lines; numbers by default. */
  readonly kind?: 'text' | 'sentence'
  /** Number of cells of a row that the title stands above. */
  readonly colSpan?: number
}

type TableProps = {
  /**
   * Name for screen readers of the region in which the table scrolls, other than the name of the part around it. Without
   * one the table has no such region.
   */
  readonly label?: string
  readonly look?: 'bars' | 'data' | 'depth'
  readonly analysis?: string
  /** None for a table without a head. */
  readonly columns?: readonly HeadColumn[]
  readonly rows: readonly {
    readonly key: string
    /** In the order of the columns; the first heads the row. */
    readonly cells: readonly ComponentChildren[]
  }[]
  /** Instead of a table without rows. */
  readonly none?: string
}

/** A table that is not sorted. */
export function Table({ label, look, analysis: own = '', columns = [], rows, none }: TableProps) {
  if (rows.length === 0 && none !== undefined) return <p class="empty">{none}</p>
  const columnOfCell = columns.flatMap((column) =>
    Array<HeadColumn>(column.colSpan ?? 1).fill(column),
  )
  const table = (
    <table class={look}>
      {columns.length > 0 && (
        <thead>
          <tr>
            {columns.map(({ title, path, analysis = own, kind, colSpan }) => (
              <th key={title} scope="col" class={kind} colSpan={colSpan}>
                {path === undefined ? (
                  title
                ) : (
                  <Term analysis={analysis} path={path}>
                    {title}
                  </Term>
                )}
              </th>
            ))}
          </tr>
        </thead>
      )}
      <tbody>
        {rows.map(({ key, cells: [head, ...cells] }) => (
          <tr key={key}>
            <th scope="row" class={columnOfCell[0]?.kind}>
              {head}
            </th>
            {cells.map((cell, at) => (
              <td key={columnOfCell[at + 1]?.title} class={columnOfCell[at + 1]?.kind}>
                {cell}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  )
  return label === undefined ? table : <ScrollRegion label={label}>{table}</ScrollRegion>
}

export function words(title: string): HeadColumn {
  return { title, kind: 'text' }
}

export function numbers(title: string): HeadColumn {
  return { title }
}

export function sentences(title: string): HeadColumn {
  return { title, kind: 'sentence' }
}
