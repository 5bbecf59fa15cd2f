import type { SalesFigures } from '../../../domain/desk-reports.ts'
import { count, percent } from '../../components/format.ts'
import { numbers, Table, words } from '../../components/table.tsx'
import { Part } from '../desk/part.tsx'

/** From a request to a sale, by analysis. */
export function FunnelPart({ funnel }: Pick<SalesFigures, 'funnel'>) {
  const used = funnel.filter(({ requests }) => requests > 0)
  return (
    <Part
      title="Requests, quotes, sales"
      width="wide"
      note="Since the start of this process. A sale takes two requests: the one that is quoted and the one that pays."
    >
      <Table
        label="Table: Requests, quotes and sales by analysis"
        columns={[
          words('Analysis'),
          numbers('Requests'),
          numbers('Quotes'),
          numbers('Sales'),
          numbers('Sales per quote'),
        ]}
        rows={used.map(({ analysis, requests, quotes, sales }) => ({
          key: analysis,
          cells: [
            analysis,
            ...[requests, quotes, sales].map(count),
            percent(quotes === 0 ? null : (100 * sales) / quotes, 0),
          ],
        }))}
        none="No analysis was requested yet."
      />
    </Part>
  )
}
