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
  const isAsking = useSignal(false)
  const outcome = useSignal<{ readonly text: string; readonly isFault: boolean } | null>(null)
  const confirm = useRef<HTMLButtonElement>(null)
  useEffect(() => {
    if (isAsking.value) confirm.current?.focus()
  }, [isAsking.value])
  const send = async () => {
    isAsking.value = false
    outcome.value = { text: 'Sent.', isFault: false }
    const fault = await sendOrder(path, body)
    outcome.value = { text: fault ?? done, isFault: fault !== null }
  }
  return (
    <div class="order">
      {isAsking.value ? (
        <fieldset class="question">
          <legend>{question}</legend>
          <button ref={confirm} type="button" class="button primary" onClick={send}>
            {label}
          </button>
          <button
            type="button"
            class="button"
            onClick={() => {
              isAsking.value = false
            }}
          >
            Cancel
          </button>
        </fieldset>
      ) : (
        <button
          type="button"
          class="button"
          onClick={() => {
            isAsking.value = true
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
