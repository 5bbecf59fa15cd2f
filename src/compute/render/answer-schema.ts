import type { TSchema } from 'typebox'
import { Type } from 'typebox'
import { warnings } from '../../domain/document.ts'

export const PROVIDER = 'perpscope'

/** Members by their bounds; the description has the unit. */
export const number = (description: string) => Type.Number({ description })
export const nonNegative = (description: string) => Type.Number({ minimum: 0, description })
export const positive = (description: string) => Type.Number({ exclusiveMinimum: 0, description })
export const fraction = (description: string) =>
  Type.Number({ minimum: 0, maximum: 1, description })
export const signedFraction = (description: string) =>
  Type.Number({ minimum: -1, maximum: 1, description })
export const percentage = (description: string) =>
  Type.Number({ minimum: 0, maximum: 100, description })
export const count = (description: string) => Type.Integer({ minimum: 0, description })
export const text = (description: string) => Type.String({ description })
export const flag = (description: string) => Type.Boolean({ description })
export const instant = (description: string) => Type.String({ format: 'date-time', description })

export const Iso = instant('UTC, ISO 8601.')
const WarningName = oneOf(warnings)

/** Members with which every answer about a coin begins. */
export const coinMembers = {
  coin: text("The venue's spelling."),
  requested_coin: Type.Optional(text('Requested name, if it was the unscaled token.')),
  unit_multiplier: Type.Optional(number('Tokens per venue unit: prices are for this many tokens.')),
  timestamp_iso: Iso,
}

/** Members of `meta` about age and quality. */
export const freshnessMembers = {
  data_age_seconds: nonNegative(
    'Seconds since the source of the oldest required input last confirmed it.',
  ),
  warning: Type.Optional(
    Type.Literal('stale_data', { description: 'Present when data_age_seconds exceeds 7200.' }),
  ),
  warnings: Type.Array(WarningName, { description: 'Limitations of this answer.' }),
  quality: Type.Object({
    grade: oneOf(
      ['A', 'B', 'C', 'D'] as const,
      'Late: not confirmed for two update intervals. A: no input is late, coverage 100. B: an optional input is late, or coverage below 100. C: a required input is late, coverage below 90, or warning short_history or clock_off. D: warning stale_data.',
    ),
    coverage_pct: percentage('Available share of the inputs, percent.'),
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
  execution_ms: nonNegative('Server-side time of this call, ms.'),
  ...freshnessMembers,
  sources: Type.Array(Type.String(), { description: 'Sources of the inputs.' }),
  answer_id: text('Identifier of this rendering and view.'),
  snapshot_id: text('Shared by all answers rendered from one market state.'),
  engine_version: text('Version of the software that computed the answer.'),
  valid_until_iso: instant('Time of the next update, UTC. In the past: the update is overdue.'),
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
/** A map without other keys, each of which an answer may lack. The published schema lists none of them. */
export function partialMap<Schema extends TSchema>(
  possibleKeys: readonly string[],
  value: Schema,
  description?: string,
) {
  const options = description === undefined ? {} : { description }
  return Type.Record(Type.String(), value, { ...options, possibleKeys })
}

export function nullable<Schema extends TSchema>(schema: Schema) {
  return Type.Union([schema, Type.Null()])
}
