import { useSignal } from '@preact/signals'
import { ScrollRegion } from '../components/scroll-region.tsx'
import { TableHead } from '../components/table-head.tsx'

type ChartTableProps = {
  /** Name of the chart. */
  readonly label: string
  readonly heads: readonly string[]
  /** Texts by row; the first of a row is its head. Called while the table is open. */
  readonly rows: () => readonly (readonly string[])[]
}

/** The values of a chart as a table, for those who do not see the picture. */
export function ChartTable({ label, heads, rows }: ChartTableProps) {
  const isOpen = useSignal(false)
  return (
    <details
      class="chart-table"
      onToggle={({ currentTarget }) => {
        isOpen.value = currentTarget.open
      }}
    >
      <summary>
        Table<span class="visually-hidden"> of {label}</span>
      </summary>
      {isOpen.value && (
        <ScrollRegion label={`Values of ${label}`}>
          <table>
            <TableHead columns={heads.map((title) => ({ title }))} />
            <tbody>
              {rows().map(([head, ...texts]) => (
                <tr key={head}>
                  <th scope="row">{head}</th>
                  {texts.map((text, at) => (
                    <td key={heads[at + 1]}>{text}</td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </ScrollRegion>
      )}
    </details>
  )
}
