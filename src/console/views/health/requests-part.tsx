import type { RequestFigures } from '../../../domain/desk-reports.ts'
import { count, duration, plain } from '../../components/format.ts'
import { numbers, sentences, Table, words } from '../../components/table.tsx'
import { Part } from '../desk/part.tsx'

/** What callers got of late, and how fast. */
export function RequestsPart({ requests }: { readonly requests: RequestFigures | null }) {
  if (requests === null)
    return (
      <Part title="Requests" width="wide">
        <p class="empty">This process serves no requests.</p>
      </Part>
    )
  return (
    <Part
      title={`Requests of the last ${duration(requests.windowMs)}`}
      width="wide"
      note="p50 and p99 are upper bounds within 20 % of the time until the response was sent. For a paid call it includes the settlement."
    >
      <Table
        label="Table: Requests by route"
        columns={[
          words('Route'),
          numbers('Requests'),
          numbers('p50'),
          numbers('p99'),
          sentences('By status'),
        ]}
        rows={requests.routes.map((one) => ({
          key: one.route,
          cells: [
            <code key="route">{one.route}</code>,
            count(one.requests),
            `${plain(one.p50Ms, 1)} ms`,
            `${plain(one.p99Ms, 1)} ms`,
            Object.entries(one.statuses)
              .map(([status, times]) => `${status}: ${count(times)}`)
              .join(', '),
          ],
        }))}
        none="No request has arrived."
      />
    </Part>
  )
}
