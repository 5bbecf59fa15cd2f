import type { Answer, Document } from '../domain/document.ts'
import { nextUpdateMs, snapshotIdOf } from '../domain/document.ts'
import { isoInstant } from '../domain/instant.ts'
import type { Extensions } from '../payment/extensions/extensions.ts'
import { infoOf } from '../payment/extensions/extensions.ts'
import type { Grade } from './freshness.ts'
import { freshness } from './freshness.ts'

/**
 * The quote extension `answer-preview` of this service: age, grade and coverage of the offered answer. A payment that
 * echoes it does not buy an answer of lower quality.
 */
const NAME = 'answer-preview'
/** Tolerated fall of coverage between quote and payment, percentage points: a decaying share falls constantly. */
const COVERAGE_FALL_MAX = 1

/** An available answer. */
export type Previewed = {
  readonly document: Document
  readonly answer: Answer
  readonly etag: string
}

/** Quality of an answer, as a quote states it. */
export type Quality = {
  readonly grade: Grade
  /** Percent. */
  readonly coverage: number
}

/** A member of an echo that is no condition; the rule continues its path. */
export type InvalidEcho = { readonly param: string; readonly rule: string }

/** One per answer; it changes once a second at most. */
const previews = new WeakMap<Answer, Preview>()

type Preview = Quality & {
  readonly ageSeconds: number
  readonly etag: string
  readonly extensions: Extensions
}

/** @returns the same object while its content is unchanged */
export function previewOf(
  { document, answer, etag }: Previewed,
  nowMs: number,
  isClockOff = false,
): Extensions {
  const { ageSeconds, grade, coverage } = qualityOf({ document, answer }, nowMs, isClockOff)
  const held = previews.get(answer)
  if (held?.ageSeconds === ageSeconds && held.grade === grade && held.etag === etag) {
    return held.extensions
  }
  const dueMs = document.nextUpdateMs ?? nextUpdateMs(answer.inputs, document.renderedAtMs)
  const info = {
    snapshot_id: snapshotIdOf(document.renderedAtMs),
    as_of: Object.fromEntries(
      answer.inputs.map(({ name, confirmedAtMs }) => [name, isoInstant(confirmedAtMs)]),
    ),
    data_age_seconds: ageSeconds,
    quality_grade: grade,
    coverage,
    etag,
    next_update_iso: isoInstant(dueMs),
  }
  const extensions = { [NAME]: { info } }
  previews.set(answer, { ageSeconds, grade, coverage, etag, extensions })
  return extensions
}

/** Quality and age in whole seconds, as a quote states them. */
export function qualityOf(
  { document, answer }: Omit<Previewed, 'etag'>,
  nowMs: number,
  isClockOff = false,
): Quality & { readonly ageSeconds: number } {
  const { dataAgeMs, grade } = freshness(document, answer, nowMs, isClockOff)
  // Rounded to three decimals, as in the answer.
  const coverage = Math.round(answer.coveragePct * 1_000) / 1_000
  return { grade, coverage, ageSeconds: Math.floor(dataAgeMs / 1_000) }
}

/**
 * The quality that the buyer echoes; each of its members can only refuse a sale, never change one.
 * @returns null without an echo, or why it is invalid: a condition that cannot be read must not be ignored
 */
export function quotedQuality(
  extensions: Extensions | null | undefined,
): Partial<Quality> | InvalidEcho | null {
  if (extensions == null || !Object.hasOwn(extensions, NAME)) return null
  const info = infoOf(extensions, NAME)
  if (info === null) return { param: `extensions.${NAME}.info`, rule: 'must be an object' }
  const { quality_grade: stated, coverage } = info
  const grade = typeof stated === 'string' ? stated.toUpperCase() : stated
  if (grade !== undefined && !isGrade(grade))
    return { param: `extensions.${NAME}.info.quality_grade`, rule: 'must be A, B, C or D' }
  if (coverage !== undefined && !isPercentage(coverage))
    return { param: `extensions.${NAME}.info.coverage`, rule: 'must be a number from 0 to 100' }
  return { ...(grade && { grade }), ...(coverage !== undefined && { coverage }) }
}

/** @returns the present quality if it is below the quoted one in a quoted member, else null */
export function lowerQuality(
  quoted: Partial<Quality>,
  available: Omit<Previewed, 'etag'>,
  nowMs: number,
  isClockOff = false,
): Quality | null {
  const { grade, coverage } = qualityOf(available, nowMs, isClockOff)
  const isWorse =
    (quoted.grade !== undefined && grade > quoted.grade) ||
    (quoted.coverage !== undefined && quoted.coverage - coverage > COVERAGE_FALL_MAX)
  return isWorse ? { grade, coverage } : null
}

function isPercentage(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && value <= 100
}

function isGrade(value: unknown): value is Grade {
  return value === 'A' || value === 'B' || value === 'C' || value === 'D'
}
