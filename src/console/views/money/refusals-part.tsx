import type { SalesFigures } from '../../../domain/desk-reports.ts'
import { count } from '../../components/format.ts'
import { Part } from '../desk/part.tsx'
import { numbers, ReportTable, words } from '../desk/report-table.tsx'

/** Why callers got no answer. */
export function RefusalsPart({ refusals }: Pick<SalesFigures, 'refusals'>) {
  return (
    <Part
      title="Refusals"
      note="Calls and payments that were refused since the start of this process."
    >
      <ReportTable
        label="Refusals by reason"
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
