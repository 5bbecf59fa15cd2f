import type { HealthReport } from '../../../domain/desk-reports.ts'
import { count, duration } from '../../components/format.ts'
import { numbers, Table, words } from '../../components/table.tsx'
import { Part } from '../desk/part.tsx'

/** What could be sold now, how old and how good it is. */
export function DocumentsPart({ report: { documents } }: { readonly report: HealthReport }) {
  return (
    <Part
      title="Documents"
      width="wide"
      note="Default answers that can be sold now, with the age of their oldest necessary input. A to D are quality grades. Computed every 5 s."
    >
      <Table
        label="Table: Documents by analysis"
        columns={[
          words('Analysis'),
          numbers('Documents'),
          numbers('Can be sold'),
          numbers('Median age'),
          numbers('Oldest'),
          words('of'),
          ...['A', 'B', 'C', 'D'].map(numbers),
        ]}
        rows={documents.map((one) => ({
          key: one.analysis,
          cells: [
            one.analysis,
            count(one.documents),
            <span key="sold" class={one.answerable < one.documents ? 'tone-warn' : ''}>
              {count(one.answerable)}
            </span>,
            duration(one.medianAgeMs),
            duration(one.worstAgeMs),
            one.worstSubject === '*' ? 'the market' : (one.worstSubject ?? ''),
            ...(['A', 'B', 'C', 'D'] as const).map((grade) => count(one.grades[grade])),
          ],
        }))}
        none="No analysis is offered."
      />
    </Part>
  )
}
