import { signal } from '@preact/signals'
import type { ConsoleFacts } from '../../domain/console-protocol.ts'

const PERIOD_MS = 60_000

/** What the service says of itself. */
const loaded = signal<ConsoleFacts | null>(null)

/** Loads the facts; before this {@link facts} must not be called. */
export async function loadFacts(): Promise<void> {
  loaded.value = await fetchedFacts()
  // A lost connection is reported for the whole page; the next period tries again.
  setInterval(() => void refresh().catch(() => {}), PERIOD_MS)
}

/** Redraws what reads them when they change. */
export function facts(): ConsoleFacts {
  if (loaded.value === null) throw new Error('the facts of the service are not loaded')
  return loaded.value
}

/** The coin of a view whose address names none. */
export function defaultCoin(): string {
  const { coins, sample } = facts()
  return sample?.coin ?? (coins.includes('BTC') ? 'BTC' : (coins[0] ?? 'BTC'))
}

/** Right after its start a service has answers about no coin; a newer version of it may have other offers and prices. */
async function refresh(): Promise<void> {
  const newest = await fetchedFacts()
  if (JSON.stringify(newest) !== JSON.stringify(facts())) loaded.value = newest
}

async function fetchedFacts(): Promise<ConsoleFacts> {
  const response = await fetch('/console/service.json')
  if (!response.ok) throw new Error(`the service answered ${response.status}`)
  return response.json()
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
