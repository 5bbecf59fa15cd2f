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
  execution_ms: Type.Number({ minimum: 0, description: 'Server-side time of this call, ms.' }),
  data_age_seconds: Type.Number({
    minimum: 0,
    description: 'Seconds since the oldest load-bearing input was last confirmed by its source.',
  }),
  warning: Type.Optional(
    Type.Literal('stale_data', { description: 'Present when data_age_seconds exceeds 7200.' }),
  ),
  warnings: Type.Array(WarningName),
  quality: Type.Object({
    grade: oneOf(['A', 'B', 'C', 'D'] as const),
    coverage_pct: Type.Number({ minimum: 0, maximum: 100 }),
    reasons: Type.Array(WarningName),
  }),
  as_of: Type.Record(Type.String(), Iso, {
    description: 'Per input: when its source last confirmed it.',
  }),
  sources: Type.Array(Type.String()),
  answer_id: Type.String(),
  snapshot_id: Type.String(),
  engine_version: Type.String(),
}

/** One of a closed list of words. */
export function oneOf<const Word extends string>(words: readonly Word[], description?: string) {
  return Type.Union(
    words.map((word) => Type.Literal(word)),
    description === undefined ? {} : { description },
  )
}

/** For what the venue may not tell; the description says when. */
export function nullable<Schema extends TSchema>(schema: Schema) {
  return Type.Union([schema, Type.Null()])
}
