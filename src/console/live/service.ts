import { signal } from '@preact/signals'
import type { ConsoleFacts } from '../../domain/console-protocol.ts'

/** What the service said of itself when the page was loaded. */
let loaded: ConsoleFacts | null = null

/** Loads the facts; before this {@link facts} must not be called. */
export async function loadFacts(): Promise<void> {
  const response = await fetch('/console/service.json')
  if (!response.ok) throw new Error(`the service answered ${response.status}`)
  loaded = await response.json()
}

export function facts(): ConsoleFacts {
  if (loaded === null) throw new Error('the facts of the service are not loaded')
  return loaded
}

/** Whether events arrive, and what the last one said of the engine. */
export type Connection = 'connecting' | 'lost' | 'available' | 'silent' | 'unavailable'

export const connection = signal<Connection>('connecting')

/** The service's clock minus the browser's, milliseconds. */
let aheadMs = 0

export function setServiceTime(serviceNowMs: number): void {
  aheadMs = serviceNowMs - Date.now()
}

/** Unix milliseconds by the service's clock; rises once a second and redraws what reads it. */
export const now = signal(Date.now())

setInterval(() => {
  now.value = Date.now() + aheadMs
}, 1_000)
