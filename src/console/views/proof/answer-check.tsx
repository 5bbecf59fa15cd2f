import { useSignal } from '@preact/signals'
import { useRef } from 'preact/hooks'
import { AnswerFileError, answerText, readAnswerFile } from '../../../proof/answer-file.ts'
import type { CheckStep } from '../../../proof/check-answer.ts'
import type { CheckVerdict } from '../../../proof/check-verdict.ts'
import { checkTitles, verdictOf } from '../../../proof/check-verdict.ts'
import { facts } from '../../live/service.ts'

const headlines: Readonly<Record<CheckVerdict, string>> = {
  contradicted: 'The check fails',
  verified: 'The answer is as this service sold it',
  incomplete: 'Not everything can be checked',
}

const verdicts: Readonly<Record<CheckStep['verdict'], string>> = {
  holds: 'holds',
  fails: 'fails',
  open: 'cannot be checked',
}

type Result = { readonly steps: readonly CheckStep[] } | { readonly problem: string }

/** Takes an answer with its receipt, as a file or as text, and checks it in the browser. Nothing is sent. */
export function AnswerCheck() {
  const text = useSignal('')
  const header = useSignal('')
  const result = useSignal<Result | null>(null)
  const { receiptSigner } = facts()
  const turn = useRef(0)
  /** Drops the result, and that of a check that is still running: it is about another text. */
  const begin = () => {
    result.value = null
    turn.current += 1
    return turn.current
  }
  const check = async () => {
    const own = begin()
    const found = await checked(text.value, header.value, receiptSigner)
    if (own === turn.current) result.value = found
  }
  const take = async (file: File | undefined) => {
    if (file === undefined) return
    const own = begin()
    const read = await file.text().catch(() => null)
    if (own !== turn.current) return
    if (read === null) {
      result.value = { problem: 'The file could not be read.' }
      return
    }
    text.value = read
    header.value = ''
    await check()
  }
  return (
    <section class="panel" aria-labelledby="check">
      <header>
        <h2 id="check">Check an answer</h2>
      </header>
      <p class="fine">
        The check runs in this page and sends nothing but the hash of the answer.{' '}
        {receiptSigner === null ? (
          'This service signs no receipts now.'
        ) : (
          <>
            This service signs with <code>{receiptSigner}</code>.
          </>
        )}
      </p>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: the file input inside does the same for the keyboard */}
      <div
        class="drop"
        onDragOver={(event) => event.preventDefault()}
        onDrop={(event) => {
          event.preventDefault()
          void take(event.dataTransfer?.files[0])
        }}
      >
        <label>
          Drop a saved answer here, or choose one:{' '}
          <input
            type="file"
            accept="application/json,.json"
            onChange={({ currentTarget }) => take(currentTarget.files?.[0])}
          />
        </label>
      </div>
      <form
        class="check-form"
        onSubmit={(event) => {
          event.preventDefault()
          void check()
        }}
      >
        <label>
          <span>
            Or paste it: a saved file, the output of <code>perpscope buy --json</code>, an MCP
            result, or the body of a response
          </span>
          <textarea
            rows={5}
            spellcheck={false}
            value={text.value}
            onInput={({ currentTarget }) => {
              text.value = currentTarget.value
              begin()
            }}
          />
        </label>
        <label>
          <span>PAYMENT-RESPONSE header, if the text has no receipt</span>
          <input
            type="text"
            spellcheck={false}
            value={header.value}
            onInput={({ currentTarget }) => {
              header.value = currentTarget.value
              begin()
            }}
          />
        </label>
        <button type="submit" class="button primary">
          Check
        </button>
      </form>
      <div aria-live="polite">{result.value && <CheckResult result={result.value} />}</div>
    </section>
  )
}

function CheckResult({ result }: { readonly result: Result }) {
  if ('problem' in result) return <p class="check-problem">{result.problem}</p>
  const { steps } = result
  const verdict = verdictOf(steps)
  return (
    <div class="check-result" data-verdict={verdict}>
      <h3>{headlines[verdict]}</h3>
      <ul>
        {steps.map(({ id, verdict, text }) => (
          <li key={id} class={`check-${verdict}`}>
            <strong>
              {checkTitles[id]} {verdicts[verdict]}.
            </strong>{' '}
            {text}
          </li>
        ))}
      </ul>
    </div>
  )
}

async function checked(text: string, header: string, signer: string | null): Promise<Result> {
  try {
    const file = readAnswerFile(text, header)
    // The code for signatures is loaded when it is needed.
    const { checkAnswer } = await import('../../../proof/check-answer.ts')
    const steps = await checkAnswer(file, signer)
    if (!facts().hasProofs) return { steps }
    const { checkInclusion, proofPath } = await import('../../../proof/check-inclusion.ts')
    const response = await fetch(proofPath(answerText(file)))
    const proof: unknown = response.ok ? await response.json() : null
    return { steps: [...steps, checkInclusion(answerText(file), response.status, proof)] }
  } catch (cause) {
    if (cause instanceof AnswerFileError) return { problem: cause.message }
    const reason = cause instanceof Error ? cause.message : String(cause)
    return { problem: `The check could not be completed: ${reason}` }
  }
}
