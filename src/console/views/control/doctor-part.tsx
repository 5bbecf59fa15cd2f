import type { ControlReport } from '../../../domain/desk-reports.ts'
import { clockTime, duration } from '../../components/format.ts'
import { sentences, Table, words } from '../../components/table.tsx'
import { Part } from '../desk/part.tsx'
import { StateWord } from '../desk/state-word.tsx'
import { OrderButton } from './order-button.tsx'

type DoctorProps = Pick<ControlReport, 'doctor' | 'nowMs'>

/** The last run of `perpscope doctor`. */
export function DoctorPart({ doctor, nowMs }: DoctorProps) {
  const { findings, failure, endedAtMs } = doctor
  const [failed, warned] = ['fail', 'warn'].map(
    (status) => findings.filter((finding) => finding.status === status).length,
  )
  return (
    <Part title="Doctor" width="wide">
      <p class="statement">{stateOf(doctor, nowMs)}</p>
      <OrderButton
        label="Run the doctor"
        question="It reads every database and asks every source, which takes up to a minute. Run it?"
        path="/doctor"
        done="The doctor was started."
      />
      {failure !== null && (
        <p class="note tone-down" role="alert">
          The last run has no result: {failure}.
        </p>
      )}
      {findings.length > 0 && endedAtMs !== null && (
        <>
          <h3>
            {findings.length} checks, {failed} failed, {warned} warnings,{' '}
            {failure === null ? clockTime(endedAtMs) : 'of an earlier run'}
          </h3>
          <Table
            label="Table: Findings of the doctor"
            columns={[words('Check'), words('Result'), sentences('Found'), sentences('Advice')]}
            rows={findings.map(({ check, status, found, advice }, at) => ({
              key: `${check} ${at}`,
              cells: [check, <StateWord key="status" state={status} />, found, advice ?? ''],
            }))}
          />
        </>
      )}
    </Part>
  )
}

function stateOf({ state, startedAtMs }: ControlReport['doctor'], nowMs: number): string {
  if (state === 'never') return 'It has not run since the start of this process.'
  const ago = duration(startedAtMs === null ? null : nowMs - startedAtMs)
  return state === 'running' ? `It has been running for ${ago}.` : `The last run began ${ago} ago.`
}
