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
    Type.String({ description: 'Requested name, if it was the unscaled token.' }),
  ),
  unit_multiplier: Type.Optional(
    Type.Number({ description: 'Tokens per venue unit: prices are for this many tokens.' }),
  ),
  timestamp_iso: Iso,
}

/** Members of `meta` about age and quality. */
export const freshnessMembers = {
  data_age_seconds: Type.Number({
    minimum: 0,
    description: 'Seconds since the source of the oldest required input last confirmed it.',
  }),
  warning: Type.Optional(
    Type.Literal('stale_data', { description: 'Present when data_age_seconds exceeds 7200.' }),
  ),
  warnings: Type.Array(WarningName, { description: 'Limitations of this answer.' }),
  quality: Type.Object({
    grade: oneOf(
      ['A', 'B', 'C', 'D'] as const,
      'Late: not confirmed for two update intervals. A: no input is late, coverage 100. B: an optional input is late, or coverage below 100. C: a required input is late, coverage below 90, or warning short_history or clock_off. D: warning stale_data.',
    ),
    coverage_pct: Type.Number({
      minimum: 0,
      maximum: 100,
      description: 'Available share of the inputs, percent.',
    }),
    reasons: Type.Array(WarningName, { description: 'The same as warnings.' }),
  }),
  as_of: Type.Record(Type.String(), Iso, {
    description: 'Last confirmation of each input by its source.',
  }),
}

/** Members that `meta` has in every answer; `offering` is the analysis's own. */
export const metaMembers = {
  provider: Type.Literal(PROVIDER),
  sample: Type.Optional(
    Type.Literal(true, { description: 'Present on /sample only: the figures are invented.' }),
  ),
  execution_ms: Type.Number({ minimum: 0, description: 'Server-side time of this call, ms.' }),
  ...freshnessMembers,
  sources: Type.Array(Type.String(), { description: 'Sources of the inputs.' }),
  answer_id: Type.String({ description: 'Identifier of this rendering and view.' }),
  snapshot_id: Type.String({
    description: 'Shared by all answers rendered from one market state.',
  }),
  engine_version: Type.String({ description: 'Version of the software that computed the answer.' }),
  valid_until_iso: Type.String({
    format: 'date-time',
    description: 'Time of the next update, UTC. In the past: the update is overdue.',
  }),
}

/** One of a closed list of strings. */
export function oneOf<const Word extends string>(words: readonly Word[], description?: string) {
  const union = Type.Union(
    words.map((word) => Type.Literal(word)),
    description === undefined ? {} : { description },
  )
  // TypeBox infers `never` from a union of a list whose length it does not know.
  return Type.Unsafe<Word>(union)
}

/** A value that may be unknown; its description says when. */
export function nullable<Schema extends TSchema>(schema: Schema) {
  return Type.Union([schema, Type.Null()])
}
