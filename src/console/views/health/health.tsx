import type { HealthReport } from '../../../domain/desk-reports.ts'
import { Figures } from '../../components/figure.tsx'
import { duration, NOTHING, plain } from '../../components/format.ts'
import { bytes } from '../desk/amounts.ts'
import { Fact } from '../desk/fact.tsx'
import { Part } from '../desk/part.tsx'
import { ReportView } from '../desk/report.tsx'
import { ReportTable, sentences, words } from '../desk/report-table.tsx'
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
      <Figures>
        <Fact label="Engine" tone={toneOfState(engine.state)}>
          {engine.state}
        </Fact>
        <Fact label="Heartbeat age">{duration(engine.heartbeatAgeMs)}</Fact>
        <Fact label="Engine runs for">
          {duration(engine.startedAtMs === null ? null : nowMs - engine.startedAtMs)}
        </Fact>
        <Fact label="Process runs for">{duration(nowMs - startedAtMs)}</Fact>
        <Fact label="Memory">{bytes(residentBytes)}</Fact>
        <Fact label="Disk free">{bytes(disk?.freeBytes ?? null)}</Fact>
        <Fact label="Venue's clock ahead">
          {engine.venueAheadMs === null ? NOTHING : `${plain(engine.venueAheadMs, 0)} ms`}
        </Fact>
        <Fact label="Failing checks" tone={failing === 0 ? 'up' : 'down'}>
          {failing} of {checks.length}
        </Fact>
        <Fact label="Version">
          {version}, role {role}
        </Fact>
      </Figures>
    </Part>
  )
}

function ChecksPart({ checks }: Pick<HealthReport, 'checks'>) {
  return (
    <Part title="Preconditions of a sale">
      <ReportTable
        label="Preconditions of a sale"
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
      <Figures>
        <Fact label="History" tone={toneOfState(store?.state ?? 'never')}>
          {store?.state ?? 'unknown'}
        </Fact>
        <Fact label="Rows lost" tone={store?.droppedRows ? 'down' : 'plain'}>
          {store?.droppedRows ?? NOTHING}
        </Fact>
        <Fact label="Blocks damaged" tone={store?.damagedBlocks ? 'down' : 'plain'}>
          {store?.damagedBlocks ?? NOTHING}
        </Fact>
        <Fact label="Files set aside" tone={store?.setAsideFiles ? 'warn' : 'plain'}>
          {store?.setAsideFiles ?? NOTHING}
        </Fact>
        <Fact label="Recording" tone={recording === null ? 'plain' : toneOfState(recording.state)}>
          {recording === null
            ? 'none'
            : `${recording.state} for ${duration(nowMs - recording.sinceMs)}`}
        </Fact>
        <Fact label="Disk">
          {disk === null ? NOTHING : `${bytes(disk.freeBytes)} of ${bytes(disk.totalBytes)}`}
        </Fact>
      </Figures>
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
