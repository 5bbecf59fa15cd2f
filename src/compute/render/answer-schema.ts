import type { TSchema } from 'typebox'
import { Type } from 'typebox'
import { warnings } from '../../domain/document.ts'

export const PROVIDER = 'perpscope'

const Iso = Type.String({ format: 'date-time', description: 'UTC, ISO 8601.' })
const WarningName = oneOf(warnings)

/** Members with which every answer about a coin begins. */
export const coinMembers = {
  coin: Type.String({ description: "The venue's spelling." }),
  requested_coin: Type.Optional(
    Type.String({ description: 'What was asked for, where it names the unscaled token.' }),
  ),
  unit_multiplier: Type.Optional(
    Type.Number({ description: 'Tokens per venue unit: prices are for this many tokens.' }),
  ),
  timestamp_iso: Iso,
}

/** Members that `meta` has in every answer; `offering` is the analysis's own. */
export const metaMembers = {
  provider: Type.Literal(PROVIDER),
  sample: Type.Optional(
    Type.Literal(true, { description: 'Present where the figures are invented: /sample.' }),
  ),
  execution_ms: Type.Number({ minimum: 0, description: 'Server-side time of this call, ms.' }),
  data_age_seconds: Type.Number({
    minimum: 0,
    description: 'Seconds since the oldest load-bearing input was last confirmed by its source.',
  }),
  warning: Type.Optional(
    Type.Literal('stale_data', { description: 'Present when data_age_seconds exceeds 7200.' }),
  ),
  warnings: Type.Array(WarningName, { description: 'Everything that limits this answer.' }),
  quality: Type.Object({
    grade: oneOf(
      ['A', 'B', 'C', 'D'] as const,
      'A: every input younger than twice its cadence. B: an input that the answer can do without is late, or coverage below 100. C: any other input is late, coverage below 90, or a history shorter than its window. D: stale_data.',
    ),
    coverage_pct: Type.Number({
      minimum: 0,
      maximum: 100,
      description: 'Share of the inputs wished for that exist, percent.',
    }),
    reasons: Type.Array(WarningName, { description: 'The same as warnings.' }),
  }),
  as_of: Type.Record(Type.String(), Iso, {
    description: 'Per input: when its source last confirmed it.',
  }),
  sources: Type.Array(Type.String(), { description: 'Where the inputs come from.' }),
  answer_id: Type.String({ description: 'Of this rendering and view alone.' }),
  snapshot_id: Type.String({
    description: 'Shared by all answers that were rendered from one state of the market.',
  }),
  engine_version: Type.String({ description: 'Of the software that computed it.' }),
  valid_until_iso: Type.String({
    format: 'date-time',
    description: 'When a newer answer is due, UTC. In the past: its update is overdue.',
  }),
}

/** One of a closed list of words. */
export function oneOf<const Word extends string>(words: readonly Word[], description?: string) {
  const union = Type.Union(
    words.map((word) => Type.Literal(word)),
    description === undefined ? {} : { description },
  )
  // TypeBox infers `never` from a union of a list whose length it does not know.
  return Type.Unsafe<Word>(union)
}

/** For what the venue may not tell; the description says when. */
export function nullable<Schema extends TSchema>(schema: Schema) {
  return Type.Union([schema, Type.Null()])
}
