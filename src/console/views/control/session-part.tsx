import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { Part } from '../desk/part.tsx'
import { sendOrder } from './send-order.ts'

/** Ends the session of this browser; not shown where none is needed. */
export function SessionPart() {
  const isNeeded = useSignal(false)
  const fault = useSignal<string | null>(null)
  useEffect(() => {
    const ask = async () => {
      const response = await fetch('/session')
      const { required } = (await response.json()) as { readonly required: boolean }
      isNeeded.value = required
    }
    // Without an answer the page says that the connection is lost.
    ask().catch(() => {})
  }, [])
  const signOut = async () => {
    fault.value = await sendOrder('/session/end')
    if (fault.value === null) location.reload()
  }
  if (!isNeeded.value) return null
  return (
    <Part
      title="Session"
      width="wide"
      note="It ends by itself after 12 hours, and with the service."
    >
      <div>
        <button type="button" class="button" onClick={signOut}>
          Sign out
        </button>
      </div>
      {fault.value !== null && (
        <p class="note tone-down" role="alert">
          {fault.value}
        </p>
      )}
    </Part>
  )
}
