import type { AnswerInputs, Document, Warning } from '../domain/document.ts'
import { UNKNOWN_INSTANT_MS } from '../domain/document.ts'

/** Older answers have the warning `stale_data`. */
const STALE_MS = 2 * 3600 * 1000
/** An input is late after two missed confirmations. */
const LATE_CADENCES = 2
const COVERAGE_PCT_GOOD = 90
/** Smaller clock corrections are routine. */
const CLOCK_BACK_MS_MAX = 5_000

/** From best to worst. */
export type Grade = 'A' | 'B' | 'C' | 'D'

/** Age and grade of an answer at one instant. */
export type Freshness = {
  /** Age of the oldest load-bearing input; never negative. */
  readonly dataAgeMs: number
  readonly grade: Grade
  readonly warnings: readonly Warning[]
}

/** Grades by `docs/numbers/meta.md`. While the clock is off the best grade is C, as every instant is wrong. */
export function freshness(
  document: Pick<Document, 'renderedAtMs'>,
  answer: AnswerInputs,
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
 * Without a load-bearing input the age counts from the rendering. Infinity for an unknown age: an input of unknown
 * age, or one confirmed in the future, after which the clock was set back.
 */
export function loadBearingAgeMs(
  document: Pick<Document, 'renderedAtMs'>,
  answer: AnswerInputs,
  nowMs: number,
): number {
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

/** `input`: null for an answer without load-bearing inputs, which is as old as its document. */
export type Overdue = {
  readonly input: string | null
  readonly ageMs: number
  readonly ageMsMax: number
}

/** The first input above its own limit or, if it is load-bearing, the limit of the contract; null for none. */
export function overdue(
  { renderedAtMs }: Pick<Document, 'renderedAtMs'>,
  { inputs }: Pick<AnswerInputs, 'inputs'>,
  ageMsMax: number,
  nowMs: number,
): Overdue | null {
  const limited = inputs.flatMap(({ name, confirmedAtMs, isLoadBearing, ageMsMax: ownMsMax }) => {
    const limitMs = ownMsMax ?? (isLoadBearing ? ageMsMax : null)
    return limitMs === null
      ? []
      : [{ input: name, ageMs: nowMs - confirmedAtMs, ageMsMax: limitMs }]
  })
  const whole = inputs.some(({ isLoadBearing }) => isLoadBearing)
    ? []
    : [{ input: null, ageMs: nowMs - renderedAtMs, ageMsMax }]
  return [...whole, ...limited].find((one) => one.ageMs > one.ageMsMax) ?? null
}

function including(warnings: readonly Warning[], warning: Warning): readonly Warning[] {
  return warnings.includes(warning) ? warnings : [...warnings, warning]
}
