import { useSignal } from '@preact/signals'
import { Table } from '../components/table.tsx'

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
        <Table
          label={`Values of ${label}`}
          columns={heads.map((title) => ({ title }))}
          rows={rows().map((cells) => ({ key: cells[0] ?? '', cells }))}
        />
      )}
    </details>
  )
}
