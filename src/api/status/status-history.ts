import { isoInstant } from '../../domain/instant.ts'
import type { IncidentKind, StatusReport, StatusWord } from '../../domain/status-report.ts'
import type { EngineState } from '../../link/engine-replica.ts'

/** What the service observes of itself at one instant. */
export type Observation = {
  readonly engine: EngineState
  /** Start of the present run of the engine; null before its first heartbeat. */
  readonly engineStartedAtMs: number | null
  readonly isMaintenance: boolean
  readonly coinsReady: number
  readonly checks: Readonly<Record<string, boolean>>
  /** The venue and the external sources that are in use. */
  readonly sources: readonly ObservedSource[]
}

type ObservedSource = {
  readonly source: string
  readonly state: string
  /** false without an engine, whose last report is outdated. */
  readonly isUp: boolean
}

export type Incident = {
  readonly kind: IncidentKind
  readonly subject: string | null
  readonly beginMs: number
  /** null while it lasts. */
  readonly endMs: number | null
}

/** Times of one day in UTC. */
export type StatusDay = {
  /** Since 1970. */
  readonly day: number
  readonly elapsedMs: number
  readonly soldMs: number
  /** Time in which a source was in use, and in which it was up. */
  readonly sources: Readonly<Record<string, SourceTime>>
}

type SourceTime = { readonly elapsedMs: number; readonly upMs: number }

/** Everything that survives a restart. */
export type SavedStatus = {
  /** Begin of the observation. */
  readonly sinceMs: number
  /** Last observation. */
  readonly lastMs: number
  readonly days: readonly StatusDay[]
  readonly incidents: readonly Incident[]
}

const DAY_MS = 86_400_000
const DAYS_MAX = 30
const INCIDENTS_MAX = 200
/** A shorter fault is no incident: sources connect again within seconds. */
export const INCIDENT_MS_MIN = 15_000
/** A fault that returns within this time is the same incident. */
const SAME_INCIDENT_MS = 60_000
/** Without an observation for longer, the service did not run. Above the period in which the history is saved. */
export const NOT_RUNNING_MS_MIN = 15_000

/**
 * State and incidents of the last 30 days, from one observation per second. Bounded: 30 days and 200 incidents, of which
 * the oldest are dropped.
 */
export class StatusHistory {
  #sinceMs: number
  /** Last observation of this process; null before the first. */
  #lastMs: number | null = null
  /** Latest instant that was observed, by an earlier process too; null before the first. */
  #latestMs: number | null
  /** When an engine was available last. */
  #availableAtMs = Number.NEGATIVE_INFINITY
  readonly #days: StatusDay[]
  #incidents: Incident[]
  /** Faults that last, by kind and subject. */
  readonly #faults = new Map<string, { readonly beginMs: number; incident: Incident | null }>()
  #present: Observation | null = null
  #word: StatusWord = 'unavailable'
  #wordSinceMs: number

