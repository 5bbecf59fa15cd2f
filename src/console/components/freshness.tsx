import type { AnswerState, Origin } from '../live/documents.ts'
import { now } from '../live/service.ts'
import { duration, instant } from './format.ts'

/** The part of every answer that says how good it is. */
type AnswerMeta = {
  readonly meta: {
    readonly data_age_seconds?: number
    readonly quality?: { readonly grade: string; readonly coverage_pct: number }
    readonly warnings?: readonly string[]
  }
}

const GRADES: Readonly<Record<string, string>> = {
  A: 'complete and fresh',
  B: 'small limitations',
  C: 'partial, late or a model estimate',
  D: 'poor: read the warnings',
}

const ORIGINS: Readonly<Record<Origin, string>> = {
  live: 'live',
  delayed: 'one minute late',
  bought: 'bought',
  example: 'example, invented figures',
}

/** Older inputs are marked. */
const OLD_SECONDS = { live: 30, delayed: 120, bought: 120, example: Number.POSITIVE_INFINITY }

type FreshnessProps = {
  readonly state: AnswerState
  /** How often the document is made, if it is less often than answers are. */
  readonly periodSeconds?: number
}

/** Grade, origin and age of an answer. The age rises every second, so a frozen page is visible. */
export function Freshness({ state, periodSeconds = 0 }: FreshnessProps) {
  const { answer, origin, atMs, refusal } = state
  const { data_age_seconds: dataAge = 0, quality, warnings = [] } = (answer as AnswerMeta).meta
  const ageSeconds = dataAge + Math.max(0, now.value - atMs) / 1_000
  const isOld = refusal !== null || ageSeconds > OLD_SECONDS[origin] + periodSeconds
  return (
    <p class={isOld ? 'freshness old' : 'freshness'}>
      {quality && (
        <span class={`grade grade-${quality.grade}`} title={GRADES[quality.grade]}>
          <span class="visually-hidden">Grade </span>
          {quality.grade}
        </span>
      )}
      <span>{ORIGINS[origin]}</span>
      <span class="age">
        {origin === 'example' ? instant(atMs) : `${duration(ageSeconds * 1_000)} old`}
      </span>
      {warnings.length > 0 && (
        <span class="warnings">{warnings.map((name) => name.replaceAll('_', ' ')).join(', ')}</span>
      )}
      {refusal !== null && <span class="refusal">{refusal.detail}</span>}
    </p>
  )
}
