import type { Basis, Document, Warning } from '../domain/document.ts'
import { UNKNOWN_INSTANT_MS } from '../domain/document.ts'

/** Beyond this an answer says `stale_data` (specification 2.3). */
const STALE_MS = 2 * 3600 * 1000
/** An input that missed one confirmation and is about to miss the next counts as late. */
const LATE_CADENCES = 2
const COVERAGE_PCT_GOOD = 90
/** Clocks are corrected by less than this all the time. */
const CLOCK_BACK_MS_MAX = 5_000

/** From best to worst, as their letters are ordered. */
export type Grade = 'A' | 'B' | 'C' | 'D'

/** How far an answer can be trusted at one instant. */
export type Freshness = {
  /** Age of the oldest load-bearing input; never negative, whatever the clocks say. */
  readonly dataAgeMs: number
  readonly grade: Grade
  readonly warnings: readonly Warning[]
}

/**
 * Grades as in `docs/numbers/meta.md`. Coverage below 90 is a C; so is everything while the clock
 * is known to be off: no instant in the answer is right then.
 */
export function freshness(
  document: Document,
  answer: Basis,
  nowMs: number,
  isClockOff = false,
): Freshness {
  let isLoadBearingLate = false
  let isOtherLate = false
  for (const { confirmedAtMs, cadenceMs, isLoadBearing } of answer.inputs) {
    if (nowMs - confirmedAtMs < LATE_CADENCES * cadenceMs) continue
    if (isLoadBearing) isLoadBearingLate = true
    else isOtherLate = true
  }
  const dataAgeMs = loadBearingAgeMs(document, answer, nowMs)
  const isStale = dataAgeMs > STALE_MS
  const isLate = isLoadBearingLate || isOtherLate

  let { warnings } = answer
  if (isStale) warnings = including(warnings, 'stale_data')
  if (isLate) warnings = including(warnings, 'feed_degraded')
  if (isClockOff) warnings = including(warnings, 'clock_off')

  let grade: Grade = 'A'
  if (isStale) grade = 'D'
  else if (isLoadBearingLate || answer.coveragePct < COVERAGE_PCT_GOOD) grade = 'C'
  else if (isClockOff || warnings.includes('short_history')) grade = 'C'
  else if (isOtherLate || answer.coveragePct < 100) grade = 'B'
  return { dataAgeMs, grade, warnings }
}

/**
 * An answer without a load-bearing input is as old as its rendering. One that was confirmed in the
 * future is of unknown age: our clock was put back since, and counts from an instant that is gone. So is one
 * that the engine itself does not know the age of.
 */
export function loadBearingAgeMs(document: Document, answer: Basis, nowMs: number): number {
  let oldestMs = Number.POSITIVE_INFINITY
  let newestMs = Number.NEGATIVE_INFINITY
  for (const { confirmedAtMs, isLoadBearing } of answer.inputs) {
    if (confirmedAtMs === UNKNOWN_INSTANT_MS) return Number.POSITIVE_INFINITY
    if (!isLoadBearing) continue
    if (confirmedAtMs < oldestMs) oldestMs = confirmedAtMs
    if (confirmedAtMs > newestMs) newestMs = confirmedAtMs
  }
  if (oldestMs === Number.POSITIVE_INFINITY) oldestMs = document.renderedAtMs
  if (newestMs - nowMs > CLOCK_BACK_MS_MAX) return Number.POSITIVE_INFINITY
  return Math.max(0, nowMs - oldestMs)
}

/** How old something behind an answer is, and how old it may be. */
export type Overdue = { readonly ageMs: number; readonly ageMsMax: number }

/** What bars an answer, by the contract's limit and by those of single inputs; null for nothing. */
export function overdue(
  document: Document,
  answer: Basis,
  ageMsMax: number,
  nowMs: number,
): Overdue | null {
  const ageMs = loadBearingAgeMs(document, answer, nowMs)
  if (ageMs > ageMsMax) return { ageMs, ageMsMax }
  for (const { confirmedAtMs, ageMsMax: limitMs } of answer.inputs) {
    if (limitMs !== undefined && nowMs - confirmedAtMs > limitMs)
      return { ageMs: nowMs - confirmedAtMs, ageMsMax: limitMs }
  }
  return null
}

function including(warnings: readonly Warning[], warning: Warning): readonly Warning[] {
  return warnings.includes(warning) ? warnings : [...warnings, warning]
}
