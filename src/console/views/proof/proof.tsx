import { AnswerCheck } from './answer-check.tsx'
import { FamiliesTable } from './families-table.tsx'

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
        <section class="panel" aria-labelledby="families">
          <header>
            <h2 id="families">Estimates, and what is known about them</h2>
          </header>
          <FamiliesTable />
          <p class="fine">
            A track record of every estimate against its control is planned. Until it exists, treat
            what is not validated as a description of the present, not as a forecast.
          </p>
        </section>
      </div>
    </>
  )
}
