import type { HealthReport } from '../../../domain/desk-reports.ts'
import { FigureList, fact } from '../../components/figure.tsx'
import { duration, NOTHING, plain } from '../../components/format.ts'
import { sentences, Table, words } from '../../components/table.tsx'
import { bytes } from '../desk/amounts.ts'
import { Part } from '../desk/part.tsx'
import { ReportView } from '../desk/report.tsx'
import { StateWord, toneOfState } from '../desk/state-word.tsx'
import { DocumentsPart } from './documents-part.tsx'
import { RequestsPart } from './requests-part.tsx'
import { SourcesPart } from './sources-part.tsx'
import { ThreadsPart } from './threads-part.tsx'

/** How the service works. */
export function Health() {
  return (
    <ReportView<HealthReport> title="Health" name="/desk/health" oldAfterMs={5_000}>
      {(report) => (
        <>
          <Overview report={report} />
          <ThreadsPart report={report} />
          <ChecksPart checks={report.checks} />
          <StoragePart report={report} />
          <SourcesPart report={report} />
          <DocumentsPart report={report} />
          <RequestsPart requests={report.requests} />
        </>
      )}
    </ReportView>
  )
}

type Shown = { readonly report: HealthReport }

function Overview({ report }: Shown) {
  const { engine, nowMs, startedAtMs, disk, residentBytes, checks, version, role } = report
  const failing = checks.filter(({ fault }) => fault !== null).length
  return (
    <Part title="Overview" width="wide">
      <FigureList
        rows={[
          fact('Engine', engine.state, toneOfState(engine.state)),
          fact('Heartbeat age', duration(engine.heartbeatAgeMs)),
          fact(
            'Engine runs for',
            duration(engine.startedAtMs === null ? null : nowMs - engine.startedAtMs),
          ),
          fact('Process runs for', duration(nowMs - startedAtMs)),
          fact('Memory', bytes(residentBytes)),
          fact('Disk free', bytes(disk?.freeBytes ?? null)),
          fact(
            "Venue's clock",
            engine.venueAheadMs === null ? NOTHING : aheadText(engine.venueAheadMs),
          ),
          fact('Failing checks', `${failing} of ${checks.length}`, failing === 0 ? 'up' : 'down'),
          fact('Version', `${version}, role ${role}`),
        ]}
      />
    </Part>
  )
}

function aheadText(ms: number): string {
  return `${plain(Math.abs(ms), 0)} ms ${ms < 0 ? 'behind' : 'ahead'}`
}

function ChecksPart({ checks }: Pick<HealthReport, 'checks'>) {
  return (
    <Part title="Preconditions of a sale">
      <Table
        label="Table: Preconditions of a sale"
        columns={[words('Check'), words('State'), sentences('Reason')]}
        rows={checks.map(({ check, fault }) => ({
          key: check,
          cells: [
            check.replaceAll('_', ' '),
            <StateWord key={check} state={fault === null ? 'ok' : 'failing'} />,
            fault?.reason ?? '',
          ],
        }))}
        none="There are none."
      />
    </Part>
  )
}

function StoragePart({ report: { store, recording, disk, nowMs } }: Shown) {
  return (
    <Part title="Storage">
      <FigureList
        rows={[
          fact('History', store?.state ?? 'unknown', toneOfState(store?.state ?? 'never')),
          fact('Rows lost', store?.droppedRows ?? NOTHING, store?.droppedRows ? 'down' : 'plain'),
          fact(
            'Blocks damaged',
            store?.damagedBlocks ?? NOTHING,
            store?.damagedBlocks ? 'down' : 'plain',
          ),
          fact(
            'Files set aside',
            store?.setAsideFiles ?? NOTHING,
            store?.setAsideFiles ? 'warn' : 'plain',
          ),
          fact(
            'Recording',
            recording === null
              ? 'none'
              : `${recording.state} for ${duration(nowMs - recording.sinceMs)}`,
            recording === null ? 'plain' : toneOfState(recording.state),
          ),
          fact(
            'Disk',
            disk === null ? NOTHING : `${bytes(disk.freeBytes)} of ${bytes(disk.totalBytes)}`,
          ),
        ]}
      />
      {[store?.reason, recording?.reason].map(
        (reason) =>
          reason && (
            <p key={reason} class="note tone-down">
              {reason}
            </p>
          ),
      )}
    </Part>
  )
}
