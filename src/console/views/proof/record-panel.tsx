import { Since } from '../../components/age.tsx'
import { TermHeading } from '../../components/term.tsx'
import { useDocument } from '../../live/use-document.ts'
import type { RecordAnswer } from './record-rows.ts'
import { recordRows, reliabilityOf } from './record-rows.ts'
import { RecordTable } from './record-table.tsx'
import { ReliabilityDiagram } from './reliability-diagram.tsx'

/** What became of the estimates of this service, as `/track-record` states it. */
export function RecordPanel() {
  const state = useDocument<RecordAnswer>('/track-record').value
  return (
    <section class="panel" aria-labelledby="record">
      <header>
        <h2 id="record">Estimates against what happened</h2>
        {state.kind === 'answer' && (
          <p class="freshness">
            computed every minute, <Since iso={state.answer.timestamp_iso} instant={state} /> ago
          </p>
        )}
      </header>
      {state.kind === 'answer' && <Records of={state.answer} />}
      {state.kind === 'waiting' && (
        <p class="empty" aria-busy="true">
          The engine has just started. It computes the record within a minute.
        </p>
      )}
      {state.kind === 'refused' && <p class="empty">{state.refusal.detail}</p>}
      <p class="fine">
        Every estimate is compared with what happened and with a control that knows nothing. Lift
        above 1 and skill above 0 are better than the control. Supported: shown by a test that stays
        valid however often it is looked at. Treat what is not supported as a description of the
        present, not as a forecast. Every claim with its outcome is free at{' '}
        <code>/track-record/{'{family}'}/claims?day=</code>.
      </p>
    </section>
  )
}

function Records({ of }: { readonly of: RecordAnswer }) {
  const families = [...reliabilityOf(of)]
  return (
    <>
      <RecordTable rows={recordRows(of)} />
      {families.length > 0 && (
        <>
          <TermHeading
            title="Stated probability"
            analysis="track-record"
            path="records[].reliability"
          >
            {' '}
            against what happened, by kind of estimate
          </TermHeading>
          <div class="diagrams">
            {families.map(([family, bins]) => (
              <ReliabilityDiagram key={family} family={family} bins={bins} />
            ))}
          </div>
          <p class="fine">
            On the diagonal what is stated happens. Larger dots are more claims; those of all rules,
            horizons and classes of coins are together.
          </p>
        </>
      )}
    </>
  )
}
