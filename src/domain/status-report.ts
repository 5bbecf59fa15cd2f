/** The document at `/status`. Instants are UTC, ISO 8601; shares are percent of the observed time. */
export type StatusReport = {
  /** `unavailable`: nothing is sold. `degraded`: answers are sold while a source is down. */
  readonly status: StatusWord
  readonly since_iso: string
  readonly timestamp_iso: string
  /** Begin of the observation, at most 30 days ago. */
  readonly observed_since_iso: string
  readonly engine: 'available' | 'silent' | 'unavailable'
  readonly maintenance: boolean
  readonly coins_ready: number
  /** Preconditions of a sale. */
  readonly checks: Readonly<Record<string, boolean>>
  /** Share of the time in which answers were sold; the time in which the service did not run counts against it. */
  readonly availability_pct: number | null
  /** One per day in UTC, the oldest first. */
  readonly days: readonly { readonly day: string; readonly availability_pct: number | null }[]
  readonly sources: readonly SourceCoverage[]
  /** The newest first. */
  readonly incidents: readonly IncidentReport[]
}

export type StatusWord = 'ok' | 'degraded' | 'unavailable'

type SourceCoverage = {
  /** `venue`, or the identifier of an external source. */
  readonly source: string
  /** null for one that is not in use now. */
  readonly state: string | null
  /** Share of the time in which it was up. */
  readonly coverage_pct: number | null
  /** In the order of `days`. */
  readonly by_day_pct: readonly (number | null)[]
}

export type IncidentKind =
  | 'service_not_running'
  | 'engine_unavailable'
  | 'engine_restarted'
  | 'maintenance'
  | 'not_ready'
  | 'source_down'

export type IncidentReport = {
  readonly kind: IncidentKind
  /** The check or the source; null for the others. */
  readonly subject: string | null
  readonly begin_iso: string
  /** null while it lasts. */
  readonly end_iso: string | null
  readonly duration_seconds: number
}
