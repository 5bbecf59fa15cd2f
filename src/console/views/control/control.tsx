import type { ControlReport } from '../../../domain/desk-reports.ts'
import { clockTime } from '../../components/format.ts'
import { sentences, Table, words } from '../../components/table.tsx'
import { Part } from '../desk/part.tsx'
import { ReportView } from '../desk/report.tsx'
import { StateWord } from '../desk/state-word.tsx'
import { ConfigurationPart } from './configuration-part.tsx'
import { DoctorPart } from './doctor-part.tsx'
import { OrderButton } from './order-button.tsx'
import { SessionPart } from './session-part.tsx'

/** What the operator can change or look up. */
export function Control() {
  return (
    <ReportView<ControlReport> title="Control" name="/desk/control" oldAfterMs={15_000}>
      {(report) => (
        <>
          <MaintenancePart report={report} />
          <EnginePart report={report} />
          <DoctorPart doctor={report.doctor} nowMs={report.nowMs} />
          <WarningsPart warnings={report.warnings} />
          <ConfigurationPart configuration={report.configuration} />
          <SessionPart />
        </>
      )}
    </ReportView>
  )
}

type Shown = { readonly report: ControlReport }

function MaintenancePart({ report: { maintenance } }: Shown) {
  if (maintenance === null)
    return (
      <Part title="Maintenance">
        <p class="empty">This process sells nothing.</p>
      </Part>
    )
  const { isOn, sinceMs } = maintenance
  return (
    <Part title="Maintenance">
      <p class="statement">
        Sales are <StateWord state={isOn ? 'disabled' : 'enabled'} /> since {clockTime(sinceMs)}.
      </p>
      <OrderButton
        label={isOn ? 'End maintenance' : 'Begin maintenance'}
        question={
          isOn
            ? 'Paid calls are answered again. End maintenance?'
            : 'Every paid call is refused with 503 until maintenance ends. Begin it?'
        }
        path="/maintenance"
        body={{ on: !isOn }}
        done="Accepted; the state above follows."
      />
    </Part>
  )
}

function EnginePart({ report: { canRestartEngine } }: Shown) {
  return (
    <Part title="Engine">
      {canRestartEngine ? (
        <>
          <p class="statement">
            The engine starts again from its checkpoint, usually within seconds.
          </p>
          <OrderButton
            label="Restart engine"
            question="Calls are refused until the engine is back. Restart it?"
            path="/engine/restart"
            done="The engine restarts."
          />
        </>
      ) : (
        <p class="empty">The engine is another process; restart that process.</p>
      )}
    </Part>
  )
}

function WarningsPart({ warnings }: Pick<ControlReport, 'warnings'>) {
  return (
    <Part
      title="Warnings and errors"
      width="wide"
      note="The last 100 of the log since the start of this process, engine included, the newest first."
    >
      <div class="tall">
        <Table
          label="Table: Warnings and errors"
          columns={[
            words('Time'),
            words('Level'),
            words('Part'),
            sentences('Message'),
            sentences('Details'),
          ]}
          rows={warnings.map(({ timeMs, level, part, message, details }, at) => ({
            key: `${timeMs} ${warnings.length - at}`,
            cells: [
              clockTime(timeMs),
              <StateWord key="level" state={level} />,
              part,
              message,
              <code key="details">{details}</code>,
            ],
          }))}
          none="The log has no warning."
        />
      </div>
    </Part>
  )
}
