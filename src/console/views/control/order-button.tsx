import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { sendOrder } from './send-order.ts'

type OrderButtonProps = {
  readonly label: string
  /** What happens, as a question. */
  readonly question: string
  readonly path: string
  readonly body?: unknown
  /** What is shown after it was accepted. */
  readonly done: string
}

/** A button that asks before it sends an order to the service, and states what came of it. */
export function OrderButton({ label, question, path, body, done }: OrderButtonProps) {
  /** The question that is asked; one whose subject has changed since then is open no more. */
  const asked = useSignal<string | null>(null)
  const isAsking = asked.value === question
  const outcome = useSignal<{ readonly text: string; readonly isFault: boolean } | null>(null)
  const start = useRef<HTMLButtonElement>(null)
  const confirm = useRef<HTMLButtonElement>(null)
  const wasAsking = useRef(false)
  useEffect(() => {
    if (isAsking) confirm.current?.focus()
    else if (wasAsking.current) start.current?.focus()
    if (!isAsking) asked.value = null
    wasAsking.current = isAsking
  }, [isAsking])
  const send = async () => {
    asked.value = null
    outcome.value = { text: 'Sent.', isFault: false }
    const fault = await sendOrder(path, body)
    outcome.value = { text: fault ?? done, isFault: fault !== null }
  }
  return (
    <div class="order">
      {isAsking ? (
        <fieldset class="question">
          <legend>{question}</legend>
          <button ref={confirm} type="button" class="button primary" onClick={send}>
            {label}
          </button>
          <button
            type="button"
            class="button"
            onClick={() => {
              asked.value = null
            }}
          >
            Cancel
          </button>
        </fieldset>
      ) : (
        <button
          ref={start}
          type="button"
          class="button"
          onClick={() => {
            asked.value = question
            outcome.value = null
          }}
        >
          {label}
        </button>
      )}
      <p role="status" class={outcome.value?.isFault ? 'note tone-down' : 'note'}>
        {outcome.value?.text}
      </p>
    </div>
  )
}
