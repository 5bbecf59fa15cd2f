import type { ComponentChildren } from 'preact'
import { ScrollRegion } from '../../components/scroll-region.tsx'
import type { HeadColumn } from '../../components/table-head.tsx'
import { TableHead } from '../../components/table-head.tsx'

type Row = {
  readonly key: string
  /** In the order of the columns; the first heads the row. */
  readonly cells: readonly ComponentChildren[]
}

type ReportTableProps = {
  /** Name for screen readers. */
  readonly label: string
  readonly columns: readonly HeadColumn[]
  readonly rows: readonly Row[]
  /** Instead of a table without rows. */
  readonly none: string
}

/** A table of a report, which scrolls by itself where it is wider than the page. */
export function ReportTable({ label, columns, rows, none }: ReportTableProps) {
  if (rows.length === 0) return <p class="empty">{none}</p>
  return (
    // A landmark has another name than the part that it stands in.
    <ScrollRegion label={`Table: ${label}`}>
      <table>
        <TableHead columns={columns} />
        <tbody>
          {rows.map(({ key, cells: [head, ...cells] }) => (
            <tr key={key}>
              <th scope="row" class={columns[0]?.kind}>
                {head}
              </th>
              {cells.map((cell, at) => (
                <td key={columns[at + 1]?.title} class={columns[at + 1]?.kind}>
                  {cell}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollRegion>
  )
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