  /** @param before what an earlier process saved; null begins a history at `nowMs` */
  constructor(before: SavedStatus | null, nowMs: number) {
    // The clock of that process was far ahead: its days would never end.
    const isOfFuture = before !== null && before.lastMs - nowMs > DAYS_MAX * DAY_MS
    const saved = isOfFuture ? null : before
    this.#sinceMs = saved?.sinceMs ?? nowMs
    this.#latestMs = saved?.lastMs ?? null
    this.#days = [...(saved?.days ?? [])]
    // An incident that lasted then ended unseen.
    this.#incidents = (saved?.incidents ?? []).map((one) => ({
      ...one,
      endMs: one.endMs ?? saved?.lastMs ?? nowMs,
    }))
    this.#wordSinceMs = nowMs
  }

  observe(observation: Observation, nowMs: number): void {
    const latestMs = this.#latestMs ?? nowMs
    // After the clock is corrected forward, time already observed is not counted again.
    const isJump = nowMs - (this.#lastMs ?? latestMs) >= NOT_RUNNING_MS_MIN
    // A clock that is set back adds no time.
    const lastMs = Math.min(isJump ? latestMs : (this.#lastMs ?? latestMs), nowMs)
    const isGap = nowMs - lastMs >= NOT_RUNNING_MS_MIN
    const before = this.#present
    if (isGap)
      this.#add({ kind: 'service_not_running', subject: null, beginMs: lastMs, endMs: nowMs })
    this.#count(observation, lastMs, nowMs, isGap)
    const startedAtMs = observation.engineStartedAtMs
    const startedBeforeMs = before?.engineStartedAtMs ?? null
    if (startedBeforeMs !== null && startedAtMs !== null && startedAtMs > startedBeforeMs)
      this.#add({
        ...{ kind: 'engine_restarted', subject: null },
        // A standby that takes over has started long before, while the other engine was available.
        beginMs: Math.max(Math.min(startedAtMs, nowMs), this.#availableAtMs),
        endMs: nowMs,
      })
    this.#follow(faultsOf(observation), nowMs)
    const word = wordOf(observation)
    if (word !== this.#word || before === null) this.#wordSinceMs = nowMs
    this.#word = word
    this.#present = observation
    this.#lastMs = nowMs
    this.#latestMs = Math.max(latestMs, nowMs)
    if (observation.engine === 'available') this.#availableAtMs = nowMs
    this.#forget(nowMs)
  }

  saved(): SavedStatus {
    return {
      sinceMs: this.#sinceMs,
      lastMs: this.#latestMs ?? this.#sinceMs,
      days: this.#days,
      incidents: this.#incidents,
    }
  }

  report(nowMs: number): StatusReport {
    const present = this.#present
    const days = this.#days
    return {
      status: this.#word,
      since_iso: isoInstant(this.#wordSinceMs),
      timestamp_iso: isoInstant(nowMs),
      observed_since_iso: isoInstant(this.#sinceMs),
      engine: present?.engine ?? 'unavailable',
      maintenance: present?.isMaintenance ?? false,
      coins_ready: present?.coinsReady ?? 0,
      checks: present?.checks ?? {},
      availability_pct: share(sum(days.map(soldOf))),
      days: days.map((one) => ({
        day: isoInstant(one.day * DAY_MS).slice(0, 10),
        availability_pct: share(soldOf(one)),
      })),
      sources: this.#sources().map((source) => {
        const times = days.map((day) => day.sources[source] ?? NO_TIME)
        return {
          source,
          state: present?.sources.find((one) => one.source === source)?.state ?? null,
          coverage_pct: share(sum(times)),
          by_day_pct: times.map(share),
        }
      }),
      incidents: this.#incidents
        .map(({ kind, subject, beginMs, endMs }) => ({
          ...{ kind, subject, begin_iso: isoInstant(beginMs) },
          end_iso: endMs === null ? null : isoInstant(endMs),
          duration_seconds: Math.round(Math.max(0, (endMs ?? nowMs) - beginMs) / 1_000),
        }))
        .reverse(),
    }
  }

  /** Those in use first, then those that were in use. One that is off for want of a key was never up. */
  #sources(): readonly string[] {
    const present = this.#present?.sources.map(({ source }) => source) ?? []
    const earlier = this.#days.flatMap(({ sources }) =>
      Object.keys(sources).filter((source) => (sources[source] ?? NO_TIME).upMs > 0),
    )
    return [...new Set([...present, ...earlier])]
  }

  /** Adds the time since the last observation, by the state that is observed at its end. */
  #count(observation: Observation, lastMs: number, nowMs: number, isGap: boolean): void {
    const isSold = !isGap && wordOf(observation) !== 'unavailable'
    for (let fromMs = lastMs; fromMs < nowMs; ) {
      const day = Math.floor(fromMs / DAY_MS)
      const toMs = Math.min(nowMs, (day + 1) * DAY_MS)
      const ms = toMs - fromMs
      const held = this.#days.at(-1)
      const isHeld = held !== undefined && held.day >= day
      const before = isHeld ? held : { day, elapsedMs: 0, soldMs: 0, sources: {} }
      const sources = { ...before.sources }
      // In a gap only the sources that were in use before it.
      const times = isGap
        ? Object.keys(held?.sources ?? {}).map((source) => ({ source, isUp: false }))
        : observation.sources
      for (const { source, isUp } of times)
        sources[source] = sum([sources[source] ?? NO_TIME, { elapsedMs: ms, upMs: isUp ? ms : 0 }])
      const counted = {
        day: before.day,
        elapsedMs: before.elapsedMs + ms,
        soldMs: before.soldMs + (isSold ? ms : 0),
        sources,
      }
      if (isHeld) this.#days[this.#days.length - 1] = counted
      else this.#days.push(counted)
      fromMs = toMs
    }
  }

  #follow(faults: ReadonlyMap<string, Pick<Incident, 'kind' | 'subject'>>, nowMs: number): void {
    for (const [key, fault] of faults) {
      const known = this.#faults.get(key)
      if (known === undefined) {
        this.#faults.set(key, { beginMs: nowMs, incident: null })
        continue
      }
      if (known.incident !== null || nowMs - known.beginMs < INCIDENT_MS_MIN) continue
      const isSame = (one: Incident) =>
        one.kind === fault.kind &&
        one.subject === fault.subject &&
        one.endMs !== null &&
        known.beginMs - one.endMs < SAME_INCIDENT_MS
      const earlier = this.#incidents.findLast(isSame)
      known.incident = { ...fault, beginMs: earlier?.beginMs ?? known.beginMs, endMs: null }
      if (earlier === undefined) this.#add(known.incident)
      else this.#replace(earlier, known.incident)
    }
    for (const [key, { incident }] of this.#faults) {
      if (faults.has(key)) continue
      this.#faults.delete(key)
      if (incident !== null) this.#replace(incident, { ...incident, endMs: nowMs })
    }
  }

  #add(incident: Incident): void {
    this.#incidents.push(incident)
    if (this.#incidents.length > INCIDENTS_MAX) this.#incidents.shift()
  }

  #replace(incident: Incident, by: Incident): void {
    this.#incidents = this.#incidents.map((one) => (one === incident ? by : one))
  }

  #forget(nowMs: number): void {
    const firstDay = Math.floor(nowMs / DAY_MS) - DAYS_MAX + 1
    if ((this.#days[0]?.day ?? firstDay) >= firstDay) return
    while ((this.#days[0]?.day ?? firstDay) < firstDay) this.#days.shift()
    const firstMs = firstDay * DAY_MS
    this.#sinceMs = Math.max(this.#sinceMs, firstMs)
    this.#incidents = this.#incidents.filter(({ endMs }) => endMs === null || endMs >= firstMs)
  }
}

function wordOf({ engine, isMaintenance, coinsReady, checks, sources }: Observation): StatusWord {
  const isSold =
    engine === 'available' &&
    !isMaintenance &&
    coinsReady > 0 &&
    Object.values(checks).every(Boolean)
  if (!isSold) return 'unavailable'
  return sources.every(({ isUp }) => isUp) ? 'ok' : 'degraded'
}

function faultsOf({
  engine,
  isMaintenance,
  checks,
  sources,
}: Observation): ReadonlyMap<string, Pick<Incident, 'kind' | 'subject'>> {
  const faults: Pick<Incident, 'kind' | 'subject'>[] = []
  if (engine !== 'available') faults.push({ kind: 'engine_unavailable', subject: null })
  if (isMaintenance) faults.push({ kind: 'maintenance', subject: null })
  for (const [check, isOk] of Object.entries(checks))
    if (!isOk) faults.push({ kind: 'not_ready', subject: check })
  // Without an engine its last report is outdated.
  if (engine === 'available')
    for (const { source, isUp } of sources)
      if (!isUp) faults.push({ kind: 'source_down', subject: source })
  return new Map(faults.map((fault) => [`${fault.kind} ${fault.subject}`, fault]))
}

const NO_TIME: SourceTime = { elapsedMs: 0, upMs: 0 }

function soldOf({ elapsedMs, soldMs }: StatusDay): SourceTime {
  return { elapsedMs, upMs: soldMs }
}

function sum(times: readonly SourceTime[]): SourceTime {
  return times.reduce(
    (total, { elapsedMs, upMs }) => ({
      elapsedMs: total.elapsedMs + elapsedMs,
      upMs: total.upMs + upMs,
    }),
    NO_TIME,
  )
}

/** Percent with two decimals, never rounded up to 100; null without time. */
function share({ elapsedMs, upMs }: SourceTime): number | null {
  return elapsedMs === 0 ? null : Math.floor((10_000 * upMs) / elapsedMs) / 100
}
