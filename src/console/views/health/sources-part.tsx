import type { HealthReport } from '../../../domain/desk-reports.ts'
import { count, duration } from '../../components/format.ts'
import { numbers, sentences, Table, words } from '../../components/table.tsx'
import { Part } from '../desk/part.tsx'
import { StateWord } from '../desk/state-word.tsx'

/** The venue and the external sources with their last state. */
export function SourcesPart({ report: { sources, nowMs } }: { readonly report: HealthReport }) {
  const notices = sources.flatMap(({ source, notices: byName }) =>
    Object.entries(byName).map(([name, times]) => ({ source, name, times })),
  )
  return (
    <Part
      title="Sources"
      width="wide"
      note="Lag is the time since the newest data arrived. Reconnects and gaps count since the start of the engine."
    >
      <Table
        label="Table: Sources"
        columns={[
          words('Source'),
          words('State'),
          numbers('For'),
          numbers('Lag'),
          numbers('Reconnects'),
          numbers('Gaps'),
          sentences('Reason'),
        ]}
        rows={sources.map((one) => ({
          key: one.source,
          cells: [
            one.source,
            <StateWord key={one.source} state={one.state} />,
            duration(nowMs - one.sinceMs),
            duration(one.lagMs),
            count(one.reconnects),
            count(one.gaps),
            one.reason ?? '',
          ],
        }))}
        none="The engine has reported no source yet."
      />
      {notices.length > 0 && (
        <details class="more">
          <summary>All notices</summary>
          <Table
            label="Table: Notices of the sources"
            columns={[words('Source'), words('Notice'), numbers('Times')]}
            rows={notices.map(({ source, name, times }) => ({
              key: `${source} ${name}`,
              cells: [source, name, count(times)],
            }))}
          />
        </details>
      )}
    </Part>
  )
}
