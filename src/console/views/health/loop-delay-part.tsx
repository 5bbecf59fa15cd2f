import { useRef } from 'preact/hooks'
import type { HealthReport } from '../../../domain/desk-reports.ts'
import { SeriesChart } from '../../charts/series-chart.tsx'
import { clockTime, plain } from '../../components/format.ts'
import { Part } from '../desk/part.tsx'
import { numbers, ReportTable, words } from '../desk/report-table.tsx'

/** Ten minutes. */
const POINTS_MAX = 600

type Point = {
  readonly atMs: number
  readonly gatewayMs: number | null
  readonly engineMs: number | null
}

/** How late the two threads get to their work, since this page was opened. */
export function LoopDelayPart({ report }: { readonly report: HealthReport }) {
  const points = useRef<readonly Point[]>([])
  const p99Of = (name: string) =>
    report.threads.find(({ thread }) => thread === name)?.loopDelay?.p99Ms ?? null
  if (points.current.at(-1)?.atMs !== report.nowMs)
    points.current = [
      ...points.current,
      { atMs: report.nowMs, gatewayMs: p99Of('gateway'), engineMs: p99Of('engine') },
    ].slice(-POINTS_MAX)
  const shown = points.current
  return (
    <Part
      title="Event-loop delay"
      note="99th percentile of each second, since this page was opened."
    >
      <SeriesChart
        label="event-loop delay of gateway and engine"
        x={{
          ...{ name: 'Time', kind: 'time', format: clockTime },
          values: shown.map(({ atMs }) => atMs),
        }}
        columns={[
          { name: 'gateway', tone: 'accent', values: shown.map(({ gatewayMs }) => gatewayMs) },
          { name: 'engine', tone: 'warn', values: shown.map(({ engineMs }) => engineMs) },
        ]}
        format={(ms) => `${plain(ms, 1)} ms`}
        isFromZero
        height={140}
      />
      <ReportTable
        label="Event-loop delay by thread"
        columns={[words('Thread'), numbers('p50'), numbers('p99'), numbers('Longest')]}
        rows={report.threads.map(({ thread, loopDelay }) => ({
          key: thread,
          cells: [
            thread,
            ...[loopDelay?.p50Ms, loopDelay?.p99Ms, loopDelay?.maxMs].map((ms) =>
              ms === undefined ? '–' : `${plain(ms, 1)} ms`,
            ),
          ],
        }))}
        none="No thread is measured."
      />
    </Part>
  )
}
