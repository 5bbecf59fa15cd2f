import type { SalesFigures } from '../../../domain/desk-reports.ts'
import { count } from '../../components/format.ts'
import { numbers, Table, words } from '../../components/table.tsx'
import { Part } from '../desk/part.tsx'

/** Why callers got no answer. */
export function RefusalsPart({ refusals }: Pick<SalesFigures, 'refusals'>) {
  return (
    <Part
      title="Refusals"
      note="Calls and payments that were refused since the start of this process."
    >
      <Table
        label="Table: Refusals by reason"
        columns={[words('Reason'), numbers('Times')]}
        rows={refusals.map(({ reason, count: times }) => ({
          key: reason,
          cells: [<code key="reason">{reason}</code>, count(times)],
        }))}
        none="Nothing was refused."
      />
    </Part>
  )
}
