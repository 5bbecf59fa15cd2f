import type { ThreadUsage } from '../domain/desk-reports.ts'
import type { DexStatus } from '../domain/dex.ts'
import type { Document } from '../domain/document.ts'
import type { SourceStatusEvent } from '../domain/external.ts'
import type { StoreHealth } from '../domain/history.ts'
import type { Listing } from '../domain/listing.ts'
import type { SentDocument } from '../domain/placed-document.ts'

/**
 * A message of the engine to the gateway. Documents are state, not events: only the newest version of each counts.
 */
export type EngineMessage =
  | { readonly kind: 'documents'; readonly documents: readonly SentDocument[] }
  | SubjectMessage
  | { readonly kind: 'universe'; readonly listings: readonly Listing[] }
  | { readonly kind: 'heartbeat'; readonly heartbeat: Heartbeat }

/**
 * All documents of one coin or of the whole market. They replace every held one of the subject: engines on several
 * machines number versions by their own clocks, so the carrier orders these messages.
 */
export type SubjectMessage = {
  readonly kind: 'subject'
  readonly subject: string
  readonly documents: readonly Document[]
}

/** Sent every second, as proof that the engine works. */
export type Heartbeat = {
  readonly startedAtMs: number
  readonly feeds: readonly FeedHealth[]
  /** The status of each external source that is in use. */
  readonly sources: readonly SourceHealth[]
  /** Listed coins that the limit of subscriptions leaves out; absent without any, and from older engines. */
  readonly coinsLeftOut?: number
  /** Every known builder-deployed dex, followed or not; absent without any. */
  readonly dexes?: readonly DexStatus[]
  /** Health of the history on disk. */
  readonly store: StoreHealth
  /** Absent without a recording. */
  readonly recording?: RecordingHealth
  /** Feed events since the engine started, by name. */
  readonly counts: Readonly<Record<string, number>>
  /** Absent if engine and gateway are one process. */
  readonly origin?: EngineOrigin
  /** The venue's clock minus the engine's by the newest book, milliseconds; absent before the first one. */
  readonly venueAheadMs?: number
  /** Of the engine's thread since the previous heartbeat. */
  readonly thread?: ThreadUsage
}

/** What a gateway in another process must know of an engine before it uses its documents. */
export type EngineOrigin = {
  /** Of the package. */
  readonly version: string
  /** Name of the venue. */
  readonly market: string
  /** Equal for engines and gateways whose documents have the same form. */
  readonly documentForm: string
  /** The engine's clock when it sent the heartbeat. */
  readonly sentAtMs: number
}

/** Health of the recording. `stopped` lasts until the next start of the engine. */
export type RecordingHealth = {
  readonly state: 'on' | 'stopped'
  /** Reason of the stop; null while `on`. */
  readonly reason: string | null
  readonly sinceMs: number
}

export type FeedHealth = DataHealth<'up' | 'degraded' | 'down'> & { readonly feed: string }

export type SourceHealth = DataHealth<SourceStatusEvent['state']> &
  Pick<SourceStatusEvent, 'source'>

export type DataHealth<State extends string> = {
  readonly state: State
  readonly sinceMs: number
  readonly reason: string
  /** Receive time of the newest data; absent before the first. */
  readonly newestMs?: number
}
