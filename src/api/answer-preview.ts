import type { Answer, Document } from '../domain/document.ts'
import { nextUpdateMs, snapshotIdOf } from '../domain/document.ts'
import { isoInstant } from '../domain/instant.ts'
import type { Extensions } from '../payment/extensions/extensions.ts'
import { infoOf } from '../payment/extensions/extensions.ts'
import type { Grade } from './freshness.ts'
import { freshness } from './freshness.ts'

/**
 * The extension `answer-preview`, one of ours: a quote says how good the answer is that it asks money for. A
 * buyer's echo of it is a condition: what has got worse meanwhile is not sold.
 */
const NAME = 'answer-preview'
/** By so much coverage may fall between quote and payment: a share that decays is a little less at every reading. */
const COVERAGE_FALL_MAX = 1

/** An answer that can be given now. */
export type Previewed = {
  readonly document: Document
  readonly answer: Answer
  readonly etag: string
}

/** How good an answer is, as far as a quote promises it. */
export type Quality = {
  readonly grade: Grade
  /** Percent. */
  readonly coverage: number
}

/** One per answer, because it is asked for more often than it changes: with the next full second at most. */
const previews = new WeakMap<Answer, Preview>()

type Preview = Quality & {
  readonly ageSeconds: number
  readonly etag: string
  readonly extensions: Extensions
}

/** @returns the same object for as long as nothing in it has changed */
export function previewOf(
  { document, answer, etag }: Previewed,
  nowMs: number,
  isClockOff = false,
): Extensions {
  const { dataAgeMs, grade } = freshness(document, answer, nowMs, isClockOff)
  const ageSeconds = Math.floor(dataAgeMs / 1_000)
  const held = previews.get(answer)
  if (held?.ageSeconds === ageSeconds && held.grade === grade && held.etag === etag) {
    return held.extensions
  }
  const coverage = coverageOf(answer)
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

/** What the buyer was quoted, in its own words: good for nothing but to hold us to it. */
export function quotedQuality(extensions: Extensions | null | undefined): Quality | null {
  const info = infoOf(extensions ?? null, NAME)
  const [grade, coverage] = [info?.['quality_grade'], info?.['coverage']]
  return isGrade(grade) && typeof coverage === 'number' ? { grade, coverage } : null
}

/** @returns what the answer is now, where that is less than what was quoted */
export function worsened(
  quoted: Quality,
  { document, answer }: Omit<Previewed, 'etag'>,
  nowMs: number,
  isClockOff = false,
): Quality | null {
  const { grade } = freshness(document, answer, nowMs, isClockOff)
  const coverage = coverageOf(answer)
  const isWorse = grade > quoted.grade || quoted.coverage - coverage > COVERAGE_FALL_MAX
  return isWorse ? { grade, coverage } : null
}

/** Three decimals, as in the answer. */
function coverageOf({ coveragePct }: Answer): number {
  return Math.round(coveragePct * 1_000) / 1_000
}

function isGrade(value: unknown): value is Grade {
  return value === 'A' || value === 'B' || value === 'C' || value === 'D'
}
