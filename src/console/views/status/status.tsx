import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { IncidentReport, StatusReport } from '../../../domain/status-report.ts'
import { FigureList, fact } from '../../components/figure.tsx'
import { clockTime, count, duration, NOTHING, percent, word } from '../../components/format.ts'
import { numbers, Table, words } from '../../components/table.tsx'
import { Part } from '../desk/part.tsx'
import { StateWord, toneOfState } from '../desk/state-word.tsx'
import { DayBars } from './day-bars.tsx'

const PERIOD_MS = 10_000

/** State, coverage and incidents of the service, from `/status`. */
export function Status() {
  const report = useSignal<StatusReport | null>(null)
  const isLost = useSignal(false)
  useEffect(() => {
    const read = async () => {
      try {
        const response = await fetch('/status', { headers: { accept: 'application/json' } })
        if (!response.ok) throw new Error(`the service answered ${response.status}`)
        report.value = await response.json()
        isLost.value = false
      } catch {
        isLost.value = true
      }
    }
    void read()
    const timer = setInterval(() => void read(), PERIOD_MS)
    return () => clearInterval(timer)
  }, [])
  return (
    <>
      <h1>Status</h1>
      {isLost.value && (
        <p class="notice" role="alert">
          The status cannot be read. {report.value === null ? '' : 'What is shown is from before.'}
        </p>
      )}
      {report.value === null ? (
        <p class="empty" aria-busy={!isLost.value}>
          Waiting for the status.
        </p>
      ) : (
        <div class="grid">
          <Overview report={report.value} />
          <Coverage report={report.value} />
          <Incidents incidents={report.value.incidents} />
        </div>
      )}
    </>
  )
}

type Shown = { readonly report: StatusReport }

function Overview({ report }: Shown) {
  const { status, since_iso, engine, maintenance, coins_ready, checks, availability_pct } = report
  const failing = Object.entries(checks).filter(([, isOk]) => !isOk)
  return (
    <Part
      title="Now"
      width="wide"
      note="Availability is the share of the observed time in which answers were sold. Time in which the service did not run counts against it."
    >
      <FigureList
        rows={[
          fact('Service', status, toneOfState(status)),
          fact('Since', clockTime(Date.parse(since_iso))),
          fact('Engine', engine, toneOfState(engine)),
          fact('Coins with answers', count(coins_ready)),
          fact('Maintenance', maintenance ? 'on' : 'none', maintenance ? 'warn' : 'plain'),
          fact(
            'Failing checks',
            failing.length === 0 ? 'none' : failing.map(([check]) => word(check)).join(', '),
            failing.length === 0 ? 'up' : 'down',
          ),
          fact('Availability', percent(availability_pct)),
          fact('Observed since', clockTime(Date.parse(report.observed_since_iso))),
        ]}
      />
    </Part>
  )
}

function Coverage({ report: { days, sources, availability_pct } }: Shown) {
  const names = days.map(({ day }) => day)
  const service = { shares: days.map((one) => one.availability_pct), days: names }
  return (
    <Part
      title="Coverage by day"
      width="wide"
      note="One bar per day in UTC, the newest on the right: the share of the day in which the source was up."
    >
      <Table
        label="Table: Coverage by day"
        columns={[words('Source'), words('State'), numbers('30 days'), words('Days')]}
        rows={[
          {
            key: 'service',
            cells: ['service', '', percent(availability_pct), <DayBars key="days" {...service} />],
          },
          ...sources.map(({ source, state, coverage_pct, by_day_pct }) => ({
            key: source,
            cells: [
              source,
              state === null ? 'not in use' : <StateWord key="state" state={state} />,
              // A source that is off was not expected to be up.
              state === null ? NOTHING : percent(coverage_pct),
              state === null ? '' : <DayBars key="days" shares={by_day_pct} days={names} />,
            ],
          })),
        ]}
      />
    </Part>
  )
}

function Incidents({ incidents }: { readonly incidents: readonly IncidentReport[] }) {
  return (
    <Part title="Incidents of the last 30 days" width="wide">
      <Table
        label="Table: Incidents"
        columns={[words('What'), words('Begin'), words('End'), numbers('Duration')]}
        rows={incidents.map(({ kind, subject, begin_iso, end_iso, duration_seconds }) => ({
          key: `${kind} ${subject} ${begin_iso}`,
          cells: [
            subject === null ? word(kind) : `${word(kind)}: ${word(subject)}`,
            clockTime(Date.parse(begin_iso)),
            end_iso === null ? (
              <StateWord key="end" state="lasts" />
            ) : (
              clockTime(Date.parse(end_iso))
            ),
            duration(duration_seconds * 1_000),
          ],
        }))}
        none="None."
      />
    </Part>
  )
}
