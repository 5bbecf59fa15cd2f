import { Type } from 'typebox'
import type { Input } from '../../domain/document.ts'
import type { Rendering } from '../analysis.ts'
import type { DocumentBuilder } from './document-builder.ts'

const PROVIDER = 'perpscope'

const Iso = Type.String({ format: 'date-time', description: 'UTC, ISO 8601.' })

const WarningName = Type.Union([
  Type.Literal('stale_data'),
  Type.Literal('partial_data'),
  Type.Literal('short_history'),
  Type.Literal('model_estimate'),
  Type.Literal('low_coverage'),
  Type.Literal('thin_book'),
  Type.Literal('feed_degraded'),
])

/** Members that `meta` has in every answer. */
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
    grade: Type.Union([Type.Literal('A'), Type.Literal('B'), Type.Literal('C'), Type.Literal('D')]),
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
  valid_until_iso: Iso,
}

/** The `meta` object of one view, as a value for the builder. */
export function answerMeta(
  builder: DocumentBuilder,
  facts: {
    readonly offering: string
    readonly rendering: Rendering
    readonly view: string
    readonly inputs: readonly Input[]
    readonly sources: readonly string[]
    /** Members that this analysis adds. */
    readonly more?: Readonly<Record<string, unknown>>
  },
): Record<string, unknown> {
  const { rendering, inputs } = facts
  return {
    provider: PROVIDER,
    offering: facts.offering,
    execution_ms: builder.slot({ kind: 'execution-ms' }),
    ...facts.more,
    ...builder.memberSlot({ kind: 'freshness' }),
    as_of: Object.fromEntries(inputs.map((input) => [input.name, iso(input.confirmedAtMs)])),
    sources: facts.sources,
    answer_id: `ans_${rendering.version.toString(36)}${facts.view && `_${facts.view.replaceAll(',', '_')}`}`,
    snapshot_id: rendering.snapshotId,
    engine_version: rendering.engineVersion,
    valid_until_iso: iso(rendering.validUntilMs),
  }
}

export function iso(timeMs: number): string {
  return new Date(timeMs).toISOString()
}
