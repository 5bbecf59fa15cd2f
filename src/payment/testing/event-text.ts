import type { PaymentEvent } from '../payment-event.ts'

/** Events as text, with their amounts. */
export function eventText(events: readonly PaymentEvent[]): string {
  return JSON.stringify(events, (_name, value) =>
    typeof value === 'bigint' ? String(value) : value,
  )
}
