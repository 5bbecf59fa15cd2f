import { AnswerCheck } from './answer-check.tsx'
import { RecordPanel } from './record-panel.tsx'

/** How estimates are measured, and the check of a bought answer. */
export function Proof() {
  return (
    <>
      <h1>Proof</h1>
      <p class="lead">
        Prices and rates are facts with an age. Estimates are claims about the future: this page
        states which of them are measured, and which are not.
      </p>
      <div class="stack">
        <AnswerCheck />
        <RecordPanel />
      </div>
    </>
  )
}
