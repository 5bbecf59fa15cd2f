import { useRef } from 'preact/hooks'
import type { HealthReport } from '../../../domain/desk-reports.ts'
import { SeriesChart } from '../../charts/series-chart.tsx'
import { clockTime, NOTHING, plain } from '../../components/format.ts'
import { numbers, Table, words } from '../../components/table.tsx'
import { bytes } from '../desk/amounts.ts'
import { Part } from '../desk/part.tsx'

/** Ten minutes. */
const POINTS_MAX = 600

type Point = {
  readonly atMs: number
  readonly gatewayMs: number | null
  readonly engineMs: number | null
}

/** How late the threads get to their work, and their memory. */
export function ThreadsPart({ report }: { readonly report: HealthReport }) {
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
      title="Threads"
      width="wide"
      note="Delay of the event loop: 99th percentile of each second, since this page was opened. Array buffers are part of the memory outside the heap. Rendering workers are not measured."
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
        format={milliseconds}
        isFromZero
        height={140}
      />
      <Table
        label="Table: Threads"
        columns={[
          words('Thread'),
          numbers('Delay p50'),
          numbers('Delay p99'),
          numbers('Longest'),
          numbers('Heap used'),
          numbers('Heap'),
          numbers('Outside the heap'),
          numbers('Array buffers'),
        ]}
        rows={report.threads.map((one) => ({
          key: one.thread,
          cells: [
            one.thread,
            milliseconds(one.loopDelay?.p50Ms),
            milliseconds(one.loopDelay?.p99Ms),
            milliseconds(one.loopDelay?.maxMs),
            bytes(one.heapUsedBytes),
            bytes(one.heapTotalBytes),
            bytes(one.externalBytes),
            bytes(one.arrayBufferBytes),
          ],
        }))}
        none="No thread is measured."
      />
    </Part>
  )
}

function milliseconds(ms: number | undefined): string {
  return ms === undefined ? NOTHING : `${plain(ms, 1)} ms`
}
