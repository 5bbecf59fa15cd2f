import type { DexStatus } from '../domain/dex.ts'
import type { Document } from '../domain/document.ts'
import type { SourceStatusEvent } from '../domain/external.ts'
import type { StoreHealth } from '../domain/history.ts'
import type { Listing } from '../domain/listing.ts'

/**
 * What an engine tells its gateways, over whichever carrier. A gateway that connects late or lost
 * something gets everything again: documents are state, not events, and only the newest counts.
 */
export type EngineMessage =
  | { readonly kind: 'documents'; readonly documents: readonly Document[] }
  | { readonly kind: 'universe'; readonly listings: readonly Listing[] }
  | { readonly kind: 'heartbeat'; readonly heartbeat: Heartbeat }

/** Sent every second, whether or not anything changed: the proof that the engine lives. */
export type Heartbeat = {
  readonly startedAtMs: number
  readonly feeds: readonly FeedHealth[]
  /** The last word about each source beyond the venue; those that nobody listens to are not among them. */
  readonly sources: readonly SourceHealth[]
  /** Every builder-deployed dex that is known, followed or not; absent where none is. */
  readonly dexes?: readonly DexStatus[]
  /** How the history on disk is. */
  readonly store: StoreHealth
  /** Absent where nothing is recorded. */
  readonly recording?: RecordingHealth
  /** What the engine has counted since it started, by name. */
  readonly counts: Readonly<Record<string, number>>
  /** The venue's clock minus the engine's by the newest book, milliseconds; absent before the first one. */
  readonly venueAheadMs?: number
}

/** Of the file that everything that reaches the engine is recorded to. What is `stopped` stays so until the engine starts anew. */
export type RecordingHealth = {
  readonly state: 'on' | 'stopped'
  /** Why it stopped; null while it is on. */
  readonly reason: string | null
  readonly sinceMs: number
}

export type FeedHealth = {
  readonly feed: string
  readonly state: 'up' | 'degraded' | 'down'
  readonly sinceMs: number
  readonly reason: string
}

export type SourceHealth = {
  readonly source: SourceStatusEvent['source']
  readonly state: SourceStatusEvent['state']
  readonly sinceMs: number
  readonly reason: string
}
