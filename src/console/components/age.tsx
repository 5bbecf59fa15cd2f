import { useComputed } from '@preact/signals'
import type { AnswerState } from '../live/documents.ts'
import { now } from '../live/service.ts'
import { duration, NOTHING } from './format.ts'

/** Of an answer; the ages of an example stay as they are. */
export type AnswerInstant = Pick<AnswerState, 'atMs' | 'origin'>

type AgeProps = {
  /** At the instant of the answer; null if unknown. */
  readonly seconds: number | null | undefined
  readonly instant: AnswerInstant
}

/** An age that rises every second. */
export function Age({ seconds, instant: { atMs, origin } }: AgeProps) {
  const text = useComputed(() => {
    // Read in every case: what reads no signal is never computed again, also not for a newer answer.
    const sinceMs = Math.max(0, now.value - atMs)
    if (seconds == null) return NOTHING
    return duration(seconds * 1_000 + (origin === 'example' ? 0 : sinceMs))
  })
  return <>{text}</>
}

type SinceProps = {
  /** ISO 8601; null if unknown. */
  readonly iso: string | null
  readonly instant: AnswerInstant
}

/** The time since an instant that an answer names. */
export function Since({ iso, instant }: SinceProps) {
  return (
    <Age
      seconds={iso === null ? null : (instant.atMs - Date.parse(iso)) / 1_000}
      instant={instant}
    />
  )
}
